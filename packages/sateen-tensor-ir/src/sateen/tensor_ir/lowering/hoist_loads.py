"""Move loads out of loops in which neither the place nor the element changes."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import Allocate, For, Function, If, Let, LoopKind, Stmt, sequence
from sateen.tensor_ir.ir.visit import SharingRewriter, StatementRewriter
from sateen.tensor_ir.lowering.register_tile import Tile, registers_of_stores
from sateen.tensor_ir.lowering.registers import RegisterFile
from sateen.tensor_ir.lowering.remarks import Listener, Remark, unheard
from sateen.tensor_ir.lowering.steady_loads import SteadyLoads
from sateen.tensor_ir.targets import Machine


def hoist_loads(function: Function, machine: Machine, listener: Listener = unheard) -> Function:
    """A load at a place that no iteration changes is done once, before the outermost serial loop for which that holds.

        for i in [0, 4):                        for i in [0, 4):
          for j in [0, n):              =>        if n > 0:
            C[i, j] = A[i] * B[j]                   let A.element = A[i]
                                                    for j in [0, n):
                                                      C[i, j] = A.element * B[j]

    A load that also varies with unrolled and vectorized loops inside becomes registers with these as dimensions.
    Nothing in the loop stores to the buffer, or to one that it may overlap. The load happens in the first iteration in
    any case, so it neither fails nor reads what was never written. What the loop stores comes first: its sums are to
    find registers, too.
    """
    body = _Hoister(function, machine, listener).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Hoister(StatementRewriter):
    def __init__(self, function: Function, machine: Machine, listener: Listener) -> None:
        self.listener = listener
        self.registers = RegisterFile(machine)
        self.steady = SteadyLoads(function)
        self.analyzer = self.steady.analyzer
        self.is_in_vector = False

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        with self.registers.kept():
            self.registers.note(s.buffer)
            return self.descend(s)

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
        stored = registers_of_stores(s, self.registers)
        for load, tile in self.steady.of(s, is_in_vector=self.is_in_vector):
            key = self.analyzer.keys.of(load)
            if key not in known:
                register = tile.registers("kept")
                count = self.registers.count(register, tile.lanes)
                if not self.registers.has_place(count + stored):
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
        body = _LoadsReplaced(replaced).rewrite(s.body)
        loop: Stmt = self._inside(replace(s, body=body))
        loop = sequence(*(tile.loaded_to(register) for tile, register in tiles), loop)
        for _, register in reversed(tiles):
            loop = Allocate(register, loop, s.span)
        for var, value in reversed(lets):
            loop = Let(var, value, loop, s.span)
        return loop if self.analyzer.prove(s.extent >= 1) else If(ex.compare(ex.GT, s.extent, 0), loop, None, s.span)

    def _inside(self, s: For) -> For:
        with self.analyzer.bound(s.var, s.start, s.extent):
            body = self.rewrite(s.body)
        return s if body is s.body else replace(s, body=body)


class _LoadsReplaced(SharingRewriter):
    """Replaces loads, given by id."""

    def __init__(self, loads: dict[int, Expr]) -> None:
        super().__init__()
        self.loads = loads

    def rewrite_Load(self, e: Load) -> Expr:
        known = self.loads.get(id(e))
        return self.descend(e) if known is None else known
