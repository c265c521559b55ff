"""Cut a function into kernels, which the threads of a device execute, and the host's work around them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from sateen.runtime.device import Device
from sateen.runtime.display import named
from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.arith import StructuralKeys
from sateen.tensor_ir.intrinsics.code import WARP_THREADS
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_read, all_written, read_by, written_by
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.choices import all_of
from sateen.tensor_ir.ir.device_work import Copy, Launch, Queue, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import (
    BLOCKS,
    EMPTY,
    LANE,
    THREAD_TAGS,
    THREADS,
    Allocate,
    For,
    Function,
    If,
    Intrinsic,
    Let,
    LoopKind,
    Prefetch,
    Seq,
    Stmt,
    Store,
    While,
    sequence,
)
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.ir.visit import StatementRewriter, children, free_vars, substitute, walk
from sateen.tensor_ir.lowering.insert_barriers import thread_extents


@dataclass(frozen=True, slots=True, eq=False)
class DeviceProgram:
    """A host's function, which launches kernels on memory of a device, and these kernels."""

    host: Function
    kernels: tuple[Kernel, ...]


def split_host_device(function: Function, device: Device) -> DeviceProgram:
    """The kernels of a function, one for each outermost nest that is bound to threads, and the host's function around
    them.

        allocate T                                          allocate T: … on opencl(0)
        for k: thread blockIdx.x i: T[i] = A[k, i]     =>     for k: launch f_0(A + 0, T + 0, k) grid [n, 1, 1] …
        thread blockIdx.x i: B[i] = T[i]                      launch f_1(T + 0, B + 0) grid [n, 1, 1] …

    All memory is the device's and all work in its queue 0, where it may go on after the host's function has ended. A
    parameter in the host's memory has a copy on the device. It is copied there before all kernels, and an output is
    copied back after them; the host waits for that. `insert_barriers` comes before. Inside a kernel, loops bound to one
    axis are all the same threads: those with fewer iterations than others are guarded. Stores outside of any loop along
    an axis are done by its thread 0. Raises LoweringError for work that is not bound to threads, and for memory whose
    scope does not fit its use.
    """
    splitter = _Splitter(function, device)
    body = splitter.host(function.body, ())
    parameters = tuple(splitter.parameter(b) for b in function.parameters)
    renamed = dict(zip(function.parameters, parameters, strict=True))
    outputs, aliased = (frozenset(renamed[b] for b in named) for named in (function.outputs, function.aliased))
    body = splitter.with_copies(body)
    numbers = tuple((symbol, renamed[b]) for symbol, b in function.numbers)
    needs = tuple(replace(r, parameter=renamed[r.parameter]) for r in function.requirements)
    host = Function(function.name, parameters, outputs, body, aliased, function.denormals, numbers, needs)
    verify(host, after="split_host_device")
    return DeviceProgram(host, tuple(splitter.kernels))


