"""What the inputs of an MXNet network are: variables without data, whose types their notes and their readers tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sateen.frontends.core.inputs import Declaration, open_shape
from sateen.frontends.mxnet.attributes import parsed_attribute
from sateen.frontends.mxnet.converters import OPERATORS, OWN_NAMES
from sateen.frontends.mxnet.loading import MxnetFile
from sateen.frontends.mxnet.network import NetworkNode
from sateen.frontends.mxnet.types import dtype_of_number
from sateen.graph_ir.ir import Array, Dim
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_KEEP_SHAPE = frozenset(
    {"Activation", "BatchNorm", "BatchNorm_v1", "BlockGrad", "Cast", "Dropout", "LeakyReLU", "_copy"}
)
_FLOAT = DType.of("float32")
Extents = tuple[int | None, ...]
"""A shape, None where it is unknown."""


def declarations_of(file: MxnetFile) -> dict[str, Declaration]:
    """The variables without data."""
    likes, shapes = dict(_likes(file)), _shapes(file)
    return {
        name: _declaration(name, notes, likes.get(name, _FLOAT), shapes.get(name))
        for name, notes in file.network.variables.items()
        if name not in file.arrays
    }


def _declaration(name: str, notes: Mapping[str, str], like: DType, read_as: Extents | None) -> Declaration:
    """The input that a variable is: `shape` and `dtype` are notes, in which 0 and -1 are unknown extents. A variable
    without them has the type of the weight beside it, `like`, and the shape that convolutions read."""
    number = parsed_attribute(notes.get("dtype", "-1"))
    dtype = like if number == -1 else dtype_of_number(number, f"variable {name!r}")
    return Declaration(name, dtype, _shape(name, notes, read_as))


def _shape(name: str, notes: Mapping[str, str], read_as: Extents | None) -> tuple[Dim, ...] | None:
    shape = parsed_attribute(notes.get("shape", "None"))
    if shape in (None, ()):
        return None if read_as is None else open_shape(name, read_as)
    if not isinstance(shape, tuple) or not all(type(extent) is int and extent >= -1 for extent in shape):
        raise FrontendError(f"variable {name!r}: expected a shape, found {notes['shape']!r}")
    return open_shape(name, [extent if extent > 0 else None for extent in shape])


def _likes(file: MxnetFile) -> Iterator[tuple[str, DType]]:
    """For each value that a node reads before a weight of the same type, this type: MXNet infers types so."""
    for node in reversed(file.network.nodes):
        described = OPERATORS.get(node.operator)
        if described is not None and described.arguments[:2] == ("data", "weight") and len(node.inputs) > 1:
            data, weight, *_ = node.inputs
            if weight in file.arrays and "input_dim" not in described.defaults:
                yield data, DType.of(file.arrays[weight].dtype)


def _shapes(file: MxnetFile) -> Mapping[str, Extents]:
    """What is known of the shapes of values that convolutions read, perhaps behind operators that keep it: as many axes
    as their weights have, and the channels."""
    found: dict[str, Extents] = {}
    for node in reversed(file.network.nodes):
        operator = OWN_NAMES.get(node.operator, node.operator)
        if operator in {"Convolution", "Deconvolution"} and len(node.inputs) > 1:
            weight = file.arrays.get(node.inputs[1])
            if weight is not None and weight.ndim in {3, 4, 5}:
                found[node.inputs[0]] = _picture(node, weight, is_transposed=operator == "Deconvolution")
        elif (operator in _KEEP_SHAPE or operator.endswith("_scalar")) and node.outputs[0] in found:
            found[node.inputs[0]] = found[node.outputs[0]]
    return found


def _picture(node: NetworkNode, weight: Array, *, is_transposed: bool) -> Extents:
    """The shape of the data beside a weight: [out, in / groups, …], or [in, out / groups, …] of a transposed
    convolution, where channels last come last in the weight, too."""
    groups = parsed_attribute(node.attributes.get("num_group", "1"))
    is_last = node.attributes.get("layout", "").endswith("C")
    share = weight.shape[-1] if is_last else weight.shape[1]
    channels = weight.shape[0] if is_transposed else share * (groups if isinstance(groups, int) else 1)
    others = (None,) * (weight.ndim - 2)
    return (None, *others, channels) if is_last else (None, channels, *others)
