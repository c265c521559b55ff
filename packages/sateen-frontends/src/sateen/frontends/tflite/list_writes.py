"""Writes to lists of tensors, as TensorFlow's converter lowers them, put back into one operator.

A recurrent layer is a loop that writes each step's result into a list. The converter replaces an element by slices
whose extents change from iteration to iteration:

    concatenation(slice(list, 0, [i, -1, …]), element, slice(list, [i + 1, 0, …], -1))

This is DYNAMIC_UPDATE_SLICE(list, element, [i, 0, …]), whose extents are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sateen.frontends.tflite.model import Operation, Tensor
from sateen.topi.types import MOST_DIMENSIONS

Makers = Mapping[Tensor, Operation]
"""The operation that gives a tensor."""


def with_list_writes(operations: Sequence[Operation], outputs: Sequence[Tensor]) -> Sequence[Operation]:
    """The operations, in order, of a network with these outputs, with each such write as one."""
    makers = {tensor: operation for operation in operations for tensor in operation.outputs}
    readers = Counter(tensor for operation in operations for tensor in operation.inputs)
    readers.update(outputs)
    names = {tensor.name for operation in operations for tensor in (*operation.inputs, *operation.outputs) if tensor}
    replaced: dict[Operation, Sequence[Operation]] = {}
    for operation in operations:
        write = _write(operation, makers, names)
        if write is not None and all(readers[part] == 1 for part in (operation.inputs[0], operation.inputs[2])):
            head, _, tail = (tensor for tensor in operation.inputs if tensor is not None)
            replaced |= {operation: write, makers[head]: (), makers[tail]: ()}
    return (
        [one for operation in operations for one in replaced.get(operation, (operation,))] if replaced else operations
    )


def _write(operation: Operation, makers: Makers, names: Collection[str]) -> Sequence[Operation] | None:
    """The operations that stand for a write; None if this is no concatenation of that form. The place of the element
    gets a name that is not among `names`."""
    if operation.operator != "CONCATENATION" or operation.custom is not None or len(operation.inputs) != 3:
        return None
    if operation.options["axis"] != 0 or operation.options["activation"] != "NONE":
        return None
    head, element, tail = operation.inputs
    first, last = (_maker(part, "SLICE", makers) for part in (head, tail))
    if head is None or element is None or first is None or last is None:
        return None
    (whole, begin, size), (same, following, rest) = first.inputs, last.inputs
    place, after = _first_of(size, -1, makers), _first_of(following, 0, makers)
    fits = whole is same and _is_filled(begin, 0) and _is_filled(rest, -1) and element.shape and element.shape[0] == 1
    if not fits or place is None or after is None or not _is_next(after[0], place[0], makers):
        return None
    axes = 1 if after[1].data is None else 1 + after[1].data.size
    name = f"{head.name}.place"
    while name in names:
        name += "'"
    start = replace(head, name=name, type="INT32", shape=(axes,), scaling=None)
    options = {"axis": 0, "activation": "NONE"}
    return (
        Operation("CONCATENATION", (place[0], after[1]), (start,), options),
        Operation("DYNAMIC_UPDATE_SLICE", (whole, element, start), operation.outputs, {}),
    )


def _maker(tensor: Tensor | None, operator: str, makers: Makers) -> Operation | None:
    found = None if tensor is None else makers.get(tensor)
    return found if found is not None and found.operator == operator and found.custom is None else None


def _first_of(vector: Tensor | None, others: int, makers: Makers) -> tuple[Tensor, Tensor] | None:
    """The first element of a vector whose other elements are a constant of this number, and that constant."""
    joined = _maker(vector, "CONCATENATION", makers)
    if joined is None or len(joined.inputs) != 2:
        return None
    first, rest = joined.inputs
    return (first, rest) if first is not None and rest is not None and _is_filled(rest, others) else None


def _is_next(following: Tensor, place: Tensor, makers: Makers) -> bool:
    """Whether a vector of one element is that of another, plus 1."""
    scalars = [_maker(vector, "RESHAPE", makers) for vector in (following, place)]
    added = None if scalars[0] is None else _maker(scalars[0].inputs[0], "ADD", makers)
    if added is None or scalars[1] is None:
        return False
    return added.inputs[0] is scalars[1].inputs[0] and _is_filled(added.inputs[1], 1)


def _is_filled(tensor: Tensor | None, number: int) -> bool:
    """Whether a tensor is a constant, all of whose elements are this number."""
    data = None if tensor is None else tensor.data
    return data is not None and data.size <= MOST_DIMENSIONS and bool(np.all(data == number))
