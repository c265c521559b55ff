"""Keep in registers what a loop only adds to: load once before the loop, store once after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import is_

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read, all_written
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.equal import structural_equal
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import (
    Allocate,
    For,
    Function,
    If,
    Let,
    LoopKind,
    Seq,
    Stmt,
    Store,
    sequence,
)
from sateen.tensor_ir.ir.visit import StatementRewriter, walk
from sateen.tensor_ir.lowering.accesses import Access, Accesses, Arm
from sateen.tensor_ir.lowering.register_tile import EXPANDED, Kept, Tile
from sateen.tensor_ir.lowering.registers import OTHER_EFFECTS, RegisterFile, is_rounded
from sateen.tensor_ir.lowering.remarks import Listener, Remark, unheard
from sateen.tensor_ir.targets import Machine


def promote_accumulators(function: Function, machine: Machine, listener: Listener = unheard) -> Function:
    """Elements that a loop reads and writes at the same place in every iteration are registers within it.

        C[i] = 0                          allocate C.sum: register float32[1]
        for k in [0, 9):          =>        C.sum[0] = 0
          C[i] = C[i] + A[i, k]             for k in [0, 9):
                                              C.sum[0] = C.sum[0] + A[i, k]
                                            C[i] = C.sum[0]

    The outermost such loop is taken, serial or unrolled. Indices may vary with unrolled and vectorized loops inside it,
    each of which then is a dimension of the registers. Stores right before the loop go to the registers; otherwise
    those are loaded, if the loop loads them in any case. The order of additions stays.
    """
    body = _Promoter(function, machine, listener).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


_CANDIDATES = (LoopKind.SERIAL, LoopKind.UNROLLED)


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A tile that a loop adds to.

    `is_loaded` and `is_stored`: whether all of it is, if the loop runs. `is_fresh`: whether it is stored before it is
    loaded.
    """

    tile: Tile
    is_loaded: bool
    is_stored: bool
    is_fresh: bool


