"""Both nets of a model as one list of operators with the values that they read and give.

An operator may write a blob that exists (`core/blobs.py`); what is overwritten is called blob@number of the operator.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sateen.frontends.caffe2.schemas import net_pb2
from sateen.frontends.core.blobs import Blobs
from sateen.frontends.core.inputs import Declaration, open_shape
from sateen.graph_ir.ir import Dim
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError, printable

FLOAT = DType.of("float32")
INPUT_TYPES = {
    "BatchGather": (1, "int64"), "Gather": (1, "int64"), "PackedInt8BGRANHWCToNCHWCStylizerPreprocess": (0, "uint8"),
}  # fmt: skip
"""Operators that read other than floats: which input, and its type. Nets declare none."""
_CONVOLUTIONS = frozenset({"Conv", "Conv1D", "Conv2D", "Conv3D"})
WITH_WEIGHTS = _CONVOLUTIONS | {"ConvTranspose", "FC", "FCTransposed", "InstanceNorm", "PRelu", "SpatialBN"}
"""Operators of which all inputs but the first are weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operator with the names of the values that it reads and gives, and its arguments by name."""

    name: str
    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Network:
    name: str
    inputs: tuple[Declaration, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[str, ...]


def network_of(init: net_pb2.Net, predict: net_pb2.Net, given: Collection[str]) -> Network:
    """The network of two nets. Blobs in `given` are inputs even if the init net fills them."""
    fills = {output: op for op in init.op for output in op.output}
    names = _input_names(fills, predict, given)
    operators = [op for op in init.op if not set(op.output) & set(names)] + list(predict.op)
    operations, blobs = _valued(operators, names)
    outputs = [blobs.values[name] for name in predict.external_output if name in blobs.values] or list(blobs.unread)
    if missing := [name for name in predict.external_output if name not in blobs.values]:
        raise FrontendError(f"expected an operator that gives the external output {missing[0]!r}, found none")
    types = _types(operations)
    pictures = _pictures(operations, fills)
    shapes = {name: _placeholder_shape(fills.get(name)) or pictures.get(name) for name in names}
    inputs = tuple(Declaration(name, types.get(name, FLOAT), shapes[name]) for name in names)
    return Network(_checked(predict.name or "net", "a name"), inputs, tuple(operations), tuple(dict.fromkeys(outputs)))


def _input_names(fills: dict[str, net_pb2.Operator], predict: net_pb2.Net, given: Collection[str]) -> list[str]:
    """The blobs that neither net fills, and those that the init net holds a place for."""
    written: set[str] = set()
    found: dict[str, None] = {}
    for op in predict.op:
        for name in op.input:
            is_weight = op.type in WITH_WEIGHTS and name != op.input[0]
            if name not in written and (
                name not in fills or name in given or (not is_weight and _is_placeholder(fills[name], name, predict))
            ):
                found.setdefault(name)
        written.update(op.output)
    return list(found)


def _is_placeholder(op: net_pb2.Operator, name: str, predict: net_pb2.Net) -> bool:
    """Whether an operator only makes a blob exist: a zero, or zeros in the first external input.

    Source: caffe2/python/predictor/mobile_exporter.py, Export.
    """
    arguments = {arg.name: arg for arg in op.arg}
    if op.type != "ConstantFill" or len(op.input) or ("value" in arguments and arguments["value"].f):
        return False
    return _shape_of(op) == (1,) or list(predict.external_input[:1]) == [name]


def _placeholder_shape(op: net_pb2.Operator | None) -> tuple[int, ...] | None:
    """The shape that the placeholder has, if it is more than one element."""
    shape = () if op is None else _shape_of(op)
    return shape if len(shape) > 1 and all(0 < extent < 2**31 for extent in shape) else None


def _shape_of(op: net_pb2.Operator) -> tuple[int, ...]:
    """The argument `shape` of an operator that fills a blob; () if it has none."""
    return next((tuple(arg.ints) for arg in op.arg if arg.name == "shape"), ())


def _pictures(operations: Sequence[Operation], fills: Mapping[str, net_pb2.Operator]) -> dict[str, tuple[Dim, ...]]:
    """The shapes of values that convolutions read: as many axes as their weights have, and the channels of these."""
    found: dict[str, tuple[Dim, ...]] = {}
    for operation in operations:
        if operation.type not in _CONVOLUTIONS or len(operation.inputs) < 2 or operation.inputs[1] not in fills:
            continue
        weight = _shape_of(fills[operation.inputs[1]])
        group = operation.arguments.get("group", 1)
        if len(weight) in {3, 4, 5} and isinstance(group, int):
            is_last = operation.arguments.get("order") == b"NHWC"
            channels = group * weight[-1 if is_last else 1]
            others = (None,) * (len(weight) - 2)
            extents = (None, *others, channels) if is_last else (None, channels, *others)
            found.setdefault(operation.inputs[0], open_shape(operation.inputs[0], extents))
    return found


def _valued(operators: Sequence[net_pb2.Operator], inputs: Sequence[str]) -> tuple[list[Operation], Blobs]:
    """The operators with their values, and the blobs as they are at the end."""
    blobs = Blobs(inputs, (name for op in operators for name in op.output))
    made = []
    for index, op in enumerate(operators):
        type_ = _checked(op.type, "a type")
        name = _checked(op.name or (op.output[0] if op.output else type_), "a name")
        for blob in (*op.input, *op.output):
            _checked(blob, "the name of a blob")
        values = blobs.read(op.input, f"operator {name!r}")
        outputs = blobs.write(op.output, f"operator {name!r}", str(index))
        made.append(Operation(name, type_, values, outputs, _arguments(op, name)))
    return made, blobs


def _checked(name: str | bytes, what: str) -> str:
    if not isinstance(name, str) or not name or name != printable(name):
        raise FrontendError(f"expected {what} that can be printed, found {name!r}")
    return name


def _arguments(op: net_pb2.Operator, name: str) -> dict[str, Any]:
    """Arguments by name: a number, bytes, or the repeated field, which may be long. Raises FrontendError for one that
    is given twice, or of two kinds."""
    found: dict[str, Any] = {}
    for arg in op.arg:
        given = [getattr(arg, kind) for kind in ("f", "i", "s") if arg.HasField(kind)]
        given += [repeated for repeated in (arg.floats, arg.ints, arg.strings) if len(repeated)]
        if len(given) > 1 or arg.name in found:
            raise FrontendError(
                f"operator {name!r}: expected one value of argument {printable(str(arg.name))!r}, found more"
            )
        found[arg.name] = given[0] if given else arg.ints
    return found


def _types(operations: Sequence[Operation]) -> dict[str, DType]:
    """The types of the values that operators read as other than floats."""
    found = {}
    for operation in operations:
        index, dtype = INPUT_TYPES.get(operation.type, (0, ""))
        if dtype and index < len(operation.inputs):
            found[operation.inputs[index]] = DType.of(dtype)
    return found
