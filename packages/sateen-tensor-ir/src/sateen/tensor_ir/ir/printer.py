"""Text form of loop IR and of expressions: one construct per line, `parse_function` reads it back.

    function matmul(A: float32[64, 64], B: float32[64, 64], C: out float32[64, 64])
      constant scale: float32[1] = "AACAPw=="
      allocate acc: register float32[4, 16]
      for i in [0, 64):
        acc[i, 0] = acc[i, 0] + A[i, 0] * scale[0]

A constant's data is its bytes in base64. The scope of a `let` or an `allocate` is the rest of the block, or the
indented lines beneath it if the block continues after them. A longer expression that occurs several times in a
statement, or nests deep, is written once, in a line before it; parsing that line gives one shared expression again:

    given term = round(x[i] / scale[0])
    y[i] = select(term < 0.0f, 0.0f, term)
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import read_by
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load, Scope
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import (
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
    Region,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Timestamp,
    While,
    sequence,
)
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.types import FLOAT32, INDEX
from sateen.tensor_ir.ir.visit import children, unknown, walk

RESERVED = frozenset(
    {
        "aliased", "align", "allocate", "and", "barrier", "constant", "denormals", "else", "false", "flush", "for",
        "function", "given", "if", "in", "inff", "inout", "intrinsic", "invoke", "let", "max", "min", "nanf", "not",
        "or", "out", "parallel", "pass", "piecewise", "prefetch", "select", "strides", "thread", "timestamp", "true",
        "unrolled", "vectorized", "while",
    }
)  # fmt: skip
"""Words of the text form, which can't be names. Words for work of devices can: a name follows them in a statement."""

_PRECEDENCE: dict[type[Expr], int] = {
    ex.Or: 1, ex.And: 2, ex.Not: 3,
    ex.EQ: 4, ex.NE: 4, ex.LT: 4, ex.LE: 4, ex.GT: 4, ex.GE: 4,
    ex.Add: 5, ex.Sub: 5, ex.Mul: 6, ex.Div: 6, ex.FloorDiv: 6, ex.FloorMod: 6,
}  # fmt: skip


LONGEST_REPEATED = 16
"""The most nodes of a repeated expression that is written at each place; a longer one gets a name."""

DEEPEST_WRITTEN = 48
"""The most parentheses within each other that are written in one expression; a part of so many gets a name."""

LONGEST_CHAIN = 200
"""The most nodes within each other that are written as one expression, such as the terms of a sum."""


class Names:
    """Unique, stable names: a name that is taken gets a number."""

    def __init__(self) -> None:
        self._given: dict[object, str] = {}
        self._taken: set[str] = set(RESERVED)
        self._numbers: Counter[str] = Counter()

    def of(self, node: Var | Buffer) -> str:
        known = self._given.get(node)
        if known is not None:
            return known
        plain = "".join(c if c.isalnum() or c in "_." else "_" for c in node.name) or "v"
        name = self._given[node] = self.new(plain if not plain[0].isdigit() else f"v{plain}")
        return name

    def new(self, plain: str) -> str:
        """A new name."""
        name = plain
        while name in self._taken:
            self._numbers[plain] += 1
            name = f"{plain}_{self._numbers[plain]}"
        self._taken.add(name)
        return name


def format_expr(e: Expr, names: Names | None = None) -> str:
    """The expression on one line, with as few parentheses as it needs."""
    printer = _Printer(names or Names())
    terms = ", ".join(printer.name_parts([e]))
    return f"given {terms} in {printer.expr(e)}" if terms else printer.expr(e)


def format_stmt(s: Stmt, names: Names | None = None) -> str:
    """The statement, indented by nesting."""
    return "\n".join(_Printer(names or Names()).lines(s, 0))


