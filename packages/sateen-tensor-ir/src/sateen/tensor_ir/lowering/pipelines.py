"""The passes of loop IR in order: those for the nest of a schedule, then those for each kind of target.

Nothing else rewrites code: an emitter writes the text of its pipeline's result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from sateen.runtime.device import Device, cuda, metal, opencl, rocm, webgpu
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir.stmt import Function, Stmt
from sateen.tensor_ir.lowering.call_traces import call_traces
from sateen.tensor_ir.lowering.check_expansion import check_expansion
from sateen.tensor_ir.lowering.cut_expressions import cut_expressions
from sateen.tensor_ir.lowering.drop_unread import drop_unread
from sateen.tensor_ir.lowering.expand_calls import IntrinsicRules, expand_calls
from sateen.tensor_ir.lowering.expand_instructions import expand_instructions
from sateen.tensor_ir.lowering.fold_blocks import fold_blocks
from sateen.tensor_ir.lowering.index_width import shorten_fixed_indices, shorten_indices
from sateen.tensor_ir.lowering.insert_barriers import insert_barriers
from sateen.tensor_ir.lowering.interleave_threads import interleave_threads
from sateen.tensor_ir.lowering.join_accesses import join_accesses
from sateen.tensor_ir.lowering.keep_in_registers import keep_in_registers
from sateen.tensor_ir.lowering.leave_loops import leave_loops
from sateen.tensor_ir.lowering.limit_data_indices import limit_data_indices
from sateen.tensor_ir.lowering.partition_loops import partition_loops
from sateen.tensor_ir.lowering.promote_accumulators import promote_accumulators
from sateen.tensor_ir.lowering.refuse_flushing import refuse_flushing
from sateen.tensor_ir.lowering.refuse_imports import refuse_imports
from sateen.tensor_ir.lowering.remarks import Listener, unheard
from sateen.tensor_ir.lowering.separate_lanes import separate_lanes
from sateen.tensor_ir.lowering.serial_loops import serialize_loops
from sateen.tensor_ir.lowering.share_warp_memory import share_warp_memory
from sateen.tensor_ir.lowering.shuffle_in_warps import shuffle_in_warps
from sateen.tensor_ir.lowering.simplify import simplify
from sateen.tensor_ir.lowering.skip_regions import skip_regions
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram, split_host_device
from sateen.tensor_ir.lowering.split_tasks import HostProgram, split_tasks
from sateen.tensor_ir.lowering.tighten_loops import tighten_loops
from sateen.tensor_ir.lowering.unroll_register_loops import unroll_register_loops
from sateen.tensor_ir.lowering.unroll_requested import unroll_requested
from sateen.tensor_ir.lowering.vectorize_loops import vectorize_loops
from sateen.tensor_ir.targets import Machine

Pass = Callable[[Stmt, Analyzer], Stmt]
"""Gets the body of a function and an analyzer, which has met the loops of the schedule; gives the body after it."""

PASSES: tuple[Pass, ...] = (
    skip_regions,
    call_traces,
    interleave_threads,
    separate_lanes,
    cut_expressions,
    simplify,
    tighten_loops,
    partition_loops,
    simplify,
    tighten_loops,
    simplify,
    unroll_requested,
)
"""The passes for a nest, in order; the verifier runs after each that changes it."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The treatment of calls: the rules that rewrite them, and the names that the emitter spells."""

    rules: IntrinsicRules
    kept: frozenset[str]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a pass may ask about: the treatment of calls, the machine, who listens to remarks, and whether the emitter
    spells an instruction."""

    calls: Calls
    machine: Machine
    listener: Listener = unheard
    spells: Callable[[TensorIntrinsic], bool] = lambda _: True


def pass_name(transform: Pass) -> str:
    """The name of the function, which arguments bound by functools.partial don't change."""
    while isinstance(transform, partial):
        transform = transform.func
    return getattr(transform, "__name__", type(transform).__name__)


FunctionPass = Callable[[Function, Setting], Function]
Observer = Callable[[str, Function, Function], None]
"""Gets the name of a pass, the function before it and the function after it."""
Program = TypeVar("Program", HostProgram, DeviceProgram)


@dataclass(frozen=True, slots=True)
class Pipeline(Generic[Program]):
    """The passes of a kind of target, by name, and the split whose result its emitter writes."""

    passes: tuple[tuple[str, FunctionPass], ...]
    split: Callable[[Function], Program]

    def run(self, function: Function, setting: Setting, observe: Observer | None = None) -> Program:
        """The emitter's input for a function. Raises CodegenError and LoweringError as the passes do."""
        for name, transform in self.passes:
            before, function = function, transform(function, setting)
            if observe is not None:
                observe(name, before, function)
        return self.split(function)


DEVICE_INDEX_BITS = 32
"""The bits of a kernel's indices if they suffice: graphics processors are made for this width."""
WEBGPU_BLOCKS = 65535
"""The blocks along an axis that every device of WebGPU takes (WebGPU, 3.6.2: maxComputeWorkgroupsPerDimension)."""
C_INDEX_BITS = 32
"""The bits that C's fastest type for indices has at least: two registers are one too many on a small processor."""