class _Splitter:
    def __init__(self, function: Function, device: Device) -> None:
        self.function = function
        self.queue = Queue(device)
        self.memory = {b: replace(b, device=device) for b in function.parameters}
        """The device's memory for each buffer of the function."""
        self.on_host = {b: replace(b, alignment=b.dtype.bytes) for b in function.parameters}
        """The host's own memory, which is only copied, so that any alignment does."""
        self.kernels: list[Kernel] = []

    def parameter(self, b: Buffer) -> Buffer:
        """A parameter of the host's function."""
        if b.device is None:
            return self.memory[b]
        if b.on_device is not None:
            remedy = "leave it out" if b.device == self.queue.device else "copy it before the call"
            raise LoweringError(
                f"{self.function.name}: expected parameter {b.name!r} in memory of the host, or with no device, which "
                f"means {self.queue.device}; found {b.device}: {remedy}"
            )
        if b in self.function.aliased:
            raise LoweringError(
                f"{self.function.name}: expected aliased parameters in memory of the device, where they stay one; "
                f"found {b.name!r} in memory of the host, whose copies would be apart"
            )
        return self.on_host[b]

    def with_copies(self, body: Stmt) -> Stmt:
        """The host's work, with copies of parameters that are the host's."""
        f, held = self.function, {b for _, b in self.function.numbers}
        copied = [b for b in f.parameters if b.device is not None and b not in held]
        if not copied:
            return body
        zero = ex.const(0)
        there = [Copy(self.queue, self.memory[b], zero, self.on_host[b], zero, b.span_bytes()) for b in copied]
        back = [
            Copy(self.queue, self.on_host[b], zero, self.memory[b], zero, b.span_bytes())
            for b in copied
            if b in f.outputs
        ]
        body = sequence(*there, body, *back, Wait(self.queue))
        for b in reversed(copied):
            body = Allocate(self.memory[b], body)
        return body

    def host(self, s: Stmt, around: tuple[Var, ...]) -> Stmt:
        """A statement of the host; `around` are the variables that loops around it bind."""
        if isinstance(s, Seq) and not s.body:
            return s
        if not any(isinstance(n, For) and n.kind is LoopKind.THREAD for n in walk(s)):
            stored = named(sorted(repr(b.name) for b in all_written(s)))
            found = f"work for the host, which stores {stored}"
            place = f", {s.span}" if s.span is not None else ""
            raise LoweringError(
                f"{self.function.name}: expected loops that are bound to blocks and threads, found {found}; bind them "
                f"by the schedule{place}:\n{str(s).splitlines()[0]}"
            )
        match s:
            case Seq():
                return sequence(*(self.host(child, around) for child in s.body))
            case Allocate(buffer=buffer):
                if buffer.scope is not Scope.GLOBAL:
                    raise LoweringError(
                        f"{buffer.name!r} is computed outside of all kernels and expects scope global, found "
                        f"{buffer.scope.value}; call set_scope, or compute_at inside of a loop that is bound to blocks"
                    )
                self._require_sizes(s, *buffer.shape, *(buffer.strides or ()))
                self.memory[buffer] = replace(buffer, device=self.queue.device)
                return replace(s, buffer=self.memory[buffer], body=self.host(s.body, around))
            case For(kind=LoopKind.THREAD):
                return self._launch(s, around)
            case For(kind=LoopKind.SERIAL) if not all_read(s.start, s.extent):
                return replace(s, body=self.host(s.body, (*around, s.var)))
            case Let() if s.var.dtype == INDEX and not all_read(s.value):
                return replace(s, body=self.host(s.body, (*around, s.var)))
            case Let() if all_read(s.value) <= set(self.function.parameters) - self.function.outputs:
                return self.host(substitute(s.body, {s.var: s.value}), around)
            case If() if not all_read(s.condition):
                otherwise = None if s.otherwise is None else self.host(s.otherwise, around)
                return replace(s, then=self.host(s.then, around), otherwise=otherwise)
        raise self._work_for_host(s)

    def _require_sizes(self, s: Stmt, *extents: Expr) -> None:
        """Raise LoweringError for extents that are read from memory, which is the device's."""
        if all_read(*extents):
            raise self._work_for_host(s)

    def _work_for_host(self, s: Stmt) -> LoweringError:
        return LoweringError(
            f"{self.function.name}: expected serial loops, conditions and extents of sizes around kernels, found work "
            f"for the host:\n{str(s).splitlines()[0]}"
        )

    def _launch(self, s: For, around: tuple[Var, ...]) -> Launch:
        f = self.function
        binding = _Binding(s)
        body = binding.bound(s)
        stored = all_written(body)
        used = all_read(body) | stored
        buffers = tuple(b for b in self.memory if b in used)
        body = _WithoutHints(set(self.memory) - used).rewrite(body)
        sizes = [e for b in used for e in (*b.shape, *(b.strides or ()))]
        grid = binding.grid()
        self._require_sizes(s, *grid)
        free = free_vars(body).union(*map(free_vars, [*sizes, *grid])) - set(binding.axes.values())
        extents = (v for b in f.parameters for e in (*b.shape, *(b.strides or ())) for v in walk(e))
        symbols = (*extents, *(v for v, _ in f.numbers), *around)
        scalars = tuple(v for v in dict.fromkeys(symbols) if isinstance(v, Var) and v in free)
        x, y, z = (binding.threads.get(tag, 1) for tag in THREADS)
        name, written = f"{f.name}_{len(self.kernels)}", frozenset(stored) & set(buffers)
        self.kernels.append(
            Kernel(name, buffers, written, f.aliased & set(buffers), scalars, binding.axes, grid, (x, y, z), body)
        )
        places = tuple(self.memory[b] for b in buffers)
        offsets = tuple(ex.const(0) for _ in buffers)
        return Launch(name, self.queue, grid, (x, y, z), places, offsets, scalars, s.span)


