"""Writes a loop-IR function as a Python function that executes it on `TrappingMemory`.

Loops become `for`, a condition on which operand is evaluated becomes `if`. Every line of the program belongs to a
statement, so that traps name it. A kernel (an outermost loop over blocks or threads) is executed as plain loops, or as
on hardware: each thread is a generator that runs the whole kernel and yields at barriers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, product
from typing import Any, Protocol

from sateen.runtime.errors import ExecutionError
from sateen.tensor_ir.interpret import scalars
from sateen.tensor_ir.interpret.blocks import Place, Window, copy
from sateen.tensor_ir.interpret.calls import meaning_of_values
from sateen.tensor_ir.interpret.instructions import Execution
from sateen.tensor_ir.interpret.memory import Clock, SharedMemory, TrappingMemory, interleave
from sateen.tensor_ir.interpret.scalars import Trap
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import all_written, read_by
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import (
    BLOCKS,
    THREADS,
    Allocate,
    Barrier,
    Evaluate,
    For,
    Function,
    If,
    Intrinsic,
    Invoke,
    Let,
    LoopKind,
    Prefetch,
    Seq,
    Stmt,
    Store,
    Timestamp,
    While,
)
from sateen.tensor_ir.ir.types import INDEX, wrap
from sateen.tensor_ir.ir.visit import children, free_vars, unknown, walk

MAX_LOOPS = 15
"""The most nested loops in one Python function, which CPython limits to 20; inner ones become separate functions."""

MAX_TEXT = 400
"""The most characters of one Python expression, since CPython limits it to 200 nested parentheses."""


@dataclass(slots=True)
class Program:
    """A Python function without arguments, named `main`, and the values that it refers to."""

    lines: list[str] = field(default_factory=list)
    origins: list[Stmt | None] = field(default_factory=list)
    """The statement to which each line belongs."""
    namespace: dict[str, Any] = field(default_factory=dict)
    names: dict[Var | Buffer, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return "\n".join(self.lines)


class Callees(Protocol):
    """Executes kernels that a function names, at places in its memory."""

    def invoke(self, name: str, places: Sequence[Place]) -> None: ...

    def launch(
        self, name: str, grid: Sequence[int], block: Sequence[int], places: Sequence[Place], scalars: Sequence[int]
    ) -> None: ...


def passed_on(function: Function) -> set[Buffer]:
    """The buffers that are passed on as places in memory, so that their bytes matter."""
    passed: set[Buffer] = set()
    for node in walk(function.body):
        if isinstance(node, (Invoke, Launch)):
            passed.update(node.buffers)
        elif isinstance(node, Copy):
            passed |= {node.target, node.source}
    return passed


def write_program(
    function: Function,
    memories: Mapping[Buffer, TrappingMemory],
    symbols: Mapping[Var, int],
    clock: Clock,
    functions: Mapping[str, Callable[..., Any]],
    simt: bool | None,
    callees: Callees,
) -> Program:
    """The program of `function` over the memories of its parameters.

    `simt`: whether kernels are executed as on hardware; None: only those with a barrier. `callees` execute other
    kernels. Raises ExecutionError if the function calls one that is neither native nor in `functions`.
    """
    writer = _Writer(clock, functions, simt)
    writer.program.namespace |= {"invoke": callees.invoke, "launch": callees.launch, "copy": copy}
    writer.passed = passed_on(function)
    for var, value in symbols.items():
        writer.bind(var, value)
    for buffer, memory in memories.items():
        writer.bind(buffer, memory)
    for node in walk(function.body):
        for buffer in read_by(node):
            if buffer.data is not None and buffer not in writer.program.names:
                writer.bind(buffer, SharedMemory(buffer, buffer.data.shape, buffer.data))
    writer.contested = all_written(function.body)
    writer.line("def main():")
    with writer.indented():
        writer.line("pass")
        writer.statement(function.body)
    return writer.program


class _Writer:
    def __init__(self, clock: Clock, functions: Mapping[str, Callable[..., Any]], simt: bool | None) -> None:
        self.functions = functions
        self.simt = simt
        self.program = Program(
            namespace={
                "SharedMemory": SharedMemory, "Window": Window, "interleave": interleave, "clock": clock,
                "product": product, "minimum": scalars.minimum, "maximum": scalars.maximum, "no_branch": _no_branch,
            }
        )  # fmt: skip
        self.numbers = count()
        self.depth = 0
        self.loops = 0
        self.origin: Stmt | None = None
        self.worker: tuple[str, ...] = ()
        """The text of `memory.Worker`."""
        self.threads: dict[str, str] = {}
        """In a kernel on hardware: the position of this thread along each axis, as text."""
        self.contested: set[Buffer] = set()
        """Buffers that are stored to, so that concurrent accesses can be races."""
        self.passed: set[Buffer] = set()
        """Buffers that kernels are given places in."""
        self.owned_by: dict[Buffer, tuple[str, ...]] = {}
        """The worker that allocated each buffer."""
        self.shared_nodes: set[int] = set()
        self.texts: dict[int, str] = {}
        """The text of each expression, by id, that has one at this point of the statement."""

    # Lines and names.

    def line(self, text: str) -> None:
        self.program.lines.append(" " * self.depth + text)
        self.program.origins.append(self.origin)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self.numbers)}"

    def name(self, node: Var | Buffer) -> str:
        """The Python name of a variable or buffer."""
        names = self.program.names
        if node not in names:
            names[node] = f"{'v' if isinstance(node, Var) else 'm'}{len(names)}"
        return names[node]

    def bind(self, node: Var | Buffer, value: object) -> None:
        self.program.namespace[self.name(node)] = value

    def constant(self, value: object) -> str:
        """The name of a value that the program refers to."""
        name = f"c{len(self.program.namespace)}"
        self.program.namespace[name] = value
        return name

    # Statements.

    def statement(self, s: Stmt) -> None:
        if isinstance(s, Seq):
            for child in s.body:
                self.statement(child)
            return
        self.origin = s
        self.texts = {}
        self.shared_nodes = _shared_nodes(s)
        match s:
            case For():
                self.loop(s)
            case If():
                self.line(f"if {self.expr(s.condition)}:")
                self.block(s.then)
                if s.otherwise is not None:
                    self.line("else:")
                    self.block(s.otherwise)
            case While():
                self.line("while True:")
                with self.indented():
                    self.line(f"if not {self.expr(s.condition)}: break")
                self.block(s.body)
            case Let():
                self.line(f"{self.name(s.var)} = {self.expr(s.value)}")
                self.statement(s.body)
            case Allocate():
                if s.scope is not Scope.SHARED or not self.threads:
                    self.allocate(s.buffer)
                self.statement(s.body)
            case Store():
                self.store(s)
            case Evaluate():
                self.line(self.expr(s.value))
            case Barrier():
                self.line("yield" if self.threads else "pass")
            case Prefetch():
                self.line("pass")
            case Invoke():
                places = "".join(f"({self.name(buffer)}, {self.expr(offset)}), " for buffer, offset in s.arguments)
                self.line(f"invoke({s.callee!r}, ({places}))")
            case Launch():
                places = "".join(f"({self.name(buffer)}, {self.expr(offset)}), " for buffer, offset in s.arguments)
                grid, given = self.indices(s.grid), self.indices(s.scalars)
                self.line(f"launch({s.kernel!r}, {grid}, {s.block}, ({places}), {given})")
            case Copy():
                target = f"({self.name(s.target)}, {self.expr(s.target_offset)})"
                source = f"({self.name(s.source)}, {self.expr(s.source_offset)})"
                self.line(f"copy({target}, {source}, {self.expr(s.size)})")
            case Wait():
                self.line("pass")
            case Intrinsic():
                self.intrinsic(s)
            case Timestamp():
                self.line(f"{self.name(s.buffer)}.store(({s.index},), clock.tick())")
            case _:
                raise unknown(s, "the interpreter")

    def block(self, s: Stmt) -> None:
        with self.indented():
            self.line("pass")
            self.statement(s)

    def allocate(self, buffer: Buffer) -> None:
        shape = "".join(f"{self.expr(extent)}, " for extent in buffer.shape)
        self.owned_by[buffer] = self.worker
        memory = "Window.alone" if buffer in self.passed else "SharedMemory"
        self.line(f"{self.name(buffer)} = {memory}({self.constant(buffer)}, ({shape}))")

    def store(self, s: Store) -> None:
        value = self.expr(s.value)
        if s.buffer.dtype.is_bool:
            value = f"bool({value})"
        elif s.buffer.dtype.is_float and s.buffer.dtype.bits < 32:
            value = f"{self.constant(scalars.rounded(s.buffer.dtype))}({value})"
        by = f"_by({self.worker_text()}, " if self.is_contested(s.buffer) else "("
        self.line(f"{self.name(s.buffer)}.store{by}{self.indices(s.indices)}, {value})")

    def intrinsic(self, s: Intrinsic[Instruction]) -> None:
        starts = "".join(f"{self.indices(region.indices)}, " for region in s.regions)
        memories = "".join(f"{self.name(buffer)}, " for buffer in s.buffers)
        execution = self.constant(Execution(s, [self.is_contested(buffer) for buffer in s.buffers]))
        self.line(f"{execution}({self.worker_text()}, ({memories}), ({starts}))")

    def loop(self, s: For) -> None:
        start, extent = self.expr(s.start), self.expr(s.extent)
        domain = f"range({extent})" if ex.is_const(s.start, 0) else f"range({start}, {start} + {extent})"
        if s.kind is LoopKind.THREAD and self.threads:
            self.own_iteration(s, start, extent)
        elif s.kind is LoopKind.THREAD and self.is_simt(s):
            self.kernel(s)
        elif s.kind in (LoopKind.PARALLEL, LoopKind.THREAD):
            self.concurrent_loop(s, domain)
        else:
            self.plain_loop(s, domain)

    def plain_loop(self, s: For, domain: str) -> None:
        if self.loops == MAX_LOOPS:
            self.outlined(s, domain)
            return
        self.line(f"for {self.name(s.var)} in {domain}:")
        self.loops += 1
        self.block(s.body)
        self.loops -= 1

    def outlined(self, s: For, domain: str) -> None:
        """The loop as a separate function."""
        body, outside = self.fresh("body"), self.loops
        self.line(f"def {body}():")
        with self.indented():
            self.loops = 0
            self.plain_loop(s, domain)
            self.loops = outside
            if self.threads:
                self.line("yield from ()")
        self.origin = s
        self.line(f"yield from {body}()" if self.threads else f"{body}()")

    def concurrent_loop(self, s: For, domain: str) -> None:
        """A loop whose iterations have no order."""
        execution, outside = self.fresh("execution"), self.worker
        self.line(f"{execution} = clock.tick()")
        self.worker = (*outside, execution, self.name(s.var))
        self.plain_loop(s, domain)
        self.worker = outside

    def is_simt(self, kernel: For) -> bool:
        if self.simt is None:
            return any(isinstance(n, Barrier) for n in walk(kernel))
        return self.simt

    def kernel(self, s: For) -> None:
        """As many blocks and threads as the loops need; shared memory is allocated once for each block."""
        loops = [n for n in walk(s) if isinstance(n, For) and n.kind is LoopKind.THREAD]
        counts: dict[str, list[str]] = {}
        inner = {n.var for n in walk(s) if isinstance(n, (For, Let))}
        for loop in loops:
            if free_vars(loop.extent) & inner:
                raise ExecutionError(f"thread loop {loop.var.name!r}: extent {loop.extent} differs within its kernel")
            counts.setdefault(str(loop.thread), []).append(self.expr(loop.extent))
        axes = {axis: self.fresh("axis") for axis in counts}
        ranges = {axis: f"range(max({', '.join(listed)}, 0))" for axis, listed in counts.items()}
        blocks, threads = ([a for a in axes if a in kind] for kind in (BLOCKS, THREADS))
        thread, outside = self.fresh("thread"), (self.loops, self.worker)
        at_block = ", ".join(axes[a] for a in blocks)
        self.line(f"for {at_block}, in product({', '.join(ranges[a] for a in blocks)}):" if blocks else "if True:")
        with self.indented():
            for node in walk(s):
                if isinstance(node, Allocate) and node.scope is Scope.SHARED:
                    self.allocate(node.buffer)
            position = self.fresh("position")
            self.line(f"def {thread}({position}):")
            with self.indented():
                self.line(f"({''.join(f'{axes[a]}, ' for a in threads)}) = {position}")
                self.threads, self.worker, self.loops = axes, ("clock.now", position), 0
                self.statement(s)
                self.line("yield from ()")
                self.threads, self.loops, self.worker = {}, *outside
            self.origin = s
            self.line("clock.tick()")
            self.line(f"for barrier in interleave(map({thread}, product({', '.join(ranges[a] for a in threads)}))):")
            self.line(" clock.tick()")
            self.line("clock.tick()")

    def own_iteration(self, s: For, start: str, extent: str) -> None:
        """The iteration of a thread loop for this block or thread, if there is one."""
        own = self.threads[str(s.thread)]
        self.line(f"if {own} < {extent}:")
        with self.indented():
            self.line(f"{self.name(s.var)} = {start} + {own}")
            self.statement(s.body)

    def is_contested(self, buffer: Buffer) -> bool:
        """Whether concurrent workers may access the buffer, one of them storing."""
        return buffer in self.contested and self.owned_by.get(buffer, ()) != self.worker

    def worker_text(self) -> str:
        return f"({', '.join(self.worker)})"

    # Expressions.

    def indices(self, indices: tuple[Expr, ...]) -> str:
        return f"({''.join(f'{self.expr(i)}, ' for i in indices)})"

    def expr(self, e: Expr) -> str:
        """Python text of the value; a node that the statement uses several times is evaluated once, into a name.

        Operands that are always evaluated get names first, so that only chosen ones recurse.
        """
        pending = [e]
        while pending:
            node = pending[-1]
            waiting = [c for c in _always_evaluated(node) if id(c) not in self.texts]
            if waiting:
                pending += reversed(waiting)
                continue
            pending.pop()
            if id(node) not in self.texts:
                self.texts[id(node)] = self.operation_or_name(node)
        return self.texts[id(e)]

    def operation_or_name(self, e: Expr) -> str:
        text = self.operation(e)
        if id(e) not in self.shared_nodes and len(text) < MAX_TEXT:
            return text
        name = self.fresh("t")
        self.line(f"{name} = {text}")
        return name

    def operation(self, e: Expr) -> str:
        match e:
            case ex.Const():
                value = scalars.literal(e.value, e.dtype)
                return self.constant(value) if e.dtype.is_float else f"({value})"
            case Var():
                return self.name(e)
            case Load():
                by = f".load_by({self.worker_text()}, " if self.is_contested(e.buffer) else "["
                return f"{self.name(e.buffer)}{by}{self.indices(e.indices)}{']' if by == '[' else ')'}"
            case ex.And():
                return self.choice(e.a, e.b, ex.FALSE)
            case ex.Or():
                return self.choice(e.a, ex.TRUE, e.b)
            case ex.Select():
                return self.choice(e.condition, e.then, e.otherwise)
            case ex.Piecewise():
                return self.piecewise(e)
            case ex.Min() | ex.Max():
                return f"{'minimum' if isinstance(e, ex.Min) else 'maximum'}({self.expr(e.a)}, {self.expr(e.b)})"
            case ex.Compare():
                return f"({self.expr(e.a)} {e.symbol} {self.expr(e.b)})"
            case ex.Binary():
                text = f"({self.expr(e.a)} {e.symbol} {self.expr(e.b)})"
                return self.wrapped(text, e) if e.dtype.is_int else text
            case ex.Not():
                return f"(not {self.expr(e.value)})"
            case ex.Cast():
                return f"{self.constant(scalars.conversion(e.value.dtype, e.dtype))}({self.expr(e.value)})"
            case ex.Reinterpret():
                return f"{self.constant(scalars.reinterpretation(e.value.dtype, e.dtype))}({self.expr(e.value)})"
            case ex.Call():
                return self.call(e)
        raise unknown(e, "the interpreter")

    def wrapped(self, text: str, e: Expr) -> str:
        """Integers of data wrap, an index does not (docs/semantics.md 2.1, 3.1)."""
        if isinstance(e, ex.FloorMod) or e.dtype == INDEX:
            return text
        return f"{self.constant(partial(wrap, dtype=e.dtype))}({text})"

    def choice(self, condition: Expr, then: Expr, otherwise: Expr) -> str:
        """One of two operands: only that one is evaluated."""
        test = self.expr(condition)
        branches = [self.branch(then), self.branch(otherwise)]
        (then_lines, then_text), (else_lines, else_text) = branches
        if not then_lines and not else_lines:
            return f"({then_text} if {test} else {else_text})"
        return self.cases([(test, *branches[0]), ("True", *branches[1])])

    def piecewise(self, e: ex.Piecewise) -> str:
        index = self.expr(e.index)
        cases = [(f"{index} == {i}", *self.branch(b)) for i, b in enumerate(e.branches)]
        return self.cases([*cases, ("True", [], f"no_branch({index}, {len(e.branches)})")])

    def branch(self, e: Expr) -> tuple[list[str], str]:
        """The lines that an operand needs, at the depth of a block, and its text; its names are local to it."""
        lines, origins = self.program.lines, self.program.origins
        known, mark = len(self.texts), len(lines)
        with self.indented():
            text = self.expr(e)
        while len(self.texts) > known:
            self.texts.popitem()
        own = lines[mark:]
        del lines[mark:], origins[mark:]
        return own, text

    def cases(self, cases: list[tuple[str, list[str], str]]) -> str:
        """The text of the first case whose test holds."""
        result = self.fresh("t")
        for position, (test, lines, text) in enumerate(cases):
            self.line(f"{'el' if position else ''}if {test}:")
            with self.indented():
                self.program.lines.extend(lines)
                self.program.origins.extend([self.origin] * len(lines))
                self.line(f"{result} = {text}")
        return result

    def call(self, e: ex.Call) -> str:
        listed = ", ".join(self.expr(a) for a in e.args)
        meaning = meaning_of_values(e, self.functions)
        if meaning is None:
            raise ExecutionError(f"call of {e.name!r}, which is no native function; give its meaning in functions=")
        return f"{self.constant(meaning)}({listed})"


def _no_branch(index: int, count: int) -> None:
    raise Trap(f"piecewise expects an index in [0, {count}), found {index}")


def _always_evaluated(e: Expr) -> tuple[Expr, ...]:
    """The operands that are evaluated wherever `e` is."""
    match e:
        case ex.And() | ex.Or():
            return (e.a,)
        case ex.Select():
            return (e.condition,)
        case ex.Piecewise():
            return (e.index,)
    return tuple(c for c in children(e) if isinstance(c, Expr))


def _shared_nodes(s: Stmt) -> set[int]:
    """The expressions (by id) that the statement itself uses more than once; leaves do not count."""
    uses: Counter[int] = Counter()
    stack: list[Expr] = [c for c in children(s) if isinstance(c, Expr)]
    while stack:
        e = stack.pop()
        uses[id(e)] += 1
        if uses[id(e)] == 1:
            stack.extend(c for c in children(e) if isinstance(c, Expr) and not isinstance(c, (ex.Const, Var)))
    return {key for key, number in uses.items() if number > 1}


__all__ = ["Program", "write_program"]
