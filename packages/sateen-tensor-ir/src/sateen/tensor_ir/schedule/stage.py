"""A stage: one operation and the loops that compute it. Its methods are the schedule primitives.

Every primitive changes the stage in place. A primitive that would change the result raises ScheduleError. In the
before/after sketches `C[i, j]` is the stage's output and `...` its computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, Protocol

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.ir.expr import AxisKind, Const, Expr, IterVar, as_expr
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.span import caller_span
from sateen.tensor_ir.ir.stmt import THREAD_TAGS, THREADS, VTHREADS, LoopKind
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.schedule.relations import Fuse, Relation, Split, Tail
from sateen.tensor_ir.te.tensor import Operation, Tensor

VTHREAD = LoopKind.VTHREAD.value


@dataclass(frozen=True, slots=True)
class ThreadAxis:
    """A hardware axis, such as `threadIdx.x`, or `vthread`."""

    tag: str


def thread_axis(tag: str) -> ThreadAxis:
    """The hardware axis `blockIdx.{x,y,z}` or `threadIdx.{x,y,z}`, or virtual threads, `vthread`.

    Raises ScheduleError for another name.
    """
    known = (*THREAD_TAGS, VTHREAD)
    if tag not in known:
        raise ScheduleError(f"thread_axis expects one of {', '.join(known)}, found {tag!r}")
    return ThreadAxis(tag)


@dataclass(frozen=True, slots=True, eq=False)
class PrefetchRequest:
    """Read `tensor` ahead, `distance` iterations of `axis` before its use."""

    tensor: Tensor
    axis: IterVar
    distance: int


PRAGMAS = ("auto_unroll_max_step", "keep", "partition")


class Stages(Protocol):
    """The stages of a schedule, from the view of one of them."""

    @property
    def stages(self) -> Sequence[Stage]:
        """All of them, each after those that it reads."""

    @property
    def outputs(self) -> Sequence[Tensor]:
        """The tensors that the schedule computes."""

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        """The stage that computes a tensor."""

    def consumers(self, stage: Stage) -> list[Stage]:
        """The stages that read the result of a stage."""


class Stage:
    """One operation of a schedule. `leaves` are its loops, outermost first."""

    def __init__(self, schedule: Stages, op: Operation, outputs: tuple[Tensor, ...]) -> None:
        self.schedule = schedule
        self.op = op
        self.outputs = outputs
        self._scope: Scope | None = None
        self.leaves: list[IterVar] = [*op.axis, *op.reduce_axis]
        self.relations: list[Relation] = []
        self.kinds: dict[IterVar, LoopKind] = {}
        self.threads: dict[IterVar, str] = {}
        self.pragmas: dict[IterVar, tuple[tuple[str, object], ...]] = {}
        self.prefetches: list[PrefetchRequest] = []
        self.alignments: dict[int, tuple[int, int]] = {}
        self.tensorized: tuple[IterVar, Instruction] | None = None
        """The loop that an instruction replaces, with those inside it, and the instruction."""
        self.inlined = False
        self._attach: tuple[Stage, IterVar] | None = None
        self.home: tuple[Stage, IterVar] | None = None
        """The loop over time in which it is computed unless `compute_at` says where; None: at root."""
        self.keeper: Stage | None = None
        """The scan of which it computes the steps, and in whose storage its result is."""
        self.blocks: dict[IterVar, Stage] = {}
        """Reduce loops of attached stages that `reorder` has moved into this stage's nest."""

    def __repr__(self) -> str:
        where = "inlined" if self.inlined else "at root" if self.attach is None else f"at {self.attach[0].name}"
        return f"Stage({self.name}: {self._loop_names()}; {where}, {self.scope.value})"

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
        (unless the stage's own loops are shared among those threads), and global memory elsewhere.
        """
        if self._scope is not None:
            return self._scope
        around = self._threads_around()
        if not around.isdisjoint(THREADS) and set(self.threads.values()).isdisjoint(THREADS):
            return Scope.LOCAL
        return Scope.SHARED if around else Scope.GLOBAL

    @scope.setter
    def scope(self, value: Scope) -> None:
        self._scope = value

    @property
    def attach(self) -> tuple[Stage, IterVar] | None:
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
    def attach(self, place: tuple[Stage, IterVar] | None) -> None:
        self._attach = place

    @property
    def _place(self) -> tuple[Stage, IterVar] | None:
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

    def is_attached_at(self, host: Stage, axis: IterVar) -> bool:
        """Whether this stage is computed at that loop."""
        return self.attach is not None and self.attach[0] is host and self.attach[1] is axis

    # Loops.

    def split(
        self,
        parent: IterVar,
        factor: int | Expr | None = None,
        nparts: int | Expr | None = None,
        tail: Tail | str = Tail.GUARD,
    ) -> tuple[IterVar, IterVar]:
        """Cut a loop into tiles; returns (outer, inner).

            for i in n: C[i] = ...            split(i, factor=f)
            for io in ceil(n / f):
              for ii in f: if io*f + ii < n: C[io*f + ii] = ...

        `tail` says what happens to the last tile if f does not divide n: `guard` keeps the condition, `partition` makes
        the last tile a separate loop nest, `shift` moves it back so that it overlaps the one before (data axes of at
        least f), `round_up` computes the overhang, too, into storage that is enlarged for it (not for outputs).
        """
        split = self._planned_split(parent, factor, nparts, tail)
        self._apply_split(split)
        return split.outer, split.inner

    def _planned_split(
        self, parent: IterVar, factor: int | Expr | None, nparts: int | Expr | None, tail: Tail | str
    ) -> Split:
        """The relation that a split makes, checked."""
        self._require_own(parent, "split")
        if (factor is None) == (nparts is None):
            raise ScheduleError(f"{self._where('split', parent)}: give either factor= or nparts=")
        count, word = (factor, "factor") if factor is not None else (nparts, "nparts")
        wrong = f"{self._where('split', parent)}: {word} expects an integer of at least 1, found {count!r:.80}"
        if not isinstance(count, (Expr, Integral)) or isinstance(count, bool):
            raise ScheduleError(wrong)
        given = as_expr(count)
        if not given.dtype.is_int or (isinstance(given, Const) and given.value < 1):
            raise ScheduleError(wrong)
        if any(isinstance(v, IterVar) for v in walk(given)):
            raise ScheduleError(f"{wrong}, which differs from iteration to iteration")
        extent = parent.extent
        if factor is not None:
            inner_extent, outer_extent = given, (extent + given - 1) // given
        else:
            inner_extent, outer_extent = (extent + given - 1) // given, given
        try:
            mode = Tail(tail)
        except ValueError:
            known = ", ".join(t.value for t in Tail)
            raise ScheduleError(
                f"{self._where('split', parent)}: tail expects one of {known}, found {tail!r}"
            ) from None
        self._check_tail(parent, inner_extent, mode)
        span = caller_span()
        outer = IterVar(f"{parent.name}o", extent=outer_extent, kind=parent.kind, span=span)
        inner = IterVar(f"{parent.name}i", extent=inner_extent, kind=parent.kind, span=span)
        return Split(parent, outer, inner, inner_extent, mode, None if nparts is None else given)

    def _apply_split(self, split: Split) -> None:
        self.relations.append(split)
        self._replace(split.parent, split.outer, split.inner)
        if split.tail is Tail.PARTITION:
            self._add_pragma(split.outer, "partition", True)

    def _check_tail(self, parent: IterVar, factor: Expr, tail: Tail) -> None:
        where = self._where("split", parent)
        if tail is Tail.SHIFT:
            if parent.kind is AxisKind.REDUCE:
                raise ScheduleError(f"{where}: a shifted tail would add the overlapping terms of the reduction twice")
            if (
                not (isinstance(parent.extent, Const) and isinstance(factor, Const))
                or parent.extent.value < factor.value
            ):
                raise ScheduleError(
                    f"{where}: a shifted tail needs an extent of at least the factor, found extent {parent.extent} "
                    f"and factor {factor}"
                )
        if tail is Tail.ROUND_UP and parent.kind is AxisKind.REDUCE:
            raise ScheduleError(f"{where}: a rounded-up tail would add terms that the reduction does not have")
        if tail is Tail.ROUND_UP:
            self._require_own_storage(where)
        if tail is Tail.ROUND_UP and self.is_output:
            raise ScheduleError(
                f"{where}: {self.name!r} is an output, whose storage can't be enlarged; use guard, partition or shift"
            )

    def tile(
        self, x: IterVar, y: IterVar, x_factor: int, y_factor: int, tail: Tail | str = Tail.GUARD
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two loops and put the tiles' loops outside; returns (x outer, y outer, x inner, y inner).

        for x: for y: ...       tile(x, y, a, b)
        for xo: for yo: for xi in a: for yi in b: ...
        """
        if x is y:
            raise ScheduleError(f"{self._where('tile', x)}: expects two different loops, found it twice")
        splits = self._planned_split(x, x_factor, None, tail), self._planned_split(y, y_factor, None, tail)
        for split in splits:
            self._apply_split(split)
        first, second = splits
        order = (first.outer, second.outer, first.inner, second.inner)
        self.reorder(*order)
        return order

    def fuse(self, *axes: IterVar) -> IterVar:
        """Join adjacent loops, outermost first, to one loop.

        for i in n: for j in m: ...       fuse(i, j)
        for f in n*m: i = f // m; j = f % m; ...
        """
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = tuple(axes[0])
        if not axes:
            raise ScheduleError(f"fuse in stage {self.name!r}: expects at least one axis, found none")
        first = axes[0]
        for axis in axes:
            self._require_own(axis, "fuse")
            if first.kind is not axis.kind:
                raise ScheduleError(
                    f"{self._where('fuse', axis)}: {first.name!r} is a {first.kind.value} axis and {axis.name!r} "
                    f"a {axis.kind.value} axis"
                )
        place = position(first, self.leaves)
        for offset, (outer, inner) in enumerate(pairwise(axes)):
            if not is_among(inner, self.leaves[place + offset + 1 : place + offset + 2]):
                raise ScheduleError(
                    f"{self._where('fuse', inner)}: it must be the loop directly inside {outer.name!r}; reorder first"
                )
        fused = first
        for axis in axes[1:]:
            new = IterVar(
                f"{fused.name}_{axis.name}", extent=fused.extent * axis.extent, kind=axis.kind, span=caller_span()
            )
            self.relations.append(Fuse(fused, axis, new))
            self._unmark(fused)
            self._unmark(axis)
            fused = new
        self.leaves[place : place + len(axes)] = [fused]
        return fused

    def reorder(self, *axes: IterVar) -> None:
        """Put the given loops into the given order; the others stay where they are.

            for i: for j: for k: ...       reorder(k, i)
            for k: for j: for i: ...

        A reduce loop of a stage attached to this one may be named first: it moves out of that stage, around this
        one's loops (K-blocking). Between blocks the partial results are then in this stage's output:

            for i: { CC = 0; for ko: for ki: CC += ...; C[i] = CC + bias }     s[C].reorder(ko, i)
            for ko: for i: { CC = 0 if ko == 0 else C[i]; for ki: CC += ...; C[i] = CC + bias if ko is last else CC }
        """
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = tuple(axes[0])
        if not axes:
            raise ScheduleError(f"reorder in stage {self.name!r}: expects at least one axis, found none")
        for axis in axes:
            self._require_axis(axis, "reorder")
            self._require_untimed(axis, "reorder")
        if len(set(axes)) != len(axes):
            raise ScheduleError(f"reorder in stage {self.name!r}: an axis is named twice")
        foreign = {axis: self._owner_of(axis) for axis in axes if not is_among(axis, self.leaves)}
        if foreign:
            own = [position(axis, self.leaves) for axis in axes if is_among(axis, self.leaves)]
            if not own:
                raise ScheduleError(
                    f"reorder in stage {self.name!r}: expects a loop of this stage to move around, found none"
                )
            self.blocks |= foreign
            self.leaves[min(own) : min(own)] = foreign
            for axis, owner in foreign.items():
                for here, there in zip(self._marks, owner._marks, strict=True):
                    if axis in there:
                        here[axis] = there.pop(axis)
        places = sorted(position(axis, self.leaves) for axis in axes)
        for place, axis in zip(places, axes, strict=True):
            self.leaves[place] = axis

    def _owner_of(self, axis: IterVar) -> Stage:
        """The stage that is attached here and whose reduce loop may move into this nest."""
        owner = next((s for s in self.schedule.stages if is_among(axis, s.leaves)), None)
        where = f"reorder in stage {self.name!r}, axis {axis.name!r}"
        if owner is None:
            raise ScheduleError(f"{where}: it is no loop of this stage, whose loops are {self._loop_names()}")
        if axis.kind is not AxisKind.REDUCE or owner.attach is None or owner.attach[0] is not self:
            raise ScheduleError(
                f"{where}: it is a loop of {owner.name!r}; only a reduce loop of a stage computed at this one may "
                "move here"
            )
        first_reduce = next(leaf for leaf in owner.leaves if leaf.kind is AxisKind.REDUCE)
        if axis is not first_reduce:
            raise ScheduleError(
                f"{where}: only the outermost reduce loop of {owner.name!r} ({first_reduce.name!r}) may move out of it"
            )
        if len(self.outputs) != 1 or len(owner.outputs) != 1 or self.outputs[0].dtype != owner.outputs[0].dtype:
            raise ScheduleError(
                f"{where}: the partial results of {owner.name!r} can't be kept in {self.name!r}: both need one output "
                "of one type"
            )
        if self.op.reduce_axis:
            raise ScheduleError(f"{where}: {self.name!r} is a reduction itself")
        if self.blocks:
            other = next(iter(self.blocks.values()))
            raise ScheduleError(
                f"{where}: {self.name!r} keeps the partial results of {other.name!r} already, and has place for one"
            )
        return owner

    def vectorize(self, axis: IterVar) -> None:
        """Compute all values of a loop of constant extent at once, one per vector lane."""
        self._require_data(axis, "vectorize", "its lanes would race for the result; rfactor it first")
        if not isinstance(axis.extent, Const):
            raise ScheduleError(
                f"{self._where('vectorize', axis)}: expects a constant extent, found {axis.extent}; split it first"
            )
        for other, kind in self.kinds.items():
            if kind is LoopKind.VECTORIZED and other is not axis:
                raise ScheduleError(
                    f"{self._where('vectorize', axis)}: loop {other.name!r} is vectorized already; one loop of a stage "
                    "is"
                )
        if ("partition", True) in self.pragmas.get(axis, ()):
            raise ScheduleError(f"{self._where('vectorize', axis)}: it is partitioned, and lanes can't be")
        self._run_as(axis, LoopKind.VECTORIZED, "vectorize")

    def unroll(self, axis: IterVar) -> None:
        """Write out every iteration of a loop of constant extent."""
        self._require_leaf(axis, "unroll")
        if not isinstance(axis.extent, Const):
            raise ScheduleError(
                f"{self._where('unroll', axis)}: expects a constant extent, found {axis.extent}; split it first"
            )
        self._run_as(axis, LoopKind.UNROLLED, "unroll")

    def parallel(self, axis: IterVar) -> None:
        """Share the iterations of a loop among threads, in contiguous blocks. Results do not depend on the number of
        threads."""
        self._require_data(axis, "parallel", "its threads would race for the result; rfactor it first")
        self._run_as(axis, LoopKind.PARALLEL, "parallel")

    def bind(self, axis: IterVar, thread: ThreadAxis) -> None:
        """Run each iteration on its own hardware block or thread.

        A reduce axis that is bound to threads is combined across them. Virtual threads (`vthread`) are iterations that
        one thread runs in turns, statement by statement:

        for v in 2: for i in 4: C[v*4 + i] = ...       bind(v, thread_axis("vthread"))
        for i in 4: { C[i] = ...; C[4 + i] = ... }
        """
        self._require_leaf(axis, "bind")
        self._require_untimed(axis, "bind")
        if not isinstance(thread, ThreadAxis):
            raise ScheduleError(
                f"{self._where('bind', axis)}: expects an axis made by te.thread_axis, found {type(thread).__name__}"
            )
        if thread.tag == VTHREAD:
            self._bind_virtual(axis)
            return
        if axis.kind is AxisKind.REDUCE and thread.tag not in THREADS:
            raise ScheduleError(
                f"{self._where('bind', axis)}: a reduction is combined across threadIdx only, found {thread.tag}"
            )
        if thread.tag in self.threads.values():
            raise ScheduleError(
                f"{self._where('bind', axis)}: another loop of the stage is already bound to {thread.tag}"
            )
        self._run_as(axis, LoopKind.THREAD, "bind")
        self.threads[axis] = thread.tag

    def _bind_virtual(self, axis: IterVar) -> None:
        self._require_data(axis, "bind", "its virtual threads would race for the result; rfactor it first")
        if not isinstance(axis.extent, Const) or axis.extent.value > VTHREADS:
            raise ScheduleError(
                f"{self._where('bind', axis)}: virtual threads expect a constant extent of at most {VTHREADS}, found "
                f"{axis.extent}; split it with nparts= first"
            )
        self._run_as(axis, LoopKind.VTHREAD, "bind")

    def _run_as(self, axis: IterVar, kind: LoopKind, primitive: str) -> None:
        """Say how a loop runs, once."""
        known = self.kinds.get(axis)
        if known is not None and (known is not kind or kind is LoopKind.THREAD):
            now = f"bound to {self.threads[axis]}" if known is LoopKind.THREAD else known.name.lower()
            raise ScheduleError(f"{self._where(primitive, axis)}: the loop is {now} already; split it to do both")
        self.kinds[axis] = kind

    def pragma(self, axis: IterVar, key: str, value: object = True) -> None:
        """Give passes and code generators a request for a loop.

        `partition`: cut it where conditions inside it change. `keep`: don't vectorize or unroll it.
        `auto_unroll_max_step`: unroll it and the serial loops inside it where they become at most `value` statements.
        """
        self._require_leaf(axis, "pragma")
        if key not in PRAGMAS:
            raise ScheduleError(f"{self._where('pragma', axis)}: expects one of {', '.join(PRAGMAS)}, found {key!r}")
        if self.kinds.get(axis) is LoopKind.VECTORIZED:
            reason = "lanes can't be partitioned" if key == "partition" else f"{key} is for serial loops"
            raise ScheduleError(f"{self._where('pragma', axis)}: it is vectorized, and {reason}")
        if isinstance(value, Integral) and not isinstance(value, bool):
            value = int(value)
        if key == "auto_unroll_max_step" and (type(value) is not int or value < 0):
            raise ScheduleError(
                f"{self._where('pragma', axis)}: auto_unroll_max_step expects an integer of at least 0, found "
                f"{value!r:.80}"
            )
        self._add_pragma(axis, key, value)

    def prefetch(self, tensor: Tensor, axis: IterVar, distance: int = 1) -> None:
        """Prefetch the part of `tensor` that iteration axis + distance will read."""
        self._require_leaf(axis, "prefetch")
        if not isinstance(tensor, Tensor):
            found = type(tensor).__name__
            raise ScheduleError(f"{self._where('prefetch', axis)}: expects a tensor, found {found}")
        if tensor not in self.op.inputs:
            raise ScheduleError(f"{self._where('prefetch', axis)}: {self.name!r} does not read {tensor.name!r}")
        if not isinstance(distance, Integral) or distance < 1:
            raise ScheduleError(
                f"{self._where('prefetch', axis)}: expects an integer of at least 1 as distance, found {distance!r:.80}"
            )
        self.prefetches.append(PrefetchRequest(tensor, axis, distance))

    def tensorize(self, axis: IterVar, instruction: Instruction) -> None:
        """Let an instruction compute what a loop and those inside it do.

            for i in 16: C[i] = 0
            for i in 16: for k in 4: C[i] += A[4*i + k] * B[4*i + k]      tensorize(i, dot4_u8s8_x16)
            =>  for i in 16: C[i] = 0;  intrinsic dot4_u8s8_x16 C[0:16] = C[0:16], A[0:64], B[0:64]

        Lowering compares the loops with the instruction's definition and raises ScheduleError with the first
        difference.
        """
        self._require_own(axis, "tensorize")
        if self.tensorized is not None:
            raise ScheduleError(
                f"{self._where('tensorize', axis)}: {self.tensorized[1].name!r} replaces loop "
                f"{self.tensorized[0].name!r} already; a stage has one instruction"
            )
        self.tensorized = axis, instruction

    # Place.

    def compute_at(self, consumer: Any, axis: IterVar) -> None:
        """Compute the part that each iteration of the consumer's loop needs, inside that loop.

        for i: B[i] = f(i)                        s[B].compute_at(s[C], io)
        for io: for ii: C[...] = B[...]
        =>  for io: { for i in what C needs at io: B[i] = f(i);  for ii: C[...] = B[...] }
        """
        stage = consumer if isinstance(consumer, Stage) else self.schedule[consumer]
        if stage.schedule is not self.schedule:
            raise ScheduleError(
                f"compute_at: stage {stage.name!r} is of another schedule than {self.name!r}; create_schedule makes "
                "new stages each time, so take both from one"
            )
        self._require_internal("compute_at")
        self._require_axis(axis, "compute_at")
        if stage is self:
            raise ScheduleError(f"compute_at: stage {self.name!r} can't be computed inside itself")
        if not is_among(axis, stage.leaves):
            raise ScheduleError(
                f"compute_at: {axis.name!r} is no loop of stage {stage.name!r}, whose loops are {stage._loop_names()}"
                f"{stage._twin(axis)}"
            )
        self.attach, self.inlined = (stage, axis), False

    def compute_inline(self) -> None:
        """Replace reads of the result by the computation.

        for i: B[i] = f(i)
        for i: C[i] = g(B[i])       s[B].compute_inline()
        =>  for i: C[i] = g(f(i))
        """
        self._require_internal("compute_inline")
        for stage in self.schedule.consumers(self):
            if whole := [t for t in stage.op.whole_inputs if t in self.outputs]:
                raise ScheduleError(
                    f"compute_inline: {whole[0].name!r} is read as a whole by {stage.name!r}, so it needs storage"
                )
        if not self.op.body or self.op.reduce_axis:
            found = "a reduction" if self.op.reduce_axis else "not a compute"
            raise ScheduleError(
                f"compute_inline: {self.name!r} is {found}; only an element-wise body can be substituted"
            )
        self.inlined, self.attach = True, None

    def compute_root(self) -> None:
        """Compute the whole stage before its consumers, or in a scan before those of its step (the default)."""
        self.inlined, self.attach = False, None

    def set_scope(self, scope: Scope | str) -> None:
        """Set the memory of the result: register, local, shared or global."""
        wanted = Scope.of(scope, f"set_scope of {self.name!r}")
        self._require_internal("set_scope")
        self.scope = wanted

    def storage_align(self, axis: IterVar, factor: int, offset: int = 0) -> None:
        """Make the stride of a data axis ≡ offset modulo factor (in elements), by padding the storage."""
        self._require_axis(axis, "storage_align")
        if not is_among(axis, self.axes):
            raise ScheduleError(f"{self._where('storage_align', axis)}: expects a data axis of the operation")
        whole = isinstance(factor, Integral) and isinstance(offset, Integral)
        if not whole or factor < 1 or not 0 <= offset < factor:
            raise ScheduleError(
                f"{self._where('storage_align', axis)}: expects integers, factor >= 1 and 0 <= offset < factor, found "
                f"{factor!r:.80} and {offset!r:.80}"
            )
        self._require_own_storage(self._where("storage_align", axis))
        if self.is_output:
            raise ScheduleError(
                f"{self._where('storage_align', axis)}: {self.name!r} is an output, whose storage is the caller's"
            )
        self.alignments[position(axis, self.axes)] = (factor, offset)

    # Checks and bookkeeping.

    def _require_axis(self, axis: IterVar, primitive: str) -> None:
        if self.op.is_given:
            raise ScheduleError(
                f"{primitive} in stage {self.name!r}: {self.name!r} is given, not computed, so it has no loops; "
                "schedule what reads it"
            )
        if not isinstance(axis, IterVar):
            raise ScheduleError(
                f"{primitive} in stage {self.name!r}: expects an axis, found {type(axis).__name__}; loops are "
                f"{self._loop_names()}, each an axis that op.axis, op.reduce_axis, split, tile or fuse has given"
            )

    def _require_leaf(self, axis: IterVar, primitive: str) -> None:
        self._require_axis(axis, primitive)
        if not is_among(axis, self.leaves):
            raise ScheduleError(
                f"{self._where(primitive, axis)}: it is no loop of this stage, whose loops are {self._loop_names()}"
                f"{self._twin(axis)}"
            )
        if self.attach is not None and axis in self.attach[0].blocks:
            raise ScheduleError(
                f"{self._where(primitive, axis)}: reorder has moved it into {self.attach[0].name!r}, "
                "whose loop it is now"
            )

    def _require_own(self, axis: IterVar, primitive: str) -> None:
        """Check that no reorder has taken the loop from another stage."""
        self._require_leaf(axis, primitive)
        self._require_untimed(axis, primitive)
        owner = self.blocks.get(axis)
        if owner is not None:
            raise ScheduleError(
                f"{self._where(primitive, axis)}: it is a loop of {owner.name!r}, moved here by reorder; "
                f"{primitive} it there before"
            )

    def _require_data(self, axis: IterVar, primitive: str, reason: str) -> None:
        self._require_leaf(axis, primitive)
        self._require_untimed(axis, primitive)
        if axis.kind is AxisKind.REDUCE:
            raise ScheduleError(f"{self._where(primitive, axis)}: it is a reduction, {reason}")

    def _require_untimed(self, axis: IterVar, primitive: str) -> None:
        if axis.kind is AxisKind.TIME:
            raise ScheduleError(
                f"{self._where(primitive, axis)}: it is the time of a scan, whose steps follow one another; "
                f"{primitive} the loops of what a step computes"
            )

    def _require_own_storage(self, primitive: str) -> None:
        if self.keeper is not None:
            raise ScheduleError(
                f"{primitive}: {self.name!r} is an update of scan {self.keeper.name!r}, computed in each of its steps "
                "and stored in its result"
            )

    def _require_internal(self, primitive: str) -> None:
        self._require_own_storage(primitive)
        if self.is_output:
            raise ScheduleError(f"{primitive}: {self.name!r} is an output of the schedule")
        if self.op.is_given:
            raise ScheduleError(f"{primitive}: {self.name!r} is not computed, it is given")

    def _where(self, primitive: str, axis: IterVar) -> str:
        return f"{primitive} in stage {self.name!r}, axis {axis.name!r}"

    def _twin(self, axis: IterVar) -> str:
        """The hint for an axis of another stage with the name of a loop here."""
        return "; that one is of another tensor" if any(leaf.name == axis.name for leaf in self.leaves) else ""

    def _loop_names(self) -> str:
        return ", ".join(leaf.name for leaf in self.leaves) or "none"

    def _replace(self, old: IterVar, *new: IterVar) -> None:
        place = position(old, self.leaves)
        self.leaves[place : place + 1] = new
        self._unmark(old)

    @property
    def _marks(self) -> tuple[dict[IterVar, Any], ...]:
        """The marks that say how loops run."""
        return self.kinds, self.threads, self.pragmas

    def _unmark(self, axis: IterVar) -> None:
        for marks in self._marks:
            marks.pop(axis, None)

    def _add_pragma(self, axis: IterVar, key: str, value: object) -> None:
        self.pragmas[axis] = (*self.pragmas.get(axis, ()), (key, value))
