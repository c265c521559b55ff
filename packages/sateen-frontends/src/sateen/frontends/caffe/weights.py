"""The weights of a .caffemodel: the blobs of each layer by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from sateen.frontends.caffe.schemas import weights_pb2
from sateen.frontends.core.source import Limits, Source
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError, printable

MOST_AXES = 32
"""The most axes of a blob (include/caffe/blob.hpp, kMaxBlobAxes)."""
WITH_BLOBS = frozenset({
    "BN", "BatchNorm", "Bias", "Convolution", "ConvolutionDepthwise", "Deconvolution", "DepthwiseConvolution", "Embed",
    "InnerProduct", "LSTM", "Normalize", "PReLU", "Parameter", "RNN", "Scale",
})  # fmt: skip
"""Types of layers that have weights, some of them only with certain parameters."""


@dataclass(frozen=True, slots=True)
class Blob:
    """The data of a blob in one row, and its shape. A blob of before `shape` has four axes, of which those in front may
    be padding (`is_padded`)."""

    data: Array
    shape: tuple[int, ...]
    is_padded: bool

    def has(self, shape: tuple[int, ...]) -> bool:
        """Whether it fits a layer's blob of this shape (blob.cpp, Blob::ShapeEquals)."""
        return self.shape == ((1,) * (4 - len(shape)) + shape if self.is_padded and len(shape) <= 4 else shape)


def weights_of(source: Source, limits: Limits) -> Mapping[str, tuple[Blob, ...]]:
    """The blobs of the layers that have any. Raises FrontendError for a damaged file."""
    proto = weights_pb2.Weights()
    try:
        proto.ParseFromString(source.data)
    except DecodeError as error:
        raise FrontendError(
            f"{source.place}: expected weights of Caffe, found what protobuf can't parse: the file is damaged, or cut "
            f"short ({error})"
        ) from None
    layers = [(_readable(layer.name), layer.blobs) for layer in proto.layer]
    layers += [_of_old_layer(layer) for layer in proto.layers]
    remaining = limits.tensor_bytes
    found: dict[str, tuple[Blob, ...]] = {}
    for name, protos in layers:
        if not protos:
            continue
        what = f"{source.place}: layer {printable(name)!r}"
        if name in found:
            raise FrontendError(f"{what}: expected one layer of this name with weights, found several")
        blobs = tuple(_blob(proto, f"{what}, blob {i}") for i, proto in enumerate(protos))
        remaining -= sum(blob.data.nbytes for blob in blobs)
        if remaining < 0:
            raise FrontendError(f"{what}: expected at most {limits.tensor_bytes} bytes of weights, found more")
        found[name] = blobs
    return found


def _readable(name: str | bytes) -> str:
    """The name as text: protobuf gives bytes if a string is not UTF-8, and no layer of a network is called so."""
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")


def _of_old_layer(layer: weights_pb2.OldLayer) -> tuple[str, Iterable[weights_pb2.Blob]]:
    """The name and blobs of a layer before `layer`; the oldest have both in a message of their own."""
    inner = layer.layer
    return _readable(layer.name or inner.name), [*layer.blobs, *inner.blobs]


def _blob(proto: weights_pb2.Blob, what: str) -> Blob:
    """A blob. Raises FrontendError if its numbers don't fill its shape. Caffe with floats rounds doubles (blob.cpp,
    Blob::FromProto)."""
    is_padded = not proto.HasField("shape")
    shape = (proto.num, proto.channels, proto.height, proto.width) if is_padded else tuple(proto.shape.dim)
    floats, doubles = b"".join(proto.data), b"".join(proto.double_data)
    if floats and doubles:
        raise FrontendError(f"{what}: expected floats or doubles, found both")
    data, size = (doubles, 8) if doubles else (floats, 4)
    if len(shape) > MOST_AXES or min(shape, default=1) < 0 or prod(shape) * size != len(data):
        raise FrontendError(f"{what}: expected the numbers of shape {list(shape)}, found {len(data) / size:g}")
    with np.errstate(over="ignore", invalid="ignore"):
        return Blob(np.frombuffer(data, "<f8" if doubles else "<f4").astype(np.float32, copy=False), shape, is_padded)