class _WithoutHints(StatementRewriter):
    """Drops prefetches from memory that a kernel does not access, and is not given therefore."""

    def __init__(self, absent: Container[Buffer]) -> None:
        self.absent = absent

    def rewrite_Seq(self, s: Seq) -> Stmt:
        kept = self.descend(s)
        return kept if kept is s else sequence(*kept.body)

    def rewrite_Prefetch(self, s: Prefetch) -> Stmt:
        return EMPTY if s.buffer in self.absent else s


class _Binding:
    """Replaces the thread loops of one kernel by the hardware's indices."""

    def __init__(self, kernel: For) -> None:
        loops = [n for n in walk(kernel) if isinstance(n, For) and n.thread is not None]
        self.threads = thread_extents(kernel)
        self.blocks: dict[str, list[Expr]] = {}
        for loop in loops:
            if loop.thread in BLOCKS:
                self.blocks.setdefault(loop.thread, []).append(loop.extent)
        self.axes = {tag: Var(tag) for tag in THREAD_TAGS if tag in self.threads or tag in self.blocks}
        self.values: dict[Var, Expr] = {}
        self.keys = StructuralKeys()

    def grid(self) -> tuple[Expr, Expr, Expr]:
        """The number of blocks along x, y, z."""
        x, y, z = (self._blocks(tag) for tag in BLOCKS)
        return x, y, z

    def _blocks(self, tag: str) -> Expr:
        extents = self.blocks.get(tag, [ex.const(1)])
        if all(isinstance(e, ex.Const) for e in extents):
            return max(extents, key=lambda e: int(e.value) if isinstance(e, ex.Const) else 0)
        if len({self.keys.of(e) for e in extents}) > 1:
            found = ", ".join(map(str, extents))
            raise LoweringError(f"loops of one kernel bound to {tag} expect one symbolic extent, found {found}")
        return extents[0]

    def bound(self, s: For) -> Stmt:
        """The kernel's body."""
        body, alone = self._bind(s, {}, ())
        return substitute(_guarded(body, alone, self.axes), self.values)

    def _bind(self, s: Stmt, allocated: Mapping[Buffer, int], loops: Sequence[For]) -> tuple[Stmt, frozenset[str]]:
        """The statement without thread loops, and the axes along which only thread 0 is to execute it."""
        for buffer in _accessed(s):
            _check_scope(buffer, allocated, loops)
        match s:
            case Store():
                return s, self._uncovered(s.buffer, s.indices, allocated, loops)
            case Intrinsic():
                axes = (self._uncovered(r.buffer, r.indices, allocated, loops) for r in s.outputs)
                alone = frozenset[str]().union(*axes)
                return s, alone - {self._warps(s, loops)} if s.instruction.by_warp else alone
            case Seq():
                return self._sequence([self._bind(child, allocated, loops) for child in s.body])
            case For(kind=LoopKind.THREAD):
                body, alone = self._bind(s.body, allocated, [*loops, s])
                return self._thread_loop(s, body), alone
            case Allocate():
                if s.scope is Scope.GLOBAL:
                    raise LoweringError(
                        f"{s.buffer.name!r} is computed inside of a kernel and expects scope shared, local or "
                        "register, found global; call set_scope"
                    )
                allocated = {**allocated, s.buffer: len(loops)}
                body, alone = self._bind(s.body, allocated, loops)
                return replace(s, body=body), alone
            case For() | While() | Let():
                body, alone = self._bind(s.body, allocated, loops)
                return replace(s, body=body), alone
            case If():
                then, alone = self._bind(s.then, allocated, loops)
                if s.otherwise is None:
                    return replace(s, then=then), alone
                otherwise, also = self._bind(s.otherwise, allocated, loops)
                then, otherwise = _guarded(then, alone, self.axes), _guarded(otherwise, also, self.axes)
                return replace(s, then=then, otherwise=otherwise), frozenset()
        return s, frozenset()

    def _warps(self, s: Intrinsic[Instruction], loops: Sequence[For]) -> str:
        """The axis of the threads that execute an instruction together. Raises LoweringError where these are not whole
        warps."""
        over = next((loop for loop in loops if loop.thread == LANE), None)
        if over is not None:
            raise LoweringError(
                f"intrinsic {s.instruction.name!r} is executed by the threads along {LANE} together, and stands inside "
                f"of loop {over.var.name!r}, which is bound to it; put it outside"
            )
        if (count := self.threads.get(LANE, 1)) % WARP_THREADS:
            raise LoweringError(
                f"intrinsic {s.instruction.name!r} is executed by {WARP_THREADS} threads along {LANE} together, found "
                f"{count}; bind a loop of that extent to it, such as one that fills shared memory"
            )
        return LANE

    def _thread_loop(self, s: For, body: Stmt) -> Stmt:
        """The body for this thread, if it is one of the loop's."""
        assert s.thread is not None
        index = self.axes[s.thread]
        self.values[s.var] = ex.add(s.start, index)
        extents = self.blocks.get(s.thread) or [ex.const(self.threads[s.thread])]
        whole = all(self.keys.of(e) == self.keys.of(s.extent) for e in extents)
        return body if whole else If(index < s.extent, body, None, s.span)

    def _sequence(self, children: Sequence[tuple[Stmt, frozenset[str]]]) -> tuple[Stmt, frozenset[str]]:
        """Adjacent statements that the same threads execute stay together."""
        runs = [(alone, sequence(*(s for s, _ in run))) for alone, run in groupby(children, key=lambda child: child[1])]
        if len(runs) == 1:
            return runs[0][1], runs[0][0]
        return sequence(*(_guarded(s, alone, self.axes) for alone, s in runs)), frozenset()

    def _uncovered(
        self, buffer: Buffer, indices: Sequence[Expr], allocated: Mapping[Buffer, int], loops: Sequence[For]
    ) -> frozenset[str]:
        """The axes whose threads would all store the same to one element of memory that they share."""
        if buffer.scope.rank < Scope.SHARED.rank:
            return frozenset()
        named = {v for index in indices for v in walk(index)}
        first = allocated.get(buffer, 0)
        covered = {loop.thread for i, loop in enumerate(loops) if i >= first or loop.var in named}
        sharing = THREADS if buffer.scope is Scope.SHARED else THREAD_TAGS
        return frozenset(tag for tag in sharing if tag in self.axes and tag not in covered)


