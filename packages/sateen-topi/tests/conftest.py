"""Fixtures that run computations as native code, and from their definition."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import DeviceError
from sateen.tensor_ir import CompiledModule, Machine, build, build_functions, lower, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.ir import (
    Allocate,
    Buffer,
    Expr,
    For,
    Function,
    LoopKind,
    Seq,
    Stmt,
    Var,
    children,
    substitute,
    walk,
)
from sateen.tensor_ir.lowering import spread_over_threads
from sateen.tensor_ir.targets import Gpu
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View, pack, placeholder, unpack

BLOCK_THREADS = 256
NETWORK_PLACE = 256
"""What places in a network's memory on a device are multiples of, in bytes."""


@pytest.fixture
def computed() -> Callable[..., Any]:
    """computed(f, *arrays): f of views as native code computes it, after a comparison with the definition."""
    return _run


@pytest.fixture
def compiled() -> Callable[..., CompiledModule]:
    """compiled(f, *shapes): the native code of f over float32 views."""

    def compiled(function: Callable[..., Computation], *shapes: tuple[int, ...]) -> CompiledModule:
        return _compile(function, [placeholder(s, "float32", f"x{i}") for i, s in enumerate(shapes)])[1]

    return compiled


def _compile(function: Callable[..., Computation], views: Any) -> tuple[list[te.Tensor], CompiledModule]:
    computation = function(*views)
    tensors = [v.tensor for v in computation.outputs]
    schedule = te.create_schedule(tensors)
    computation.schedule_on(Machine.of("llvm"))(schedule, tensors[0], Machine.of("llvm"))
    return tensors, build(schedule, [*(v.tensor for v in views), *tensors])


def _run(function: Callable[..., Computation], *arrays: np.ndarray) -> Any:
    views = [placeholder(a.shape, str(a.dtype), f"x{i}") for i, a in enumerate(arrays)]
    tensors, module = _compile(function, views)
    results = [np.zeros([int(e.value) for e in t.shape], t.dtype.numpy) for t in tensors]
    module(*arrays, *results)
    expected = evaluate(tensors, {v.tensor: a for v, a in zip(views, arrays, strict=True)})
    for tensor, result, wanted in zip(tensors, results, expected, strict=True):
        if tensor.dtype.is_float:
            bound = {16: 1e-2, 32: 1e-4, 64: 1e-12}[tensor.dtype.bits]
            narrow = np.asarray(wanted).astype(tensor.dtype.numpy)
            np.testing.assert_allclose(np.float64(result), np.float64(narrow), rtol=bound, atol=bound)
        else:
            np.testing.assert_array_equal(result, wanted)
    return results[0] if len(results) == 1 else results


@pytest.fixture
def run_views() -> Callable[..., list[np.ndarray]]:
    """Native code over views in any layout; see `_run_views`."""
    return _run_views


def _run_views(
    computation: Computation,
    views: Sequence[View],
    arrays: Sequence[np.ndarray],
    epilogue: Callable[[View], View] | None = None,
    machine: Machine | None = None,
) -> list[np.ndarray]:
    """The row-major outputs for row-major arrays; `epilogue` is fused behind the only output."""
    outputs = list(computation.outputs) if epilogue is None else [epilogue(computation.view)]
    tensors = [v.tensor for v in outputs]
    schedule = te.create_schedule(tensors)
    computation.schedule_on(machine or Machine.of("llvm"))(schedule, tensors[0], machine or Machine.of("llvm"))
    results = [np.zeros(v.layout.physical_shape(v.shape), v.dtype.numpy) for v in outputs]
    given = [pack(a, v.layout) for a, v in zip(arrays, views, strict=True)]
    build(schedule, [*(v.tensor for v in views), *tensors])(*given, *results)
    return [unpack(r, v.shape, v.layout) for r, v in zip(results, outputs, strict=True)]


@pytest.fixture
def on_device() -> Callable[..., list[np.ndarray]]:
    """A computation's outputs on the first OpenCL device, from row-major arrays; skipped without one."""
    try:
        runtime.open_device(runtime.Device.of("opencl"))
    except DeviceError as error:
        pytest.skip(str(error))
    return _on_device


def _on_device(
    function: Callable[..., Computation],
    *arrays: np.ndarray,
    epilogue: Callable[[View], View] | None = None,
    target: str = "opencl",
) -> list[np.ndarray]:
    """The outputs of function(views), scheduled for a target of OpenCL; `epilogue` is fused behind the only one. What
    the schedule leaves unbound gets threads as in networks."""
    views = [placeholder(a.shape, str(a.dtype), f"x{i}") for i, a in enumerate(arrays)]
    outputs, lowered = _for_device(function, views, epilogue, Machine.of(target))
    module = build_functions([lowered], target)
    results = [np.zeros(v.shape, v.dtype.numpy) for v in outputs]
    there = [runtime.array(a, device="opencl(0)") for a in (*arrays, *results)]
    module(*there)
    return [a.numpy() for a in there[len(arrays) :]]


def _for_device(
    function: Callable[..., Computation],
    views: Sequence[View],
    epilogue: Callable[[View], View] | None,
    machine: Machine,
) -> tuple[list[View], Function]:
    """The outputs of function(views), and the loops for a device."""
    computation = function(*views).on(machine)
    outputs = list(computation.outputs) if epilogue is None else [epilogue(computation.view)]
    tensors = [v.tensor for v in outputs]
    schedule = te.create_schedule(tensors)
    computation.schedule_on(machine)(schedule, tensors[0], machine)
    arguments = [*(v.tensor for v in views), *tensors]
    places = {t: Buffer(t.name, t.shape, t.dtype, alignment=NETWORK_PLACE) for t in arguments}
    return outputs, spread_over_threads(lower(schedule, arguments, buffers=places), BLOCK_THREADS)


