"""Functions of TensorFlow that Keras 2 keeps as layers: TFOpLambda and SlicingOpLambda.

Source: tf_keras/src/layers/core/tf_op_layer.py. The first argument is the tensor of the call, others go by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.frontends.keras.converters.activations import FUNCTIONS
from sateen.frontends.keras.converters.element_wise import binary, cast_to, plain, unary
from sateen.frontends.keras.converters.operands import axes_of, integers, tensors
from sateen.frontends.keras.converters.slices import indexed
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Concat, Reshape, Transpose
from sateen.runtime.errors import FrontendError


def _argument(node: KerasNode, name: str, default: Any = None) -> Any:
    return node.argument(99, name, default)


def _reduction(make: Any) -> Converter[KerasNode]:
    def convert(node: KerasNode) -> Operand:
        data = node.raw(0)
        axes = axes_of(_argument(node, "axis"), data.type.rank)
        return node.result(make(axes=axes, keepdims=bool(_argument(node, "keepdims", False))), data)

    return convert


def _activation(name: str) -> Converter[KerasNode]:
    return lambda node: FUNCTIONS[name](node, node.result, node.raw(0))


def _softmax(node: KerasNode) -> Operand:
    axis = _argument(node, "axis", -1)
    return node.result(ops.Softmax(normal_axis(-1 if axis is None else axis, node.rank(0))), node.raw(0))


def _concat(node: KerasNode) -> Operand:
    values = tensors(node, *node.argument(0, "values"))
    return node.result(Concat(normal_axis(_argument(node, "axis", -1), values[0].type.rank)), *values)


def _reshape(node: KerasNode) -> Operand:
    data = node.raw(0)
    return node.result(Reshape(filled_shape(integers(_argument(node, "shape"), "shape"), data.type.shape)), data)


def _transpose(node: KerasNode) -> Operand:
    given = _argument(node, "perm", _argument(node, "a"))
    rank = node.rank(0)
    return node.result(
        Transpose(tuple(reversed(range(rank))) if given is None else integers(given, "perm")), node.raw(0)
    )


def _expand_dims(node: KerasNode) -> Operand:
    data = node.raw(0)
    return node.result(Reshape(with_axes(data.type.shape, integers(_argument(node, "axis"), "axis")[:1])), data)


def _squeeze(node: KerasNode) -> Operand:
    data, given = node.raw(0), _argument(node, "axis")
    if given is None:
        raise UnsupportedError("squeezing all extents of 1 is not supported", "give the axes")
    axes = squeezed_axes(data.type.shape, integers(given, "axis"), node.described(0))
    return node.result(Reshape(without_axes(data.type.shape, axes)), data)


def _clip(node: KerasNode) -> Operand:
    low, high = (_argument(node, f"clip_value_{end}") for end in ("min", "max"))
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        raise UnsupportedError("bounds that are computed are not supported", "use numbers")
    return node.result(ops.Clip(low=float(low), high=float(high)), node.raw(0))


def _slices(node: KerasNode) -> Operand:
    """Slices are objects with start, stop and step, or the words of Ellipsis."""
    given = _argument(node, "slice_spec")
    entries = given if isinstance(given, (list, tuple)) else [given]
    return indexed(node, node.raw(0), [_entry(one) for one in entries])


def _entry(given: Any) -> Any:
    if isinstance(given, dict):
        if given.keys() != {"start", "stop", "step"}:
            raise FrontendError(f"expected a slice, found {given!r}")
        return slice(given["start"], given["stop"], given["step"])
    return Ellipsis if given in ("...", "Ellipsis") else given


def _cast(node: KerasNode) -> Operand:
    return cast_to(node, _argument(node, "dtype"))


def _stack(node: KerasNode) -> Operand:
    values = tensors(node, *node.argument(0, "values"))
    shape = values[0].type.shape
    axis = normal_axis(_argument(node, "axis", 0), len(shape) + 1)
    widened: list[Value] = [node.step(Reshape((*shape[:axis], 1, *shape[axis:])), value) for value in values]
    return node.result(Concat(axis), *widened)


FUNCTIONS_OF_TENSORFLOW: Mapping[str, Converter[KerasNode]] = {
    "tf.__operators__.add": binary(ops.Add()),
    "tf.__operators__.getitem": _slices,
    "tf.cast": _cast,
    "tf.clip_by_value": _clip,
    "tf.concat": _concat,
    "tf.exp": unary(ops.Exp()),
    "tf.expand_dims": _expand_dims,
    "tf.identity": plain(ops.Identity()),
    "tf.math.abs": plain(ops.Abs()),
    "tf.math.add": binary(ops.Add()),
    "tf.math.divide": binary(ops.Divide(), as_float=True),
    "tf.math.exp": unary(ops.Exp()),
    "tf.math.log": unary(ops.Log()),
    "tf.math.maximum": binary(ops.Maximum()),
    "tf.math.minimum": binary(ops.Minimum()),
    "tf.math.multiply": binary(ops.Multiply()),
    "tf.math.negative": plain(ops.Negative()),
    "tf.math.pow": binary(ops.Power()),
    "tf.math.reduce_max": _reduction(ops.ReduceMax),
    "tf.math.reduce_mean": _reduction(ops.ReduceMean),
    "tf.math.reduce_min": _reduction(ops.ReduceMin),
    "tf.math.reduce_prod": _reduction(ops.ReduceProd),
    "tf.math.reduce_sum": _reduction(ops.ReduceSum),
    "tf.math.sigmoid": unary(ops.Sigmoid()),
    "tf.math.sqrt": unary(ops.Sqrt()),
    "tf.math.square": lambda node: node.result(ops.Multiply(), node.raw(0), node.raw(0)),
    "tf.math.subtract": binary(ops.Subtract()),
    "tf.math.tanh": unary(ops.Tanh()),
    "tf.math.truediv": binary(ops.Divide(), as_float=True),
    "tf.nn.elu": _activation("elu"),
    "tf.nn.relu": plain(ops.Relu()),
    "tf.nn.relu6": _activation("relu6"),
    "tf.nn.sigmoid": unary(ops.Sigmoid()),
    "tf.nn.silu": _activation("silu"),
    "tf.nn.softmax": _softmax,
    "tf.nn.softplus": unary(ops.Softplus()),
    "tf.nn.tanh": unary(ops.Tanh()),
    "tf.reshape": _reshape,
    "tf.squeeze": _squeeze,
    "tf.stack": _stack,
    "tf.subtract": binary(ops.Subtract()),
    "tf.transpose": _transpose,
}
"""By the names of the functions below `tf`."""
