"""Cut wide vectors into strips, where what all rows load then fits into registers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import ceil

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter, substitute, walk
from sateen.tensor_ir.lowering.accesses import Accesses, Step
from sateen.tensor_ir.lowering.independent_iterations import DependentError, LoopBody
from sateen.tensor_ir.lowering.keep_loops import KEEP
from sateen.tensor_ir.lowering.register_tile import EXPANDED, registers_of_stores
from sateen.tensor_ir.lowering.registers import RegisterFile, has_vectors
from sateen.tensor_ir.lowering.remarks import Listener, Remark, unheard
from sateen.tensor_ir.lowering.simplify import simplify
from sateen.tensor_ir.lowering.steady_loads import SteadyLoads
from sateen.tensor_ir.targets import Machine


def cut_into_strips(function: Function, machine: Machine, listener: Listener = unheard) -> Function:
    """A loop whose iterations all load the same vectors runs strip by strip, if so they fit into registers.

        for i in [0, 9):                          for j in [0, 2):
          unrolled k in [0, 4):                     for i in [0, 9):
            vectorized j in [0, 32):         =>       unrolled k in [0, 4):
              C[i, j] += A[i, k] * B[k, j]              vectorized j_strip in [0, 16):
                                                          C[i, j * 16 + j_strip] += A[i, k] * B[k, …]

    Here registers of 32 bytes hold half of B's 16 vectors, and `hoist_loads` then loads them once for all rows. A loop
    stays if other loops in it stay, if lanes depend on each other, and if each strip would load more again than it
    saves.
    """
    if not has_vectors(machine):
        return function
    body = _Cutter(function, machine, listener).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


@dataclass(frozen=True, slots=True)
class _Loads:
    """How many registers hold what all iterations load, and how many loads there are besides in each strip of one."""

    steady: int
    others: int


class _Cutter(StatementRewriter):
    def __init__(self, function: Function, machine: Machine, listener: Listener) -> None:
        self.listener = listener
        self.registers = RegisterFile(machine)
        self.steady = SteadyLoads(function)
        self.analyzer = self.steady.analyzer

    def rewrite_For(self, s: For) -> Stmt:
        if s.kind is LoopKind.VECTORIZED:
            return s
        vector = self._vector(s)
        strips = 1 if vector is None else self._strips(s, vector)
        if vector is None or strips == 1:
            with self.analyzer.bound(s.var, s.start, s.extent):
                return self.descend(s)
        assert isinstance(vector.extent, ex.Const)
        width = int(vector.extent.value) // strips
        text = f"run {strips} times over {width} lanes of {vector.var.name}, for the loads that stay the same"
        self.listener(Remark(f"loop {s.var.name}", text, is_done=True))
        strip, lane = Var(vector.var.name), Var(f"{vector.var.name}_strip")
        narrow = replace(
            vector,
            var=lane,
            extent=ex.const(width),
            body=substitute(vector.body, {vector.var: strip * width + lane}),
        )
        rows = _LoopReplaced(vector, narrow).rewrite(s)
        return simplify(For(strip, ex.const(0), ex.const(strips), LoopKind.SERIAL, rows, span=s.span), self.analyzer)

    def _vector(self, s: For) -> For | None:
        """The one vectorized loop in a serial loop without loops inside that stay, if its lanes are independent."""
        loops = [n for n in walk(s.body) if isinstance(n, For)]
        vectors = [loop for loop in loops if loop.kind is LoopKind.VECTORIZED]
        if s.kind is not LoopKind.SERIAL or KEEP in s.pragmas or len(vectors) != 1:
            return None
        vector = vectors[0]
        is_constant = ex.is_const(vector.start, 0) and isinstance(vector.extent, ex.Const)
        if not is_constant or any(loop.kind not in EXPANDED for loop in loops):
            return None
        across = replace(vector, kind=LoopKind.SERIAL, body=_LoopReplaced(vector, vector.body).rewrite(s))
        try:
            LoopBody.of(across, self.analyzer, self.steady.aliased)
        except DependentError:
            return None
        return vector

    def _strips(self, s: For, vector: For) -> int:
        """The fewest strips whose loads fit into registers; 1 if there is nothing to gain."""
        assert isinstance(vector.extent, ex.Const)
        lanes, loads, stored = int(vector.extent.value), self._loads(s, vector), registers_of_stores(s, self.registers)
        if not loads.steady or loads.steady + stored <= self.registers.most:
            return 1
        widest = max(n.dtype.bytes for n in walk(vector.body) if isinstance(n, Load))
        whole = self.registers.vector_bytes // widest
        for strips in range(2, lanes // max(whole, 1) + 1):
            is_whole = lanes % strips == 0 and lanes // strips % whole == 0
            if is_whole and ceil(loads.steady / strips) + ceil(stored / strips) <= self.registers.most:
                rows = self.analyzer.constant(s.extent)
                again = (strips - 1) * loads.others
                is_gain = loads.steady > again if rows is None else loads.steady * (rows - 1) > again * rows
                return strips if is_gain else 1
        return 1

    def _loads(self, s: For, vector: For) -> _Loads:
        steady, seen = 0, set[int]()
        with self.analyzer.bound(s.var, s.start, s.extent):
            for load, tile in self.steady.of(s):
                key = self.analyzer.keys.of(load)
                if key not in seen and vector in tile.loops:
                    steady += self.registers.count(tile.registers("kept"), tile.lanes)
                seen.add(key)
            others = 0
            for accesses in Accesses.beneath(s.body).of.values():
                for access in accesses:
                    mentioned = {n for i in access.node.indices for n in walk(i)}
                    if isinstance(access.node, Load) and vector.var not in mentioned:
                        key = self.analyzer.keys.of(access.node)
                        others += 0 if key in seen else _times(access.chain, mentioned)
                        seen.add(key)
        return _Loads(steady, others)


def _times(chain: tuple[Step, ...], mentioned: Collection[object]) -> int:
    """How many elements a load reads over the unrolled loops around it."""
    count = 1
    for loop in chain:
        if isinstance(loop, For) and loop.var in mentioned and isinstance(loop.extent, ex.Const):
            count *= int(loop.extent.value)
    return count


class _LoopReplaced(StatementRewriter):
    """Puts a statement in the place of a loop."""

    def __init__(self, loop: For, by: Stmt) -> None:
        self.loop = loop
        self.by = by

    def rewrite_For(self, s: For) -> Stmt:
        return self.by if s is self.loop else self.descend(s)
