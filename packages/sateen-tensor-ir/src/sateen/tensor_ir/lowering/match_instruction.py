"""The instruction in the place of a stage's inner loops, if its definition says what they compute.

Both are brought to one form: axes of the loops stand for axes of the definition, operands are read at affine indices,
and everything else is the same expression. docs/design/tensorize.md has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations
from math import prod
from typing import NoReturn

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.element import Element, element_of
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.intrinsics.storage import misfit
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar, Var
from sateen.tensor_ir.ir.identity import is_among
from sateen.tensor_ir.ir.stmt import Intrinsic, Region, intrinsic
from sateen.tensor_ir.ir.tensor_expr import Combiner, Read
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import children, substitute, walk
from sateen.tensor_ir.lowering.cut_expressions import always_evaluated
from sateen.tensor_ir.te.tensor import Tensor

MOST_PAIRINGS = 1000
"""The most ways to give loops to axes that are tried, those with the order of the nest first."""
COMMUTATIVE = (ex.Add, ex.Mul, ex.Min, ex.Max, ex.And, ex.Or, ex.EQ, ex.NE)
Operands = Mapping[Tensor, Region]
Groups = Mapping[IterVar, tuple[IterVar, ...]]
"""The loops that together run over an axis of the definition, outermost first."""


class _Different(Exception):  # noqa: N818 - it carries an answer
    """The first difference between a stage and a definition."""


@dataclass(frozen=True, slots=True, eq=False)
class InnerLoops:
    """The loops of a stage that an instruction is to replace: `leaves` with their extents.

    Each iteration computes `terms` and stores them in `results`, or combines them with what is there if there is a
    `combiner`; terms where `where` is false are absent. `outer_reduce` are the reduce loops around.
    """

    leaves: Mapping[IterVar, Expr]
    results: tuple[Load, ...]
    terms: tuple[Expr, ...]
    where: Expr
    combiner: Combiner | None
    outer_reduce: Sequence[IterVar]


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The instruction for some loops. With `adds` it combines what the result holds with more; `reset` is the
    instruction that stores the identity before, if there is one."""

    statement: Intrinsic[TensorIntrinsic]
    adds: bool
    reset: Intrinsic[TensorIntrinsic] | None


def match_instruction(instruction: TensorIntrinsic, loops: InnerLoops, where: str, analyzer: Analyzer) -> Match:
    """The instruction for these loops: its `update` if more of the reduction is around them.

    Raises ScheduleError, which begins with `where` and tells the first difference.
    """
    update = instruction.update
    chosen = update if update is not None and (loops.outer_reduce or not instruction.has_code) else instruction
    element = element_of(chosen)
    try:
        statement = _Matcher(chosen, element, loops, analyzer).statement()
    except _Different as difference:
        raise ScheduleError(f"{where}: the loops are not what {chosen.name!r} computes: {difference}") from None
    reset = None
    if chosen is update and instruction.reset is not None:
        reset = intrinsic(instruction.reset, statement.outputs, [])
    return Match(statement, bool(element.states), reset)


