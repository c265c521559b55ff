"""Executes loop IR exactly as docs/semantics.md defines it: the judge of code generators.

It traps faults that hardware does not notice: indices out of bounds, memory that was never written, division by zero,
races between threads and between iterations of a parallel loop, barriers that not all threads reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np

from sateen.runtime.errors import ArgumentError, ExecutionError
from sateen.tensor_ir.interpret.blocks import MemoryPlace, Window, arguments
from sateen.tensor_ir.interpret.memory import Clock, SharedMemory, TrappingMemory
from sateen.tensor_ir.interpret.python_text import Program
from sateen.tensor_ir.interpret.python_writer import passed_on, write_program
from sateen.tensor_ir.interpret.scalars import Trap
from sateen.tensor_ir.interpret.symbols import bind_symbols, check_requirements, evaluate_shape, numbers_of
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Expr, Var, const
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import Function, Stmt
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.ir.visit import children, walk

Array = np.ndarray[Any, Any]


def run(
    function: Function,
    arrays: Sequence[Array],
    symbols: Mapping[Var, float] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    simt: bool | None = None,
    kernels: Iterable[Function | Kernel] = (),
) -> None:
    """Execute `function` on one array per parameter; those of outputs are written in place.

    Outputs count as unwritten at first, unless they are also `aliased`; an element that is never stored keeps its
    value. `symbols` gives extents that no parameter has; `functions` gives the meaning of calls that are not native, on
    float64. `simt` says whether kernels are executed by blocks of threads, as on hardware, or as plain loops; with None
    only those with a barrier are executed by threads. `kernels` are the functions that `Invoke` and `Launch` call by
    name, on the memory of this one; queued work is done at once, so a missing wait is not seen. Raises ArgumentError on
    arrays that do not fit, LoweringError on a malformed function, and ExecutionError, which names the statement and the
    variables in it, on a trap.
    """
    called = {kernel.name: kernel for kernel in kernels}
    for f in (function, *called.values()):
        if isinstance(f, Kernel):
            verify(f.function, scalars=f.scalars)
        else:
            verify(f)
    if len(arrays) != len(function.parameters):
        raise ArgumentError(f"{function.name!r} expects {len(function.parameters)} arrays, found {len(arrays)}")
    named = zip(function.parameters, arrays, strict=True)
    strides = {
        stride: step // array.itemsize
        for b, array in zip(function.parameters, arrays, strict=True)
        for stride, step in zip(b.strides or (), array.strides, strict=False)
        if isinstance(stride, Var)
    }
    given = {**strides, **numbers_of(function, arrays), **(symbols or {})}
    values = bind_symbols([(b.name, b.shape, b.dtype, a) for b, a in named], given)
    check_requirements(function, values)
    memories = _memories(function, arrays, values)
    _Run(called, functions or {}, simt, Clock()).execute(function, memories, values)
    for buffer, array in zip(function.parameters, arrays, strict=True):
        if buffer in function.outputs:
            memories[buffer].copy_to(array)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """The execution of a function, and of the kernels that it invokes."""

    kernels: Mapping[str, Function | Kernel]
    functions: Mapping[str, Callable[..., Any]]
    simt: bool | None
    clock: Clock

    def execute(
        self, function: Function, memories: Mapping[Buffer, TrappingMemory], symbols: Mapping[Var, float]
    ) -> None:
        program = write_program(function, memories, symbols, self.clock, self.functions, self.simt, self)
        _execute(program, function.name)

    def invoke(self, name: str, places: Sequence[MemoryPlace]) -> None:
        kernel = self.kernels.get(name)
        if not isinstance(kernel, Function):
            raise Trap(f"kernel {name!r} is not among those that are given")
        self.execute(kernel, arguments(kernel, places), {})

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        places: Sequence[MemoryPlace],
        scalars: Sequence[int],
    ) -> None:
        kernel = self.kernels.get(name)
        if not isinstance(kernel, Kernel):
            raise Trap(f"kernel {name!r} is not among those that are given")
        if len(scalars) != len(kernel.scalars):
            raise Trap(f"kernel {name!r} expects {len(kernel.scalars)} scalars, found {len(scalars)}")
        x, y, z = map(const, grid)
        a, b, c = block
        body = replace(kernel, grid=(x, y, z), block=(a, b, c)).function
        symbols = dict(zip(kernel.scalars, scalars, strict=True))
        self.execute(body, arguments(body, places, symbols), symbols)


def _memories(
    function: Function, arrays: Sequence[Array], symbols: Mapping[Var, float]
) -> dict[Buffer, TrappingMemory]:
    """The memory of each parameter; parameters that are one array share one."""
    memories: dict[Buffer, TrappingMemory] = {}
    shared: dict[object, TrappingMemory] = {}
    passed = passed_on(function)
    for position, (buffer, array) in enumerate(zip(function.parameters, arrays, strict=True)):
        place = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
        for other, earlier in zip(function.parameters[:position], arrays[:position], strict=True):
            writes = buffer in function.outputs or other in function.outputs
            if writes and np.shares_memory(array, earlier) and memories[other] is not shared.get(place):
                raise ArgumentError(f"arguments {other.name!r} and {buffer.name!r} overlap, but are not the same array")
        if place not in shared:
            defined = buffer not in function.outputs or buffer in function.aliased
            data = array if defined else None
            if passed:
                strides = None if buffer.strides is None else evaluate_shape(buffer.strides, symbols)
                shared[place] = Window.alone(buffer, array.shape, data, strides)
            else:
                shared[place] = SharedMemory(buffer, array.shape, data)
        memories[buffer] = shared[place]
    return memories


def _execute(program: Program, name: str) -> None:
    filename = f"<loop IR of {name}>"
    namespace = dict(program.namespace)
    exec(compile(program.source, filename, "exec"), namespace)
    try:
        with np.errstate(all="ignore"):
            namespace["main"]()
    except (Trap, ZeroDivisionError) as error:
        what = "division by zero" if isinstance(error, ZeroDivisionError) else str(error)
        place = _place(program, filename, error.__traceback__)
        raise ExecutionError(f"{name}: {what}{place}") from None


def _place(program: Program, filename: str, traceback: TracebackType | None) -> str:
    """The statement that was being executed and the values of its variables."""
    origin: Stmt | None = None
    values: Mapping[str, Any] = {}
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == filename:
            origin = program.origins[traceback.tb_lineno - 1] or origin
            values = {**values, **traceback.tb_frame.f_locals}
        traceback = traceback.tb_next
    if origin is None:
        return ""
    used = [v for c in children(origin) if isinstance(c, Expr) for v in walk(c) if isinstance(v, Var)]
    known = {v.name: values[program.names[v]] for v in used if program.names.get(v) in values}
    where = "".join(f"\n  {variable} = {value}" for variable, value in known.items())
    span = f"\n  from {origin.span}" if origin.span is not None else ""
    return f"\n  in {str(origin).splitlines()[0].strip()}{where}{span}"
