"""Normalisations, and layers on rows of numbers."""

from __future__ import annotations

from math import prod

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.darknet.activations import FLOAT, finished
from sateen.frontends.darknet.node import Converter, DarknetNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    Add,
    BatchNormalization,
    Divide,
    MatMul,
    ReduceSumSquare,
    Reshape,
    Softmax,
    Sqrt,
    Transpose,
)
from sateen.runtime.errors import FrontendError, printable

EPSILON = 1e-6
"""What is added to a variance, as in darknet up to 2019 and in OpenCV. pjreddie's darknet adds it to the deviation,
AlexeyAB's later added 1e-5 (blas.c, normalize_cpu); the files don't tell which they were trained with."""


def normalized(node: DarknetNode, value: Value, default: str = "linear") -> Value:
    """A value [N, C, …] in batch normalisation, with the layer's activation."""
    roles = ("scales", "biases", "mean", "variance")
    parameters = [node.weight(role) if role in node.weights or role != "biases" else _zeros(node) for role in roles]
    return finished(node, BatchNormalization(epsilon=EPSILON), value, *parameters, default=default)


def _zeros(node: DarknetNode) -> Value:
    """The biases of a layer that has none in its file."""
    return node.parameter(np.zeros_like(node.weights["scales"]), "biases")


def _batchnorm(node: DarknetNode) -> Operand:
    node.weight("scales")
    return normalized(node, node.picture())


def _connected(node: DarknetNode) -> Operand:
    """All of a picture times a matrix: rows [N, outputs] (connected_layer.c)."""
    data = node.value(0)
    inputs = prod(static_extents(data.type.shape[1:], node.described(0)))
    weight = node.weight("weights")
    if weight.type.shape[1] != inputs:
        raise FrontendError(f"the weights belong to {weight.type.shape[1]} inputs, found {inputs}")
    rows = data if data.type.rank == 2 else node.step(Reshape((data.type.shape[0], inputs)), data)
    total = node.step(MatMul(), rows, node.step(Transpose((1, 0)), weight))
    if node.section.flag("batch_normalize"):
        return normalized(node, total, default="logistic")
    return finished(node, Add(), total, node.weight("biases"), default="logistic")


def _softmax(node: DarknetNode) -> Operand:
    """Over all of a picture, in `groups` parts, or with `spatial` over the channels of each place (softmax_layer.c)."""
    section, data = node.section, node.value(0)
    if section.text("tree"):
        raise UnsupportedError(f"the tree of classes {printable(section.text('tree'))!r} is not read", "end before it")
    temperature, groups = section.number("temperature", 1), section.integer("groups", 1)
    if not temperature:
        raise FrontendError("expected a temperature other than 0, found 0")
    if temperature != 1:
        data = node.step(Divide(), data, node.literal(temperature, FLOAT))
    if section.flag("spatial") or (groups == 1 and prod(static_extents(data.type.shape[2:], node.described(0))) == 1):
        return node.result(Softmax(axis=1), data)
    whole = prod(static_extents(data.type.shape[1:], node.described(0)))
    if groups < 1 or whole % groups:
        raise FrontendError(f"{whole} numbers can't be divided into {groups} groups")
    parts = node.step(Reshape((data.type.shape[0], groups, whole // groups)), data)
    return node.result(Reshape(data.type.shape), node.step(Softmax(axis=2), parts))


def _l2norm(node: DarknetNode) -> Operand:
    """Divided by the 2-norm of the channels at each place (pjreddie/darknet, blas.c, l2normalize_cpu)."""
    data = node.picture()
    return node.result(Divide(), data, node.step(Sqrt(), node.step(ReduceSumSquare(axes=(1,)), data)))


NORMALIZATION: dict[str, Converter] = {
    "batchnorm": _batchnorm,
    "connected": _connected,
    "l2norm": _l2norm,
    "softmax": _softmax,
}