class _Matcher:
    def __init__(self, instruction: TensorIntrinsic, element: Element, loops: InnerLoops, analyzer: Analyzer) -> None:
        self.instruction = instruction
        self.element = element
        self.loops = loops
        self.analyzer = analyzer

    def statement(self) -> Intrinsic[TensorIntrinsic]:
        """The instruction by the first way in which loops stand for all axes."""
        self._check_reduction()
        first: _Different | None = None
        for groups in islice(self._pairings(), MOST_PAIRINGS):
            try:
                return _Pairing(self.instruction, self.element, self.loops, self.analyzer, groups).statement()
            except _Different as difference:
                first = first or difference
        assert first is not None
        raise first

    def _check_reduction(self) -> None:
        expected, found = self.element.combiner, self.loops.combiner
        if (expected is None) != (found is None):
            kinds = ["a reduction" if combiner else "element by element" for combiner in (expected, found)]
            _differ("it", kinds[0], f"a stage that is {kinds[1]}")
        counts = len(self.instruction.outputs), len(self.loops.results)
        if counts[0] != counts[1]:
            _differ("outputs", counts[0], counts[1])
        if expected is None or found is None:
            return
        names = dict(zip((*found.left, *found.right), (*expected.left, *expected.right), strict=True))
        alike = all(
            self.analyzer.keys.of(substitute(there, names)) == self.analyzer.keys.of(here)
            for here, there in zip(
                (*expected.results, *expected.identity), (*found.results, *found.identity), strict=True
            )
        )
        if not alike:
            _differ(
                "the reduction",
                f"{expected.name} of {expected.left[0].dtype}",
                f"{found.name} of {found.left[0].dtype}",
            )
        if not self.element.states and self.loops.outer_reduce:
            outer = ", ".join(axis.name for axis in self.loops.outer_reduce)
            _differ(
                "the reduction",
                "all of its loops inside, since it starts from nothing and has no reduce_update",
                f"{outer} outside",
            )

    def _pairings(self) -> Iterator[Groups]:
        """Loops for the axes of the definition, of the same kinds and extents; those of one iteration need none."""
        found = []
        for kind, axes in ((AxisKind.DATA, self.element.axes), (AxisKind.REDUCE, self.element.reduce_axes)):
            wanted = [axis for axis in axes if not ex.is_const(axis.extent, 1)]
            sizes = {leaf: self.analyzer.constant(n) for leaf, n in self.loops.leaves.items() if leaf.kind is kind}
            given = {leaf: size for leaf, size in sizes.items() if size != 1}
            groupings = list(islice(self._groupings(wanted, given), MOST_PAIRINGS))
            if not groupings:
                extents = [f"{axis.name} of {axis.extent}" for axis in wanted]
                loops = [f"{leaf.name} of {self.loops.leaves[leaf]}" for leaf in given]
                _differ(f"{kind.value} loops", ", ".join(extents) or "none", ", ".join(loops) or "none")
            found.append(groupings)
        return ({**data, **reduce} for data in found[0] for reduce in found[1])

    def _groupings(self, axes: Sequence[IterVar], given: Mapping[IterVar, int | None]) -> Iterator[Groups]:
        """All ways to give each axis loops with the product of its extent, and each loop an axis; few loops first."""
        if not axes or len(given) < len(axes):
            if not axes and not given:
                yield {}
            return
        extent = self.analyzer.constant(axes[0].extent)
        for count in range(1, len(given) - len(axes) + 2):
            for chosen in combinations(given, count):
                sizes = [size for leaf in chosen if (size := given[leaf]) is not None]
                if len(sizes) != count or prod(sizes) != extent:
                    continue
                rest = {leaf: size for leaf, size in given.items() if not is_among(leaf, chosen)}
                others = list(islice(self._groupings(axes[1:], rest), MOST_PAIRINGS))
                for group in permutations(chosen) if others else ():
                    yield from ({axes[0]: group, **other} for other in others)


