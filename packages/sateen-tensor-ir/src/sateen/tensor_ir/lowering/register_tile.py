"""Elements of a buffer that a loop keeps in registers: which they are, and how they come there and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sateen.tensor_ir.arith import Linear
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import Allocate, For, If, LoopKind, Stmt, Store
from sateen.tensor_ir.ir.visit import SharingRewriter, substitute, walk
from sateen.tensor_ir.lowering.accesses import Accesses, Arm
from sateen.tensor_ir.lowering.registers import RegisterFile

EXPANDED = (LoopKind.UNROLLED, LoopKind.VECTORIZED)
"""The loops whose iterations are registers or lanes."""
SAME = MappingProxyType[Var, Expr]({})


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """The elements of `buffer` at `indices`, over unrolled and vectorized loops and under conditions, the `steps`.

    `lane` is the vectorized loop around, if the indices depend on it.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    steps: tuple[Arm | For, ...]
    lane: For | None = None

    @property
    def loops(self) -> list[For]:
        """The loops among the steps."""
        return [step for step in self.steps if isinstance(step, For)]

    @property
    def dimensions(self) -> list[For]:
        """The loops over the registers, the lanes last."""
        vectors = [loop for loop in self.loops if loop.kind is LoopKind.VECTORIZED]
        return [*(loop for loop in self.loops if loop not in vectors), *vectors, *([self.lane] if self.lane else [])]

    @property
    def lanes(self) -> int:
        """The elements of a vector; 1 if they are scalars."""
        last = self.dimensions[-1] if self.dimensions else None
        return _extent(last) if last is not None and last.kind is LoopKind.VECTORIZED else 1

    def registers(self, name: str) -> Buffer:
        """A buffer for the elements."""
        shape = tuple(loop.extent for loop in self.dimensions) or (ex.const(1),)
        return Buffer(f"{self.buffer.name}.{name}", shape, self.buffer.dtype, Scope.REGISTER)

    def place(self, fresh: Mapping[Var, Expr] = SAME) -> tuple[Expr, ...]:
        """The index of an element's register at the iteration of its loops, whose variables may be replaced."""
        return tuple(ex.subtract(fresh.get(d.var, d.var), d.start) for d in self.dimensions) or (ex.const(0),)

    def loaded_to(self, register: Buffer) -> Stmt:
        """Every element into its register."""
        return self.each(lambda at, place: Store(register, place, Load(self.buffer, at, self.buffer.dtype)))

    def stored_from(self, register: Buffer) -> Stmt:
        """Every element out of its register."""
        return self.each(lambda at, place: Store(self.buffer, at, Load(register, place, self.buffer.dtype)))

    def each(self, store: Callable[[tuple[Expr, ...], tuple[Expr, ...]], Store]) -> Stmt:
        """A store for every element, given its indices and its place among the registers."""
        fresh: dict[Var, Expr] = {loop.var: Var(loop.var.name) for loop in self.loops}
        at = tuple(substitute(i, fresh) for i in self.indices)
        result: Stmt = store(at, self.place(fresh))
        for step in reversed(self.steps):
            if isinstance(step, For):
                var = fresh[step.var]
                assert isinstance(var, Var)
                result = For(var, step.start, step.extent, step.kind, result, span=step.span)
            else:
                result = If(substitute(step.condition, fresh), result)
        return result

    def is_one_to_one(self, forms: Sequence[Linear]) -> bool:
        """Whether different iterations of the loops have different elements, whose indices have these forms: each
        variable alone decides an index."""
        variables = [loop.var for loop in self.dimensions]
        return all(
            any(
                form.terms.get(v, 0) and {n for a in form.terms for n in walk(a)} & {*variables} == {v}
                for form in forms
            )
            for v in variables
        )


def registers_of_stores(s: Stmt, registers: RegisterFile) -> int:
    """The registers of all that a statement stores to memory over the expanded loops inside it, and of those that are
    allocated in it."""
    most: dict[Buffer, int] = {}
    for buffer, accesses in Accesses.beneath(s).of.items():
        for access in accesses:
            if isinstance(access.node, Store) and buffer.scope is not Scope.REGISTER:
                mentioned = {n for i in access.node.indices for n in walk(i)}
                own = (step for step in access.chain if isinstance(step, For) and step.kind in EXPANDED)
                tile = Tile(buffer, access.node.indices, tuple(loop for loop in own if loop.var in mentioned))
                most[buffer] = max(most.get(buffer, 0), registers.count(tile.registers("stored"), tile.lanes))
    return sum(most.values()) + sum(registers.of(n.buffer) for n in walk(s) if isinstance(n, Allocate))


def _extent(loop: For) -> int:
    assert isinstance(loop.extent, ex.Const)
    return int(loop.extent.value)


class Kept(SharingRewriter):
    """Replaces the accesses of a buffer by those of a place in registers."""

    def __init__(self, buffer: Buffer, register: Buffer, place: tuple[Expr, ...]) -> None:
        super().__init__()
        self.buffer = buffer
        self.register = register
        self.place = place

    def rewrite_Load(self, e: Load) -> Expr:
        if e.buffer is self.buffer:
            return Load(self.register, self.place, e.dtype)
        return self.descend(e)

    def rewrite_Store(self, s: Store) -> Stmt:
        if s.buffer is not self.buffer:
            return self.descend(s)
        return Store(self.register, self.place, self.rewrite(s.value), s.span)