def _guarded(s: Stmt, alone: frozenset[str], axes: Mapping[str, Var]) -> Stmt:
    conditions = [axes[tag].equal(0) for tag in THREAD_TAGS if tag in alone]
    return If(all_of(conditions), s) if conditions else s


def _accessed(s: Stmt) -> Iterator[Buffer]:
    """The buffers that a statement itself reads and writes, without those of inner statements."""
    yield from (*written_by(s), *read_by(s))
    for child in children(s):
        if isinstance(child, Expr):
            yield from all_read(child)


def _check_scope(buffer: Buffer, allocated: Mapping[Buffer, int], loops: Sequence[For]) -> None:
    """Check that threads don't use other threads' own memory, nor blocks that of other blocks."""
    if buffer.scope is Scope.GLOBAL or buffer.data is not None:
        return
    within = loops[allocated.get(buffer, 0) :]
    if buffer.scope is Scope.SHARED:
        within = [loop for loop in within if loop.thread in BLOCKS]
    if within:
        loop = within[0]
        wider = "global" if loop.thread in BLOCKS else "shared"
        raise LoweringError(
            f"{buffer.name!r} in scope {buffer.scope.value} is used in loop {loop.var.name!r}, bound to {loop.thread}, "
            f"but computed for all of that loop; compute it inside of it, or call set_scope({wider!r})"
        )
