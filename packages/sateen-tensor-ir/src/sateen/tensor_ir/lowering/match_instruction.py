"""The instruction in the place of a stage's inner loops, if its definition says what they compute.

Both are brought to one form: axes of the loops stand for axes of the definition, operands are read at affine indices,
and everything else is the same expression. docs/design/tensorize.md has the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NoReturn

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.element import Element, element_of
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar, Var
from sateen.tensor_ir.ir.stmt import Intrinsic, Region, intrinsic
from sateen.tensor_ir.ir.tensor_expr import Combiner, Read
from sateen.tensor_ir.ir.visit import children, substitute, walk
from sateen.tensor_ir.te.tensor import Tensor

COMMUTATIVE = (ex.Add, ex.Mul, ex.Min, ex.Max, ex.And, ex.Or, ex.EQ, ex.NE)
Operands = Mapping[Tensor, Load]
Axes = Mapping[IterVar, IterVar]


class _Different(Exception):  # noqa: N818 - it carries an answer
    """The first difference between a stage and a definition."""


@dataclass(frozen=True, slots=True, eq=False)
class InnerLoops:
    """The loops of a stage that an instruction is to replace: `leaves` with their extents.

    Each iteration computes `term` and stores it in `result`, or combines it with what is there if there is a
    `combiner`. `outer_reduce` are the reduce loops around.
    """

    leaves: Mapping[IterVar, Expr]
    result: Load
    term: Expr
    combiner: Combiner | None
    outer_reduce: Sequence[IterVar]


def match_instruction(
    instruction: TensorIntrinsic, loops: InnerLoops, where: str, analyzer: Analyzer
) -> tuple[Intrinsic[TensorIntrinsic], bool]:
    """The instruction for these loops, and whether it starts from what the result holds.

    Raises ScheduleError, which begins with `where` and tells the first difference.
    """
    element = element_of(instruction)
    matcher = _Matcher(instruction, element, loops, analyzer)
    try:
        return matcher.statement(), element.state is not None
    except _Different as difference:
        raise ScheduleError(f"{where}: the loops are not what {instruction.name!r} computes: {difference}") from None


class _Matcher:
    def __init__(self, instruction: TensorIntrinsic, element: Element, loops: InnerLoops, analyzer: Analyzer) -> None:
        self.instruction = instruction
        self.element = element
        self.loops = loops
        self.analyzer = analyzer

    def statement(self) -> Intrinsic[TensorIntrinsic]:
        self._check_reduction()
        output = self.instruction.outputs[0]
        known: dict[Tensor, Load] = {output: self.loops.result}
        if self.element.state is not None:
            known[self.element.state] = self.loops.result
        first: _Different | None = None
        for axes in self._pairings():
            try:
                for operands in self._same(self.element.term, self.loops.term, known):
                    try:
                        regions = [self._region(t, operands[t], axes) for t in self.instruction.operands]
                    except _Different as difference:
                        first = first or difference
                    else:
                        return intrinsic(self.instruction, regions[:1], regions[1:])
            except _Different as difference:
                first = first or difference
        assert first is not None
        raise first

    def _check_reduction(self) -> None:
        expected, found = self.element.combiner, self.loops.combiner
        if (expected is None) != (found is None):
            kinds = ["a reduction" if combiner else "element by element" for combiner in (expected, found)]
            self._differ("it", kinds[0], f"a stage that is {kinds[1]}")
        if expected is None or found is None:
            return
        names = dict(zip((*found.left, *found.right), (*expected.left, *expected.right), strict=False))
        alike = len(found.results) == 1 and all(
            self.analyzer.keys.of(substitute(there, names)) == self.analyzer.keys.of(here)
            for here, there in zip(
                (*expected.results, *expected.identity), (*found.results, *found.identity), strict=True
            )
        )
        if not alike:
            self._differ(
                "the reduction",
                f"{expected.name} of {expected.left[0].dtype}",
                f"{found.name} of {found.left[0].dtype}",
            )
        if self.element.state is None and self.loops.outer_reduce:
            outer = ", ".join(axis.name for axis in self.loops.outer_reduce)
            self._differ("the reduction", "all of its loops inside, since it starts from nothing", f"{outer} outside")

    def _pairings(self) -> Iterator[Axes]:
        """Loops for the axes of the definition, of the same kinds and extents; those of one iteration need none."""
        found = []
        for kind, axes in ((AxisKind.DATA, self.element.axes), (AxisKind.REDUCE, self.element.reduce_axes)):
            wanted = [axis for axis in axes if not ex.is_const(axis.extent, 1)]
            given = [
                leaf
                for leaf, extent in self.loops.leaves.items()
                if leaf.kind is kind and self.analyzer.constant(extent) != 1
            ]
            pairings = [
                dict(zip(wanted, order, strict=True))
                for order in permutations(given, len(wanted))
                if len(given) == len(wanted)
                and all(
                    self.analyzer.constant(self.loops.leaves[leaf]) == self.analyzer.constant(axis.extent)
                    for axis, leaf in zip(wanted, order, strict=True)
                )
            ]
            if not pairings:
                extents = [f"{axis.name} of {axis.extent}" for axis in wanted]
                loops = [f"{leaf.name} of {self.loops.leaves[leaf]}" for leaf in given]
                self._differ(f"{kind.value} loops", ", ".join(extents) or "none", ", ".join(loops) or "none")
            found.append(pairings)
        return ({**data, **reduce} for data in found[0] for reduce in found[1])

    def _same(self, expected: Expr, found: Expr, known: Operands) -> Iterator[Operands]:
        """The operands with which the definition's expression is the stage's, in each way that there is."""
        if isinstance(expected, Read):
            name = f"operand {expected.tensor.name!r}"
            if not isinstance(found, Load):
                self._differ(name, f"an element of {expected.dtype}", found)
            if found.dtype != expected.dtype:
                self._differ(name, str(expected.dtype), f"{found.dtype} of {found.buffer.name!r}")
            held = known.get(expected.tensor)
            if held is not None and self.analyzer.keys.of(held) != self.analyzer.keys.of(found):
                self._differ(name, held, found)
            yield {**known, expected.tensor: found}
            return
        if type(expected) is not type(found) or expected.dtype != found.dtype or isinstance(expected, Var):
            self._differ("the computation", f"{expected} of {expected.dtype}", f"{found} of {found.dtype}")
        if isinstance(expected, ex.Const) and not ex.is_const(found, expected.value):
            self._differ("the computation", expected, found)
        if isinstance(expected, ex.Call) and isinstance(found, ex.Call) and expected.name != found.name:
            self._differ("the computation", expected, found)
        parts, given = children(expected), children(found)
        orders = [given, given[::-1]] if isinstance(expected, COMMUTATIVE) else [given]
        first: _Different | None = None
        matched = False
        for order in orders:
            try:
                for operands in self._same_many(parts, order, known):
                    matched = True
                    yield operands
            except _Different as difference:
                first = first or difference
        if not matched and first is not None:
            raise first

    def _same_many(self, expected: Sequence[object], found: Sequence[object], known: Operands) -> Iterator[Operands]:
        if len(expected) != len(found):
            self._differ("the computation", f"{len(expected)} operands", len(found))
        if not expected:
            yield known
            return
        one, other = expected[0], found[0]
        assert isinstance(one, Expr)
        assert isinstance(other, Expr)
        for operands in self._same(one, other, known):
            yield from self._same_many(expected[1:], found[1:], operands)

    def _region(self, operand: Tensor, load: Load, axes: Axes) -> Region:
        """The block of the buffer that an operand stands for."""
        name = f"operand {operand.name!r}"
        shape = self.instruction.shape_of(operand)
        address = self._affine(load, name)
        expected = self._steps(operand, shape)
        for axis, leaf in axes.items():
            if expected.get(axis, 0) != address.get(leaf, 0):
                self._differ(
                    f"{name} along {axis.name} (loop {leaf.name})",
                    f"stride {expected.get(axis, 0)}",
                    f"{address.get(leaf, 0)} in {load}",
                )
        start: dict[Var, Expr] = {leaf: ex.const(0) for leaf in self.loops.leaves}
        first = tuple(self.analyzer.simplify(substitute(i, start)) for i in load.indices)
        extents = tuple(self._extent(i) for i in load.indices)
        blocks = [[e for e in sizes if e != 1] for sizes in (shape, extents)]
        if blocks[0] != blocks[1]:
            self._differ(name, f"a block of {list(shape)}", f"one of {list(extents)} of {load.buffer.name!r}")
        return Region(load.buffer, first, extents)

    def _steps(self, operand: Tensor, shape: Sequence[int]) -> dict[Expr, int]:
        """How many elements an axis of the definition moves on in an operand."""
        if operand in self.instruction.outputs or operand is self.element.state:
            indices: tuple[Expr, ...] = self.element.axes
        else:
            indices = next(n.indices for n in walk(self.element.term) if isinstance(n, Read) and n.tensor is operand)
        offset: Expr = ex.const(0)
        for index, extent in zip(indices, shape, strict=True):
            offset = offset * extent + index
        return dict(self.analyzer.form(offset).terms)

    def _affine(self, load: Load, name: str) -> dict[Expr, int]:
        """How many elements a loop moves on in the buffer of a load."""
        offset: Expr = ex.const(0)
        for index, stride in zip(load.indices, load.buffer.stride_exprs(), strict=True):
            offset = offset + index * stride
        terms = dict(self.analyzer.form(offset).terms)
        for atom in terms:
            inside = [leaf for leaf in self.loops.leaves if atom is not leaf and leaf in set(walk(atom))]
            if inside:
                self._differ(name, f"indices affine in {inside[0].name}", load)
        return terms

    def _extent(self, index: Expr) -> int:
        """How far an index moves over the loops, plus one."""
        terms = self.analyzer.form(index).terms
        steps = [(terms[leaf], self.analyzer.constant(n)) for leaf, n in self.loops.leaves.items() if leaf in terms]
        return 1 + sum(step * (count - 1) for step, count in steps if count is not None)

    def _differ(self, what: str, expected: object, found: object) -> NoReturn:
        raise _Different(f"{what}: expected {expected}, found {found}")
