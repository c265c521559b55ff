"""The loads that read the same in every iteration of a loop."""

from __future__ import annotations

from collections.abc import Iterator

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.access import all_written
from sateen.tensor_ir.ir.buffer import Load, Scope
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import Allocate, For, Function, Let, LoopKind
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering.accesses import Access, Accesses
from sateen.tensor_ir.lowering.register_tile import EXPANDED, Tile
from sateen.tensor_ir.lowering.registers import OTHER_EFFECTS, is_rounded


class SteadyLoads:
    """Finds them in the loops of a function. `analyzer` knows its symbols, and is told the loops around by the pass."""

    def __init__(self, function: Function) -> None:
        self.aliased = function.aliased
        self.analyzer = Analyzer.of(function.parameters)

    def of(self, loop: For, *, is_in_vector: bool = False) -> Iterator[tuple[Load, Tile]]:
        """The loads of a loop, each as often as it is written, with its elements over expanded loops inside.

        Nothing in the loop stores to the buffer, or to one that it may overlap, and the first iteration loads the
        elements in any case. `is_in_vector`: whether a vectorized loop is around.
        """
        nodes = [*walk(loop.body)]
        if any(isinstance(n, OTHER_EFFECTS) for n in nodes):
            return
        changed = all_written(loop.body).union(n.buffer for n in nodes if isinstance(n, Allocate))
        if not self.aliased.isdisjoint(changed):
            changed |= self.aliased
        bound = {loop.var, *(n.var for n in nodes if isinstance(n, (For, Let)))}
        for buffer, accesses in Accesses.beneath(loop.body).of.items():
            if buffer in changed or buffer.scope is Scope.REGISTER or buffer.data is not None:
                continue
            for access in accesses:
                tile = self._tile(access, bound, is_in_vector)
                if tile is not None and isinstance(access.node, Load):
                    yield access.node, tile

    def _tile(self, access: Access, bound: set[Var], is_in_vector: bool) -> Tile | None:
        """The elements of a load over the expanded loops in a loop; None if they differ between iterations."""
        indices = access.node.indices
        mentioned = {n for i in indices for n in walk(i)}
        own = tuple(step for step in access.chain if isinstance(step, For) and step.var in mentioned)
        if not mentioned.isdisjoint(bound.difference(loop.var for loop in own)) or access.is_lazy:
            return None
        if any(loop.kind not in EXPANDED for loop in own):
            return None
        if not all(step in own or self._is_passed(step) for step in access.chain):
            return None
        tile = Tile(access.node.buffer, indices, own)
        if not own:
            return None if any(isinstance(n, Load) for n in mentioned) else tile
        if any(isinstance(step, For) and step.kind is LoopKind.PARALLEL for step in access.chain):
            return None  # its threads share no registers; a single element is a value, which they are given
        forms = [self.analyzer.form(i) for i in indices]
        is_kept = tile.lanes > 1 and not is_in_vector and not is_rounded(tile.buffer.dtype)
        return tile if is_kept and tile.is_one_to_one(forms) else None

    def _is_passed(self, step: object) -> bool:
        """Whether what is inside of a statement runs whenever the statement does."""
        return isinstance(step, (Let, Allocate)) or (
            isinstance(step, For) and step.kind is not LoopKind.THREAD and self.analyzer.prove(step.extent >= 1)
        )
