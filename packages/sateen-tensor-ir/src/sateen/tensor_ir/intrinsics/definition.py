"""The te definition of an instruction as loops, for targets that have no code for it; and those of its two steps, if it
is a reduction that starts from nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.stmt import Allocate, For, If, LoopKind, Stmt, Store, sequence
from sateen.tensor_ir.ir.tensor_expr import Reduce
from sateen.tensor_ir.ir.visit import substitute
from sateen.tensor_ir.te.loads import Loads
from sateen.tensor_ir.te.operations import compute, placeholder
from sateen.tensor_ir.te.reduction import combine
from sateen.tensor_ir.te.reduction_state import store_state, update_state
from sateen.tensor_ir.te.tensor import ComputeOp, Operation, Tensor


def loops_of(outputs: Sequence[Tensor], buffers: Mapping[Tensor, Buffer]) -> Stmt:
    """A statement that computes `outputs` by definition; `buffers` hold inputs and outputs.

    All inputs are read before an output is written, since they may overlap.
    """
    results = {t: Buffer(f"{t.name}_result", t.shape, t.dtype, Scope.LOCAL) for t in outputs}
    own: dict[Tensor, Buffer] = {}
    nests = []
    for op in _producers_first(outputs):
        if op.outputs[0] in buffers and op.is_given:
            continue
        for t in op.outputs:
            own[t] = results.get(t) or Buffer(t.name, t.shape, t.dtype, Scope.LOCAL, data=op.data)
        if op.data is None:
            nests.append(_nest(op, {**buffers, **own}))
    copies = [copied(results[t], buffers[t]) for t in outputs]
    body = sequence(*nests, *copies)
    for buffer in own.values():
        body = body if buffer.data is not None else Allocate(buffer, body)
    return body


def reset_of(outputs: Sequence[Tensor], reduction: Reduce) -> tuple[Tensor, ...]:
    """The identity of a reduction as the elements of tensors with the shapes of `outputs`."""
    return tuple(
        compute(t.shape, lambda *_, value=value: value, name=t.name)
        for t, value in zip(outputs, reduction.combiner.identity, strict=True)
    )


def update_of(outputs: Sequence[Tensor], reduction: Reduce) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Placeholders of what is there before, and the reduction `outputs` combined with it."""
    before = tuple(placeholder(t.shape, t.dtype, name=f"{t.name}_before") for t in outputs)
    op = outputs[0].op
    axis = tuple(IterVar(a.name, extent=a.extent) for a in op.axis)
    elements = combine(reduction.combiner, [t(*axis) for t in before], [t(*axis) for t in outputs])
    return before, ComputeOp(op.name, axis, elements).outputs


def _producers_first(tensors: Sequence[Tensor]) -> list[Operation]:
    done: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        for t in op.inputs:
            visit(t.op)
        done.setdefault(op)

    for t in tensors:
        visit(t.op)
    return list(done)


def _nest(op: Operation, buffers: Mapping[Tensor, Buffer]) -> Stmt:
    """The loops of an operation: those over its axes around its elements."""
    fresh = {axis: Var(axis.name) for axis in (*op.axis, *op.reduce_axis)}
    values: dict[Var, Expr] = dict(fresh.items())
    loads = Loads(buffers)
    state = [(buffers[t], tuple(fresh[axis] for axis in op.axis)) for t in op.outputs]

    def value(e: Expr) -> Expr:
        return loads.rewrite(substitute(e, values))

    first = op.body[0]
    if isinstance(first, Reduce):
        condition = value(first.where)
        update = update_state(first.combiner, state, [value(e) for e in first.sources])
        inner = update if ex.is_const(condition, True) else If(condition, update)
        body = sequence(store_state(state, first.combiner.identity), _looped(op.reduce_axis, fresh, inner))
    else:
        body = store_state(state, [value(e) for e in op.body])
    return _looped(op.axis, fresh, body)


def copied(source: Buffer, target: Buffer) -> Stmt:
    """A statement that stores all elements of a buffer in another one."""
    indices = tuple(Var(f"i{d}") for d in range(len(source.shape)))
    body: Stmt = Store(target, indices, Load(source, indices, source.dtype))
    for index, extent in zip(reversed(indices), reversed(source.shape), strict=True):
        body = For(index, ex.const(0), extent, LoopKind.SERIAL, body)
    return body


def _looped(axes: Sequence[IterVar], fresh: Mapping[IterVar, Var], body: Stmt) -> Stmt:
    for axis in reversed(axes):
        body = For(fresh[axis], ex.const(0), axis.extent, LoopKind.SERIAL, body)
    return body