class _Pairing:
    """The comparison of a stage and a definition whose axes are groups of loops."""

    def __init__(
        self, instruction: TensorIntrinsic, element: Element, loops: InnerLoops, analyzer: Analyzer, groups: Groups
    ) -> None:
        self.instruction = instruction
        self.element = element
        self.loops = loops
        self.analyzer = analyzer
        self.places: dict[Var, Expr] = {}
        """The axes of the definition in terms of loops."""
        for axis in (*element.axes, *element.reduce_axes):
            place: Expr = ex.const(0)
            weight = 1
            for leaf in reversed(groups.get(axis, ())):
                place, weight = place + leaf * weight, weight * (analyzer.constant(loops.leaves[leaf]) or 1)
            self.places[axis] = place
        roots = loops.terms if ex.is_const(loops.where, True) else (loops.where,)
        evaluated = always_evaluated(roots)
        self.always = [n for e in roots for n in walk(e) if isinstance(n, Load) and id(n) in evaluated]
        """The loads of the stage that each iteration does."""

    def statement(self) -> Intrinsic[TensorIntrinsic]:
        """The instruction, with the operands of the first way in which the computations are the same."""
        known: Operands = {}
        for tensors in (self.instruction.outputs, self.element.states):
            for tensor, result in zip(tensors, self.loops.results, strict=False):
                known = {**known, tensor: self._region(tensor, self.element.axes, result)}
        expected, found = (*self.element.terms, self.element.where), (*self.loops.terms, self.loops.where)
        operands = next(self._same_many(expected, found, known))
        for tensor in self.instruction.inputs:
            if tensor not in self.element.states:
                self._check_inside(tensor, operands[tensor])
        regions = [operands[t] for t in self.instruction.operands]
        count = len(self.instruction.outputs)
        return intrinsic(self.instruction, regions[:count], regions[count:])

    # The computation.

    def _same(self, expected: Expr, found: Expr, known: Operands) -> Iterator[Operands]:
        """The operands with which the definition's expression is the stage's, in each way that there is."""
        if isinstance(expected, Read):
            yield {**known, expected.tensor: self._operand(expected, found, known)}
            return
        if expected.dtype == found.dtype == INDEX:
            place = substitute(expected, self.places)
            if not self.analyzer.form(place).same(self.analyzer.form(found)):
                _differ("the computation", f"{expected}, which is {self.analyzer.simplify(place)}", found)
            yield known
            return
        if type(expected) is not type(found) or expected.dtype != found.dtype or isinstance(expected, Var):
            _differ("the computation", f"{expected} of {expected.dtype}", f"{found} of {found.dtype}")
        if isinstance(expected, ex.Const) and self.analyzer.keys.of(expected) != self.analyzer.keys.of(found):
            _differ("the computation", expected, found)
        if isinstance(expected, ex.Call) and isinstance(found, ex.Call) and expected.name != found.name:
            _differ("the computation", expected, found)
        parts, given = children(expected), children(found)
        orders = [given, given[::-1]] if isinstance(expected, COMMUTATIVE) else [given]
        yield from _each(self._same_many(parts, order, known) for order in orders)

    def _same_many(self, expected: Sequence[object], found: Sequence[object], known: Operands) -> Iterator[Operands]:
        if len(expected) != len(found):
            _differ("the computation", f"{len(expected)} operands", len(found))
        if not expected:
            yield known
            return
        one, other = expected[0], found[0]
        assert isinstance(one, Expr)
        assert isinstance(other, Expr)
        yield from _each(self._same_many(expected[1:], found[1:], way) for way in self._same(one, other, known))

    # The operands.

    def _operand(self, expected: Read[Tensor], found: Expr, known: Operands) -> Region:
        """The block that an operand stands for, if an element of it is an expression of the stage."""
        name = f"operand {expected.tensor.name!r}"
        if not isinstance(found, Load):
            _differ(name, f"an element of {expected.dtype}", found)
        if found.dtype != expected.dtype:
            _differ(name, str(expected.dtype), f"{found.dtype} of {found.buffer.name!r}")
        region, held = self._region(expected.tensor, expected.indices, found), known.get(expected.tensor)
        if held is not None and not self._is_same(held, region):
            _differ(name, _text(held), f"{_text(region)} in {found}")
        return region

    def _is_same(self, one: Region, other: Region) -> bool:
        return one.buffer is other.buffer and all(
            self.analyzer.form(i).same(self.analyzer.form(j)) for i, j in zip(one.indices, other.indices, strict=True)
        )

    def _region(self, operand: Tensor, indices: Sequence[Expr], load: Load) -> Region:
        """The block of a buffer whose element at the definition's `indices` is the loaded one, for all iterations."""
        name = f"operand {operand.name!r}"
        shape = self.instruction.shape_of(operand)
        wanted = [(substitute(i, self.places), i, n) for i, n in zip(indices, shape, strict=True) if n != 1]
        dimensions = self._dimensions(load, len(wanted))
        if dimensions is None:
            moving = ", ".join(str(i) for i in load.indices if self._moves(i)) or "none"
            _differ(name, f"a block of {list(shape)}", f"{load}, of which {moving} move with the loops")
        first, extents = [*load.indices], [1] * len(load.indices)
        for dimension, (place, index, extent) in zip(dimensions, wanted, strict=True):
            base = self.analyzer.simplify(load.indices[dimension] - place)
            if self._moves(base):
                _differ(
                    f"{name} in dimension {dimension} of {load}",
                    f"{self.analyzer.simplify(place)} (its {index}) after a first index",
                    load.indices[dimension],
                )
            first[dimension], extents[dimension] = base, extent
        region = Region(load.buffer, tuple(map(self.analyzer.simplify, first)), tuple(extents))
        declared = self.instruction.storage[self.instruction.operands.index(operand)]
        if reason := misfit(declared, region, {}, self.analyzer):
            raise _Different(f"{name}: expected {reason}")
        return region

    def _dimensions(self, load: Load, count: int) -> list[int] | None:
        """The dimensions of a buffer for those of an operand, without extents of 1: all, or those that move."""
        every = list(range(len(load.indices)))
        moving = [d for d in every if self._moves(load.indices[d])]
        return moving if len(moving) == count else every if len(every) == count else None

    def _moves(self, index: Expr) -> bool:
        """Whether an index changes with the loops."""
        return not {n for atom in self.analyzer.form(index).terms for n in walk(atom)}.isdisjoint(self.loops.leaves)

    def _check_inside(self, operand: Tensor, region: Region) -> None:
        """A block must be in its buffer: what the stage reads in any case is, and the rest must be proved to be."""
        name = f"operand {operand.name!r} in {_text(region)}"
        for d, (base, extent, size) in enumerate(zip(region.indices, region.extents, region.buffer.shape, strict=True)):
            if extent == 1 or self._reads_all_along(d, region):
                continue
            if not (self.analyzer.prove(base >= 0) and self.analyzer.prove(base + extent <= size)):
                _differ(name, f"{extent} elements from {base} on", f"{size}{self._choice(region)}")

    def _reads_all_along(self, dimension: int, region: Region) -> bool:
        """Whether the loops read the first and the last index of a block along a dimension, whatever data says."""
        loops = Analyzer()
        for leaf, extent in self.loops.leaves.items():
            loops.bind(leaf, 0, extent)
        lows, highs = set(), set()
        for load in self.always:
            if load.buffer is region.buffer:
                form = loops.form(self.analyzer.simplify(load.indices[dimension] - region.indices[dimension]))
                if self.loops.leaves.keys() >= form.terms.keys():  # so each end is reached
                    low, high = loops.interval(form)
                    lows.add(low)
                    highs.add(high)
        return 0 in lows and region.extents[dimension] - 1 in highs

    def _choice(self, region: Region) -> str:
        """What an error says about a block of which the stage reads elements only where a condition holds."""
        loads = [n for e in (*self.loops.terms, self.loops.where) for n in walk(e) if isinstance(n, Load)]
        lazy = any(n.buffer is region.buffer and not is_among(n, self.always) for n in loads)
        return "; the stage reads it only where a condition holds, so pad it, or leave the choice out" if lazy else ""


def _each(attempts: Iterable[Iterator[Operands]]) -> Iterator[Operands]:
    """The operands of all attempts; if none gives any, the first difference is raised."""
    first: _Different | None = None
    matched = False
    for attempt in attempts:
        try:
            for operands in attempt:
                matched = True
                yield operands
        except _Different as difference:
            first = first or difference
    if not matched and first is not None:
        raise first


def _text(region: Region) -> str:
    """A region as loop IR writes it."""
    parts = zip(region.indices, region.extents, strict=True)
    return f"{region.buffer.name}[{', '.join(str(i) if n == 1 else f'{i}:{n}' for i, n in parts)}]"


def _differ(what: str, expected: object, found: object) -> NoReturn:
    raise _Different(f"{what}: expected {expected}, found {found}")
