"""The types that a file declares for inputs and for tensors at which a network may begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.core.inputs import Declaration
from sateen.frontends.tensorflow.attributes import attributes_of
from sateen.frontends.tensorflow.operation import Operation
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import AttrValue, DataType, GraphDef, TensorShapeProto
from sateen.frontends.tensorflow.tensors import dtype_of, shape_of
from sateen.frontends.tensorflow.variables import VARIABLES
from sateen.graph_ir.ir import Dim, Symbol
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError, printable
from sateen.topi.types import MOST_DIMENSIONS

_SCALARS_ARE_UNKNOWN = 21
"""The last version of graphs that can't tell a scalar from an unknown shape (Placeholder in array_ops.cc)."""
_TYPED_BY = {
    "ArgMax": "output_type", "ArgMin": "output_type", "Bitcast": "type", "Cast": "DstT", "Gather": "Tparams",
    "GatherNd": "Tparams", "GatherV2": "Tparams", "Range": "Tidx", "Shape": "out_type", "Size": "out_type",
    "TensorListGather": "element_dtype", "TensorListGetItem": "element_dtype", "TensorListStack": "element_dtype",
}  # fmt: skip
_OF_ONE_TYPE = {
    **dict.fromkeys(("AudioSpectrogram", "CropAndResize", "Mfcc", "ResizeArea", "ResizeBicubic", "ResizeBilinear",
                     "ScaleAndTranslate"), "float32"),
    **dict.fromkeys(("Bucketize", "NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3",
                     "NonMaxSuppressionV4", "NonMaxSuppressionV5", "Rank"), "int32"),
    "DecodeJpeg": "uint8",
}  # fmt: skip
_OF_BOOL = frozenset(
    {"All", "Any", "ApproximateEqual", "Equal", "Greater", "GreaterEqual", "InTopK", "InTopKV2", "IsFinite", "IsInf",
     "IsNan", "Less", "LessEqual", "LogicalAnd", "LogicalNot", "LogicalOr", "NotEqual"}
)  # fmt: skip


def declared_input(operation: Operation, graph: GraphDef, given: TensorShapeProto | None) -> Declaration:
    """An input of the network; `given` is the shape in its signature. Raises FrontendError if it is no tensor."""
    what = f"input {printable(operation.name)!r}"
    if "dtype" not in operation.attributes:
        raise FrontendError(f"{what}: expected an element type, found none")
    dtype = dtype_of(operation.attributes["dtype"].type, what)
    extents = None if given is None else shape_of(given)
    if extents is None and "shape" in operation.attributes:
        extents = shape_of(operation.attributes["shape"].shape)
    if not extents and (extents is None or graph.versions.producer <= _SCALARS_ARE_UNKNOWN):
        extents = _output_shape(operation, 0)
    return Declaration(operation.name, dtype, _dims(operation.name, extents, what))


def is_text(operation: Operation) -> bool:
    """Whether a placeholder is of strings."""
    return bool(operation.attributes.get("dtype", AttrValue()).type == DataType.DT_STRING)


def declaration_of(name: str, operation: Operation) -> Declaration | None:
    """A tensor within the network, if the file says its element type."""
    attributes = attributes_of(operation.type, operation.attributes)
    index = operation.outputs.index(name)
    if operation.type == "DecodeWav":
        return _sound(name, index, attributes)
    code = attributes.get(_TYPED_BY.get(operation.type, "dtype"), attributes.get("T"))
    if operation.type in _OF_BOOL:
        dtype = DType.of("bool")
    elif operation.type in _OF_ONE_TYPE:
        dtype = DType.of(_OF_ONE_TYPE[operation.type])
    elif isinstance(code, int) and (index == 0 or operation.type in {"Split", "SplitV", "Unpack", "IdentityN"}):
        dtype = dtype_of(code, f"tensor {printable(name)!r}")
    else:
        return None
    return Declaration(name, dtype, _dims(name, _output_shape(operation, index), f"tensor {printable(name)!r}"))


def _sound(name: str, index: int, attributes: Mapping[str, Any]) -> Declaration:
    """Samples in [-1, 1], [samples, channels], or their rate, a scalar (audio_ops.cc)."""
    if index:
        return Declaration(name, DType.of("int32"), ())
    wanted = [attributes.get(f"desired_{axis}") for axis in ("samples", "channels")]
    extents = tuple(n if isinstance(n, int) and n > 0 else -1 for n in wanted)
    return Declaration(name, DType.of("float32"), _dims(name, extents, f"tensor {printable(name)!r}"))


def _output_shape(operation: Operation, index: int) -> tuple[int, ...] | None:
    """The shape that the exporter noted for an output, if it did, or that of a variable; None: unknown."""
    if operation.type in VARIABLES:  # what is noted for a handle is that it is a scalar
        given = operation.attributes.get("shape")
        return None if given is None else shape_of(given.shape)
    noted = operation.attributes.get("_output_shapes")
    shapes = [] if noted is None else list(noted.list.shape)
    return shape_of(shapes[index]) if index < len(shapes) else None


def _dims(name: str, extents: tuple[int, ...] | None, what: str) -> tuple[Dim, ...] | None:
    if extents is None:
        return None
    if len(extents) > MOST_DIMENSIONS:
        raise FrontendError(f"{what}: expected at most {MOST_DIMENSIONS} dimensions, found {len(extents)}")
    return tuple(Symbol(f"{name}.{axis}") if extent < 0 else extent for axis, extent in enumerate(extents))
