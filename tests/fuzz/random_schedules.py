"""Random schedules: a computation and a sequence of primitives, both a function of the seed.

Stages are rewritten (cache_read, cache_write, rfactor); then, consumers first, each is placed, and its loops are
transformed and annotated. What a primitive refuses is left out and counted; `Script.lines` is the accepted program.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from computations import COMPUTATIONS, Computation
from draw_instruction import instruction_for

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir import te
from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.ir.expr import AxisKind, Const, IterVar
from sateen.tensor_ir.ir.identity import position
from sateen.tensor_ir.ir.stmt import LoopKind
from sateen.tensor_ir.schedule import Schedule
from sateen.tensor_ir.schedule.stage import Stage
from sateen.tensor_ir.te.recurrence import ScanOp
from sateen.tensor_ir.te.tensor import Tensor

FACTORS = (1, 2, 3, 4, 5, 7, 8, 16)
TAILS = ("guard", "guard", "partition", "shift", "round_up")
THREADS_OF_ROOTS = (
    ("blockIdx.x",),
    ("blockIdx.x", "threadIdx.x"),
    ("blockIdx.x", "threadIdx.y", "threadIdx.x"),
    ("blockIdx.y", "blockIdx.x", "threadIdx.x"),
)
"""What the data loops of a stage at root are bound to, outermost first."""
PRAGMAS = {
    "partition": (True,),
    "keep": (True,),
    "auto_unroll_max_step": (0, 4, 16, 64),
    "auto_unroll_max_depth": (1, 2, 3),
    "auto_unroll_min_depth": (0, 1, 2),
    "unroll_explicit": (True, False),
    "of_the_user": (1, "x"),
}
"""Requests for loops, and their values."""
MOST_VTHREADS = 4
MOST_UNROLLED = 128
"""Iterations that are written out, over all unrolled loops of a stage."""


@dataclass
class Script:
    """Primitives that were called: how often each was accepted and refused, and the accepted ones as text."""

    lines: list[str] = field(default_factory=list)
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    unequal: int = 0
    """Splits by a factor that does not divide the extent."""

    def call(self, target: Stage | Schedule, primitive: str, *arguments: Any, **options: Any) -> Any:
        """Call a primitive; None where it refuses."""
        place = f"s[{target.name}]" if isinstance(target, Stage) else "s"
        given = [_text(a) for a in arguments] + [f"{k}={v!r}" for k, v in options.items()]
        try:
            result = getattr(target, primitive)(*arguments, **options)
        except ScheduleError:
            self.refused[primitive] += 1
            return None
        self.lines.append(f"{place}.{primitive}({', '.join(given)})")
        self.accepted[primitive] += 1
        return True if result is None else result


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return value.name if isinstance(value, (IterVar, Tensor, Stage)) else repr(value)


@dataclass(frozen=True)
class Candidate:
    """A schedule that is yet to be lowered, which may refuse it."""

    computation: Computation
    schedule: Schedule
    script: Script

    @property
    def is_nested(self) -> bool:
        """Whether at least two stages are computed at loops and some factor does not divide."""
        return self.script.accepted["compute_at"] >= 2 and self.script.unequal > 0


def draw(kind: int, rng: Random, nested: bool, device: bool) -> Candidate:
    """A schedule of computation `kind`; `nested` makes two compute_at and an unequal split likely. For a device each
    stage has a loop over blocks around it."""
    computation = COMPUTATIONS[kind](rng)
    schedule = te.create_schedule(list(computation.outputs))
    script = Script()
    if any(isinstance(stage.op, ScanOp) for stage in schedule.stages):
        script.accepted["scan"] += 1
    _Drawing(rng, schedule, script, nested, device).draw()
    return Candidate(computation, schedule, script)


class _Drawing:
    def __init__(self, rng: Random, schedule: Schedule, script: Script, nested: bool, device: bool) -> None:
        self.rng = rng
        self.schedule = schedule
        self.script = script
        self.nested = nested
        self.device = device

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def draw(self) -> None:
        for stage in list(self.schedule.stages):
            if stage.op.body:
                self.rewrite(stage)
        for stage in reversed(self.schedule.stages):
            if stage.op.body:
                self.place(stage)
                if not stage.inlined:
                    self.transform(stage)
                    self.bind(stage)
                    self.annotate(stage)
        for stage in self.schedule.stages:
            if stage.op.body and not stage.inlined and self.chance(0.3):
                self.tensorize(stage)
            if stage.op.body and self.chance(0.25):
                self.double_buffer(stage)
            if stage.op.body and self.device and self.chance(0.8):
                self.say_who_stores(stage)
        for stage in self.schedule.stages:
            if stage.scope is Scope.REGISTER:
                self.unroll_all(stage)

    # Rewriting.

    def rewrite(self, stage: Stage) -> None:
        s, tensor = self.schedule, self.rng.choice(stage.outputs)
        scope = self.rng.choice(["global", "global", "local", "register"])
        if self.chance(0.5 if self.nested else 0.2):
            self.script.call(s, "cache_write", tensor, scope)
        elif stage.op.reduce_axis and self.chance(0.3):
            axis = self.rng.choice(stage.op.reduce_axis)
            if self.chance(0.6):
                axis = self.rng.choice(self.split(stage, axis) or (axis,))
            self.script.call(s, "rfactor", tensor, axis, factor_axis=self.rng.randrange(len(stage.axes) + 1))
        if self.chance(0.3 if self.nested else 0.12):
            source = self.rng.choice(stage.op.inputs)
            readers = [t.outputs[0] for t in s.consumers(s[source]) if t is stage or self.chance(0.3)]
            self.script.call(s, "cache_read", source, scope, readers)

    # Placing.

    def place(self, stage: Stage) -> None:
        consumers = self.schedule.consumers(stage)
        if not consumers:
            return
        if self.chance(0.15 if self.nested else 0.25) and self.script.call(stage, "compute_inline"):
            return
        if self.chance(0.9 if self.nested else 0.55):
            host = self.rng.choice(consumers)
            for _ in range(self.rng.choice([0, 0, 1])):
                host = host.attach[0] if host.attach is not None else host
            common = [c for c in consumers if c.attach is not None]
            if len(consumers) > 1 and len(common) == len(consumers) - 1:
                host = next(c for c in consumers if c.attach is None)
            if host.leaves and not host.inlined and (not isinstance(host.op, ScanOp) or self.chance(0.1)):
                self.script.call(stage, "compute_at", host, self.leaf(host))
                self.block(stage, host)
        elif self.chance(0.4):
            self.script.call(stage, "compute_root")
        if self.chance(0.25):
            scopes = ["shared", "shared", "warp", "local"] if self.device else ["global", "local", "local", "register"]
            self.script.call(stage, "set_scope", self.rng.choice(scopes))
        if self.chance(0.2):
            factor = self.rng.choice([1, 2, 4, 8, 16])
            axis = self.rng.choice(stage.axes)
            self.script.call(stage, "storage_align", axis, factor, self.rng.randrange(factor))

    def leaf(self, stage: Stage) -> IterVar:
        """A loop to compute at, data loops first."""
        data = [leaf for leaf in stage.leaves if leaf.kind is AxisKind.DATA]
        return self.rng.choice(data if data and self.chance(0.7) else stage.leaves)

    def block(self, stage: Stage, host: Stage) -> None:
        """Sometimes move the outer part of the stage's first reduction around the host's loops."""
        reduces = [leaf for leaf in stage.leaves if leaf.kind is AxisKind.REDUCE]
        if not reduces or not self.chance(0.35):
            return
        axis = reduces[0]
        if self.chance(0.7):
            parts = self.split(stage, axis)
            axis = parts[0] if parts else axis
        placed = stage.attach is not None and stage.attach[0] is host
        inside = host.leaves[: position(stage.attach[1], host.leaves) + 1] if placed else []
        others = [leaf for leaf in inside if self.chance(0.7)] or inside[:1]
        if others and self.script.call(host, "reorder", axis, *others):
            self.script.accepted["reorder a block"] += 1

    # Loops.

    def transform(self, stage: Stage) -> None:
        for _ in range(self.rng.choice([0, 1, 1, 2, 3])):
            if not stage.leaves:
                return
            self.rng.choice([self.split_any, self.split_any, self.tile, self.fuse, self.reorder])(stage)

    def split_any(self, stage: Stage) -> None:
        self.split(stage, self.rng.choice(stage.leaves))

    def split(self, stage: Stage, axis: IterVar) -> tuple[IterVar, IterVar] | None:
        tail = self.rng.choice(TAILS)
        factor = self.rng.choice(FACTORS)
        option = {"nparts": factor} if self.chance(0.2) else {"factor": factor}
        result = self.script.call(stage, "split", axis, **option, tail=tail)
        if result is not None:
            self.script.accepted[f"split, tail {tail}"] += 1
            self.script.unequal += self.is_unequal(axis, factor)
        return result

    def tile(self, stage: Stage) -> None:
        if len(stage.leaves) < 2:
            return
        x, y = self.rng.sample(stage.leaves, 2)
        a, b = self.rng.choice(FACTORS), self.rng.choice(FACTORS)
        if self.script.call(stage, "tile", x, y, a, b, tail=self.rng.choice(TAILS)):
            self.script.unequal += self.is_unequal(x, a) + self.is_unequal(y, b)

    @staticmethod
    def is_unequal(axis: IterVar, factor: int) -> bool:
        return not isinstance(axis.extent, Const) or axis.extent.value % factor != 0

    def fuse(self, stage: Stage) -> None:
        if len(stage.leaves) < 2:
            return
        first = self.rng.randrange(len(stage.leaves) - 1)
        count = 3 if self.chance(0.2) else 2
        self.script.call(stage, "fuse", *stage.leaves[first : first + count])

    def reorder(self, stage: Stage) -> None:
        axes = self.rng.sample(stage.leaves, self.rng.randint(1, len(stage.leaves)))
        self.script.call(stage, "reorder", *axes)

    # Threads and parts.

    def bind(self, stage: Stage) -> None:
        """Threads: hardware's on a device, virtual ones everywhere."""
        free = self.free(stage)
        if self.device and stage.attach is None:
            for axis, tag in zip(free, self.rng.choice(THREADS_OF_ROOTS), strict=False):
                self.script.call(stage, "bind", axis, te.thread_axis(tag))
        elif self.device and self.chance(0.5):
            short = [leaf for leaf in stage.leaves if self.extent(leaf) <= 33 and leaf not in stage.kinds]
            if short:
                self.script.call(stage, "bind", self.rng.choice(short), te.thread_axis("threadIdx.x"))
        sums = [leaf for leaf in stage.leaves if leaf.kind is AxisKind.REDUCE and leaf not in stage.kinds]
        if self.device and sums and self.extent(sums[0]) <= 33 and self.chance(0.5):
            self.script.call(stage, "bind", sums[0], te.thread_axis("threadIdx.z"))
        free = self.free(stage)
        if not free or not self.chance(0.15):
            return
        axis = self.rng.choice(free)
        if self.extent(axis) > MOST_VTHREADS or self.chance(0.6):
            parts = self.script.call(stage, "split", axis, nparts=self.rng.randint(2, MOST_VTHREADS))
            if parts is None:
                return
            axis = parts[0]
        if self.script.call(stage, "bind", axis, te.thread_axis("vthread")):
            self.script.accepted["bind"] -= 1
            self.script.accepted["bind, vthread"] += 1

    def double_buffer(self, stage: Stage) -> None:
        """Two parts, where the stage is computed at a loop whose iterations follow one another."""
        if stage.attach is not None:
            host, axis = stage.attach
            follow = host.kinds.get(axis, LoopKind.SERIAL) in (LoopKind.SERIAL, LoopKind.UNROLLED)
            if follow and (axis.kind is not AxisKind.TIME or self.chance(0.2)):
                self.script.call(stage, "double_buffer")

    def say_who_stores(self, stage: Stage) -> None:
        """The first of the threads around that compute the same, which stores it anyway."""
        same = [leaf for leaf in stage.threads if leaf.kind is AxisKind.REDUCE]
        if stage.attach is not None and stage.scope is Scope.SHARED:
            host, axis = stage.attach
            around = host.leaves[: position(axis, host.leaves) + 1]
            threads = [leaf for leaf in around if host.threads.get(leaf, "").startswith("threadIdx")]
            same += [leaf for leaf in threads if host.threads[leaf] not in stage.threads.values()]
        if same:
            self.script.call(stage, "set_store_predicate", self.rng.choice(same).equal(0))

    def free(self, stage: Stage) -> list[IterVar]:
        """The data loops that nothing is said of."""
        return [leaf for leaf in stage.leaves if leaf.kind is AxisKind.DATA and leaf not in stage.kinds]

    # Annotations.

    def annotate(self, stage: Stage) -> None:
        if not stage.leaves:
            return
        if not self.device and stage.attach is None and self.chance(0.3):
            data = [leaf for leaf in stage.leaves if leaf.kind is AxisKind.DATA]
            if data:
                self.script.call(stage, "parallel", data[0] if self.chance(0.8) else self.rng.choice(data))
        if self.chance(0.45):
            short = [a for a in stage.leaves if self.extent(a) <= 33 and a not in stage.kinds]
            if short:
                self.script.call(stage, "vectorize", short[-1] if self.chance(0.7) else self.rng.choice(short))
        if self.chance(0.35):
            for axis in self.rng.sample(stage.leaves, self.rng.randint(1, len(stage.leaves))):
                self.unroll(stage, axis)
        if self.chance(0.2):
            source = self.rng.choice(stage.op.inputs)
            self.script.call(stage, "prefetch", source, self.rng.choice(stage.leaves), self.rng.choice([1, 2, 5]))
        if self.chance(0.2):
            source, leading = self.rng.choice(stage.op.inputs), self.rng.choice([1, 2])
            self.script.call(
                stage, "prefetch_next", source, self.rng.choice(stage.leaves), leading, self.rng.choice([1, 4])
            )
        for key, values in PRAGMAS.items():
            axis, value = self.rng.choice(stage.leaves), self.rng.choice(values)
            if self.chance(0.2) and self.script.call(stage, "pragma", axis, key, value):
                self.script.accepted[f"pragma {key}"] += 1

    @staticmethod
    def extent(axis: IterVar) -> float:
        return int(axis.extent.value) if isinstance(axis.extent, Const) else float("inf")

    def unroll(self, stage: Stage, axis: IterVar) -> None:
        total = self.extent(axis)
        for other, kind in stage.kinds.items():
            total *= self.extent(other) if kind is LoopKind.UNROLLED else 1
        if axis not in stage.kinds and axis not in stage.blocks and total <= MOST_UNROLLED:
            self.script.call(stage, "unroll", axis)

    def unroll_all(self, stage: Stage) -> None:
        """What a register buffer needs: constant indices, in its own nest and where it is read."""
        self.unroll_data(stage, stage.leaves)
        if stage.attach is not None:
            host, axis = stage.attach
            for consumer in self.schedule.consumers(stage):
                inside = consumer.leaves[position(axis, consumer.leaves) + 1 :] if consumer is host else consumer.leaves
                self.unroll_data(consumer, inside)

    def unroll_data(self, stage: Stage, axes: list[IterVar]) -> None:
        for axis in axes:
            if axis.kind is AxisKind.DATA or self.chance(0.3):
                self.unroll(stage, axis)

    # Instructions.

    def tensorize(self, stage: Stage) -> None:
        """Put an instruction in the place of the innermost loops that are plain."""
        hosts = {s.attach[1] for s in self.schedule.stages if s.attach is not None}
        plain = 0
        for leaf in reversed(stage.leaves):
            marked = leaf in stage.kinds or leaf in stage.blocks or leaf in hosts or self.extent(leaf) > 64
            if marked or any(r.axis is leaf for r in stage.prefetches):
                break
            plain += 1
        if plain:
            inner = stage.leaves[len(stage.leaves) - self.rng.randint(1, plain) :]
            instruction = instruction_for(stage, inner, f"of_{stage.name}".replace(".", "_"))
            if instruction is not None:
                self.script.call(stage, "tensorize", inner[0], instruction)
