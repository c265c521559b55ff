"""Operators that take elements from places, or put them there. Places are numbers of any type, cut towards zero."""

from __future__ import annotations

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.frontends.mxnet.types import dtype_of_name
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

_INT64 = DType.of("int64")


def _places(node: MxnetNode, indices: Value, extent: Dim, mode: str) -> Value:
    """Indices within an axis: the nearest ones, or with `wrap` modulo its extent."""
    whole = node.cast(indices, _INT64)
    (known,) = static_extents((extent,), "the axis that indices choose of")
    if mode == "wrap":
        return node.step(ops.Modulo(), whole, node.literal(known, _INT64))
    return node.step(ops.Clip(low=0, high=known - 1), whole)


def _take(node: MxnetNode) -> Operand:
    """Mode `raise` fails at run time in MXNet if an index is outside; here the nearest one counts."""
    data, indices = node.values()
    axis = node.axis(data.type.rank)
    mode = node.choice("mode", "clip", "wrap", "raise")
    return node.result(ops.Gather(axis=axis), data, _places(node, indices, data.type.shape[axis], mode))


def _embedding(node: MxnetNode) -> Operand:
    """Rows of the weight; indices outside count as the nearest (src/operator/tensor/indexing_op.cc)."""
    indices, weight = node.values()
    expected = (node.integer("input_dim"), node.integer("output_dim"))
    if weight.type.shape != expected:
        raise FrontendError(f"expected a weight of {list(expected)}, found {list(weight.type.shape)}")
    return node.result(ops.Gather(axis=0), weight, _places(node, indices, expected[0], "clip"))


def _pick(node: MxnetNode) -> Operand:
    """One element along an axis for each place of the others."""
    data, indices = node.values()
    if node.attribute("axis") is None:
        data, axis = node.reshaped(data, (product(data.type.shape),)), 0
    else:
        axis = node.axis(data.type.rank)
    shape = data.type.shape
    places = _places(node, indices, shape[axis], node.choice("mode", "clip", "wrap"))
    column = (*shape[:axis], 1, *shape[axis + 1 :])
    taken = node.step(ops.GatherElements(axis=axis), data, node.reshaped(places, column))
    kept = column if node.flag("keepdims") else (*shape[:axis], *shape[axis + 1 :]) or (1,)
    return node.result(ops.Reshape(shape=kept), taken)


def _batch_take(node: MxnetNode) -> Operand:
    """a[i, indices[i]] of a matrix of rows; the shape is that of the indices."""
    data, indices = node.values()
    rows, columns = data.type.shape[0], product(data.type.shape[1:])
    flat = node.reshaped(data, (rows, columns))
    places = node.reshaped(_places(node, indices, columns, "clip"), (rows, 1))
    taken = node.step(ops.GatherElements(axis=1), flat, places)
    return node.result(ops.Reshape(shape=indices.type.shape), taken)


def _one_hot(node: MxnetNode) -> Operand:
    """Indices outside of 0 to depth - 1 give a row of off_value."""
    dtype = dtype_of_name(node.attribute("dtype"))
    indices = node.cast(node.value(0), _INT64)
    column = node.reshaped(indices, (*indices.type.shape, 1))
    is_on = node.step(ops.Equal(), column, node.positions(node.integer("depth"), _INT64))
    on, off = (node.literal(node.number(name), dtype) for name in ("on_value", "off_value"))
    return node.result(ops.Where(), is_on, on, off)


def _indices_last(node: MxnetNode, index: int) -> Value:
    """Indices with the axis that holds them last; MXNet has it first."""
    value = node.cast(node.value(index), _INT64)
    return node.transposed(value, *range(1, value.type.rank), 0)


def _gather_nd(node: MxnetNode) -> Operand:
    return node.result(ops.GatherND(), node.value(0), _indices_last(node, 1))


def _scatter_nd(node: MxnetNode) -> Operand:
    """Zeros with the data at indices; of several for one place the last."""
    zeros = node.filled(0, node.integers("shape"), node.dtype(0))
    return node.result(ops.ScatterND(), zeros, _indices_last(node, 1), node.value(0))


def _index_copy(node: MxnetNode) -> Operand:
    """The old tensor with rows replaced."""
    old, indices, new = node.values()
    places = node.reshaped(node.cast(indices, _INT64), (*indices.type.shape, 1))
    return node.result(ops.ScatterND(), old, places, new)


GATHER = {
    "Embedding": operator(_embedding, "data weight", input_dim=REQUIRED, output_dim=REQUIRED, dtype="float32"),
    "_contrib_SparseEmbedding": operator(
        _embedding, "data weight", input_dim=REQUIRED, output_dim=REQUIRED, dtype="float32"
    ),
    "_contrib_index_copy": operator(_index_copy, "old_tensor index_vector new_tensor"),
    "batch_take": operator(_batch_take, "a indices"),
    "gather_nd": operator(_gather_nd, "data indices"),
    "one_hot": operator(_one_hot, "indices", depth=REQUIRED, on_value=1.0, off_value=0.0, dtype="float32"),
    "pick": operator(_pick, "data index", axis=-1, keepdims=False, mode="clip"),
    "scatter_nd": operator(_scatter_nd, "data indices", shape=REQUIRED),
    "take": operator(_take, "a indices", axis=0, mode="clip"),
}
