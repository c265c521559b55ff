"""Variables: those that a network only reads are constants; one that it writes while it runs is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.frontends.tensorflow.checkpoint import Checkpoint
from sateen.frontends.tensorflow.operation import Operation, owner_of, reads
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import AttrValue

VARIABLES = frozenset({"VarHandleOp", "Variable", "VariableV2"})
_RESTORED_BY = frozenset({"Assign", "AssignVariableOp"})
_HANDED_ON = frozenset({"Enter", "Identity", "RefEnter", "RefSwitch", "Switch"})
_WRITERS = ("Assign", "ResourceApply", "ResourceScatter", "Scatter", "ResourceSparseApply", "Apply")


def written_by(operations: Sequence[Operation], outputs: Sequence[str]) -> frozenset[str]:
    """The names of the variables that are written where the outputs are computed: by operations that run before, and by
    those of functions that are called."""
    by_name = {operation.name: operation for operation in operations}
    makers = by_name | {tensor: operation for operation in operations for tensor in operation.outputs}
    pending, run, calls = list(outputs), set[str](), set[str]()
    while pending:
        operation = makers.get(pending.pop())
        if operation is not None and operation.name not in run:
            run.add(operation.name)
            calls.add(operation.call)
            pending += [*reads(operation), *operation.controls]
    calls.discard("")
    writing = [one for one in operations if one.type.startswith(_WRITERS) and (one.name in run or one.call in calls)]
    return frozenset(_variable(one.inputs[0], by_name) for one in writing if one.inputs)


def _variable(tensor: str, by_name: Mapping[str, Operation]) -> str:
    """The name of the variable that a tensor refers to."""
    name, seen = owner_of(tensor), set[str]()
    while name in by_name and by_name[name].type in _HANDED_ON and by_name[name].inputs and name not in seen:
        seen.add(name)
        name = owner_of(by_name[name].inputs[0])
    return name


def keys_of(operations: Sequence[Operation], checkpoint: Checkpoint) -> dict[str, str]:
    """The name in the checkpoint of each variable: the one that the graph itself restores it from, or its own."""
    by_name = {operation.name: operation for operation in operations}
    keys: dict[str, str] = {}
    for operation in operations:
        if operation.type in _RESTORED_BY and len(operation.inputs) == 2:
            key = _restored(operation.inputs[1], by_name)
            if key in checkpoint:
                keys.setdefault(_variable(operation.inputs[0], by_name), key)
    for operation in operations:
        if operation.type in VARIABLES and operation.name not in keys:
            shared = operation.attributes.get("shared_name", AttrValue()).s.decode("utf-8", "replace")
            known = [name for name in (shared, operation.name) if name in checkpoint]
            if known:
                keys[operation.name] = known[0]
    return keys


def _restored(tensor: str, by_name: Mapping[str, Operation]) -> str:
    """The name that a tensor is restored by; '' if it is not."""
    seen: set[str] = set()
    while tensor not in seen:
        seen.add(tensor)
        operation = by_name.get(owner_of(tensor))
        if operation is None or not operation.inputs:
            break
        if operation.type == "RestoreV2":
            return _name_at(operation, int(tensor.partition(":")[2] or 0), by_name)
        if operation.type != "Identity":
            break
        tensor = operation.inputs[0]
    return ""


def _name_at(restore: Operation, index: int, by_name: Mapping[str, Operation]) -> str:
    """The name that an output of RestoreV2 is restored by; its second input lists all."""
    names = by_name.get(owner_of(restore.inputs[1])) if len(restore.inputs) > 1 else None
    if names is None or names.type != "Const" or "value" not in names.attributes:
        return ""
    listed = names.attributes["value"].tensor.string_val
    return listed[index].decode("utf-8", "replace") if index < len(listed) else ""
