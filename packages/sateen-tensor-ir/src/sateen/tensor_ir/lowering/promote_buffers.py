"""Keep small buffers in registers, where every index is constant once loops over few elements are written out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from sateen.tensor_ir.arith import Analyzer, Linear
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import EMPTY, Allocate, For, Function, If, LoopKind, Prefetch, Stmt, Store, lets
from sateen.tensor_ir.ir.visit import SharingRewriter, StatementRewriter, children, walk
from sateen.tensor_ir.lowering.accesses import Access, Accesses
from sateen.tensor_ir.lowering.keep_loops import KEEP
from sateen.tensor_ir.lowering.registers import RegisterFile, has_vectors, is_rounded
from sateen.tensor_ir.lowering.remarks import Listener, Remark, unheard
from sateen.tensor_ir.targets import Machine

MOST_UNROLLED = 256
"""The most statements of a loop that is written out for a buffer in registers."""


def promote_buffers(function: Function, machine: Machine, listener: Listener = unheard) -> Function:
    """A small buffer of one thread becomes registers, and the serial loops over its elements are unrolled.

        allocate t: local float32[2]           allocate t: register float32[2]
          for i in [0, 2):                       unrolled i in [0, 2):
            t[i] = A[i] * 2.0          =>          t[i] = A[i] * 2.0
          for i in [0, 2):                       unrolled i in [0, 2):
            C[i] = t[i]                            C[i] = t[i]

    A buffer stays in memory if it needs more registers than are free, if an index varies with a loop that can't be
    unrolled, if threads share it, or if its elements are used in vectors of different widths.
    """
    body = _Promoter(machine, listener).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Refused(Exception):  # noqa: N818 - it carries an answer
    pass


class _Promoter(StatementRewriter):
    def __init__(self, machine: Machine, listener: Listener) -> None:
        self.machine = machine
        self.listener = listener
        self.registers = RegisterFile(machine)
        self.analyzer = Analyzer()

    def rewrite_For(self, s: For) -> Stmt:
        with self.analyzer.bound(s.var, s.start, s.extent):
            return self.descend(s)

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        with self.registers.kept():
            if s.scope is Scope.REGISTER or s.buffer.on_device is not None:
                self.registers.note(s.buffer)
                return self.descend(s)
            try:
                loops, count = self._promotion(s)
            except _Refused as refusal:
                self.listener(Remark(s.buffer.name, f"stays in memory: {refusal}", is_done=False))
                return self.descend(s)
            self.registers.taken += count
            unrolled = f", loop {', '.join(loop.var.name for loop in loops)} unrolled" if loops else ""
            text = f"in {count} register{'s' if count > 1 else ''}{unrolled}"
            self.listener(Remark(s.buffer.name, text, is_done=True))
            register = replace(s.buffer, scope=Scope.REGISTER)
            body = _Unrolled(s.buffer, register, loops).rewrite(s.body)
            return Allocate(register, self.rewrite(body), s.span)

    def _promotion(self, s: Allocate) -> tuple[list[For], int]:
        """The loops to unroll, and the number of registers."""
        buffer, size = s.buffer, s.buffer.size()
        if s.scope is Scope.SHARED:
            raise _Refused("threads share it")
        if size is None:
            raise _Refused("its size is not constant")
        free = self.registers.most - self.registers.taken
        if ceil(size * buffer.dtype.bytes / self.machine.vector_bytes) > free:
            raise _Refused(f"it has {size * buffer.dtype.bytes} bytes, and {free} registers are free")
        if is_rounded(buffer.dtype):
            raise _Refused(f"a store to {buffer.dtype} rounds")
        found = Accesses.beneath(s.body)
        if buffer in found.others:
            raise _Refused("an instruction or a function uses it")
        accesses = found.of.get(buffer, [])
        loops = self._loops(accesses)
        slots = _Slots(buffer, self.analyzer, {*loops})
        slots.run(s.body)
        count = sum(ceil(max(lanes, 1) * buffer.dtype.bytes / self.machine.vector_bytes) for _, lanes in slots.stored)
        if count > free:
            raise _Refused(f"it needs {count} registers, and {free} are free")
        return loops, count

    def _loops(self, accesses: Iterable[Access]) -> list[For]:
        """The serial loops that indices vary with."""
        loops: dict[For, None] = {}
        for access in accesses:
            mentioned = {n for i in access.node.indices for n in walk(i)}
            if any(isinstance(n, Load) for n in mentioned):
                raise _Refused("an index depends on loaded data")
            around = [step for step in access.chain if isinstance(step, For)]
            for loop in around:
                if loop.kind in (LoopKind.PARALLEL, LoopKind.THREAD):
                    raise _Refused(f"iterations of loop {loop.var.name} share it")
                if loop.var in mentioned and loop.kind is LoopKind.SERIAL:
                    loops[loop] = None
            if beyond := mentioned.difference(loop.var for loop in around):
                names = sorted(v.name for v in beyond if isinstance(v, Var))
                if names:
                    raise _Refused(f"an index varies with {', '.join(names)}")
        for loop in loops:
            if not has_vectors(self.machine):
                raise _Refused(f"an index varies with loop {loop.var.name}, and code for the target is to be short")
            if KEEP in loop.pragmas:
                raise _Refused(f"an index varies with loop {loop.var.name}, which its pragma keeps")
            if not isinstance(loop.start, ex.Const) or not isinstance(loop.extent, ex.Const):
                raise _Refused(f"an index varies with loop {loop.var.name}, whose range is not constant")
            repeated = [
                n for n in walk(loop.body) if isinstance(n, For) and n.kind is LoopKind.SERIAL and n not in loops
            ]
            if repeated:
                raise _Refused(f"unrolling loop {loop.var.name} would repeat loop {repeated[0].var.name}")
            if (count := _statements(loop, loops)) > MOST_UNROLLED:
                raise _Refused(f"unrolling loop {loop.var.name} would make {count} statements")
        return list(loops)


def _statements(s: Stmt, unrolled: Mapping[For, None]) -> int:
    """The statements beneath one once loops are unrolled."""
    _, s = lets(s)
    inner = sum(_statements(child, unrolled) for child in children(s) if isinstance(child, Stmt)) or 1
    if isinstance(s, For) and (s in unrolled or s.kind is LoopKind.UNROLLED) and isinstance(s.extent, ex.Const):
        return int(s.extent.value) * inner
    return inner


@dataclass
class _Slots:
    """The elements that are stored together, as (first, lanes; 0 for one): found by going through a statement in order,
    with unrolled loops written out.

    Raises _Refused for what the emitter can't keep: an element that is read before it is stored in this order, and
    vectors that overlap.
    """

    buffer: Buffer
    analyzer: Analyzer
    unrolled: set[For]
    stored: dict[tuple[int, int], None] = field(default_factory=dict)
    values: dict[Var, int] = field(default_factory=dict)
    lane: For | None = None
    forms: dict[int, Linear] = field(default_factory=dict)
    steps: int = 0

    def run(self, s: Stmt) -> None:
        around, s = lets(s)
        for let in around:
            self._load([let.value])
        match s:
            case For():
                self._load([s.start, s.extent])
                self._loop(s)
            case Store():
                self._load([*s.indices, s.value])
                if s.buffer is self.buffer:
                    self._store(s)
            case If():
                self._load([s.condition])
                self.run(s.then)
                if s.otherwise is not None:
                    self.run(s.otherwise)
            case Prefetch():
                pass
            case _:
                self._load([child for child in children(s) if isinstance(child, Expr)])
                for child in children(s):
                    if isinstance(child, Stmt):
                        self.run(child)

    def _loop(self, s: For) -> None:
        if not any(isinstance(n, (Load, Store)) and n.buffer is self.buffer for n in walk(s.body)):
            return
        if s.kind is LoopKind.VECTORIZED:
            self.lane = s
            self.run(s.body)
            self.lane = None
        elif s in self.unrolled or s.kind is LoopKind.UNROLLED:
            if not isinstance(s.start, ex.Const) or not isinstance(s.extent, ex.Const):
                raise _Refused(f"the range of loop {s.var.name} is not constant")
            for i in range(int(s.start.value), int(s.start.value) + int(s.extent.value)):
                self.values[s.var] = i
                self.run(s.body)
        else:
            self.run(s.body)

    def _slot(self, access: Load | Store) -> tuple[int, int]:
        self.steps += 1
        if self.steps > 16 * MOST_UNROLLED:
            raise _Refused("too many statements use it")
        form = self.forms.get(id(access))
        if form is None:
            form = self.forms[id(access)] = self.analyzer.form(self.buffer.offset(access.indices))
        first, stride = form.constant, 0
        for atom, coefficient in form.terms.items():
            if self.lane is not None and atom is self.lane.var:
                stride = coefficient
            elif isinstance(atom, Var) and atom in self.values:
                first += coefficient * self.values[atom]
            else:
                raise _Refused(f"the index {atom} is not linear in unrolled loops")
        if stride not in (0, 1):
            raise _Refused(f"lanes are {stride} elements apart")
        if stride == 0:
            if self.lane is not None and isinstance(access, Store):
                raise _Refused(f"each lane of loop {self.lane.var.name} stores to one element")
            return first, 0
        assert self.lane is not None
        if not isinstance(self.lane.start, ex.Const) or not isinstance(self.lane.extent, ex.Const):
            raise _Refused(f"the range of loop {self.lane.var.name} is not constant")
        return first + int(self.lane.start.value), int(self.lane.extent.value)

    def _store(self, s: Store) -> None:
        first, lanes = slot = self._slot(s)
        if slot in self.stored:
            return
        end = first + max(lanes, 1)
        if any(first < start + max(width, 1) and start < end for start, width in self.stored):
            raise _Refused("it is stored in vectors of different widths")
        self.stored[slot] = None

    def _load(self, roots: Sequence[Expr]) -> None:
        for load in (n for root in roots for n in walk(root) if isinstance(n, Load) and n.buffer is self.buffer):
            first, lanes = slot = self._slot(load)
            if slot in self.stored:
                continue
            end = first + max(lanes, 1)
            if not any(start <= first and end <= start + max(width, 1) for start, width in self.stored):
                raise _Refused("it is loaded before it is stored, or in wider vectors")


class _Unrolled(SharingRewriter):
    """Replaces a buffer by registers, and makes loops unrolled."""

    def __init__(self, buffer: Buffer, register: Buffer, loops: Sequence[For]) -> None:
        super().__init__()
        self.buffer = buffer
        self.register = register
        self.unrolled = {*loops}

    def rewrite_For(self, s: For) -> Stmt:
        new = self.descend(s)
        return replace(new, kind=LoopKind.UNROLLED) if s in self.unrolled else new

    def rewrite_Load(self, e: Load) -> Expr:
        new = self.descend(e)
        return replace(new, buffer=self.register) if e.buffer is self.buffer else new

    def rewrite_Store(self, s: Store) -> Stmt:
        new = self.descend(s)
        return replace(new, buffer=self.register) if s.buffer is self.buffer else new

    def rewrite_Prefetch(self, s: Prefetch) -> Stmt:
        return EMPTY if s.buffer is self.buffer else self.descend(s)