@pytest.fixture
def kernels() -> Callable[..., list[For]]:
    """kernels(f, target, *shapes): the nests of f over float32 views for the kernels of a target, in order."""

    def kernels(function: Callable[..., Computation], target: str, *shapes: tuple[int, ...]) -> list[For]:
        views = [placeholder(s, "float32", f"x{i}") for i, s in enumerate(shapes)]
        statement = _for_device(function, views, None, Machine.of(target))[1].body
        while isinstance(statement, Allocate):
            statement = statement.body
        nests = list(statement.body) if isinstance(statement, Seq) else [statement]
        assert all(isinstance(nest, For) and nest.kind is LoopKind.THREAD for nest in nests)
        return nests

    return kernels


@pytest.fixture
def ptx() -> Callable[..., str]:
    """ptx(f, *shapes, dtype=, target=): the PTX of f over views."""

    def ptx(
        function: Callable[..., Computation],
        *shapes: tuple[int, ...],
        dtype: str = "float32",
        target: str = "cuda -mcpu=sm_80",
    ) -> str:
        views = [placeholder(s, dtype, f"x{i}") for i, s in enumerate(shapes)]
        return build_functions([_for_device(function, views, None, Machine.of(target))[1]], target).source

    return ptx


@pytest.fixture
def turns() -> Callable[[For], int]:
    """The most iterations of nested serial loops that the first thread of a kernel does."""
    return _turns


def _turns(s: Stmt) -> int:
    inner = max((_turns(child) for child in children(s) if isinstance(child, Stmt)), default=1)
    if not isinstance(s, For) or s.kind is LoopKind.THREAD:
        return inner
    first: dict[Var, Expr] = {n: te.const(0) for n in walk(s.extent) if isinstance(n, Var)}
    extent = Analyzer().constant(substitute(s.extent, first))
    assert extent is not None
    return extent * inner


@pytest.fixture
def interpreted() -> Callable[..., list[np.ndarray]]:
    """A computation's outputs as scheduled for a target, by the interpreter, with instructions by their definitions."""
    return _interpreted


def _interpreted(
    function: Callable[..., Computation],
    *arrays: np.ndarray,
    epilogue: Callable[[View], View] | None = None,
    target: str = "cuda -mcpu=sm_80",
) -> list[np.ndarray]:
    views = [placeholder(a.shape, str(a.dtype), f"x{i}") for i, a in enumerate(arrays)]
    outputs, lowered = _for_device(function, views, epilogue, Machine.of(target))
    results = [np.zeros(v.shape, v.dtype.numpy) for v in outputs]
    run(lowered, [*arrays, *results])
    return results


@pytest.fixture
def by_threads() -> Callable[..., list[np.ndarray]]:
    """A computation's outputs for a device with blocks of 8 threads in warps of 4, by the interpreter, which executes
    thread by thread and traps races and missing barriers."""
    return _by_threads


SMALL = Gpu(units=2, unit_threads=16, warp=4, block_threads=8, shared_bytes=512, thread_registers=64, bandwidth=1e9)


def _by_threads(function: Callable[..., Computation], *arrays: np.ndarray) -> list[np.ndarray]:
    views = [placeholder(a.shape, str(a.dtype), f"x{i}") for i, a in enumerate(arrays)]
    outputs, lowered = _for_device(function, views, None, replace(Machine.of("opencl"), gpu=SMALL))
    program = build_functions([lowered], "opencl").program
    results = [np.zeros(v.shape, v.dtype.numpy) for v in outputs]
    run(program.host, [*arrays, *results], kernels=program.kernels, simt=True)
    return results


@pytest.fixture(params=["by_threads", "on_device"])
def as_defined(request: pytest.FixtureRequest) -> Callable[..., None]:
    """as_defined(f, *arrays): what a device computes, by the interpreter and by OpenCL, is what f means; `rtol` is the
    error of a sum in another order, in proportion to the largest element."""
    on_threads = request.getfixturevalue(request.param)

    def compared(function: Callable[..., Computation], *arrays: np.ndarray, rtol: float = 0.0) -> None:
        views = [placeholder(a.shape, str(a.dtype), f"x{i}") for i, a in enumerate(arrays)]
        tensors = [v.tensor for v in function(*views).outputs]
        expected = evaluate(tensors, {v.tensor: a for v, a in zip(views, arrays, strict=True)})
        for result, wanted in zip(on_threads(function, *arrays), expected, strict=True):
            exact = np.asarray(wanted).astype(result.dtype)
            if rtol == 0:
                np.testing.assert_array_equal(result, exact)
            else:
                np.testing.assert_allclose(result, exact, rtol=0, atol=rtol * np.abs(exact).max(initial=0))

    return compared


@pytest.fixture
def view() -> Callable[..., View]:
    """A view for an array: view(array, name, layout)."""

    def view(array: np.ndarray, name: str, layout: Layout | None = None) -> View:
        return placeholder(array.shape, str(array.dtype), name, layout)

    return view


@pytest.fixture
def error() -> Callable[[np.ndarray, np.ndarray], float]:
    """The largest difference over the largest magnitude."""

    def error(found: np.ndarray, expected: np.ndarray) -> float:
        assert found.shape == expected.shape
        return float(np.abs(found.astype(np.float64) - expected).max() / max(np.abs(expected).max(), 1e-30))

    return error


@pytest.fixture
def lanes() -> int:
    """The float32 elements of a vector of this machine."""
    return Machine.of("llvm").lanes()


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)
