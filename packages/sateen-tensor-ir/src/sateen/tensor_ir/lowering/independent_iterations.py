"""The body of a loop whose iterations may run together: what it accesses, and whether they depend on each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from sateen.tensor_ir.arith import Analyzer, Linear
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.external import is_external
from sateen.tensor_ir.ir.stmt import For, If, Seq, Stmt, Store, lets
from sateen.tensor_ir.ir.visit import Node, children, walk


class DependentError(Exception):
    """Iterations can't run together; the text says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A load or a store, its flat offset, and whether only some iterations may perform it."""

    access: Load | Store
    offset: Linear
    is_optional: bool = False

    def __str__(self) -> str:
        return f"{self.access.buffer.name}[{', '.join(map(str, self.access.indices))}]"


@dataclass(slots=True, eq=False)
class LoopBody:
    """What the body of a loop over `var` does, and the variables bound in it; `varying` differ between iterations.

    `sums` are the stores to elements that a loop inside adds to.
    """

    var: Var
    stores: list[Place] = field(default_factory=list)
    loads: list[Place] = field(default_factory=list)
    calls: list[ex.Call] = field(default_factory=list)
    bound: set[Node] = field(default_factory=set)
    varying: set[Node] = field(default_factory=set)
    sums: list[Store] = field(default_factory=list)
    nodes: int = 0
    has_loop: bool = False

    @staticmethod
    def of(loop: For, analyzer: Analyzer, aliased: Collection[Buffer]) -> LoopBody:
        """The body of a loop whose iterations are independent, and do not change what its range reads: so the range may
        be written more than once. Raises DependentError for others, and for bodies with other statements than stores,
        lets, branches and serial loops that are the same in all iterations."""
        body = LoopBody(loop.var, varying={loop.var})
        with analyzer.bound(loop.var, loop.start, loop.extent):
            body._enter(loop.body, analyzer, ())
        if not body.stores:
            raise DependentError("it stores nothing")
        body._check_order(analyzer, aliased)
        body._check_range(loop, aliased)
        return body

    @property
    def places(self) -> list[Place]:
        return [*self.stores, *self.loads]

    def differs(self, nodes: Iterable[Node]) -> bool:
        """Whether one of these nodes differs between iterations."""
        return not self.varying.isdisjoint(nodes)

    def stride(self, place: Place) -> int | None:
        """The distance of the elements of consecutive iterations; None if that is not one number."""
        if any(atom is not self.var and self.differs(walk(atom)) for atom in place.offset.terms):
            return None
        return place.offset.terms.get(self.var, 0)

    def _enter(self, s: Stmt, analyzer: Analyzer, inside: tuple[Var, ...]) -> None:
        around, s = lets(s)
        for let in around:
            self._values([let.value], analyzer)
            self.bound.add(let.var)
            if self.differs(walk(let.value)):
                self.varying.add(let.var)
        self.nodes += 1
        match s:
            case Seq():
                for child in s.body:
                    self._enter(child, analyzer, inside)
            case Store():
                self.stores.append(self._place(s, analyzer))
                self._values([*s.indices, s.value], analyzer)
                if inside and not {*inside} & {n for i in s.indices for n in walk(i)}:
                    self.sums.append(s)
            case If():
                if self.differs(walk(s.condition)):
                    raise DependentError(f"the condition {s.condition} differs between lanes")
                self._values([s.condition], analyzer)
                for arm in (s.then, s.otherwise):
                    if arm is not None:
                        self._enter(arm, analyzer, inside)
            case For():
                if self.differs(walk(s.start)) or self.differs(walk(s.extent)):
                    raise DependentError(f"the range of loop {s.var.name} differs between lanes")
                self._values([s.start, s.extent], analyzer)
                self.has_loop = True
                self.bound.add(s.var)
                with analyzer.bound(s.var, s.start, s.extent):
                    self._enter(s.body, analyzer, (*inside, s.var))
            case _:
                raise DependentError(f"it contains {str(s).splitlines()[0].strip().rstrip(':')}")

    def _values(self, roots: Sequence[Expr], analyzer: Analyzer) -> None:
        """The loads and calls in expressions."""
        optional = {n for root in roots for n in self._optional(root)}
        for node in dict.fromkeys(n for root in roots for n in walk(root)):
            self.nodes += 1
            if isinstance(node, Load):
                is_optional = node in optional and not is_in_bounds(node, analyzer)
                self.loads.append(self._place(node, analyzer, is_optional))
            elif isinstance(node, Address) or (isinstance(node, ex.Call) and is_external(node.name)):
                raise DependentError(f"it calls a function that may do anything: {node}")
            elif isinstance(node, ex.Call):
                self.calls.append(node)

    def _optional(self, root: Expr) -> Iterable[Node]:
        """The nodes of operands that only some iterations evaluate."""
        for choice in walk(root):
            if isinstance(choice, (ex.Select, ex.And, ex.Or)):
                test, *operands = children(choice)
            elif isinstance(choice, ex.Piecewise):
                test, operands = choice.index, [*choice.branches]
            else:
                continue
            if self.differs(walk(test)):
                yield from (n for operand in operands for n in walk(operand))

    def _place(self, access: Load | Store, analyzer: Analyzer, is_optional: bool = False) -> Place:
        if access.buffer.scope is Scope.REGISTER:
            raise DependentError(f"it uses {access.buffer.name}, which is in registers")
        return Place(access, analyzer.form(access.buffer.offset(access.indices)), is_optional)

    def _check_order(self, analyzer: Analyzer, aliased: Collection[Buffer]) -> None:
        """Check that no iteration reads or writes what another one writes."""
        stored = {place.access.buffer for place in self.stores}
        if not stored.isdisjoint(aliased) and (len(self.stores) > 1 or self.has_loop):
            raise DependentError("arguments that it stores to may overlap others")
        for place in self.stores:
            if not any(self.differs(walk(i)) for i in place.access.indices):
                raise DependentError(f"each iteration stores to {place}")
        for buffer in stored:
            accesses = [place.access.indices for place in self.places if place.access.buffer is buffer]
            if not any(self._separates(indices, analyzer) for indices in zip(*accesses, strict=True)):
                raise DependentError(f"iterations may share elements of {buffer.name}")

    def _check_range(self, loop: For, aliased: Collection[Buffer]) -> None:
        """Check that the range of the loop has one value, however often it is evaluated."""
        for node in (n for root in (loop.start, loop.extent) for n in walk(root)):
            if isinstance(node, ex.Call) and is_external(node.name):
                raise DependentError(f"its range calls a function that may do anything: {node}")
        stored, read = {place.access.buffer for place in self.stores}, all_read(loop.start, loop.extent)
        for buffer in stored & read:
            raise DependentError(f"it changes {buffer.name}, which its range reads")
        if not stored.isdisjoint(aliased) and not read.isdisjoint(aliased):
            raise DependentError("arguments that it stores to may overlap those that its range reads")

    def _separates(self, indices: Sequence[Expr], analyzer: Analyzer) -> bool:
        """Whether an index is the same in all accesses, and differs from iteration to iteration."""
        first, *others = map(analyzer.form, indices)
        if not first.terms.get(self.var, 0) or not all(first.same(other) for other in others):
            return False
        inner = self.bound | self.varying
        return all(atom is self.var or inner.isdisjoint(walk(atom)) for atom in first.terms)


def is_in_bounds(load: Load, analyzer: Analyzer) -> bool:
    """Whether an access is within its buffer for all values of the variables that are known."""
    for index, extent in zip(load.indices, load.buffer.shape, strict=True):
        low, high = analyzer.interval(analyzer.form(index))
        if low is None or high is None or low < 0 or not isinstance(extent, ex.Const) or high >= extent.value:
            return False
    return True
