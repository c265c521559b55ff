"""What happens at the borders of a network: features become blobs, pixels are scaled, and blobs become features.

Networks of versions 1 to 3 have blobs [Seq, Batch, C, H, W]. An array of one dimension is C, one of three is C, H, W.
In a network with recurrent layers a vector is a step of a sequence, which is given as [Seq, Batch, C]: its length is
the open dimension `feature.0`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.features import BGR, Feature
from sateen.frontends.coreml.loading import Message
from sateen.frontends.coreml.network.node import FLOAT
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Dim, Symbol, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator


def blob_shape(feature: Feature, *, is_rank_5: bool, has_batch: bool) -> tuple[Dim, ...]:
    """The shape of the blob of an input. Raises FrontendError if the mapping to five axes has none for it."""
    shape = feature.shape
    assert shape is not None
    if not is_rank_5:
        return shape
    if feature.is_picture:
        five = (1, *shape)
    elif len(shape) == 1:
        five = (1, 1, shape[0], 1, 1)
    elif len(shape) == 3:
        five = (1, 1, *shape)
    elif len(shape) == 5:
        five = shape
    else:
        raise FrontendError(
            f"feature {feature.name!r}: expected an array of 1, 3 or 5 dimensions, which networks of blobs of rank 5 "
            f"take, found {list(shape)}"
        )
    return five if has_batch else (five[0], *five[2:])


def sequence_shape(feature: Feature) -> tuple[Dim, ...]:
    """The shape of a vector that is a step of a sequence: [Seq, Batch, C]."""
    assert feature.shape is not None
    return (Symbol(f"{feature.name}.0"), 1, *feature.shape)


def sequence_blob(shape: Sequence[Dim], *, has_batch: bool) -> tuple[Dim, ...]:
    """The shape of the blob of a sequence."""
    return (*shape, 1, 1) if has_batch else (shape[0], shape[2], 1, 1)


def preprocessing_of(preprocessing: Sequence[Message], feature: Feature, pictures: int) -> Sequence[Message]:
    """The preprocessing of a picture. One without a name is that of the only picture."""
    return [p for p in preprocessing if p.featureName == feature.name or (not p.featureName and pictures == 1)]


def to_blob(node: ModelNode, feature: Feature, steps: Sequence[Message], shape: tuple[Dim, ...]) -> Operand:
    """An input as a blob of float32."""
    data = node.value(0)
    if data.type.dtype != FLOAT:
        data = node.step(ops.Cast(FLOAT), data)
    for step in steps:
        for op, operand in _pixel_steps(node, step, feature):
            data = node.step(op, data, operand)
    return node.result(ops.Identity() if data.type.shape == shape else ops.Reshape(shape), data)


def _pixel_steps(node: ModelNode, step: Message, feature: Feature) -> Sequence[tuple[Operator, Value]]:
    """channelScale · pixel + bias of its colour, or pixel - mean."""
    assert feature.shape is not None
    channels = feature.shape[1]
    if not feature.is_picture:
        raise UnsupportedError(f"preprocessing of {feature.name!r}, which is no picture")
    match step.WhichOneof("preprocessor"):
        case "scaler":
            scaler = step.scaler
            colours = [scaler.redBias, scaler.greenBias, scaler.blueBias]
            if feature.colours == BGR:
                colours.reverse()
            bias = np.array(colours if channels == 3 else [scaler.grayBias], np.float32).reshape(-1, 1, 1)
            result: list[tuple[Operator, Value]] = []
            # 0 is a value like any other here: exporters write 1 where pixels stay as they are
            if scaler.channelScale != 1:
                result.append((ops.Multiply(), node.literal(scaler.channelScale, FLOAT)))
            if np.any(bias):
                result.append((ops.Add(), node.parameter(bias, "bias")))
            return result
        case "meanImage":
            return [(ops.Subtract(), node.parameter(_mean(step.meanImage.meanImage, feature), "mean"))]
    raise FrontendError(f"preprocessing of {feature.name!r}: expected a scaler or a mean image, found none")


def _mean(numbers: Sequence[float], feature: Feature) -> Array:
    assert feature.shape is not None
    image = feature.shape[1:]
    extents = [extent for extent in image if isinstance(extent, int)]
    if len(extents) < len(image):
        raise UnsupportedError("a mean image needs a picture of fixed size", "give its shape")
    if len(numbers) != prod(extents):
        raise FrontendError(f"mean image of {feature.name!r}: expected {prod(extents)} numbers, found {len(numbers)}")
    return np.asarray(numbers, np.float32).reshape(extents)


def to_feature(node: ModelNode, declared: Sequence[int], dtype: DType, *, squeezes: bool) -> Operand:
    """A blob as an output: in the declared shape if it has as many elements.

    Otherwise axes of extent 1 that the network's five axes have are left out (`squeezes`): Seq, and H and W of vectors.
    """
    data = node.value(0)
    shape = data.type.shape
    wanted: tuple[Dim, ...] = shape
    if squeezes:
        if declared and product(shape) == prod(declared):
            wanted = tuple(declared)
        else:
            wanted = shape[1:] if shape[0] == 1 else shape
            wanted = wanted[:-2] if wanted[-2:] == (1, 1) else wanted
    last: list[Operator] = [ops.Reshape(wanted)] * (wanted != shape) + [ops.Cast(dtype)] * (data.type.dtype != dtype)
    for op in last[:-1]:
        data = node.step(op, data)
    return node.result(last[-1] if last else ops.Identity(), data)