def _expand(function: Function, setting: Setting) -> Function:
    return _with_body(function, expand_calls(function.body, setting.calls.rules, setting.calls.kept))


def _with_body(function: Function, body: Stmt) -> Function:
    """The function with this body; the same object if it has it."""
    return function if body is function.body else replace(function, body=body)


def _without_foreign(function: Function, setting: Setting) -> Function:
    return expand_instructions(function, setting.spells)


def _with_accumulators(function: Function, setting: Setting) -> Function:
    return promote_accumulators(function, setting.machine, setting.listener)


def _with_moves(function: Function, setting: Setting) -> Function:
    gpu = setting.machine.gpu
    assert gpu is not None
    return join_accesses(function, gpu.access_bytes)


LLVM = Pipeline(
    (
        ("leave_loops", lambda function, setting: leave_loops(function, setting.listener)),
        ("expand_instructions", _without_foreign),
        ("vectorize_loops", lambda function, setting: vectorize_loops(function, setting.machine, setting.listener)),
        ("keep_in_registers", lambda function, setting: keep_in_registers(function, setting.machine, setting.listener)),
        ("expand_calls", _expand),
        ("check_expansion", lambda function, _: check_expansion(function)),
    ),
    split_tasks,
)
C = Pipeline(
    (
        ("refuse_imports", lambda function, _: refuse_imports(function)),
        ("refuse_flushing", lambda function, _: refuse_flushing(function)),
        ("expand_instructions", _without_foreign),
        ("expand_calls", _expand),
    ),
    lambda function: shorten_fixed_indices(split_tasks(function), C_INDEX_BITS),
)


def _with_shuffles(function: Function, setting: Setting) -> Function:
    gpu = setting.machine.gpu
    return function if gpu is None else _with_body(function, shuffle_in_warps(function.body, gpu.warp))


def _kernels_as_text(
    device: Device, *own: tuple[str, FunctionPass], most_blocks: int | None = None
) -> Pipeline[DeviceProgram]:
    """The passes for kernels whose text another compiler reads, which keeps values in registers itself: `own` those
    that not all devices need. The device takes `most_blocks` along an axis."""

    def split(function: Function) -> DeviceProgram:
        program = split_host_device(function, device)
        program = replace(program, kernels=tuple(replace(k, body=drop_unread(k.body)) for k in program.kernels))
        folded = program if most_blocks is None else fold_blocks(program, most_blocks)
        return shorten_indices(folded, DEVICE_INDEX_BITS)

    return Pipeline(
        (
            ("refuse_imports", lambda function, _: refuse_imports(function)),
            ("refuse_flushing", lambda function, _: refuse_flushing(function)),
            ("expand_instructions", _without_foreign),
            ("expand_calls", _expand),
            *own,
            ("share_warp_memory", lambda function, _: replace(function, body=share_warp_memory(function.body))),
            ("insert_barriers", lambda function, _: _with_body(function, insert_barriers(function.body))),
        ),
        split,
    )


def _kernels_by_llvm(device: Device, *own: tuple[str, FunctionPass]) -> Pipeline[DeviceProgram]:
    """The passes for kernels of which LLVM makes the code: `own` those that not all devices need."""
    return Pipeline(
        (
            ("refuse_imports", lambda function, _: refuse_imports(function)),
            ("refuse_flushing", lambda function, _: refuse_flushing(function)),
            ("leave_loops", lambda function, setting: leave_loops(function, setting.listener)),
            ("expand_instructions", _without_foreign),
            ("serialize_loops", lambda function, _: serialize_loops(function)),
            ("promote_accumulators", _with_accumulators),
            ("unroll_register_loops", lambda function, _: unroll_register_loops(function)),
            ("expand_calls", _expand),
            ("check_expansion", lambda function, _: check_expansion(function)),
            *own,
            ("share_warp_memory", lambda function, _: replace(function, body=share_warp_memory(function.body))),
            ("insert_barriers", lambda function, _: _with_body(function, insert_barriers(function.body))),
        ),
        lambda function: shorten_indices(split_host_device(function, device), DEVICE_INDEX_BITS),
    )


_SHUFFLE = ("shuffle_in_warps", _with_shuffles)
_JOIN = ("join_accesses", _with_moves)
OPENCL = _kernels_as_text(opencl(), _JOIN)
CUDA_C = _kernels_as_text(cuda(), _JOIN, _SHUFFLE)
METAL = _kernels_as_text(metal(), _JOIN, _SHUFFLE)
WEBGPU = _kernels_as_text(
    webgpu(), ("limit_data_indices", lambda function, _: limit_data_indices(function)), most_blocks=WEBGPU_BLOCKS
)
CUDA = _kernels_by_llvm(cuda(), _SHUFFLE)
ROCM = _kernels_by_llvm(rocm())
