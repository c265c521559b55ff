"""The last steps of reductions across threads give values from register to register."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sateen.tensor_ir.arith.structure import StructuralKeys
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read, all_written
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import LANE, Allocate, For, If, LoopKind, Seq, Shuffle, Stmt, Store, sequence
from sateen.tensor_ir.ir.visit import SharingRewriter, StatementRewriter, rename_bound, substitute, walk
from sateen.tensor_ir.lowering.insert_barriers import thread_extents

SHUFFLED_BYTES = 4
"""The size of a register, which a thread gives to another."""


def shuffle_in_warps(statement: Stmt, warp: int) -> Stmt:
    """Let the threads of a warp take the elements that they combine from each other's registers.

        thread threadIdx.x t in [0, 64):               thread threadIdx.x t in [0, 64):
          if t < 16: P[t] = P[t] + P[t + 16]             allocate own, other: register[1]
        thread threadIdx.x u in [0, 64):        =>       own[0] = P[t]
          if u < 8: P[u] = P[u] + P[u + 8]               shuffle other[0] = own[0] from (t + 16) % 32 of 32
                                                         if t < 16: own[0] = own[0] + other[0]
                                                         shuffle other[0] = own[0] from (t + 8) % 32 of 32
                                                         if t < 8: own[0] = own[0] + other[0]
                                                         if t < 16: P[t] = own[0]

    These are steps of `CrossThreadReduction` whose elements are those of one warp. All warps do them, of which only the
    first uses what it gets. If the loop before all steps stores the elements, and only the first is read after them, a
    thread begins with what it would have stored, and the first stores it. Then each of several warps first combines its
    own elements, and all of them what these gave:

        if k % 32 < 1: P[k // 32 + 1] = own[0]
        thread threadIdx.x t in [0, 64): own[0] = P[t % 2 + 1]; …; if t < 1: P[t] = own[0]

    Requires that no barriers are there yet. Guarantees the same elements in P, as far as they are read, but for the
    order in which they are combined; all threads along threadIdx.x come to each shuffle. Steps stay where a block's
    threads along threadIdx.x are no whole warps of `warp`, or not all in the loop, and for elements of other sizes than
    a register.
    """
    return _Kernels(warp).rewrite(statement)


class _Kernels(StatementRewriter):
    def __init__(self, warp: int) -> None:
        self.warp = warp

    def rewrite_For(self, s: For) -> Stmt:
        if s.kind is not LoopKind.THREAD:
            return self.descend(s)
        lanes = thread_extents(s).get(LANE, 1)
        return s if lanes % self.warp else _Steps(self.warp, lanes, s).rewrite(s)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A loop over threads, of which the first `count` combine their element with the one `distance` behind it."""

    loop: For
    branch: If
    buffers: tuple[Buffer, ...]
    place: tuple[Expr, ...]
    """The indices of an element before the last one, which is the thread."""
    count: int
    distance: int


class _Steps(StatementRewriter):
    """The sequences of one kernel, whose blocks have `lanes` threads along threadIdx.x."""

    def __init__(self, warp: int, lanes: int, kernel: For) -> None:
        self.warp = warp
        self.lanes = lanes
        self.keys = StructuralKeys()
        loops = (n for n in walk(kernel) if isinstance(n, For))
        steps = [step for loop in loops if (step := self._step(loop)) is not None]
        self.counts = Counter(buffer for step in steps for buffer in step.buffers)
        within = {n for step in steps for n in walk(step.branch.then) if isinstance(n, Load)}
        others = [n for n in walk(kernel) if isinstance(n, Load) and n not in within]
        self.read_further = {n.buffer for n in others if not (n.indices and ex.is_const(n.indices[-1], 0))}
        """Memory of which other elements than the first ones are read, besides by steps."""

    def rewrite_Seq(self, s: Seq) -> Stmt:
        done: list[Stmt] = []
        run: list[_Step] = []
        for child in s.body:
            step = self._step(child)
            if step is not None and (not run or self._follows(step, run[-1])):
                run.append(step)
                continue
            self._finish(run, done)
            run = [] if step is None else [step]
            if step is None:
                done.append(self.rewrite(child))
        self._finish(run, done)
        return sequence(*done)

    def _step(self, s: Stmt) -> _Step | None:
        """The step that a statement is; None for any other."""
        match s:
            case For(
                kind=LoopKind.THREAD, thread=thread, start=start, extent=ex.Const(value=extent),
                body=If(condition=ex.LT(a=first, b=ex.Const(value=count)), otherwise=None) as branch,
            ) if thread == LANE and extent == self.lanes and ex.is_const(start, 0) and first is s.var:  # fmt: skip
                pass
            case _:
                return None
        stores = [n for n in walk(branch.then) if isinstance(n, Store)]
        buffers = tuple(store.buffer for store in stores)
        if not stores or all_written(branch) != set(buffers) or all_read(branch) != set(buffers):
            return None
        if len(set(buffers)) < len(buffers) or not all(map(self._is_shared_by_warps, buffers)):
            return None
        place = stores[0].indices[:-1]
        accesses = [n for n in walk(branch.then) if isinstance(n, (Load, Store))]
        if any(s.var in set(walk(i)) for i in place) or not all(self._same(place, n.indices[:-1]) for n in accesses):
            return None
        if any(store.indices[-1] is not s.var for store in stores):
            return None
        others = {n.indices[-1] for n in accesses} - {s.var}
        distances = {self._distance(i, s.var) for i in others}
        if len(distances) != 1 or (distance := distances.pop()) is None:
            return None
        return _Step(s, branch, buffers, place, int(count), distance)

    def _is_shared_by_warps(self, buffer: Buffer) -> bool:
        whole = bool(buffer.shape) and ex.is_const(buffer.shape[-1], self.lanes)
        return buffer.scope is Scope.SHARED and buffer.dtype.bytes == SHUFFLED_BYTES and whole

    @staticmethod
    def _distance(index: Expr, var: Var) -> int | None:
        match index:
            case ex.Add(a=first, b=ex.Const(value=distance)) if first is var:
                return int(distance)
        return None

    def _same(self, place: Sequence[Expr], other: Sequence[Expr]) -> bool:
        return [self.keys.of(i) for i in place] == [self.keys.of(i) for i in other]

    def _follows(self, step: _Step, before: _Step) -> bool:
        return set(step.buffers) == set(before.buffers) and self._same(step.place, before.place)

    def _finish(self, run: Sequence[_Step], done: list[Stmt]) -> None:
        """Add what these steps do; it takes the place of the loop before them if that stores the elements."""
        if not run:
            return
        registers = _Registers.of(run[0])
        begun = self._begun(done[-1], run, registers) if done else None
        if begun is not None:
            done[-1:] = self._all_levels(begun, run[0], registers)
            return
        while run and run[0].count + run[0].distance > self.warp:
            done.append(run[0].loop)
            run = run[1:]
        if run:
            first, thread = run[0], run[0].loop.var
            element = (*first.place, thread)
            parts = registers.loaded(element)
            for step in run:
                parts += self._combined(step, thread, step.distance, thread < step.count, registers)
            parts.append(If(thread < first.count, registers.stored(element)))
            done.append(replace(first.loop, body=registers.around(parts)))

    def _all_levels(self, begun: For, step: _Step, registers: _Registers) -> list[Stmt]:
        """All steps, with a level for the threads of each warp, and one for the warps if there are several."""
        thread, warps = begun.var, self.lanes // self.warp
        lane, place = (thread, thread) if warps == 1 else (thread % self.warp, thread // self.warp + 1)
        parts = [begun.body, *self._level(step, thread, lane, self.warp, registers)]
        parts.append(If(lane < 1, registers.stored((*step.place, place))))
        loops = [replace(begun, body=registers.around(parts))]
        if warps > 1:
            registers, thread = _Registers.of(step), Var(step.loop.var.name)
            parts = registers.loaded((*step.place, thread % warps + 1))
            parts += self._level(step, thread, thread, warps, registers)
            parts.append(If(thread < 1, registers.stored((*step.place, thread))))
            loops.append(replace(step.loop, var=thread, body=registers.around(parts)))
        return [*loops]

    def _level(self, step: _Step, thread: Var, lane: Expr, count: int, registers: _Registers) -> list[Stmt]:
        """Combine the elements of the first `count` threads of a warp, a power of two."""
        parts: list[Stmt] = []
        distance = count // 2
        while distance:
            parts += self._combined(step, thread, distance, lane < distance, registers)
            distance //= 2
        return parts

    def _combined(self, step: _Step, thread: Var, distance: int, active: Expr, registers: _Registers) -> list[Stmt]:
        """Active threads combine their element with the one so many lanes behind it."""
        body = _InRegisters(step.loop.var, registers).rewrite(step.branch.then)
        taken = registers.taken((thread + distance) % self.warp, self.warp)
        return [*taken, If(active, rename_bound(substitute(body, {step.loop.var: thread})))]

    def _begun(self, loop: Stmt, run: Sequence[_Step], registers: _Registers) -> For | None:
        """The loop before all steps, with the elements that it stores in registers instead; None if more than the first
        one is needed later, or it does something else with them."""
        first, buffers = run[0], set(run[0].buffers)
        is_whole = first.count + first.distance == self.lanes and (run[-1].count, run[-1].distance) == (1, 1)
        warps = self.lanes // self.warp
        if not is_whole or warps & (warps - 1) or warps > self.warp:
            return None
        if not isinstance(loop, For) or loop.thread != LANE or not ex.is_const(loop.extent, self.lanes):
            return None
        if buffers & (all_read(loop) | self.read_further) or any(self.counts[b] != len(run) for b in buffers):
            return None
        stores = [n for n in walk(loop.body) if isinstance(n, Store) and n.buffer in buffers]
        places = (n.indices[-1] is loop.var and self._same(first.place, n.indices[:-1]) for n in stores)
        if not ex.is_const(loop.start, 0) or len(stores) != len(buffers) or not all(places):
            return None
        body = _kept(loop.body, registers.own)
        return replace(loop, body=body) if all_written(body).isdisjoint(buffers) else None


@dataclass(frozen=True, slots=True, eq=False)
class _Registers:
    """A thread's own elements, and those that it takes from another one, for the memory of each."""

    own: Mapping[Buffer, Buffer]
    other: Mapping[Buffer, Buffer]

    @staticmethod
    def of(step: _Step) -> _Registers:
        own, other = (
            {b: Buffer(f"{b.name}.{name}", (ex.const(1),), b.dtype, Scope.REGISTER) for b in step.buffers}
            for name in ("own", "other")
        )
        return _Registers(own, other)

    def loaded(self, element: tuple[Expr, ...]) -> list[Stmt]:
        return [Store(held, _ONE, Load(b, element, b.dtype)) for b, held in self.own.items()]

    def stored(self, element: tuple[Expr, ...]) -> Stmt:
        return sequence(*(Store(b, element, Load(held, _ONE, b.dtype)) for b, held in self.own.items()))

    def taken(self, lane: Expr, warp: int) -> list[Stmt]:
        return [Shuffle(self.other[b], _ONE, Load(h, _ONE, b.dtype), lane, warp) for b, h in self.own.items()]

    def around(self, parts: Sequence[Stmt]) -> Stmt:
        body = sequence(*parts)
        for buffer in (*self.own.values(), *self.other.values()):
            body = Allocate(buffer, body)
        return body


def _kept(s: Stmt, own: Mapping[Buffer, Buffer]) -> Stmt:
    """The statement with unconditional stores to these buffers as stores to registers."""
    match s:
        case Allocate():
            return replace(s, body=_kept(s.body, own))
        case Seq():
            return sequence(*(_kept(child, own) for child in s.body))
        case Store() if s.buffer in own:
            return replace(s, buffer=own[s.buffer], indices=_ONE)
    return s


_ONE = (ex.const(0),)
"""The only element of a register."""


class _InRegisters(SharingRewriter):
    """A step with the thread's own element and the other one in registers."""

    def __init__(self, thread: Var, registers: _Registers) -> None:
        super().__init__()
        self.thread = thread
        self.registers = registers

    def rewrite_Load(self, e: Load) -> Expr:
        elements = self.registers.own if e.indices[-1] is self.thread else self.registers.other
        held = elements.get(e.buffer)
        return e if held is None else Load(held, _ONE, e.dtype)

    def rewrite_Store(self, s: Store) -> Stmt:
        return Store(self.registers.own[s.buffer], _ONE, self.rewrite(s.value), s.span)
