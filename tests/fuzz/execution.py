"""Checks one schedule: its code for a target and its loop IR, against the definition of the computation."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
from computations import Computation
from emulator import Emulator
from guarded_memory import guarded
from text_devices import TRAPS, open_text_device

from sateen.runtime import DeviceKind, Module, Target, load_module
from sateen.runtime.devices import as_functions
from sateen.tensor_ir import CompiledModule, Machine, build_functions, te
from sateen.tensor_ir.interpret import loop_oracle, te_oracle
from sateen.tensor_ir.ir.stmt import Barrier, Function, If
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering import lower
from sateen.tensor_ir.lowering.keep_in_registers import keep_in_registers
from sateen.tensor_ir.lowering.vectorize_loops import vectorize_loops
from sateen.tensor_ir.schedule import Schedule

SCHEDULED = "scheduled"
"""The function of a schedule."""


class WrongResultError(Exception):
    """An output differs from the definition."""


def lowered(computation: Computation, schedule: Schedule, name: str = SCHEDULED, *, device: bool = False) -> Function:
    """The loops of a schedule; for a device its arguments are in the memory of the host."""
    arguments = [*computation.inputs, *computation.outputs]
    buffers = {t: te.decl_buffer(t.shape, t.dtype, name=t.name, device="cpu") for t in arguments if device}
    return lower(schedule, arguments, name, buffers=buffers)


def expected(computation: Computation, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs by definition, in their own types."""
    given = dict(zip(computation.inputs, inputs, strict=True))
    results = te_oracle.evaluate(computation.outputs, given, computation.symbols)
    return [r.astype(t.dtype.numpy) for r, t in zip(results, computation.outputs, strict=True)]


def compiled(computation: Computation, function: Function, target: str = "llvm") -> CompiledModule:
    """Code of a schedule, as SCHEDULED, and, on a processor, of the default schedule, as `plain`."""
    if Target.of(target).device_kind is not DeviceKind.CPU:
        return build_functions([function], target)
    default = lowered(computation, te.create_schedule(list(computation.outputs)), "plain")
    return build_functions([function, default], target)


def compiled_c(code: CompiledModule, folder: Path) -> Module:
    """The functions of C99 text by the compiler for C, loaded."""
    (folder / "f.c").write_text(code.source)
    command = ["gcc", "-std=c99", "-O1", "-shared", "-fPIC", "f.c", "-o", "f.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return load_module(folder / "f.so")


def run_by_threads(code: CompiledModule) -> Module:
    """The functions of a device's host, whose kernels threads of this process run."""
    device = open_text_device(str(code.target), TRAPS)
    return code.host.module.with_devices([as_functions(device, device.load(code.source.encode()))])


def check_on_device(computation: Computation, function: Function, code: CompiledModule, rng: Random) -> bool:
    """Raise WrongResultError unless the loops of a schedule, and its kernels, thread by thread, compute what the
    definition says in the interpreter, which traps races, and on a device; False where this one can't judge.

    OpenCL is the machine's: PoCL 3.1 fails by an assertion about some barriers in branches, although all threads take
    them. Kernels of Metal are run by threads of this process.
    """
    inputs = computation.arrays(rng)
    wanted = expected(computation, inputs)
    program = code.program
    branches = [s for kernel in program.kernels for s in walk(kernel.body) if isinstance(s, If)]
    kind = code.target.device_kind
    runs = kind is not DeviceKind.OPENCL or not any(isinstance(s, Barrier) for branch in branches for s in walk(branch))

    def loops(*arrays: np.ndarray) -> None:
        loop_oracle.run(function, arrays, computation.symbols)

    def kernels(*arrays: np.ndarray) -> None:
        loop_oracle.run(program.host, arrays, computation.symbols, kernels=program.kernels)

    def native(*arrays: np.ndarray) -> None:
        (run_by_threads(code) if kind is DeviceKind.METAL else code)[SCHEDULED](*arrays)

    calls = {"loop oracle": loops, "loop oracle of kernels": kernels, **({"the device": native} if runs else {})}
    for name, call in calls.items():
        results = [np.zeros_like(a) for a in wanted]
        call(*inputs, *results)
        _compare(computation, results, wanted, name)
    return runs


def check(
    computation: Computation, function: Function, code: CompiledModule, rng: Random, *, oracle: bool,
    emulator: Emulator | None = None, called: CompiledModule | Module | None = None,
) -> None:  # fmt: skip
    """Raise WrongResultError unless a schedule and the default one compute what the definition says, and with `oracle`
    its loops, too, as they are and after the passes for plain programs. `called` has the functions if `code` is text.

    On this machine each runs twice, once with memory that nothing may touch directly behind each array, once directly
    before; in an emulator once, with such memory behind.
    """
    inputs = computation.arrays(rng)
    wanted = expected(computation, inputs)
    library = None if emulator is None else code.library()
    for at_end, name in product((True, False) if emulator is None else (True,), ("plain", SCHEDULED)):
        arrays = [guarded(a, at_end) for a in inputs]
        results = [guarded(_garbage(a), at_end) for a in wanted]
        if emulator is None or library is None:
            (code if called is None else called)[name](*arrays, *results)
        else:
            emulator.call(library, name, [*arrays, *results])
        _compare(computation, results, wanted, f"{name} for {code.target}")
    if oracle:
        for name, loops in (("loop oracle", function), ("loop oracle after passes", _passed(function, code))):
            results = [np.zeros_like(a) for a in wanted]
            loop_oracle.run(loops, [*inputs, *results], computation.symbols)
            _compare(computation, results, wanted, name)


def _passed(function: Function, code: CompiledModule) -> Function:
    """The function as the passes for plain programs leave it."""
    machine = Machine.of(code.target)
    return keep_in_registers(vectorize_loops(function, machine), machine)


def _compare(computation: Computation, results: Sequence[np.ndarray], wanted: Sequence[np.ndarray], by: str) -> None:
    for tensor, result, right in zip(computation.outputs, results, wanted, strict=True):
        wrong = np.argwhere(result != right)
        if len(wrong):
            place = tuple(int(i) for i in wrong[0])
            raise WrongResultError(
                f"{by}: expected {right[place]} at {list(place)} of {tensor.name} {list(result.shape)}, "
                f"found {result[place]}; {len(wrong)} elements differ"
            )


def _garbage(like: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"\x5a" * like.nbytes, like.dtype).reshape(like.shape)
