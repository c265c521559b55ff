"""Variables that a network reads and never assigns, as constants.

A network that runs CALL_ONCE assigns them their first values in another network, and names them by VAR_HANDLE. In files
for training on a device, other networks assign them anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sateen.frontends.tflite.model import DTYPES, Network, Operation, Tensor
from sateen.graph_ir.ir import Array

Name = tuple[str, str]
"""The container and the name that networks share."""


def with_first_values(network: Network, networks: Sequence[Network]) -> Network:
    """The network, with data in place of the variables that it reads, if it assigns none and all have first values;
    otherwise as it is."""
    handles = _handles(network.operations)
    others = [o for o in network.operations if o.operator not in {"CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"}]
    once = [o for o in network.operations if o.operator == "CALL_ONCE"]
    if not handles or any(tensor in handles for tensor in (*network.outputs, *_read_by(others))):
        return network
    values: dict[Name, Array] = {}
    for operation in once:
        index = operation.options["init_subgraph_index"]
        found = _assigned(networks[index]) if 0 < index < len(networks) else None
        if found is None:
            return network
        values |= found
    data = dict(network.data)
    for operation in network.operations:
        if operation.operator == "READ_VARIABLE":
            if len(operation.inputs) != 1 or len(operation.outputs) != 1 or operation.inputs[0] not in handles:
                return network
            (handle,), (result,) = operation.inputs, operation.outputs
            value = values.get(handles[handle])
            if value is None or not _has_type(value, result):
                return network
            data[result.name] = value
    return replace(network, operations=others, data=data)


def _read_by(operations: Iterable[Operation]) -> Iterable[Tensor | None]:
    return (tensor for operation in operations for tensor in operation.inputs)


def _has_type(value: Array, tensor: Tensor) -> bool:
    return tensor.type in DTYPES and value.dtype == DTYPES[tensor.type].numpy and value.shape == tensor.shape


def _handles(operations: Iterable[Operation]) -> Mapping[Tensor | None, Name]:
    return {
        tensor: (operation.options["container"], operation.options["shared_name"])
        for operation in operations
        if operation.operator == "VAR_HANDLE"
        for tensor in operation.outputs
    }


def _assigned(network: Network) -> dict[Name, Array] | None:
    """The constants that a network assigns to variables; None if it does anything else."""
    handles = _handles(network.operations)
    values: dict[Name, Array] = {}
    for operation in network.operations:
        if operation.operator == "ASSIGN_VARIABLE" and len(operation.inputs) == 2:
            handle, value = operation.inputs
            if handle not in handles or value is None or value.data is None:
                return None
            values[handles[handle]] = value.data
        elif operation.operator != "VAR_HANDLE":
            return None
    return values
