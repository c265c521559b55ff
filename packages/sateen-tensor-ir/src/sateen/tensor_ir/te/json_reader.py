"""Reads the JSON text of definitions of te and of functions of loop IR.

Reading trusts nothing: the verifier of loop IR judges every expression, and the checks of te every operation.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from sateen.runtime.device import Device
from sateen.runtime.errors import ArgumentError, ExpressionError, LoweringError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load, Scope, decl_buffer
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.parser import parse_expr, parse_function, parse_stmt
from sateen.tensor_ir.ir.stmt import Function, Store
from sateen.tensor_ir.ir.tensor_expr import Combiner, Read, Reduce
from sateen.tensor_ir.ir.tokens import ParseError
from sateen.tensor_ir.ir.types import INDEX, INT64, element_type, int_range, value_type
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.ir.visit import SharingRewriter, free_vars, walk
from sateen.tensor_ir.te.extern_body import extern
from sateen.tensor_ir.te.json_writer import KEY, VERSION, Fields
from sateen.tensor_ir.te.operations import ExternOp, constant, placeholder
from sateen.tensor_ir.te.outer_loops import with_outer_loops
from sateen.tensor_ir.te.recurrence import scan
from sateen.tensor_ir.te.reduction import check_body, reduce_axis
from sateen.tensor_ir.te.tensor import ComputeOp, Operation, Tensor

_MOST_CHARACTERS = 1 << 28
_MOST_DIMENSIONS = 64


def load_json(text: str, intrinsics: Mapping[str, Instruction] | None = None) -> list[Tensor] | Function:
    """The tensors, or the function, that `save_json` wrote; bodies of loop IR may use the `intrinsics` by name.

    Raises ExpressionError for other texts; it says where.
    """
    if not isinstance(text, str) or len(text) > _MOST_CHARACTERS:
        found = f"{len(text)}" if isinstance(text, str) else type(text).__name__
        raise ExpressionError(f"load_json expects a text of at most {_MOST_CHARACTERS} characters, found {found}")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ExpressionError(f"load_json expects JSON: {error}") from None
    if not isinstance(value, dict) or value.get(KEY) != VERSION or isinstance(value[KEY], bool):
        raise ExpressionError(f"load_json expects an object with {KEY!r}: {VERSION}, found {value!r:.80}")
    reader = _Reader({} if intrinsics is None else intrinsics)
    return reader.guarded("the function", reader.function, value) if "function" in value else reader.definition(value)


class _Reader:
    def __init__(self, intrinsics: Mapping[str, Instruction]) -> None:
        self.intrinsics = intrinsics
        self.symbols: dict[str, Var] = {}
        self.operations: list[Operation] = []

    def guarded(self, what: str, function: Callable[[Fields], Any], fields: Any) -> Any:
        """The result of reading one object; every fault in it names it."""
        try:
            return function(fields)
        except RecursionError:
            raise ExpressionError(f"load_json: {what}: it nests too deep") from None
        except (ExpressionError, ParseError, LoweringError, ArgumentError, ValueError) as error:
            raise ExpressionError(f"load_json: {what}: {error}") from None

    def function(self, value: Fields) -> Function:
        found = parse_function(_field(value, "function", str), self.intrinsics)
        verify(found)
        return found

    def definition(self, value: Fields) -> list[Tensor]:
        self.guarded("the symbols", self.read_symbols, value)
        for k, fields in enumerate(self.guarded("it", lambda v: _field(v, "operations", list), value)):
            self.operations.append(self.guarded(f"operation {k}", self.operation, fields))
        outputs = self.guarded("the outputs", lambda v: self.references(v, "outputs"), value)
        if not outputs:
            raise ExpressionError("load_json: the outputs: expected a tensor, found none")
        return outputs  # type: ignore[no-any-return]

    def read_symbols(self, value: Fields) -> None:
        self.symbols = {v.name: v for v in _variables(value, "symbols")}

    def operation(self, fields: Any) -> Operation:
        kinds: Mapping[str, Callable[[str, Fields], Operation]] = {
            "placeholder": self.placeholder,
            "constant": self.constant,
            "compute": self.compute,
            "extern": self.extern,
            "loop_nest": self.loop_nest,
            "scan": self.scan,
        }
        kind, name = _field(fields, "kind", str), _field(fields, "name", str)
        if kind not in kinds:
            raise ExpressionError(f"expected a kind of {', '.join(kinds)}, found {kind!r:.80}")
        op = kinds[kind](name, fields)
        op.describe(fields.get("tag", ""), fields.get("attrs", {}))
        return op

    def placeholder(self, name: str, fields: Fields) -> Operation:
        return placeholder(self.shape(fields, "shape"), _field(fields, "dtype", str), name).op

    def constant(self, name: str, fields: Fields) -> Operation:
        kind = element_type(_field(fields, "dtype", str))
        shape = _field(fields, "shape", list)
        if len(shape) > _MOST_DIMENSIONS or not all(type(n) is int and 0 <= n < 1 << 40 for n in shape):
            raise ExpressionError(f"expected a shape of integers, found {shape!r:.80}")
        content = b64decode(_field(fields, "data", str), validate=True)
        if kind.is_bool and not {*content} <= {0, 1}:
            raise ExpressionError("expected bools of 0 and 1")
        return constant(np.frombuffer(content, kind.numpy).reshape(shape), name).op

    def compute(self, name: str, fields: Fields) -> Operation:
        reads: dict[str, Tensor] = {}
        for entry in _field(fields, "reads", list):
            local, *reference = entry if isinstance(entry, list) else (entry,)
            if not isinstance(local, str):
                raise ExpressionError(f"expected a name and a tensor that it stands for, found {entry!r:.80}")
            reads[local] = self.tensor(reference)
        axes = [IterVar(n, extent=self.checked(e, ())) for n, e in _named(fields, "axes")]
        scope = _Scope(self.symbols, reads, axes)
        if "reduction" in fields:
            body = self.reduction(name, _field(fields, "reduction", dict), scope)
        else:
            body = tuple(scope.expressions(name, fields, "body"))
        if not body:
            raise ExpressionError("expected a body, found none")
        check_body(name, body)
        return ComputeOp(name, tuple(axes), body)

    def reduction(self, name: str, fields: Fields, scope: _Scope) -> tuple[Expr, ...]:
        axes = tuple(reduce_axis(self.checked(e, ()), n) for n, e in _named(fields, "axes"))
        scope = scope.with_variables(axes)
        sources = tuple(scope.expressions(name, fields, "sources"))
        where = scope.expression(name, _field(fields, "where", str))
        left, right = _variables(fields, "left"), _variables(fields, "right")
        results = _Scope({}, {}, (*left, *right)).expressions(name, fields, "results")
        identity = _Scope({}, {}, ()).expressions(name, fields, "identity")
        kinds = [s.dtype for s in sources]
        for part in (left, right, results, identity):
            if [e.dtype for e in part] != kinds:
                raise ExpressionError(f"expected a reducer of {', '.join(map(str, kinds))}, found other types")
        if not where.dtype.is_bool or not axes or not sources:
            raise ExpressionError("expected a reduction of sources over axes where a condition holds")
        combiner = Combiner(_field(fields, "name", str), tuple(left), tuple(right), tuple(results), tuple(identity))
        return tuple(Reduce(combiner, sources, axes, where, i, kind) for i, kind in enumerate(kinds))

    def loop_nest(self, name: str, fields: Fields) -> Operation:
        """An extern with axes, which are found in its program, not read: what is said of them may be false."""
        return with_outer_loops(self.extern(name, fields))

    def extern(self, name: str, fields: Fields) -> ExternOp:
        inputs = self.references(fields, "inputs")
        ins, outs = ([self.buffer(b) for b in _field(fields, key, list)] for key in ("in_buffers", "out_buffers"))
        named = {b.name: b for b in (*ins, *outs)}
        if len(named) != len(ins) + len(outs) or not outs:
            raise ExpressionError("expected buffers of names of their own, one output among them")
        program = parse_stmt(_field(fields, "program", str), {**self.symbols, **named}, self.intrinsics)
        symbols = free_vars(program)
        verify(Function("program", (*ins, *outs), frozenset(outs), program), scalars=symbols)
        shapes, kinds = [b.shape for b in outs], [b.dtype for b in outs]
        tensors = extern(shapes, inputs, lambda *_: program, name, kinds, ins, outs)
        return tensors[0].op  # type: ignore[no-any-return]

    def buffer(self, fields: Any) -> Buffer:
        strides = None if _field(fields, "strides", (list, type(None))) is None else self.shape(fields, "strides")
        device = _field(fields, "device", (str, type(None)))
        return decl_buffer(
            self.shape(fields, "shape"),
            _field(fields, "dtype", str),
            _field(fields, "name", str),
            strides=strides,
            scope=Scope.of(_field(fields, "scope", str), "a buffer"),
            alignment=_field(fields, "alignment", int),
            device=None if device is None else Device.of(device),
        )

    def scan(self, name: str, fields: Fields) -> Operation:
        states = [self.references({"states": s}, "states") for s in _field(fields, "states", list)]
        if not states or any(len(s) != 3 for s in states):
            raise ExpressionError(f"expected an initial tensor, an update and a state each, found {states!r:.80}")
        initial, updates, placeholders = (list(group) for group in zip(*states, strict=True))
        made = scan(initial, updates, placeholders, name=name)
        return (made[0] if isinstance(made, tuple) else made).op  # type: ignore[no-any-return]

    def references(self, fields: Fields, key: str) -> list[Tensor]:
        return [self.tensor(reference) for reference in _field(fields, key, list)]

    def tensor(self, reference: Any) -> Tensor:
        """An output of an operation that was read before."""
        fits = isinstance(reference, list) and len(reference) == 2 and all(type(n) is int for n in reference)
        if fits and 0 <= reference[0] < len(self.operations):
            outputs: tuple[Tensor, ...] = self.operations[reference[0]].outputs
            if 0 <= reference[1] < len(outputs):
                return outputs[int(reference[1])]
        raise ExpressionError(f"expected an operation before this one and one of its outputs, found {reference!r:.80}")

    def shape(self, fields: Fields, key: str) -> tuple[Expr, ...]:
        texts = _field(fields, key, list)
        if len(texts) > _MOST_DIMENSIONS:
            raise ExpressionError(f"expected at most {_MOST_DIMENSIONS} dimensions, found {len(texts)}")
        return tuple(self.checked(text, ()) for text in texts)

    def checked(self, text: Any, variables: Sequence[Var]) -> Expr:
        """An extent: an index of symbols."""
        e = _Scope(self.symbols, {}, variables).expression("shape", text)
        if e.dtype != INDEX or (isinstance(e, ex.Const) and e.value < 0):
            raise ExpressionError(f"expected an extent of at least 0, found {e} ({e.dtype})")
        return e


class _Scope:
    """What names stand for in the expressions of an operation."""

    def __init__(self, symbols: Mapping[str, Var], reads: Mapping[str, Tensor], variables: Sequence[Var]) -> None:
        self.symbols = symbols
        self.reads = reads
        self.variables = tuple(variables)
        self.buffers = {name: Buffer(name, t.shape, t.dtype) for name, t in reads.items()}
        self.tensors = {self.buffers[name]: t for name, t in reads.items()}
        self.names: dict[str, Var | Buffer] = {**symbols, **self.buffers, **{v.name: v for v in self.variables}}
        if len(self.names) != len(symbols) + len(reads) + len(self.variables):
            raise ExpressionError(f"expected names of their own for tensors, axes and symbols, found {[*self.names]}")

    def with_variables(self, variables: Sequence[Var]) -> _Scope:
        return _Scope(self.symbols, self.reads, (*self.variables, *variables))

    def expressions(self, name: str, fields: Fields, key: str) -> list[Expr]:
        return [self.expression(name, text) for text in _field(fields, key, list)]

    def expression(self, name: str, text: Any) -> Expr:
        """The expression of a text, if it is one of te."""
        if not isinstance(text, str):
            raise ExpressionError(f"expected an expression as text, found {type(text).__name__}: {text!r:.80}")
        e = parse_expr(text, self.names)
        for node in walk(e):
            _check_node(node)
        value = ex.cast(INT64, e) if e.dtype == INDEX else e
        result = Buffer("result", (), value.dtype)
        scalars = {*self.symbols.values(), *self.variables}
        parameters = (*self.buffers.values(), result)
        verify(Function(name, parameters, frozenset({result}), Store(result, (), value)), scalars=scalars)
        return _Reads(self.tensors).rewrite(e)


def _check_node(node: Any) -> None:
    """Raise ExpressionError for what the constructors of expressions refuse, and the verifier does not see."""
    if node.dtype.lanes != 1 or isinstance(node, Address):
        raise ExpressionError(f"expected a single value, found {node.dtype}: {node!r:.80}")
    if isinstance(node, ex.Const) and node.dtype.is_int:
        low, high = int_range(node.dtype)
        if not low <= node.value <= high:
            raise ExpressionError(f"expected a literal of {node.dtype}, found {node.value}")
    if isinstance(node, (ex.FloorDiv, ex.FloorMod)) and ex.is_const(node.b, 0):
        raise ExpressionError(f"'{node.symbol}' by the constant 0")


class _Reads(SharingRewriter):
    """Elements of tensors for those of the buffers that stand for them."""

    def __init__(self, tensors: Mapping[Buffer, Tensor]) -> None:
        super().__init__()
        self.tensors = tensors

    def rewrite_Load(self, e: Load) -> Expr:
        e = self.descend(e)
        return Read(self.tensors[e.buffer], e.indices, e.dtype)


def _field(fields: Any, key: str, kind: type[Any] | tuple[type[Any], ...]) -> Any:
    """A field of an object, of this type."""
    if not isinstance(fields, dict):
        raise ExpressionError(f"expected an object, found {type(fields).__name__}")
    found = fields.get(key)
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is int):
        _refuse(key, kind, fields)
    return found


def _refuse(key: str, kind: type[Any] | tuple[type[Any], ...], fields: Fields) -> NoReturn:
    expected = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
    found = type(fields[key]).__name__ if key in fields else "none"
    raise ExpressionError(f"expected {key!r} of type {expected}, found {found}")


def _named(fields: Fields, key: str) -> list[tuple[str, str]]:
    """A list of pairs of texts."""
    pairs = _field(fields, key, list)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise ExpressionError(f"expected {key!r} as pairs of texts, found {pair!r:.80}")
    return [(name, text) for name, text in pairs]


def _variables(fields: Fields, key: str) -> list[Var]:
    return [Var(name, value_type(kind)) for name, kind in _named(fields, key)]
