"""An exported program as values: graphs of nodes over named tensors and numbers.

Nodes take arguments by the names of torch's operator schemas; an argument that has its default is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sateen.graph_ir.ir import Array, Dim


@dataclass(frozen=True, slots=True)
class Reference:
    """An argument that is a value of the graph: a tensor, or a number that the program computes."""

    name: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class ElementType:
    """An argument that is an element type, by its number in torch's schema."""

    number: int


@dataclass(frozen=True, slots=True)
class Foreign:
    """An argument without meaning here, such as a device, or an object of a class."""

    kind: str


@dataclass(frozen=True, slots=True)
class ProgramGraph:
    """A graph: the names of its inputs and outputs (None: an output that is no value), its nodes, and the types that
    the file declares for its values."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str | None, ...]
    nodes: Sequence[ProgramNode]
    declared: Mapping[str, ValueType]


Argument = None | bool | int | float | str | Reference | ElementType | Foreign | ProgramGraph | tuple["Argument", ...]


@dataclass(frozen=True, slots=True)
class ValueType:
    """A declared type: the number of the element type, and extents, None where the file's expression has no meaning
    here. A number that the program computes has no axes. `layout` is 7 for ordinary tensors."""

    element_type: int
    shape: tuple[Dim | None, ...]
    layout: int = 7


@dataclass(frozen=True, slots=True)
class ProgramNode:
    """A call. `target` is the operator as in `aten.add.Tensor`; names of outputs are '' for absent ones. `declared` are
    the types that the file gives for them, if any."""

    target: str
    name: str
    arguments: tuple[tuple[str, Argument], ...]
    outputs: tuple[str, ...]
    declared: tuple[ValueType | None, ...] = ()

    def reads(self) -> Iterator[str]:
        """The names of the values among its arguments, in order; those that graphs within it read are arguments,
        too."""
        for _, argument in self.arguments:
            yield from references_of(argument)


def references_of(argument: Argument) -> Iterator[str]:
    if isinstance(argument, Reference):
        yield argument.name
    elif isinstance(argument, tuple):
        for item in argument:
            yield from references_of(item)


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its graph, the inputs that the caller gives, and the names of the tensors that the others stand for.

    `parameters` maps inputs of the graph to names of tensors. `state` maps inputs that stand for buffers that a run
    changes to their values after it; they are inputs of the caller's, these are outputs. `tokens` are inputs without a
    value, which order nodes with effects. `ranges` are the least and the largest size of open dimensions, by symbol, as
    they were assumed when the program was made. `data` has the tensors by name.
    """

    place: str
    graph: ProgramGraph
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: Mapping[str, str]
    state: Mapping[str, str] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    data: Mapping[str, Array] = field(default_factory=dict)
