"""The state of a stage: the loops of one operation, how each runs, and where the result is computed and kept.

The primitives change it, and lowering reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar, Var
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import THREADS, LoopKind
from sateen.tensor_ir.schedule.relations import Relation
from sateen.tensor_ir.te.tensor import Operation, Tensor
from sateen.tensor_ir.te.threads import ThreadAxis


@dataclass(frozen=True, slots=True, eq=False)
class PrefetchRequest:
    """Read `tensor` ahead, `distance` iterations of `axis` before its use."""

    tensor: Tensor
    axis: IterVar
    distance: int


@dataclass(frozen=True, slots=True, eq=False)
class NextBlockRequest:
    """Ask in each iteration of `axis` for a share of the block of `tensor` behind the one that is read.

    Its elements have the same `leading` indices. The lines are asked for as `streams`, and no more than `most` at once.
    """

    tensor: Tensor
    axis: IterVar
    leading: int
    streams: int
    most: int


class Stages(Protocol):
    """The stages of a schedule, from the view of one of them."""

    @property
    def stages(self) -> Sequence[StageState]:
        """All of them, each after those that it reads."""

    @property
    def outputs(self) -> Sequence[Tensor]:
        """The tensors that the schedule computes."""

    def __getitem__(self, key: Tensor | Operation) -> StageState:
        """The stage that computes a tensor."""

    def consumers(self, stage: StageState) -> Sequence[StageState]:
        """The stages that read the result of a stage."""


class StageState:
    """An operation, its loops and its place. `leaves` are its loops, outermost first."""

    def __init__(self, schedule: Stages, op: Operation, outputs: tuple[Tensor, ...]) -> None:
        self.schedule = schedule
        self.op = op
        self.outputs = outputs
        self._scope: Scope | None = None
        self.scope_tag = ""
        """What follows the scope in its name, such as `.acc` of `local.acc`."""
        replaced = op.instruction[0] if op.instruction is not None else ()
        around = [axis for axis in (*op.axis, *op.reduce_axis) if not is_among(axis, replaced)]
        self.leaves: list[IterVar] = [*around, *replaced]
        self.relations: list[Relation] = []
        self.kinds: dict[IterVar, LoopKind] = {}
        self.threads: dict[IterVar, str] = {}
        self.thread_variables: dict[IterVar, Var] = {}
        """The variables of the hardware axes that loops are bound to."""
        self.store_predicate: Expr | None = None
        self.thread_axes: dict[IterVar, ThreadAxis] = {}
        """The axes that loops were bound to, which may say how many iterations they expect."""
        self.pragmas: dict[IterVar, tuple[tuple[str, object], ...]] = {}
        self.prefetches: list[PrefetchRequest | NextBlockRequest] = []
        self.alignments: dict[int, tuple[int, int]] = {}
        self.is_double_buffered = False
        """Whether there are two copies of the storage, one of which is filled while the other is used."""
        self.tensorized: tuple[IterVar, Instruction] | None = None
        """The loop that an instruction replaces, with those inside it, and the instruction."""
        if op.instruction is not None:
            self.tensorized = replaced[0], op.instruction[1]
        self.inlined = False
        self._attach: tuple[StageState, IterVar] | None = None
        self.home: tuple[StageState, IterVar] | None = None
        """The loop over time in which it is computed unless `compute_at` says where; None: at root."""
        self.keeper: StageState | None = None
        """The scan of which it computes the steps, and in whose storage its result is."""
        self.environment: dict[str, IterVar] = {}
        """The loops over blocks around all steps of a scan, by axis."""
        self.persistent: frozenset[str] = frozenset()
        """The axes that `env_threads` names: those that the steps of the scan share."""
        self.blocks: dict[IterVar, StageState] = {}
        """Reduce loops of attached stages that `reorder` has moved into this stage's nest."""

    def __repr__(self) -> str:
        where = "inlined" if self.inlined else "at root" if self.attach is None else f"at {self.attach[0].name}"
        return f"Stage({self.name}: {self.loop_names}; {where}, {self.scope_name})"

    @property
    def name(self) -> str:
        """That of its operation."""
        return self.op.name

    @property
    def axes(self) -> tuple[IterVar, ...]:
        """The data axes of the operation."""
        return self.op.axis

    @property
    def scope(self) -> Scope:
        """The memory of the result: that of `set_scope`, otherwise the memory that the threads which compute and read
        it share.

        That is shared memory for a stage inside a loop over blocks, a thread's own memory inside a loop over threads
        (unless the stage's own loops are shared among those threads), and global memory elsewhere. What threads sum up
        together is a thread's own as well, unless readers are shared among them.
        """
        if self._scope is not None:
            return self._scope
        around = self._threads_around()
        if not around.isdisjoint(THREADS) and self._is_of_one_thread():
            return Scope.LOCAL
        return Scope.SHARED if around else Scope.GLOBAL

    @scope.setter
    def scope(self, value: Scope) -> None:
        self._scope = value

    def _is_of_one_thread(self) -> bool:
        """Whether no loop of the stage divides its elements among threads, and no reader those that sum them up."""
        own = {tag: leaf for leaf, tag in self.threads.items() if tag in THREADS}
        if any(leaf.kind is AxisKind.DATA for leaf in own.values()):
            return False
        readers = [*self.schedule.consumers(self)] if own else []
        for reader in readers:
            if reader.inlined:
                readers += self.schedule.consumers(reader)
            elif not own.keys().isdisjoint({*reader.threads.values(), *reader._threads_around()}):
                return False
        return True

    @property
    def scope_name(self) -> str:
        """The scope with its tag."""
        return self.scope.value + self.scope_tag

    @property
    def attach(self) -> tuple[StageState, IterVar] | None:
        """The loop of another stage in which this one is computed; None: at root.

        It is the loop of `compute_at`, or else `home`, with one exception: a thread's own data, whose only reader has
        a loop over the same threads inside that loop, is computed there. A thread runs one iteration of the inner loop,
        and computes only the data for that iteration.
        """
        tags = self._threads_around().intersection(THREADS)
        place = self._place
        if place is None or not tags or self.scope.rank > Scope.LOCAL.rank:
            return place
        readers = self.schedule.consumers(self)
        if len(readers) == 1 and readers[0] is not place[0]:
            same = [leaf for leaf in readers[0].leaves if readers[0].threads.get(leaf) in tags]
            return (readers[0], same[-1]) if same else place
        return place

    @attach.setter
    def attach(self, place: tuple[StageState, IterVar] | None) -> None:
        self._attach = place

    @property
    def _place(self) -> tuple[StageState, IterVar] | None:
        return self.home if self._attach is None else self._attach

    def _threads_around(self) -> set[str]:
        """The hardware axes that the loops around the stage are bound to."""
        tags: set[str] = set()
        stage, seen = self, {self}
        while stage._place is not None and stage._place[0] not in seen:
            host, axis = stage._place
            if host.threads and is_among(axis, host.leaves):
                outer = host.leaves[: position(axis, host.leaves) + 1]
                tags |= {host.threads[leaf] for leaf in outer if leaf in host.threads}
            seen.add(host)
            stage = host
        return tags

    @property
    def is_output(self) -> bool:
        """Whether the caller gets a tensor that it computes."""
        return any(tensor in self.schedule.outputs for tensor in self.outputs)

    def is_attached_at(self, host: StageState, axis: IterVar) -> bool:
        """Whether this stage is computed at that loop."""
        return self.attach is not None and self.attach[0] is host and self.attach[1] is axis

    @property
    def loop_names(self) -> str:
        """The names of its loops, for messages."""
        return ", ".join(leaf.name for leaf in self.leaves) or "none"

    def _replace(self, old: IterVar, *new: IterVar) -> None:
        place = position(old, self.leaves)
        self.leaves[place : place + 1] = new
        self._unmark(old)

    @property
    def _marks(self) -> tuple[dict[IterVar, Any], ...]:
        """The marks that say how loops run."""
        return self.kinds, self.threads, self.thread_variables, self.pragmas

    def _unmark(self, axis: IterVar) -> None:
        for marks in self._marks:
            marks.pop(axis, None)

    def _add_pragma(self, axis: IterVar, key: str, value: object) -> None:
        self.pragmas[axis] = (*self.pragmas.get(axis, ()), (key, value))
