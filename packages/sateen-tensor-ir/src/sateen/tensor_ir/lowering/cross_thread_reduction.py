"""Reductions over loops that are bound to threads: every thread reduces its share, then a tree in shared memory.

    thread threadIdx.x k in [0, 8): B[i] = B[i] + A[i, k]
    =>  allocate partial: shared[8]
        thread threadIdx.x k in [0, 8):
          allocate share: register[1]
          share[0] = 0;  share[0] = share[0] + A[i, k];  partial[k] = share[0]
        thread threadIdx.x t in [0, 8): if t < 4: partial[t] = partial[t] + partial[t + 4]
        … (2, 1)
        B[i] = partial[0]

The result means the same when thread loops run one iteration after the other; `insert_barriers` makes it safe for
threads. Serial reduce loops outside the bound ones move into the threads. Sums are reassociated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.span import Span
from sateen.tensor_ir.ir.stmt import LANE, Allocate, For, If, LoopKind, Stmt, sequence
from sateen.tensor_ir.ir.tensor_expr import Combiner
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.te.reduction_state import State, store_state, update_state


@dataclass(frozen=True, slots=True, eq=False)
class ThreadLoop:
    """A loop bound to threads: its variable, constant extent and hardware axis."""

    var: Var
    extent: int
    thread: str


class CrossThreadReduction:
    """One reduction: Each thread reduces into its `shares`; `combine` joins them to the result."""

    def __init__(
        self,
        name: str,
        combiner: Combiner,
        bound: Sequence[ThreadLoop],
        around: Mapping[str, ThreadLoop],
        span: Span | None,
    ) -> None:
        """`around` are the loops bound to other threads outside of this one, by their hardware axis."""
        self.name = name
        self.combiner = combiner
        self.bound = bound
        self.conflicting = [around[loop.thread].var for loop in bound if loop.thread in around]
        tags = {loop.thread for loop in bound}
        others = [around[tag] for tag in sorted(around, reverse=True) if tag not in tags]
        self.place: tuple[Expr, ...] = tuple(loop.var for loop in others)
        self.is_across = LANE not in tags and LANE in around
        """Whether neighbouring threads have parts of different results, so that these are neighbours in memory."""
        self.span = span
        self.size = prod(loop.extent for loop in bound)
        shape = self._element([ex.const(loop.extent) for loop in others], ex.const(self.size))
        kinds = [e.dtype for e in combiner.identity]
        share = [Buffer(f"{name}.share", (ex.const(1),), k, Scope.REGISTER) for k in kinds]
        self.shares: State = [(b, (ex.const(0),)) for b in share]
        self.partials = [Buffer(f"{name}.partial", shape, k, Scope.SHARED) for k in kinds]

    def combine(self, loops: Stmt, results: State) -> tuple[Stmt, Stmt]:
        """The reduction from the loops that reduce one thread's terms into `shares`, and the stores to `results`.

        The second statement must follow the first, both within `allocated`. Raises ScheduleError if the terms depend on
        an outer loop of the same threads, whose iterations then don't run at the same time.
        """
        for var in self.conflicting:
            if var in set(walk(loops)) or any(var in set(walk(i)) for _, indices in results for i in indices):
                raise ScheduleError(
                    f"bind in stage {self.name!r}: it depends on loop {var.name!r}, which is bound to the same threads "
                    "as its reduction; bind one of them to others, or compute the stage outside of that loop"
                )
        start = store_state(self.shares, self.combiner.identity, self.span)
        finish = store_state(self._partial(self._linear(self.bound)), self._loads(self.shares), self.span)
        own = sequence(start, loops, finish)
        for buffer, _ in self.shares:
            own = Allocate(buffer, own, self.span)
        steps = [self._in_threads(own, self.bound)]
        count = self.size
        while count > 1:
            half = (count + 1) // 2
            steps.append(self._halve(half, count))
            count = half
        return sequence(*steps), store_state(results, self._loads(self._partial(ex.const(0))), self.span)

    def allocated(self, body: Stmt) -> Stmt:
        """`body` with the shared memory of the reduction."""
        for buffer in self.partials:
            body = Allocate(buffer, body, self.span)
        return body

    def _halve(self, half: int, count: int) -> Stmt:
        """Combine element t + half into element t, for all t + half < count."""
        threads = [ThreadLoop(Var("t"), loop.extent, loop.thread) for loop in self.bound]
        t = self._linear(threads)
        terms = self._loads(self._partial(t + half))
        step = update_state(self.combiner, self._partial(t), terms, self.span)
        return self._in_threads(If(t < count - half, step, None, self.span), threads)

    def _in_threads(self, body: Stmt, threads: Sequence[ThreadLoop]) -> Stmt:
        for loop in reversed(threads):
            body = For(loop.var, ex.const(0), ex.const(loop.extent), LoopKind.THREAD, body, loop.thread, (), self.span)
        return body

    @staticmethod
    def _linear(threads: Sequence[ThreadLoop]) -> Expr:
        number: Expr = ex.const(0)
        for loop in threads:
            number = number * loop.extent + loop.var
        return number

    def _partial(self, element: Expr) -> State:
        return [(buffer, self._element(self.place, element)) for buffer in self.partials]

    def _element(self, place: Sequence[Expr], element: Expr) -> tuple[Expr, ...]:
        """The indices of a part: the last ones are those of neighbouring threads."""
        return (element, *place) if self.is_across else (*place, element)

    @staticmethod
    def _loads(state: State) -> list[Expr]:
        return [Load(buffer, indices, buffer.dtype) for buffer, indices in state]