def format_function(f: Function) -> str:
    """The function: its signature, then its body."""
    printer = _Printer(Names())
    parameters = ", ".join(
        f"{printer.names.of(b)}: {_role(b in f.outputs, b in f.aliased)}{printer.buffer_type(b)}" for b in f.parameters
    )
    extents = (e for b in f.parameters for e in (*b.shape, *(b.strides or ())))
    sizes = {printer.names.of(v): "" for e in extents for v in walk(e) if isinstance(v, Var)}
    sizes |= {printer.names.of(v): f" = {printer.names.of(b)}" for v, b in f.numbers}
    symbols = f"[{', '.join(name + sizes[name] for name in sorted(sizes))}]" if sizes else ""
    used = (b for n in walk(f.body) for b in ((n.buffer,) if isinstance(n, Prefetch) else read_by(n)))
    constants = [printer.constant(b) for b in dict.fromkeys(used) if b.data is not None]
    mode = "" if f.denormals == "keep" else f" denormals {f.denormals}"
    needs = (f"{printer.names.of(r.parameter)}[{r.dimension}]: {printer.expr(r.slack)}" for r in f.requirements)
    required = f" requires {', '.join(needs)}" if f.requirements else ""
    head = f"function {f.name}{symbols}({parameters}){mode}{required}"
    return "\n".join([head, *constants, *printer.lines(f.body, 1)])


def _role(is_output: bool, is_aliased: bool) -> str:
    """The mark of a parameter: `inout` is an aliased output, which may overlap other aliased parameters."""
    return ("inout " if is_output else "aliased ") if is_aliased else "out " if is_output else ""


