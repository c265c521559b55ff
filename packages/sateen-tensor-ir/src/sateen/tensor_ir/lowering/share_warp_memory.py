"""Memory of scope warp becomes memory of the block, of which each warp has a part."""

from __future__ import annotations

from dataclasses import replace

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read, all_written
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import LANE, THREADS, Allocate, For, Intrinsic, Stmt, Store
from sateen.tensor_ir.ir.visit import StatementRewriter, walk
from sateen.tensor_ir.lowering.parts import Part, in_parts, widened


def share_warp_memory(statement: Stmt) -> Stmt:
    """Give each warp, the threads along threadIdx.x, a part of shared memory.

        thread threadIdx.y y in [0, 4):                allocate W: shared float32[4, 8]
          allocate W: warp float32[8]                    thread threadIdx.y y in [0, 4):
          thread threadIdx.x x in [0, 8):                  thread threadIdx.x x in [0, 8):
            W[x] = A[y, x]                       =>          W[y, x] = A[y, x]
          thread threadIdx.x u in [0, 8):                  thread threadIdx.x u in [0, 8):
            B[y, u] = W[7 - u]                               B[y, u] = W[y, 7 - u]

    Memory of instructions that a warp executes together stays: its threads hold it as fragments. Requires that no
    barriers are there yet. Guarantees: no other memory of scope warp. Raises LoweringError if a loop over blocks or
    other threads uses memory that is allocated outside of it, or if its extent is not constant; and for fragments that
    something else accesses.
    """
    return _Sharing().rewrite(statement)


class _Sharing(StatementRewriter):
    def __init__(self) -> None:
        self.open: list[For] = []
        self.shared: list[Allocate] = []
        """The memory of the block that is to be allocated around the outermost loop over warps."""

    def rewrite_For(self, s: For) -> Stmt:
        if s.thread is None:
            return self.descend(s)
        self.open.append(s)
        loop: Stmt = self.descend(s)
        self.open.pop()
        if any(_is_over_warps(outer) for outer in self.open):
            return loop
        while _is_over_warps(s) and self.shared:
            loop = replace(self.shared.pop(), body=loop)
        return loop

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        if s.scope is not Scope.WARP:
            return self.descend(s)
        _check_use(s)
        if _holds_fragments(s):
            return self.descend(s)
        loops = {loop.thread: loop for loop in self.open if _is_over_warps(loop)}.values()
        shared = widened(s.buffer, [_count(loop, s.buffer) for loop in loops], Scope.SHARED)
        part = Part(shared, tuple(loop.var - loop.start for loop in loops))
        body = self.rewrite(in_parts(s.body, {s.buffer: part}))
        allocation = replace(s, buffer=shared, body=body)
        if not loops or any(loop.thread == LANE for loop in self.open):
            return allocation  # the threads of a warp that compute all of it do so together
        self.shared.append(allocation)
        return body


def _is_over_warps(loop: For) -> bool:
    return loop.thread in THREADS and loop.thread != LANE


def _count(loop: For, buffer: Buffer) -> int:
    if not isinstance(loop.extent, ex.Const):
        raise LoweringError(
            f"loop {loop.var.name!r}, bound to {loop.thread}, expects a constant extent around {buffer.name!r} in "
            f"scope warp, found {loop.extent}"
        )
    return int(loop.extent.value)


def _holds_fragments(s: Allocate) -> bool:
    """Whether the threads of a warp hold the memory as fragments. Raises LoweringError if something reads or writes
    single elements of them."""
    users = [n for n in walk(s.body) if isinstance(n, (Store, Intrinsic)) and s.buffer in all_read(n) | all_written(n)]
    together = [n for n in users if isinstance(n, Intrinsic) and _takes_fragments(n, s.buffer)]
    if together and len(together) < len(users):
        other = next(n for n in users if n not in together)
        raise LoweringError(
            f"{s.buffer.name!r} holds results of {together[0].instruction.name!r}, of which each thread of a warp has "
            "a part that only such instructions read; tensorize the stage that reads it with a wmma_store instruction, "
            f"found {str(other).splitlines()[0]}"
        )
    return bool(together)


def _takes_fragments(s: Intrinsic[Instruction], buffer: Buffer) -> bool:
    """Whether an operand of an instruction is in this memory, and declared to be the fragments of a warp's threads."""
    operands = zip(s.instruction.operands, s.regions, strict=True)
    return any(r.buffer is buffer and s.instruction.is_fragment(operand) for operand, r in operands)


def _check_use(s: Allocate) -> None:
    """Check that no warp uses the memory of another one."""
    for loop in walk(s.body):
        if not isinstance(loop, For) or loop.thread in (None, LANE):
            continue
        if s.buffer in all_read(loop) | all_written(loop):
            wider = "shared" if loop.thread in THREADS else "global"
            raise LoweringError(
                f"{s.buffer.name!r} in scope warp is used in loop {loop.var.name!r}, bound to {loop.thread}, but "
                f"computed for all of that loop; compute it inside of it, or call set_scope({wider!r})"
            )
