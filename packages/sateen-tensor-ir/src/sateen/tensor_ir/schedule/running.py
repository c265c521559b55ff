"""Primitives that say how the loops of a stage run."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.ir.expr import AxisKind, Const, IterVar, const
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.span import caller_span
from sateen.tensor_ir.ir.stmt import BLOCKS, THREADS, VTHREADS, LoopKind
from sateen.tensor_ir.schedule.checks import (
    at,
    manner,
    require_data,
    require_expressions,
    require_independent,
    require_leaf,
    require_own,
    require_untimed,
)
from sateen.tensor_ir.schedule.pragmas import OTHER, PRAGMAS, PRIMITIVES, plain_value
from sateen.tensor_ir.schedule.state import NextBlockRequest, PrefetchRequest, StageState
from sateen.tensor_ir.te.recurrence import ScanOp
from sateen.tensor_ir.te.tensor import Tensor
from sateen.tensor_ir.te.threads import VTHREAD, ThreadAxis


class RunPrimitives(StageState):
    """Maps loops to lanes, threads and instructions."""

    def vectorize(self, axis: IterVar) -> None:
        """Compute all values of a loop of constant extent at once, one per vector lane."""
        require_data(self, axis, "vectorize", "its lanes would race for the result; rfactor it first")
        if not isinstance(axis.extent, Const):
            raise ScheduleError(
                f"{at(self, 'vectorize', axis)}: expects a constant extent, found {axis.extent}; split it first"
            )
        for other, kind in self.kinds.items():
            if kind is LoopKind.VECTORIZED and other is not axis:
                raise ScheduleError(
                    f"{at(self, 'vectorize', axis)}: loop {other.name!r} is vectorized already; one loop of a stage is"
                )
        if ("partition", True) in self.pragmas.get(axis, ()):
            raise ScheduleError(f"{at(self, 'vectorize', axis)}: it is partitioned, and lanes can't be")
        self._run_as(axis, LoopKind.VECTORIZED, "vectorize")

    def unroll(self, axis: IterVar) -> None:
        """Write out every iteration of a loop of constant extent."""
        require_leaf(self, axis, "unroll")
        if not isinstance(axis.extent, Const):
            raise ScheduleError(
                f"{at(self, 'unroll', axis)}: expects a constant extent, found {axis.extent}; split it first"
            )
        self._run_as(axis, LoopKind.UNROLLED, "unroll")

    def parallel(self, axis: IterVar) -> None:
        """Share the iterations of a loop among threads, in contiguous blocks. Results do not depend on the number of
        threads."""
        require_data(self, axis, "parallel", "its threads would race for the result; rfactor it first")
        self._run_as(axis, LoopKind.PARALLEL, "parallel")

    def bind(self, axis: IterVar, thread: ThreadAxis) -> None:
        """Run each iteration on its own hardware block or thread.

        A reduce axis that is bound to threads is combined across them. Virtual threads (`vthread`) are iterations that
        one thread runs in turns, statement by statement:

        for v in 2: for i in 4: C[v*4 + i] = ...       bind(v, thread_axis("vthread"))
        for i in 4: { C[i] = ...; C[4 + i] = ... }
        """
        require_leaf(self, axis, "bind")
        require_untimed(self, axis, "bind")
        require_independent(self, axis, "bind")
        if not isinstance(thread, ThreadAxis):
            raise ScheduleError(
                f"{at(self, 'bind', axis)}: expects an axis made by te.thread_axis, found {type(thread).__name__}"
            )
        if thread.tag == VTHREAD:
            if self.kinds.get(axis) is LoopKind.VTHREAD:
                raise ScheduleError(f"{at(self, 'bind', axis)}: it is bound to {VTHREAD} already")
            self._bind_virtual(axis)
            self.thread_axes[axis] = thread
            return
        if axis.kind is AxisKind.REDUCE and thread.tag not in THREADS:
            raise ScheduleError(
                f"{at(self, 'bind', axis)}: a reduction is combined across threadIdx only, found {thread.tag}"
            )
        if thread.tag in self.threads.values():
            raise ScheduleError(f"{at(self, 'bind', axis)}: another loop of the stage is already bound to {thread.tag}")
        self._run_as(axis, LoopKind.THREAD, "bind")
        self.threads[axis], self.thread_variables[axis] = thread.tag, thread.var
        self.thread_axes[axis] = thread

    def env_threads(self, threads: Sequence[ThreadAxis]) -> None:
        """Compute all steps of a scan in one kernel, whose blocks and threads stay from step to step.

            for t in n: thread blockIdx.x b: thread threadIdx.x i: S[t, b, i] = ...    env_threads([blockIdx.x, …])
            thread blockIdx.x b: for t in n: thread threadIdx.x i: S[t, b, i] = ...

        `threads` are all axes that loops of the steps are bound to. Blocks can't wait for each other, so each must read
        only what it has computed itself; threads of a block wait where one reads what another has computed. Without an
        axis of blocks there is one block.
        """
        where = f"env_threads in stage {self.name!r}"
        if not isinstance(self.op, ScanOp):
            raise ScheduleError(f"{where}: expects the stage of a scan, found {type(self.op).__name__}")
        if not isinstance(threads, (list, tuple)) or not all(isinstance(t, ThreadAxis) for t in threads):
            raise ScheduleError(f"{where}: expects a list of axes made by te.thread_axis, found {threads!r:.80}")
        tags = [thread.tag for thread in threads]
        if not tags or VTHREAD in tags or len(set(tags)) < len(tags):
            raise ScheduleError(f"{where}: expects different axes of hardware, found {', '.join(tags) or 'none'}")
        if self.environment:
            raise ScheduleError(f"{where}: it has been called already; name all axes at once")
        for tag in [tag for tag in BLOCKS if tag in tags] or [BLOCKS[0]]:
            axis = IterVar(f"block_{tag[-1]}", extent=const(1), span=caller_span())
            self.environment[tag] = axis
            self.kinds[axis], self.threads[axis] = LoopKind.THREAD, tag
        self.leaves[:0] = self.environment.values()
        self.persistent = frozenset(tags)

    def _bind_virtual(self, axis: IterVar) -> None:
        require_data(self, axis, "bind", "its virtual threads would race for the result; rfactor it first")
        if not isinstance(axis.extent, Const) or axis.extent.value > VTHREADS:
            raise ScheduleError(
                f"{at(self, 'bind', axis)}: virtual threads expect a constant extent of at most {VTHREADS}, found "
                f"{axis.extent}; split it with nparts= first"
            )
        self._run_as(axis, LoopKind.VTHREAD, "bind")

    def _run_as(self, axis: IterVar, kind: LoopKind, primitive: str) -> None:
        """Say how a loop runs, once."""
        known = self.kinds.get(axis)
        if known is not None and (known is not kind or kind is LoopKind.THREAD):
            raise ScheduleError(
                f"{at(self, primitive, axis)}: the loop is {manner(self, axis)} already; call split before both and "
                "give one part to each"
            )
        self.kinds[axis] = kind

    def pragma(self, axis: IterVar, key: str, value: object = True) -> None:
        """Give passes and code generators a request for a loop.

        `partition`: cut it where conditions inside it change. `keep`: don't vectorize or unroll it. `alternate`: let
        threads go through their parts backwards in odd iterations of the serial loop around it.
        `auto_unroll_max_step`: unroll it and the serial loops inside it where they become at most `value` statements;
        `auto_unroll_max_depth` of at most so many levels, `auto_unroll_min_depth` only inside so many loops.
        `unroll_explicit`: whether unrolled loops are written out. `debug_skip_region`: leave it out. `import_llvm`:
        LLVM text with functions that `te.call_extern` calls. `unroll`, `vectorize`, `parallel`: the primitives. Any
        other key is a hint for passes of the user's own; `explain` says which nothing of sateen reads.
        """
        require_leaf(self, axis, "pragma")
        where = at(self, "pragma", axis)
        if not isinstance(key, str) or not key.isidentifier():
            raise ScheduleError(f"{where}: expects a name, found {key!r:.80}")
        if key in PRIMITIVES:
            {"parallel": self.parallel, "unroll": self.unroll, "vectorize": self.vectorize}[key](axis)
            return
        known, value = PRAGMAS.get(key, OTHER), plain_value(value)
        if not known.accepts(value):
            raise ScheduleError(f"{where}: {key} expects {known.expects}, found {value!r:.80}")
        if known.serial and self.kinds.get(axis) is LoopKind.VECTORIZED:
            reason = "lanes can't be partitioned" if key == "partition" else f"{key} is for serial loops"
            raise ScheduleError(f"{where}: it is vectorized, and {reason}")
        if key == "alternate" and self.kinds.get(axis) is not LoopKind.PARALLEL:
            raise ScheduleError(f"{where}: {key} is for parallel loops; call parallel before")
        self._add_pragma(axis, key, value)

    def prefetch(self, tensor: Tensor, axis: IterVar, distance: int = 1) -> None:
        """Prefetch the part of `tensor` that iteration axis + distance will read."""
        self._require_read(tensor, axis, "prefetch")
        self._require_count(distance, "distance", axis, "prefetch")
        self.prefetches.append(PrefetchRequest(tensor, axis, distance))

    def prefetch_next(self, tensor: Tensor, axis: IterVar, leading: int = 1, streams: int = 1, most: int = 8) -> None:
        """Prefetch, while a block of `tensor` is read, the block behind it in memory.

        A block has the same `leading` indices. Each iteration of `axis` asks for as many cache lines as suffice, in all
        iterations of the loops that stay in the block together; it asks for none where that is more than `most`.

            for p in 4: for i in 8: for k in 16: C[i, p] += A[i, k] * B[p, k, ...]      prefetch_next(B, k)
            for p in 4: for i in 8: for k in 16: { prefetch B[p + 1, (2*i + k) lines]; C[i, p] += ... }

        With `streams`, neighbouring lines are asked for in as many parts of the next block in turn, since some memories
        give one sequence of lines more slowly than several. What lies behind the last block is asked for as well, be it
        beyond the end of the tensor: a prefetch never faults.
        """
        where = self._require_read(tensor, axis, "prefetch_next")
        for name, number in (("leading", leading), ("streams", streams), ("most", most)):
            self._require_count(number, name, axis, "prefetch_next")
        if leading >= tensor.ndim:
            raise ScheduleError(
                f"{where}: expects leading indices that leave a block of {tensor.name!r}, which has {tensor.ndim} "
                f"dimensions, found {leading}"
            )
        self.prefetches.append(NextBlockRequest(tensor, axis, leading, streams, most))

    def _require_read(self, tensor: Tensor, axis: IterVar, primitive: str) -> str:
        """Check that the stage, which computes expressions, reads a tensor in a loop; returns the words for it."""
        require_leaf(self, axis, primitive)
        where = at(self, primitive, axis)
        if not isinstance(tensor, Tensor):
            raise ScheduleError(f"{where}: expects a tensor, found {type(tensor).__name__}")
        if not self._reads(tensor):
            raise ScheduleError(f"{where}: {self.name!r} does not read {tensor.name!r}")
        require_expressions(self, where)
        return where

    def _reads(self, tensor: Tensor) -> bool:
        """Whether the stage reads a tensor, itself or in what is inlined into it."""
        pending, known = [*self.op.inputs], set(self.op.inputs)
        while pending:
            source = pending.pop()
            if source is tensor:
                return True
            if self.schedule[source].inlined:
                new = [t for t in self.schedule[source].op.inputs if t not in known]
                pending += new
                known.update(new)
        return False

    def _require_count(self, number: object, name: str, axis: IterVar, primitive: str) -> None:
        if not isinstance(number, Integral) or number < 1:
            raise ScheduleError(
                f"{at(self, primitive, axis)}: expects an integer of at least 1 as {name}, found {number!r:.80}"
            )

    def tensorize(self, axis: IterVar, instruction: Instruction) -> None:
        """Let an instruction compute what a loop and those inside it do.

            for i in 16: C[i] = 0
            for i in 16: for k in 4: C[i] += A[4*i + k] * B[4*i + k]      tensorize(i, dot4_u8s8_x16)
            =>  for i in 16: C[i] = 0;  intrinsic dot4_u8s8_x16 C[0:16] = C[0:16], A[0:64], B[0:64]

        Lowering compares the loops with the instruction's definition and raises ScheduleError with the first
        difference.
        """
        require_own(self, axis, "tensorize")
        require_expressions(self, at(self, "tensorize", axis))
        if not hasattr(instruction, "operands"):
            raise ScheduleError(
                f"{at(self, 'tensorize', axis)}: expects an instruction, of INTRINSICS or by te.decl_tensor_intrin, "
                f"found {instruction!r:.80}"
            )
        if self.tensorized is not None:
            raise ScheduleError(
                f"{at(self, 'tensorize', axis)}: {self.tensorized[1].name!r} replaces loop "
                f"{self.tensorized[0].name!r} already; a stage has one instruction"
            )
        self.tensorized = axis, instruction
