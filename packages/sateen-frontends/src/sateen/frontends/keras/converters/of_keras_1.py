"""Layers that Keras 2 dropped: Highway, MaxoutDense, ParametricSoftplus, SReLU, and Merge by cosines.

Sources: keras-1.2.2/keras/layers/core.py, advanced_activations.py, and Merge in keras-1.2.2/keras/engine/topology.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.converters.activations import activated, is_linear
from sateen.frontends.keras.converters.merging import axes_of_dot, batch_dot
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Abs,
    Add,
    Divide,
    MatMul,
    Maximum,
    Minimum,
    Multiply,
    Negative,
    ReduceMax,
    ReduceSum,
    Relu,
    Reshape,
    Sigmoid,
    Softplus,
    Sqrt,
    Subtract,
)


def _highway(node: KerasNode) -> Operand:
    """t f(x w + b) + (1 - t) x with t = sigmoid(x w' + b')."""
    data = node.value(0)
    gate = node.step(Sigmoid(), _product(node, data, "carry_kernel", "carry_bias"))
    changed, activation = _product(node, data, "kernel", "bias"), node.attribute("activation")
    if not is_linear(activation):
        changed = activated(node, activation, changed, node.step)
    rest = node.step(Subtract(), node.number_like(1), gate)
    return node.result(Add(), node.step(Multiply(), changed, gate), node.step(Multiply(), rest, data))


def _product(node: KerasNode, data: Value, kernel: str, bias: str) -> Value:
    found = node.step(MatMul(), data, node.weight(kernel, 2))
    return node.step(Add(), found, node.weight(bias, 1)) if node.flag("use_bias") else found


def _maxout(node: KerasNode) -> Operand:
    """The largest of several products, each with its own kernel and bias."""
    data, kernel = node.value(0), node.weight("kernel", 3)
    batch, features = data.type.shape
    found = node.step(MatMul(), node.step(Reshape((1, batch, features)), data), kernel)
    if node.flag("use_bias"):
        pieces, outputs = node.variable("bias", 2).shape
        found = node.step(Add(), found, node.step(Reshape((pieces, 1, outputs)), node.weight("bias", 2)))
    return node.result(ReduceMax(axes=(0,), keepdims=False), found)


def _parametric_softplus(node: KerasNode) -> Operand:
    """alpha * softplus(beta * x)."""
    scaled = node.step(Multiply(), node.weight("beta"), node.value(0))
    return node.result(Multiply(), node.weight("alpha"), node.step(Softplus(), scaled))


def _s_shaped_relu(node: KerasNode) -> Operand:
    """x between two thresholds, lines of other slopes beyond them; the right threshold is at a distance from the left
    one."""
    data, left, slope = node.value(0), node.weight("left"), node.weight("left_slope")
    width = node.step(Abs(), node.weight("right"))
    above = node.step(Subtract(), data, left)
    center = node.step(Minimum(), node.step(Relu(), above), width)
    below = node.step(Multiply(), slope, node.step(Relu(), node.step(Negative(), above)))
    beyond = node.step(Relu(), node.step(Subtract(), above, width))
    middle = node.step(Add(), left, node.step(Subtract(), center, below))
    return node.result(Add(), middle, node.step(Multiply(), beyond, node.weight("right_slope")))


def _cosine(node: KerasNode) -> Operand:
    """The cosine of the angle between two tensors, as [batch, 1, …]. Other modes of Merge are layers of their own."""
    if node.setting("mode", None) != "cos":
        reason = "its mode is a program of Python, which is never run"
        raise UnsupportedError(reason, "replace it by layers of Keras and save the model again")
    first, second = node.value(0), node.value(1)
    one, other = axes_of_dot(node, first, second)
    if first.type.rank != 2 or second.type.rank != 2:
        raise UnsupportedError("cosines of more than two dimensions are not supported", "flatten the tensors")
    squares = [
        node.step(ReduceSum(axes=(axis,), keepdims=True), node.step(Multiply(), value, value))
        for value, axis in ((first, one), (second, other))
    ]
    length = node.step(Maximum(), node.step(Sqrt(), node.step(Multiply(), *squares)), node.number_like(1e-7))
    cosine = node.step(Divide(), batch_dot(node, first, one, second, other, node.step), length)
    return node.result(Reshape((first.type.shape[0], 1, 1)), cosine)


OF_KERAS_1: Mapping[str, Converter[KerasNode]] = {
    "Highway": _highway,
    "MaxoutDense": _maxout,
    "Merge": _cosine,
    "ParametricSoftplus": _parametric_softplus,
    "SReLU": _s_shaped_relu,
}
