"""Definitions of te and functions of loop IR as JSON text.

A function is its text form. A definition is the list of its operations, producers first; their expressions are in the
text form too. `json_reader` reads it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.printer import Names, format_expr, format_stmt
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.ir.tensor_expr import Reduce
from sateen.tensor_ir.ir.visit import free_vars, walk
from sateen.tensor_ir.te.loads import Loads
from sateen.tensor_ir.te.operations import ConstantOp, ExternOp, LoopNestOp, PlaceholderOp
from sateen.tensor_ir.te.recurrence import ScanOp
from sateen.tensor_ir.te.tensor import ComputeOp, Operation, Tensor

VERSION = 1
KEY = "sateen.tensor_ir"
"""The field with the version, by which a text is known."""

Fields = dict[str, Any]


def save_json(value: Tensor | Sequence[Tensor] | Function) -> str:
    """The definition of tensors, or a function of loop IR, as JSON text that `load_json` reads.

    Raises ExpressionError for anything else, for operations of other classes than those of te, and for expressions that
    nest too deep for a text.
    """
    if isinstance(value, Function):
        return json.dumps({KEY: VERSION, "function": _text(str, value)})
    tensors = [value] if isinstance(value, Tensor) else value
    if not isinstance(tensors, (list, tuple)) or not tensors or not all(isinstance(t, Tensor) for t in tensors):
        raise ExpressionError(f"save_json expects tensors or a function of loop IR, found {type(value).__name__}")
    return json.dumps(_Writer().definition(tensors))


def _text(function: Callable[..., str], *arguments: Any) -> str:
    try:
        return function(*arguments)
    except RecursionError:
        raise ExpressionError("save_json expects expressions that nest less deep; compute parts as tensors") from None


def _definers(op: Operation) -> tuple[Tensor, ...]:
    """The tensors that the definition of an operation names."""
    if isinstance(op, ScanOp):
        return tuple(t for r in op.recurrences for t in (r.initial, r.update, r.state))
    return op.inputs


def _producers_first(tensors: Sequence[Tensor]) -> list[Operation]:
    """All operations of a definition."""
    done: dict[Operation, None] = {}
    waiting = [t.op for t in reversed(tensors)]
    while waiting:
        missing = [t.op for t in _definers(waiting[-1]) if t.op not in done]
        if waiting[-1] in done or not missing:
            done[waiting.pop()] = None
        else:
            waiting += missing
    return list(done)


class _Writer:
    def __init__(self) -> None:
        self.numbers: dict[Operation, int] = {}
        self.symbols: list[Var] = []

    def definition(self, tensors: Sequence[Tensor]) -> Fields:
        operations = _producers_first(tensors)
        self.numbers = {op: k for k, op in enumerate(operations)}
        bound = {v for op in operations for v in (*op.axis, *op.reduce_axis, *_states(op))}
        found = (v for op in operations for e in _expressions(op) for v in walk(e) if isinstance(v, Var))
        self.symbols = [v for v in dict.fromkeys(found) if v not in bound and not isinstance(v, IterVar)]
        names = self.names()
        return {
            KEY: VERSION,
            "symbols": [[names.of(v), str(v.dtype)] for v in self.symbols],
            "operations": [self.operation(op) for op in operations],
            "outputs": [self.reference(t) for t in tensors],
        }

    def names(self) -> Names:
        """Names of an operation of its own, in which the symbols have theirs."""
        names = Names()
        for symbol in self.symbols:
            names.of(symbol)
        return names

    def reference(self, t: Tensor) -> list[int]:
        return [self.numbers[t.op], t.index]

    def shape(self, shape: Sequence[Expr]) -> list[str]:
        return [_text(format_expr, extent, self.names()) for extent in shape]

    def operation(self, op: Operation) -> Fields:
        fields: Fields = {"kind": "", "name": op.name}
        fields |= {"tag": op.tag} if op.tag else {}
        fields |= {"attrs": dict(op.attrs)} if op.attrs else {}
        match op:
            case PlaceholderOp():
                (t,) = op.outputs
                fields |= {"kind": "placeholder", "shape": self.shape(t.shape), "dtype": str(t.dtype)}
            case ConstantOp(data=np.ndarray() as data):
                content = b64encode(data.tobytes()).decode()
                fields |= {"kind": "constant", "shape": list(data.shape), "dtype": str(op.outputs[0].dtype)}
                fields["data"] = content
            case ComputeOp():
                fields |= {"kind": "compute", **self.compute(op)}
            case ExternOp():
                names = self.names()
                buffers = [[self.buffer(b, names) for b in g] for g in (op.input_buffers, op.output_buffers)]
                fields |= {"kind": "loop_nest" if isinstance(op, LoopNestOp) else "extern"}
                fields |= {"inputs": [self.reference(t) for t in op.inputs]}
                fields |= {"in_buffers": buffers[0], "out_buffers": buffers[1]}
                fields["program"] = _text(format_stmt, op.program, names)
            case ScanOp():
                states = [[self.reference(t) for t in (r.initial, r.update, r.state)] for r in op.recurrences]
                fields |= {"kind": "scan", "states": states}
            case _:
                raise ExpressionError(f"save_json expects operations of te, found {type(op).__name__} {op.name!r}")
        return fields

    def compute(self, op: ComputeOp) -> Fields:
        if op.instruction is not None:
            raise ExpressionError(
                f"save_json expects {op.name!r} to be computed by expressions, found instruction "
                f"{op.instruction[1].name!r}; tensorize replaces loops by it, too"
            )
        names = self.names()
        buffers = {t: Buffer(t.name, t.shape, t.dtype) for t in op.inputs}
        loads = Loads(buffers)

        def texts(expressions: Sequence[Expr]) -> list[str]:
            return [_text(format_expr, loads.rewrite(e), names) for e in expressions]

        def axes(given: Sequence[IterVar]) -> list[list[str]]:
            return [[names.of(a), *texts([a.extent])] for a in given]

        def variables(given: Sequence[Var]) -> list[list[str]]:
            return [[names.of(v), str(v.dtype)] for v in given]

        reads = [[names.of(b), *self.reference(t)] for t, b in buffers.items()]
        fields: Fields = {"reads": reads, "axes": axes(op.axis)}
        first = op.body[0]
        if not isinstance(first, Reduce):
            return fields | {"body": texts(op.body)}
        c = first.combiner
        reduction: Fields = {"name": c.name, "axes": axes(first.axes), "sources": texts(first.sources)}
        reduction |= {"where": texts([first.where])[0], "left": variables(c.left), "right": variables(c.right)}
        return fields | {"reduction": reduction | {"results": texts(c.results), "identity": texts(c.identity)}}

    def buffer(self, b: Buffer, names: Names) -> Fields:
        return {
            "name": names.of(b),
            "shape": self.shape(b.shape),
            "dtype": str(b.dtype),
            "strides": None if b.strides is None else self.shape(b.strides),
            "scope": b.scope.value,
            "alignment": b.alignment,
            "device": None if b.device is None else str(b.device),
        }


def _states(op: Operation) -> Iterator[Var]:
    """The variables of the combiner of a reduction."""
    for e in op.body:
        if isinstance(e, Reduce):
            yield from (*e.combiner.left, *e.combiner.right)


def _expressions(op: Operation) -> Iterator[Expr]:
    """The expressions of a definition in which symbols may occur."""
    for t in op.outputs:
        yield from t.shape
    for a in op.reduce_axis:
        yield a.extent
    if isinstance(op, ExternOp):
        for b in (*op.input_buffers, *op.output_buffers):
            yield from (*b.shape, *(b.strides or ()))
        free = free_vars(op.program)
        yield from (e for e in walk(op.program) if isinstance(e, Var) and e in free)
    yield from op.body