class _Printer:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.terms: dict[Expr, str] = {}
        """The names of expressions that the statement has in several places, or that nest deep."""

    def name_parts(self, expressions: Iterable[Expr]) -> Iterator[str]:
        """Definitions of the repeated and deep parts of these expressions, in order; forgets earlier ones."""
        self.terms = {}
        for e in _parts(expressions):
            definition = self.expr(e)
            self.terms[e] = self.names.new("term")
            yield f"{self.terms[e]} = {definition}"

    def buffer_type(self, b: Buffer) -> str:
        shape = ", ".join(self.expr(e) for e in b.shape)
        scope = "" if b.scope is Scope.GLOBAL else f"{b.scope.value} "
        strides = f" strides [{', '.join(self.expr(e) for e in b.strides)}]" if b.strides is not None else ""
        alignment = f" align {b.alignment}" if b.alignment != 64 else ""
        device = f" on {b.device}" if b.device is not None else ""
        return f"{scope}{b.dtype}[{shape}]{strides}{alignment}{device}"

    def constant(self, b: Buffer) -> str:
        assert b.data is not None
        data = b64encode(b.data.tobytes()).decode("ascii")
        return f'  constant {self.names.of(b)}: {self.buffer_type(b)} = "{data}"'

    def expr(self, e: Expr, outer: int = 0) -> str:
        if e in self.terms:
            return self.terms[e]
        level = _PRECEDENCE.get(type(e), 9)
        text = self._expr(e, level)
        return f"({text})" if level < outer else text

    def _expr(self, e: Expr, level: int) -> str:
        match e:
            case ex.Const():
                return self._literal(e)
            case Var():
                return self.names.of(e)
            case ex.Min() | ex.Max():
                return f"{e.symbol}({self.expr(e.a)}, {self.expr(e.b)})"
            case ex.Binary():
                return f"{self.expr(e.a, level)} {e.symbol} {self.expr(e.b, level + 1)}"
            case ex.Not():
                return f"not {self.expr(e.value, level)}"
            case ex.Cast():
                return f"{e.dtype}({self.expr(e.value)})"
            case ex.Reinterpret():
                return f"reinterpret:{e.dtype}({self.expr(e.value)})"
            case ex.Select():
                return f"select({self.expr(e.condition)}, {self.expr(e.then)}, {self.expr(e.otherwise)})"
            case ex.Call():
                dtype = "" if e.args and e.dtype == e.args[0].dtype else f":{e.dtype}"
                return f"{e.name}{dtype}({', '.join(self.expr(a) for a in e.args)})"
            case ex.Piecewise():
                return f"piecewise[{self.expr(e.index)}]({', '.join(self.expr(b) for b in e.branches)})"
            case Load():
                return f"{self.names.of(e.buffer)}[{', '.join(self.expr(i) for i in e.indices)}]"
            case Address():
                return f"address:{e.access}({self.names.of(e.buffer)}, {self.expr(e.offset)})"
            case Read():
                return f"{e.tensor.name}[{', '.join(self.expr(i) for i in e.indices)}]"
            case Reduce():
                sources = ", ".join(self.expr(s) for s in e.sources)
                axes = ", ".join(f"{a.name} < {self.expr(a.extent)}" for a in e.axes)
                where = "" if ex.is_const(e.where, True) else f" where {self.expr(e.where)}"
                output = f"#{e.output}" if len(e.sources) > 1 else ""
                return f"{e.combiner.name}{output}({sources} over {axes}{where})"
        raise unknown(e, "the printer")

    def _literal(self, e: ex.Const) -> str:
        if e.dtype == INDEX:
            return str(e.value)
        if e.dtype.is_bool:
            return "true" if e.value else "false"
        return f"{e.dtype}({e.value!r})" if e.dtype != FLOAT32 else f"{e.value!r}f"

    def lines(self, s: Stmt, depth: int, last: bool = True) -> Iterator[str]:
        """The lines of a statement; `last` if nothing follows it in its block."""
        pad = "  " * depth
        while last and isinstance(s, (Let, Allocate)):  # chains of them may be long
            yield from self.scope(s, pad)
            s = s.body
        if isinstance(s, (Let, Allocate)):
            yield from self.scope(s, pad)
            yield from self.lines(s.body, depth + 1)
            return
        for definition in self.name_parts(e for e in children(s) if isinstance(e, Expr)):
            yield f"{pad}given {definition}"
        match s:
            case Seq():
                flat = sequence(s)
                body = flat.body if isinstance(flat, Seq) else (flat,)
                for child in body[:-1]:
                    yield from self.lines(child, depth, last=False)
                if body:
                    yield from self.lines(body[-1], depth, last)
                else:
                    yield f"{pad}pass"
            case For():
                kind = f"thread {s.thread}" if s.kind is LoopKind.THREAD else s.kind.value
                pragmas = "".join(f" {k}" if v is True else f" {k}={v!r}" for k, v in s.pragmas)
                yield f"{pad}{kind} {self.names.of(s.var)} in {self.domain(s)}{pragmas}:"
                yield from self.lines(s.body, depth + 1)
            case If():
                yield f"{pad}if {self.expr(s.condition)}:"
                yield from self.lines(s.then, depth + 1)
                if s.otherwise is not None:
                    yield f"{pad}else:"
                    yield from self.lines(s.otherwise, depth + 1)
            case While():
                yield f"{pad}while {self.expr(s.condition)}:"
                yield from self.lines(s.body, depth + 1)
            case Store():
                indices = ", ".join(self.expr(i) for i in s.indices)
                yield f"{pad}{self.names.of(s.buffer)}[{indices}] = {self.expr(s.value)}"
            case Prefetch():
                yield f"{pad}prefetch {self.names.of(s.buffer)}[{', '.join(self.expr(i) for i in s.indices)}]"
            case Invoke():
                arguments = ", ".join(f"{self.names.of(b)} + {self.expr(o)}" for b, o in s.arguments)
                yield f"{pad}invoke {s.callee}({arguments})"
            case Launch():
                places = [f"{self.names.of(b)} + {self.expr(o)}" for b, o in s.arguments]
                given = ", ".join([*places, *map(self.expr, s.scalars)])
                grid, block = (", ".join(parts) for parts in (map(self.expr, s.grid), map(str, s.block)))
                yield f"{pad}launch {s.kernel}({given}) grid [{grid}] block [{block}] on {s.queue}"
            case Copy():
                to, start = self.names.of(s.target), self.names.of(s.source)
                places = [f"{to} + {self.expr(s.target_offset)}", f"{start} + {self.expr(s.source_offset)}"]
                yield f"{pad}copy {places[0]} = {places[1]}, {self.expr(s.size)} on {s.queue}"
            case Wait():
                yield f"{pad}wait on {s.queue}" + ("" if s.by is None else f" by {s.by}")
            case Intrinsic():
                outputs, inputs = (", ".join(map(self.region, regions)) for regions in (s.outputs, s.inputs))
                yield f"{pad}intrinsic {s.instruction.name} {outputs}{f' = {inputs}' if inputs else ''}"
            case Shuffle():
                target = f"{self.names.of(s.buffer)}[{', '.join(self.expr(i) for i in s.indices)}]"
                yield f"{pad}shuffle {target} = {self.expr(s.value)} from {self.expr(s.lane)} of {s.width}"
            case Timestamp():
                yield f"{pad}timestamp {self.names.of(s.buffer)}[{s.index}]"
            case Evaluate():
                yield f"{pad}{self.expr(s.value)}"
            case Barrier():
                yield f"{pad}barrier {s.scope.value}"
            case _:
                raise unknown(s, "the printer")

    def scope(self, s: Let | Allocate, pad: str) -> Iterator[str]:
        """The lines of a let or an allocate before its body."""
        for definition in self.name_parts(e for e in children(s) if isinstance(e, Expr)):
            yield f"{pad}given {definition}"
        if isinstance(s, Let):
            yield f"{pad}let {self.names.of(s.var)} = {self.expr(s.value)}"
        else:
            yield f"{pad}allocate {self.names.of(s.buffer)}: {self.buffer_type(s.buffer)}"

    def region(self, region: Region) -> str:
        """`A[i, 0:16]`: an index if the extent is 1, otherwise the first index and, after a colon, the extent."""
        parts = zip(region.indices, region.extents, strict=True)
        places = ", ".join(self.expr(i) if extent == 1 else f"{self.expr(i)}:{extent}" for i, extent in parts)
        return f"{self.names.of(region.buffer)}[{places}]"

    def domain(self, s: For) -> str:
        """[first, end) if those are literals or the loop starts at 0, otherwise [0, extent) + start."""
        if ex.is_const(s.start, 0):
            return f"[0, {self.expr(s.extent)})"
        if isinstance(s.start, ex.Const) and isinstance(s.extent, ex.Const):
            return f"[{s.start.value}, {s.start.value + s.extent.value})"
        return f"[0, {self.expr(s.extent)}) + {self.expr(s.start)}"


