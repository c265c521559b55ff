"""Move loads out of loops in which neither the place nor the element changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer, constant
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_written
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import Allocate, For, Function, If, Let, LoopKind, Stmt, sequence
from sateen.tensor_ir.ir.visit import SharingRewriter, StatementRewriter, free_vars, walk
from sateen.tensor_ir.lowering.accesses import Access, Accesses
from sateen.tensor_ir.lowering.register_tile import Tile
from sateen.tensor_ir.lowering.registers import OTHER_EFFECTS, RegisterFile, is_rounded
from sateen.tensor_ir.lowering.remarks import Listener, Remark, unheard
from sateen.tensor_ir.targets import Machine

SHARE = 2
"""Loads that leave loops take at most this part of the registers: half of them."""


def hoist_loads(function: Function, machine: Machine, listener: Listener = unheard) -> Function:
    """A load at a place that no iteration changes is done once, before the outermost serial loop for which that holds.

        for i in [0, 4):                        for i in [0, 4):
          for j in [0, n):              =>        if n > 0:
            C[i, j] = A[i] * B[j]                   let A.element = A[i]
                                                    for j in [0, n):
                                                      C[i, j] = A.element * B[j]

    A load that also varies with unrolled and vectorized loops inside becomes registers with these as dimensions.
    Nothing in the loop stores to the buffer, or to one that it may overlap. The load happens in the first iteration in
    any case, so it neither fails nor reads what was never written.
    """
    body = _Hoister(function, machine, listener).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Hoister(StatementRewriter):
    def __init__(self, function: Function, machine: Machine, listener: Listener) -> None:
        self.aliased = function.aliased
        self.listener = listener
        self.registers = RegisterFile(machine)
        self.registers.most //= SHARE
        self.analyzer = Analyzer()
        for extent in (e for b in function.parameters for e in b.shape):
            for symbol in free_vars(extent):
                self.analyzer.bind_form(symbol, constant(0), None)
        self.is_in_vector = False

    def rewrite_For(self, s: For) -> Stmt:
        if s.kind is not LoopKind.SERIAL:
            around, self.is_in_vector = self.is_in_vector, self.is_in_vector or s.kind is LoopKind.VECTORIZED
            loop = self._inside(s)
            self.is_in_vector = around
            return loop
        with self.registers.kept():
            return self._serial(s)

    def _serial(self, s: For) -> Stmt:
        lets: list[tuple[Var, Expr]] = []
        tiles: list[tuple[Tile, Buffer]] = []
        known: dict[int, Expr] = {}
        replaced: dict[int, Expr] = {}
        for load, tile in self._steady(s):
            key = self.analyzer.keys.of(load)
            if key not in known:
                register = tile.registers("kept")
                count = self.registers.count(register, tile.lanes)
                if not self.registers.has_place(count):
                    continue
                self.registers.taken += count
                if tile.steps:
                    tiles.append((tile, register))
                    known[key] = Load(register, tile.place(), load.dtype)
                else:
                    var = Var(f"{load.buffer.name}.element", load.dtype)
                    lets.append((var, load))
                    known[key] = var
                self.listener(Remark(str(load), f"loaded once, before loop {s.var.name}", is_done=True))
            replaced[id(load)] = known[key]
        if not replaced:
            return self._inside(s)
        body = _Replaced(replaced).rewrite(s.body)
        loop: Stmt = self._inside(replace(s, body=body))
        loop = sequence(*(tile.loaded_to(register) for tile, register in tiles), loop)
        for _, register in reversed(tiles):
            loop = Allocate(register, loop, s.span)
        for var, value in reversed(lets):
            loop = Let(var, value, loop, s.span)
        return loop if self._runs(s) else If(ex.compare(ex.GT, s.extent, 0), loop, None, s.span)

    def _inside(self, s: For) -> For:
        with self.analyzer.bound(s.var, s.start, s.extent):
            body = self.rewrite(s.body)
        return s if body is s.body else replace(s, body=body)

    def _steady(self, s: For) -> Iterator[tuple[Load, Tile]]:
        """The loads to move before a loop, each as often as it is written."""
        nodes = [*walk(s.body)]
        if any(isinstance(n, OTHER_EFFECTS) for n in nodes):
            return
        changed = all_written(s.body).union(n.buffer for n in nodes if isinstance(n, Allocate))
        if not self.aliased.isdisjoint(changed):
            changed |= self.aliased
        bound = {s.var, *(n.var for n in nodes if isinstance(n, (For, Let)))}
        for buffer, accesses in Accesses.beneath(s.body).of.items():
            if buffer in changed or buffer.scope is Scope.REGISTER or buffer.data is not None:
                continue
            for access in accesses:
                tile = self._tile(access, bound)
                if tile is not None and isinstance(access.node, Load):
                    yield access.node, tile

    def _tile(self, access: Access, bound: set[Var]) -> Tile | None:
        """The elements of a load over the expanded loops in a loop; None if they differ between iterations."""
        indices = access.node.indices
        mentioned = {n for i in indices for n in walk(i)}
        own = tuple(step for step in access.chain if isinstance(step, For) and step.var in mentioned)
        if not mentioned.isdisjoint(bound.difference(loop.var for loop in own)) or access.is_lazy:
            return None
        if any(loop.kind not in (LoopKind.UNROLLED, LoopKind.VECTORIZED) for loop in own):
            return None
        if not all(step in own or self._is_passed(step) for step in access.chain):
            return None
        tile = Tile(access.node.buffer, indices, own)
        if not own:
            return None if any(isinstance(n, Load) for n in mentioned) else tile
        forms = [self.analyzer.form(i) for i in indices]
        is_kept = tile.lanes > 1 and not self.is_in_vector and not is_rounded(tile.buffer.dtype)
        return tile if is_kept and tile.is_one_to_one(forms) else None

    def _is_passed(self, step: object) -> bool:
        """Whether what is inside of a statement runs whenever the statement does."""
        return isinstance(step, (Let, Allocate)) or (
            isinstance(step, For) and step.kind is not LoopKind.THREAD and self._runs(step)
        )

    def _runs(self, loop: For) -> bool:
        low = self.analyzer.lower(self.analyzer.form(loop.extent))
        return low is not None and low >= 1


class _Replaced(SharingRewriter):
    """Replaces loads, given by id."""

    def __init__(self, loads: dict[int, Expr]) -> None:
        super().__init__()
        self.loads = loads

    def rewrite_Load(self, e: Load) -> Expr:
        known = self.loads.get(id(e))
        return self.descend(e) if known is None else known
