"""What a file says of its network: operations in order, inputs, outputs, and which variables stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sateen.frontends.core.order import in_order
from sateen.frontends.tensorflow.functions import inlined
from sateen.frontends.tensorflow.loading import TensorflowFile
from sateen.frontends.tensorflow.operation import Operation, Region, gives, plain_tensor, read_as, reads
from sateen.frontends.tensorflow.raising import raised
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import AttrValue, DataType, SignatureDef, TensorShapeProto
from sateen.frontends.tensorflow.tensors import extents_of, shape_of
from sateen.frontends.tensorflow.variables import VARIABLES
from sateen.runtime.errors import FrontendError, printable

PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
SAME = frozenset({"Identity", "ReadVariableOp", "StopGradient", "Snapshot"})
"""Operators whose result is their first input."""
_NO_RESULT = frozenset(
    {
        "Assert", "Assign", "AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp", "AssignVariableOp",
        "Const", "MergeSummary", "MergeV2Checkpoints", "NoOp", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault",
        "Print", "PrintV2", "RestoreV2", "SaveV2", "ScalarSummary", "VarHandleOp", "VarIsInitializedOp", "Variable",
        "VariableV2", "HistogramSummary", "ImageSummary", "ControlTrigger", "Switch",
    }
)  # fmt: skip
"""Operators that are no output of a network, even if nothing reads them."""


@dataclass(frozen=True, slots=True)
class Network:
    """The operations of a network in order. `inputs` are placeholders by name; `shapes` are those of a signature."""

    operations: Sequence[Operation]
    inputs: Mapping[str, Operation]
    outputs: Sequence[str]
    shapes: Mapping[str, TensorShapeProto] = field(default_factory=dict)


def connected(file: TensorflowFile) -> Network:
    """The network of a file. Raises FrontendError if names are missing or given twice, or operations form a cycle."""
    ends = [] if file.signature is None else _tensors(file.signature)
    operations, resolved = inlined(file.graph, ends, file.limits)
    operations = raised(operations, file.limits)
    shapes: dict[str, TensorShapeProto] = {}
    if file.signature is None:
        outputs = _unread(operations)
    else:
        begin = {resolved(plain_tensor(info.name)): key for key, info in file.signature.inputs.items()}
        for key, info in file.signature.inputs.items():
            shapes[key] = info.tensor_shape
        outputs = sorted(file.signature.outputs)
        end = {key: resolved(plain_tensor(file.signature.outputs[key].name)) for key in outputs}
        operations = _named(operations, begin, end)
    _require_given(operations, outputs)
    ordered = in_order(_with_constants(operations), reads, gives, _described)
    constants = {operation.outputs[0]: operation for operation in ordered if operation.type == "Const"}
    inputs = {operation.name: operation for operation in ordered if _is_input(operation, constants)}
    if several := next((name for name, one in inputs.items() if len(one.outputs) > 1), None):
        raise FrontendError(f"placeholder {printable(several)!r} gives one tensor, but another one is read")
    return Network(ordered, inputs, outputs, shapes)


def _described(operation: Operation) -> str:
    return f"node {printable(operation.name)!r}"


def _tensors(signature: SignatureDef) -> list[str]:
    """The tensors of a signature, without `:0`."""
    found = [*signature.inputs.values(), *signature.outputs.values()]
    if any(not info.name for info in found):
        remedy = "save a function of dense tensors, or name another signature: from_tensorflow(…, signature=…)"
        raise FrontendError(f"expected a signature of dense tensors, found sparse or ragged ones; {remedy}")
    return [plain_tensor(info.name) for info in found]


def _named(operations: Sequence[Operation], begin: Mapping[str, str], end: Mapping[str, str]) -> list[Operation]:
    """The operations with the names of a signature: those of its inputs, and an Identity for each output."""
    taken = {name for operation in operations for name in operation.outputs}
    moved = dict(begin)
    for key in (*begin.values(), *end):
        if key in taken and key not in begin and end.get(key) != key:
            moved[key] = _free(f"{key}.inner", taken)
    renamed = [_renamed(operation, moved) for operation in operations]
    new = {key: moved.get(tensor, tensor) for key, tensor in end.items()}
    results = [Operation(key, "Identity", (tensor,), (key,)) for key, tensor in new.items() if key != tensor]
    return [*renamed, *results]


def _free(name: str, taken: set[str]) -> str:
    number, found = 0, name
    while found in taken:
        number += 1
        found = f"{name}.{number}"
    taken.add(found)
    return found


def _renamed(operation: Operation, names: Mapping[str, str]) -> Operation:
    renamed = _given_as(read_as(operation, names), names)
    return replace(renamed, name=renamed.outputs[0]) if operation.outputs[0] in names else renamed


def _unread(operations: Sequence[Operation]) -> list[str]:
    """The results that nothing reads: of each operation without readers the first output."""
    read = {name for operation in operations for name in reads(operation)}
    switched = {name for operation in operations if operation.type == "Switch" for name in operation.outputs}
    unread = (
        one
        for one in operations
        if read.isdisjoint(one.outputs) and one.type not in _NO_RESULT and switched.isdisjoint(one.inputs)
    )
    return [one.outputs[0] for one in unread if one.attributes.get("T", AttrValue()).type != DataType.DT_STRING]


def _require_given(operations: Sequence[Operation], outputs: Sequence[str]) -> None:
    """Raises FrontendError for a tensor that nothing gives, in the network or in a graph within an operation."""
    given = {name for operation in operations for name in operation.outputs}
    missing = next((name for name in outputs if name not in given), None)
    if missing is not None:
        raise FrontendError(f"the signature names {printable(missing)!r}, which nothing gives")
    _require_reads(operations, given)
    for region in regions_of(operations):
        inside = {*region.inputs, *region.captures, *(name for one in region.operations for name in one.outputs)}
        _require_reads(region.operations, inside)
        in_order(region.operations, reads, gives, _described)
        missing = next((name for name in region.outputs if name not in inside), None)
        if missing is not None:
            raise FrontendError(
                f"graph {printable(region.name)!r} gives {printable(missing)!r}, which nothing in it computes"
            )


def _require_reads(operations: Sequence[Operation], given: set[str]) -> None:
    for operation in operations:
        missing = next((name for name in reads(operation) if name not in given), None)
        if missing is not None:
            raise FrontendError(f"node {printable(operation.name)!r} reads {printable(missing)!r}, which nothing gives")


def _is_input(operation: Operation, constants: Mapping[str, Operation]) -> bool:
    """Whether an operation is an input of the network. A placeholder with a default is one unless it is a scalar: a
    switch between training and inference, or a rate of dropout, keeps its default."""
    if operation.type != "PlaceholderWithDefault":
        return operation.type in PLACEHOLDERS
    shape = operation.attributes.get("shape")
    declared = None if shape is None else shape_of(shape.shape)
    if declared is not None:
        return bool(declared)
    default = constants.get(operation.inputs[0]) if operation.inputs else None
    if default is None or "value" not in default.attributes:
        return True
    return bool(extents_of(default.attributes["value"].tensor.tensor_shape, f"node {printable(default.name)!r}"))


def _with_constants(operations: Sequence[Operation]) -> list[Operation]:
    """Operations that read constants and variables themselves, not through others that hand them on: parameters go by
    the names of these."""
    constant = {one.name for one in operations if one.type == "Const" or one.type in VARIABLES}
    names = {name: found for name, found in _sources(operations).items() if found in constant}
    return [read_as(operation, names) for operation in operations]


def _sources(operations: Sequence[Operation]) -> dict[str, str]:
    """For each tensor that is handed on, the one at the beginning: what it is."""
    before = {one.outputs[0]: one.inputs[0] for one in operations if one.type in SAME and one.inputs}
    found: dict[str, str] = {}
    for tensor in before:
        passed: dict[str, None] = {}
        source = tensor
        while source in before and source not in found and source not in passed:
            passed[source] = None
            source = before[source]
        found.update(dict.fromkeys(passed, found.get(source, source)))
    return found


def named_as_results(operations: Sequence[Operation], outputs: Sequence[str]) -> list[Operation]:
    """Operations that give results under the names of these, so that no Identity has to copy them."""
    makers = {name: one for one in operations for name in one.outputs}
    sources = _sources(operations)
    names: dict[str, str] = {}
    for output in outputs:
        tensor = sources.get(output, output)
        made = makers.get(tensor)
        if made is not None and tensor not in outputs and made.type not in {*VARIABLES, "Const"}:
            names.setdefault(tensor, output)
    copied = set(names.values())
    kept = [one for one in operations if one.type not in SAME or copied.isdisjoint(one.outputs)]
    return [_given_as(read_as(operation, names), names) for operation in kept]


def _given_as(operation: Operation, names: Mapping[str, str]) -> Operation:
    return replace(operation, outputs=tuple(names.get(name, name) for name in operation.outputs))


def trimmed(operations: Sequence[Operation], outputs: Sequence[str]) -> list[Operation]:
    """The operations without outputs that neither another one of them reads, nor the user."""
    read = {*outputs, *(name for operation in operations for name in reads(operation))}
    result = []
    for operation in operations:
        count = max((i for i, name in enumerate(operation.outputs, 1) if name in read), default=1)
        result.append(replace(operation, outputs=operation.outputs[:count]))
    return result


def regions_of(operations: Sequence[Operation]) -> Iterator[Region]:
    """All graphs within operations."""
    pending = list(operations)
    while pending:
        for body in pending.pop().bodies:
            yield body
            pending.extend(body.operations)
