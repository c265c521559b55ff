"""Computations that are not pure functions of an index (a sort, a scatter): a body of loop IR over whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.access import read_by, written_by
from sateen.tensor_ir.ir.buffer import LANES, Address, Buffer, shape_of
from sateen.tensor_ir.ir.expr import Call, Expr
from sateen.tensor_ir.ir.external import PACKED
from sateen.tensor_ir.ir.stmt import Allocate, Evaluate, Prefetch, Stmt
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.types import element_type
from sateen.tensor_ir.ir.visit import SharingRewriter, free_vars, walk
from sateen.tensor_ir.te.operations import ExternOp
from sateen.tensor_ir.te.tensor import Tensor

Body = Callable[[list[Buffer], list[Buffer]], Stmt]


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Body,
    name: str = "extern",
    dtype: DType | str | Sequence[DType | str] | None = None,
    in_buffers: Buffer | Sequence[Buffer] | None = None,
    out_buffers: Buffer | Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, str | int | float] | None = None,
) -> Any:
    """Tensors that `fcompute(ins, outs)` writes: a statement over a buffer per input and per output (`te.ir_builder`),
    or a call of an external function.

    `shape` is one shape, or a list of shapes for as many outputs, which are then returned as a tuple. `dtype` is one
    for all or one per output; by default that of the only input. `in_buffers` and `out_buffers` are buffers of
    `te.decl_buffer` for the function to get; their strides are those of the storage, which gives variables among them
    their values. `tag` and `attrs` are those of `te.compute`. Raises ExpressionError if shapes and dtypes differ in
    number, or if the body uses a tensor, buffer or variable that it did not get, or stores to an input.
    """
    if not isinstance(inputs, (list, tuple)):
        raise ExpressionError(f"extern {name!r} expects a list of tensors as inputs, found {type(inputs).__name__}")
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            raise ExpressionError(f"extern {name!r} expects tensors as inputs, found {type(tensor).__name__}")
    if not callable(fcompute):
        raise ExpressionError(f"extern {name!r} expects a function of its buffers, found {type(fcompute).__name__}")
    many = _is_list_of_shapes(shape)
    shapes = [shape_of(s) for s in (shape if many else [shape])]
    dtypes = _dtypes(name, dtype, inputs, len(shapes))
    ins = [Buffer(t.name, t.shape, t.dtype) for t in inputs]
    outs = [
        Buffer(name if len(shapes) == 1 else f"{name}.{i}", s, d)
        for i, (s, d) in enumerate(zip(shapes, dtypes, strict=True))
    ]
    ins, outs = _declared(name, "in_buffers", in_buffers, ins), _declared(name, "out_buffers", out_buffers, outs)
    body = _statement(f"extern {name!r}", fcompute(list(ins), list(outs)), ins, outs)
    op = ExternOp(name, tuple(inputs), tuple(ins), tuple(outs), body)
    op.describe(tag, attrs)
    return op.outputs if many else op.outputs[0]


def _declared(name: str, what: str, given: Buffer | Sequence[Buffer] | None, expected: list[Buffer]) -> list[Buffer]:
    """The declared buffers in place of the plain ones, of which they have type and shape."""
    if given is None:
        return expected
    buffers = [given] if isinstance(given, Buffer) else list(given)
    analyzer = Analyzer()
    for found, plain in zip_longest(buffers, expected):
        fits = isinstance(found, Buffer) and isinstance(plain, Buffer) and found.dtype == plain.dtype
        if fits and found.is_broadcast:
            raise ExpressionError(
                f"extern {name!r} expects {what} without broadcasting, found {found.name!r}; index them so"
            )
        same = fits and len(found.shape) == len(plain.shape)
        if not same or not all(analyzer.prove(a.equal(b)) for a, b in zip(found.shape, plain.shape, strict=True)):
            kinds = [b.type if isinstance(b, Buffer) else type(b).__name__ for b in (plain, found)]
            raise ExpressionError(f"extern {name!r} expects {what} of {kinds[0]}, found {kinds[1]}")
    return buffers


class _PackedInputs(SharingRewriter):
    """Packed functions only read inputs."""

    def __init__(self, inputs: Sequence[Buffer]) -> None:
        super().__init__()
        self.inputs = set(inputs)

    def rewrite_Call(self, e: Call) -> Expr:
        e = self.descend(e)
        if not e.name.startswith(PACKED):
            return e
        return Call(e.name, tuple(map(self._argument, e.args)), e.dtype)

    def _argument(self, e: Expr) -> Expr:
        return replace(e, access="r") if isinstance(e, Address) and e.buffer in self.inputs else e


def _is_list_of_shapes(shape: Any) -> bool:
    return isinstance(shape, (tuple, list)) and any(isinstance(s, (tuple, list)) for s in shape)


def _dtypes(
    name: str, dtype: DType | str | Sequence[DType | str] | None, inputs: Sequence[Tensor], count: int
) -> list[DType]:
    if dtype is None:
        kinds = {t.dtype for t in inputs}
        if len(kinds) != 1:
            found = ", ".join(sorted(map(str, kinds))) or "no inputs"
            raise ExpressionError(f"extern {name!r} expects dtype=, as its inputs do not agree on one: {found}")
        return [*kinds] * count
    if isinstance(dtype, (DType, str)):
        return [element_type(dtype)] * count
    if len(dtype) != count:
        raise ExpressionError(f"extern {name!r} has {count} shapes, but {len(dtype)} dtypes")
    return [element_type(d) for d in dtype]


def program(where: str, body: Any, ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
    """What a function of buffers gives as a statement; a call is one, for its effect.

    Raises ExpressionError, which begins with `where`, if it is none, uses anything other than these buffers, their
    symbols and what it declares itself, or stores to an input.
    """
    statement = _statement(where, body, ins, outs)
    symbols = {v for b in (*ins, *outs) for e in (*b.shape, *(b.strides or ())) for v in free_vars(e)}
    unknown = sorted(v.name for v in free_vars(statement) - symbols)
    if unknown:
        raise ExpressionError(
            f"{where}: the body uses {', '.join(map(repr, unknown))}, which is no symbol of its shapes "
            "and has no loop or let around it"
        )
    return statement


def _statement(where: str, body: Any, ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
    """As `program`, of a body that may use variables, which are numbers among the arguments."""
    if isinstance(body, Call):
        body = Evaluate(body)
    if not isinstance(body, Stmt):
        found = type(body).__name__
        raise ExpressionError(f"{where} expects a statement from its function (ib.get()), found {found}")
    statement: Stmt = _PackedInputs(ins).rewrite(body)
    _check_body(where, statement, ins, outs)
    if lanes := free_vars(statement).intersection(LANES.values()):
        names = ", ".join(sorted(repr(v.name) for v in lanes))
        raise ExpressionError(f"{where}: the body uses {names}, the lanes of a vector, outside of vstore")
    return statement


def _check_body(where: str, body: Stmt, ins: Sequence[Buffer], outs: Sequence[Buffer]) -> None:
    nodes = list(walk(body))
    known = {*ins, *outs} | {n.buffer for n in nodes if isinstance(n, Allocate)}
    for node in nodes:
        if isinstance(node, (Read, Reduce)):
            what = f"tensor {node.tensor.name!r}" if isinstance(node, Read) else f"reduction {node.combiner.name!r}"
            raise ExpressionError(f"{where}: the body uses {what}; it may use only the buffers that it is given")
        read, written = (node.buffer,) if isinstance(node, Prefetch) else read_by(node), written_by(node)
        for buffer in (*read, *written):
            if buffer not in known:
                raise ExpressionError(f"{where}: the body uses buffer {buffer.name!r}, which it was not given")
        for buffer in written:
            if buffer in ins:
                raise ExpressionError(f"{where}: the body stores to input {buffer.name!r}")
