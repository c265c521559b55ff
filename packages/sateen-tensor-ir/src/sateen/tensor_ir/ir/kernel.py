"""Kernels, which the threads of a device execute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import THREAD_TAGS, Allocate, For, Function, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import walk


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A body that each thread executes, without loops over threads.

    `buffers` are in global memory, in the order of the arguments; `scalars` follow them. `axes` are the variables of
    the hardware axes. `grid` counts blocks and may depend on scalars, `block` counts the threads of one: x, y, z.
    Indices are computed in `index_bits`, which suffice for all of them.
    """

    name: str
    buffers: tuple[Buffer, ...]
    outputs: frozenset[Buffer]
    aliased: frozenset[Buffer]
    scalars: tuple[Var, ...]
    axes: Mapping[str, Var]
    grid: tuple[Expr, Expr, Expr]
    block: tuple[int, int, int]
    body: Stmt
    index_bits: int = 64

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory of one block."""
        return sum(b.dtype.bytes * (b.size() or 0) for b in self.shared_buffers)

    @property
    def shared_buffers(self) -> tuple[Buffer, ...]:
        """The buffers that the threads of a block share."""
        allocations = (n.buffer for n in walk(self.body) if isinstance(n, Allocate) and n.scope is Scope.SHARED)
        return tuple(dict.fromkeys(allocations))

    @property
    def private_buffers(self) -> tuple[Buffer, ...]:
        """The buffers of which each thread has its own."""
        private = (Scope.LOCAL, Scope.REGISTER)
        return tuple(dict.fromkeys(n.buffer for n in walk(self.body) if isinstance(n, Allocate) and n.scope in private))

    @property
    def function(self) -> Function:
        """The kernel as a function with loops over blocks and threads around the body."""
        body = self.body
        extents = dict(zip(THREAD_TAGS, (*self.grid, *map(ex.const, self.block)), strict=True))
        for tag in reversed(THREAD_TAGS):
            if tag in self.axes:
                body = For(self.axes[tag], ex.const(0), extents[tag], LoopKind.THREAD, body, tag)
        return Function(self.name, self.buffers, self.outputs, body, self.aliased)
