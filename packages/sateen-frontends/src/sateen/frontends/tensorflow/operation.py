"""Operations: the nodes of a network after functions are inlined, with names of tensors as users write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import AttrValue


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """A node.

    `outputs` are those that others read, and those before them. `controls` are operations that run before it. `call` is
    the node of the file whose function it comes from, '' if it is one itself. `bodies` are the graphs that a loop or a
    choice runs, in the order of TensorFlow's attributes.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, AttrValue] = field(default_factory=dict)
    controls: tuple[str, ...] = ()
    call: str = ""
    bodies: tuple[Region, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A graph within an operation: the body of a loop, a branch. `captures` are tensors around it that it reads."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operations: Sequence[Operation]
    captures: tuple[str, ...] = ()


def tensor_name(operation: str, index: int) -> str:
    """The name of an output: `a` is the first one of a, `a:1` the second."""
    return f"{operation}:{index}" if index else operation


def plain_tensor(name: str) -> str:
    """The name of a tensor without `:0`."""
    return name.removesuffix(":0")


def owner_of(tensor: str) -> str:
    """The name of the operation that gives a tensor."""
    return tensor.partition(":")[0]


def reads(operation: Operation) -> Sequence[str]:
    """The names of the tensors that an operation needs, those that its bodies capture included."""
    if not operation.bodies:
        return operation.inputs
    return [*operation.inputs, *(name for body in operation.bodies for name in body.captures)]


def gives(operation: Operation) -> Sequence[str]:
    return operation.outputs


def needed(operations: Sequence[Operation], results: Sequence[str]) -> list[Operation]:
    """The operations that results need: checks and messages beside them don't change these."""
    makers = {tensor: operation for operation in operations for tensor in operation.outputs}
    pending, kept = list(results), set[str]()
    while pending:
        maker = makers.get(pending.pop())
        if maker is not None and maker.name not in kept:
            kept.add(maker.name)
            pending += reads(maker)
    return [operation for operation in operations if operation.name in kept]


def read_as(operation: Operation, names: Mapping[str, str]) -> Operation:
    """The operation with other names of what it reads."""
    bodies = tuple(_captured_as(body, names) for body in operation.bodies)
    return replace(operation, inputs=tuple(names.get(name, name) for name in operation.inputs), bodies=bodies)


def _captured_as(body: Region, names: Mapping[str, str]) -> Region:
    """The graph with other names of what it captures."""
    changed = {name: names[name] for name in body.captures if name in names}
    if not changed:
        return body
    operations = [read_as(operation, changed) for operation in body.operations]
    captures = tuple(changed.get(name, name) for name in body.captures)
    outputs = tuple(changed.get(name, name) for name in body.outputs)
    return replace(body, operations=operations, captures=captures, outputs=outputs)