class _Promoter(StatementRewriter):
    def __init__(self, function: Function, machine: Machine, listener: Listener) -> None:
        self.aliased = function.aliased
        self.listener = listener
        self.registers = RegisterFile(machine)
        self.analyzer = Analyzer.of(function.parameters)
        self.lane: For | None = None
        """The vectorized loop around."""
        self.waiting: list[Buffer] = []
        """The registers to be allocated around that loop."""

    def rewrite_For(self, s: For) -> Stmt:
        if s.kind in _CANDIDATES:
            return self._run((s,))
        if s.kind is not LoopKind.VECTORIZED:
            return self._inside(s)
        self.lane = s
        result: Stmt = self._inside(s)
        self.lane = None
        for buffer in self.waiting:
            result = Allocate(buffer, result, s.span)
        self.waiting = []
        return result

    def _inside(self, s: For) -> For:
        with self.registers.kept(), self.analyzer.bound(s.var, s.start, s.extent):
            body = self.rewrite(s.body)
        return s if body is s.body else replace(s, body=body)

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        with self.registers.kept():
            self.registers.note(s.buffer)
            return self.descend(s)

    def rewrite_Seq(self, s: Seq) -> Stmt:
        return self._run(s.body, s)

    def _run(self, statements: Sequence[Stmt], whole: Seq | None = None) -> Stmt:
        """Statements one after the other, each loop with its accumulators in registers; `whole` if nothing changed."""
        done: list[Stmt] = []
        made: list[Buffer] = []
        for s in statements:
            if not isinstance(s, For) or s.kind not in _CANDIDATES:
                done.append(self.rewrite(s))
                continue
            with self.registers.kept():
                loop, after = s, list[Stmt]()
                for plan in self._plans(s):
                    tile, register = plan.tile, plan.tile.registers("sum")
                    if not self._has_place(tile, register) or not self._initialise(s, plan, register, done):
                        continue
                    made.append(register)
                    loop = replace(loop, body=Kept(tile.buffer, register, tile.place()).rewrite(loop.body))
                    after.append(tile.stored_from(register))
                done += [self._inside(loop), *after]
        if whole is not None and not made and all(map(is_, done, whole.body)):
            return whole
        result = sequence(*done)
        if self.lane is not None:
            self.waiting += made
            return result
        for buffer in reversed(made):
            result = Allocate(buffer, result)
        return result

    def _plans(self, s: For) -> Iterator[_Plan]:
        """What the loop adds to at the same places in each iteration."""
        nodes = [*walk(s.body)]
        loaded = {n.buffer for n in nodes if isinstance(n, Load) and n.buffer.scope is not Scope.REGISTER}
        added = loaded.intersection(n.buffer for n in nodes if isinstance(n, Store))
        added.difference_update(n.buffer for n in nodes if isinstance(n, Allocate))
        if not added or any(isinstance(n, OTHER_EFFECTS) for n in nodes):
            return
        found = Accesses.beneath(s.body)
        elsewhere = found.others | all_read(s.start, s.extent)
        for buffer, accesses in found.of.items():
            if buffer in added and buffer not in elsewhere:
                plan = self._plan(s, buffer, accesses)
                if plan is not None:
                    yield plan

    def _plan(self, s: For, buffer: Buffer, accesses: Sequence[Access]) -> _Plan | None:
        """None if the places vary with the loop, or with one in it that stays a loop."""
        first = next(access for access in accesses if isinstance(access.node, Store))
        indices = first.node.indices
        forms = [self.analyzer.form(i) for i in indices]
        for access in accesses:
            present = (self.analyzer.form(i) for i in access.node.indices)
            if not all(one.same(other) for one, other in zip(forms, present, strict=True)):
                return None
        mentioned = {n for i in indices for n in walk(i)}
        own = [t for t in first.chain if isinstance(t, For) and t.var in mentioned]
        bound = {n.var for n in walk(s) if isinstance(n, (For, Let))}
        steady = bound - {loop.var for loop in own}
        if not mentioned.isdisjoint(steady) or any(isinstance(n, Load) for n in mentioned):
            return None
        if not all(loop.kind in EXPANDED and isinstance(loop.start, ex.Const) for loop in own):
            return None
        lane = self.lane if self.lane is not None and self.lane.var in mentioned else None
        vectors = [t for a in accesses for t in a.chain if isinstance(t, For) and t.kind is LoopKind.VECTORIZED]
        if lane is not self.lane or any(loop not in own for loop in vectors):
            return None  # every lane would store to the same element
        if any(
            isinstance(t, For) and t.kind not in (*_CANDIDATES, LoopKind.VECTORIZED) for a in accesses for t in a.chain
        ):
            return None  # threads share it
        if not Tile(buffer, indices, tuple(own), lane).is_one_to_one(forms):
            return None
        if is_rounded(buffer.dtype):
            self._refuse(s, buffer, f"a store to {buffer.dtype} rounds")
            return None
        others = (all_read(s) | all_written(s)) - {buffer}
        if buffer in self.aliased and not self.aliased.isdisjoint(others):
            self._refuse(s, buffer, "other arguments may overlap it")
            return None
        steps = self._steps(first, own, steady)
        if any(self._steps(access, own, steady) != steps for access in accesses):
            steps = tuple(own)
        certain = [not access.is_lazy and self._is_certain(access, steps) for access in accesses]
        loaded, stored = (
            any(sure and isinstance(access.node, kind) for sure, access in zip(certain, accesses, strict=True))
            for kind in (Load, Store)
        )
        is_fresh = certain[0] and accesses[0] is first
        is_loaded = loaded and certain[0] and not is_fresh
        return _Plan(Tile(buffer, indices, steps, lane), is_loaded, stored, is_fresh)

    def _steps(self, access: Access, own: Sequence[For], steady: set[Var]) -> tuple[Arm | For, ...]:
        """The loops over the elements, and the conditions that are the same in each iteration."""
        return tuple(
            step
            for step in access.chain
            if (isinstance(step, For) and step in own)
            or (isinstance(step, Arm) and not any(n in steady or isinstance(n, Load) for n in walk(step.condition)))
        )

    def _is_certain(self, access: Access, steps: Sequence[Arm | For]) -> bool:
        """Whether an access happens in the first iteration, for all its elements."""
        return all(
            step in steps
            or isinstance(step, (Let, Allocate))
            or (isinstance(step, For) and self.analyzer.prove(step.extent >= 1))
            for step in access.chain
        )

    def _refuse(self, s: For, buffer: Buffer, reason: str) -> None:
        self.listener(Remark(buffer.name, f"stays in memory in loop {s.var.name}: {reason}", is_done=False))

    def _has_place(self, tile: Tile, register: Buffer) -> bool:
        count = self.registers.count(register, tile.lanes)
        if self.registers.has_place(count):
            return True
        free = self.registers.most - self.registers.taken
        reason = f"it needs {count} registers, and {free} are free"
        self.listener(Remark(tile.buffer.name, f"stays in memory: {reason}", is_done=False))
        return False

    def _initialise(self, s: For, plan: _Plan, register: Buffer, done: list[Stmt]) -> bool:
        """Set the registers before the loop: by the stores that do so for the memory, or by loads. False if neither is
        right."""
        tile = plan.tile
        touches = [tile.buffer in all_read(statement) | all_written(statement) for statement in done]
        last = len(done) - 1 - touches[::-1].index(True) if any(touches) else None
        movable = last is not None and tile.buffer not in self.aliased and not _has_other_effects(done[last:])
        initial = _initial(done[last], tile, register) if movable and last is not None else None
        how = "initialised"
        if last is not None and initial is not None:
            done[last] = initial
        elif not self.analyzer.prove(s.extent >= 1) or not plan.is_stored or not (plan.is_loaded or plan.is_fresh):
            self._refuse(s, tile.buffer, "not every element is loaded and stored in any case")
            return False
        elif plan.is_loaded:
            how = "loaded"
            done.append(tile.loaded_to(register))
        count = self.registers.count(register, tile.lanes)
        self.registers.taken += count
        text = (
            f"in {count} register{'s' if count > 1 else ''} during loop {s.var.name}, {how} before and stored after it"
        )
        self.listener(Remark(tile.buffer.name, text, is_done=True))
        return True


