"""Convolutions with holes, which TensorFlow writes as a convolution between SpaceToBatchND and BatchToSpaceND.

    %b = SpaceToBatchND(%x, block, paddings);  %c = Conv2D(%b, %w) VALID;  %y = BatchToSpaceND(%c, block, crops)
    =>  %y = Conv2D(%x, %w) {dilations=block, explicit_paddings=paddings - crops}

Each image of the batch holds the elements of one remainder by `block`, so that neighbours there are `block` apart in %x
(tf.nn.with_space_to_batch). A crop takes off results that only padding at that end gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sateen.frontends.tensorflow.attributes import attributes_of
from sateen.frontends.tensorflow.operation import Operation, needed, reads
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import AttrValue
from sateen.frontends.tensorflow.tensors import to_array
from sateen.graph_ir.ir import Array

_CONVOLUTIONS = frozenset({"Conv2D", "DepthwiseConv2dNative"})
_MOST_BYTES = 1024
"""The most bytes of a block or of paddings."""


def with_dilations(operations: Sequence[Operation], kept: Sequence[str]) -> list[Operation]:
    """The operations that tensors need that are `kept`, with dilated convolutions in place of those among blocks."""
    readers = Counter(name for operation in operations for name in reads(operation))
    readers.update(kept)
    makers = {name: operation for operation in operations for name in operation.outputs}
    result = []
    for operation in operations:
        found = _dilated(operation, makers, readers) if operation.type == "BatchToSpaceND" else None
        result.append(operation if found is None else found)
    return needed(result, kept)


def _dilated(end: Operation, makers: Mapping[str, Operation], readers: Counter[str]) -> Operation | None:
    """The convolution that a BatchToSpaceND ends; None if it ends none, or if padding would be below 0."""
    if len(end.inputs) != 3:
        return None
    convolution = makers.get(end.inputs[0])
    if convolution is None or convolution.type not in _CONVOLUTIONS or len(convolution.inputs) != 2:
        return None
    start = makers.get(convolution.inputs[0])
    if start is None or start.type != "SpaceToBatchND" or len(start.inputs) != 3:
        return None
    attributes = attributes_of(convolution.type, convolution.attributes)
    is_plain = (
        attributes.get("padding") == "VALID"
        and attributes.get("data_format") == "NHWC"
        and set(attributes.get("strides", ())) == set(attributes.get("dilations", ())) == {1}
    )
    if not is_plain or readers[end.inputs[0]] != 1 or readers[convolution.inputs[0]] != 1:
        return None
    known = [_known(makers.get(name)) for name in (start.inputs[1], start.inputs[2], end.inputs[1], end.inputs[2])]
    block, paddings, same, crops = known
    if block is None or paddings is None or same is None or crops is None or not np.array_equal(block, same):
        return None
    if block.shape != (2,) or paddings.shape != (2, 2) or crops.shape != (2, 2) or block.min() < 1:
        return None
    pads = paddings.astype(np.int64) - crops
    if min(pads.min(), crops.min(), paddings.min()) < 0:
        return None
    changed = {
        "padding": AttrValue(s=b"EXPLICIT"),
        "explicit_paddings": _integers([0, 0, *pads.reshape(-1).tolist(), 0, 0]),
        "dilations": _integers([1, *block.tolist(), 1]),
    }
    inputs = (start.inputs[0], convolution.inputs[1])
    return replace(
        convolution, name=end.name, inputs=inputs, outputs=end.outputs, attributes={**convolution.attributes, **changed}
    )


def _known(operation: Operation | None) -> Array | None:
    """The integers of a constant."""
    if operation is None or operation.type != "Const" or "value" not in operation.attributes:
        return None
    data = to_array(operation.attributes["value"].tensor, operation.name, _MOST_BYTES)
    return data if data.dtype.kind == "i" else None


def _integers(values: Sequence[int]) -> AttrValue:
    return AttrValue(list=AttrValue.ListValue(i=values))