def _parts(expressions: Iterable[Expr]) -> list[Expr]:
    """The longer nodes that occur several times beneath `expressions`, and those that nest deep, each after those that
    it contains."""
    roots = list(expressions)
    uses = Counter(roots)
    beneath: dict[Expr, list[Expr]] = {}
    finished: dict[Expr, None] = {}
    stack = roots[::-1]
    while stack:
        e = stack[-1]
        if e in beneath:
            finished[stack.pop()] = None
            continue
        beneath[e] = [child for child in children(e) if isinstance(child, Expr)]
        uses.update(beneath[e])
        stack.extend(child for child in reversed(beneath[e]) if child not in beneath)
    length: dict[Expr, int] = {}
    depth: dict[Expr, int] = {}
    height: dict[Expr, int] = {}
    named: list[Expr] = []
    for e in finished:
        length[e] = 1 + sum(length[child] for child in beneath[e])
        height[e] = 1 + max((height[child] for child in beneath[e]), default=0)
        depth[e] = max((depth[child] + _is_within(child, e) for child in beneath[e]), default=1)
        is_deep = depth[e] > DEEPEST_WRITTEN or height[e] > LONGEST_CHAIN
        if is_deep or (uses[e] > 1 and length[e] > LONGEST_REPEATED):
            named.append(e)
            length[e] = depth[e] = height[e] = 1
    return named


def _is_within(operand: Expr, e: Expr) -> bool:
    """Whether an operand stands in parentheses, or could: a first operand does not that binds as tightly."""
    level = _PRECEDENCE.get(type(e))
    return (
        level is None or not isinstance(e, ex.Binary) or operand is not e.a or _PRECEDENCE.get(type(operand), 9) < level
    )