def _has_other_effects(statements: Sequence[Stmt]) -> bool:
    return any(isinstance(n, OTHER_EFFECTS) for s in statements for n in walk(s))


def _initial(s: Stmt, tile: Tile, register: Buffer) -> Stmt | None:
    """The statement with its stores to the elements of a tile going to registers; None if it does more or less."""
    stores = [n for n in walk(s) if isinstance(n, Store) and n.buffer is tile.buffer]
    if len(stores) != 1 or tile.buffer in all_read(s):
        return None
    zero = ex.const(0, tile.buffer.dtype)
    loops: list[For] = []
    alone = _alone(s, stores[0], loops)
    if alone is None:
        return None
    expected = tile.each(lambda at, _: Store(tile.buffer, at, zero))
    if not structural_equal(alone(Store(tile.buffer, stores[0].indices, zero)), expected):
        return None
    fresh: dict[Var, Expr] = {loop.var: other.var for loop, other in zip(tile.loops, loops, strict=True)}
    return Kept(tile.buffer, register, tile.place(fresh)).rewrite(s)


def _alone(s: Stmt, store: Store, loops: list[For]) -> Callable[[Stmt], Stmt] | None:
    """What is around a store beneath a statement, without other statements; adds its loops. None if that is not only
    loops and conditions."""
    match s:
        case Store():
            return (lambda inner: inner) if s is store else None
        case Seq():
            child = next(c for c in s.body if any(n is store for n in walk(c)))
            return _alone(child, store, loops)
        case For():
            loops.append(s)
            inside = _alone(s.body, store, loops)
            if inside is not None:
                return partial(_within_loop, s, inside)
        case If() if s.otherwise is None:
            inside = _alone(s.then, store, loops)
            if inside is not None:
                return partial(_within_branch, s, inside)
    return None


def _within_loop(loop: For, inside: Callable[[Stmt], Stmt], inner: Stmt) -> Stmt:
    return replace(loop, body=inside(inner), pragmas=())


def _within_branch(branch: If, inside: Callable[[Stmt], Stmt], inner: Stmt) -> Stmt:
    return If(branch.condition, inside(inner))
