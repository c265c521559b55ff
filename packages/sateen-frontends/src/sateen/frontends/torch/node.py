"""The converter's view of a node: arguments by the names of torch's schemas, with their defaults, and results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from sateen.frontends.core.node import Converter as ConverterOf
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import Operand, normal_axes, normal_axis, require_bound, static_extents, type_of
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.element_types import dtype_of
from sateen.frontends.torch.program import (
    Argument,
    ElementType,
    Foreign,
    ProgramGraph,
    ProgramNode,
    Reference,
)
from sateen.graph_ir.ir import Dim, TensorType, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import Dimension, symbols_of

MOST_PLACES = 1 << 22
"""The most elements of a table of places, weights or flags that a converter makes."""
MEANINGLESS = frozenset(
    {
        "cudnn_enable",
        "cudnn_enabled",
        "device",
        "implicit",
        "layout",
        "memory_format",
        "non_blocking",
        "pin_memory",
        "requires_grad",
    }
)
"""Arguments that change no element of a result on a CPU."""


class TorchNode(ModelNode):
    """One node while it is converted. A converter reads each argument that matters; `unread` lists those that it did
    not. An argument that is a number must be known, unless it is a dimension."""

    def __init__(self, node: ProgramNode, call: Call) -> None:
        super().__init__(call, {})
        self.node = node
        self._arguments = {name: argument for name, argument in node.arguments if name}
        self._positions = {name: index for index, name in reversed(list(enumerate(node.reads())))}
        self._read: set[str] = set()

    @property
    def unread(self) -> Sequence[str]:
        """The arguments that matter and that no one asked for."""
        return sorted(self._arguments.keys() - self._read - MEANINGLESS)

    @property
    def named(self) -> Collection[str]:
        """The names of all arguments that the file gives."""
        return self._arguments.keys()

    @property
    def positional(self) -> Sequence[Argument]:
        """All arguments in order, for operators without a schema."""
        return [argument for _, argument in self.node.arguments]

    def argument(self, name: str, default: Argument = None) -> Argument:
        """An argument, or its default where the file leaves it out."""
        self._read.add(name)
        return self._arguments.get(name, default)

    def ignore(self, *names: str) -> None:
        """Note that these arguments don't matter for the others."""
        self._read.update(names)

    def gives(self, name: str) -> bool:
        """Whether an argument is given, and not None."""
        return self.argument(name) is not None

    def position(self, name: str) -> int:
        """The position of the value of this name among the inputs."""
        return self._positions[name]

    def operand_of(self, argument: Argument, name: str) -> Operand:
        if not isinstance(argument, Reference):
            raise FrontendError(f"expected a tensor as {name!r}, found {_described(argument)}")
        return self.operand(self._positions[argument.name])

    def value_of(self, argument: Argument, name: str) -> Value:
        if not isinstance(argument, Reference):
            raise FrontendError(f"expected a tensor as {name!r}, found {_described(argument)}")
        return self.value(self._positions[argument.name])

    def tensor(self, name: str) -> Value:
        return self.value_of(self.argument(name), name)

    def optional(self, name: str) -> Value | None:
        argument = self.argument(name)
        return None if argument is None else self.value_of(argument, name)

    def tensors(self, name: str) -> list[Value]:
        return [self.value_of(item, name) for item in self._items(name)]

    def optional_tensors(self, name: str) -> list[Value | None]:
        return [None if item is None else self.value_of(item, name) for item in self._items(name)]

    def type(self, name: str) -> TensorType:
        """The type of an argument that is a tensor."""
        return type_of(self.operand_of(self.argument(name), name))

    def is_tensor(self, name: str) -> bool:
        """Whether an argument is a value, not a literal."""
        return isinstance(self.argument(name), Reference)

    def is_number(self, name: str) -> bool:
        """Whether an argument is a number that the program computes, not a tensor."""
        argument = self.argument(name)
        return isinstance(argument, Reference) and argument.is_number

    def dim_of(self, argument: Argument, name: str) -> Dim:
        """An integer, or a dimension that the program computes."""
        if isinstance(argument, Reference):
            data = self.data(self._positions[argument.name])
            found = data.reshape(-1).tolist()
            if len(found) == 1 and isinstance(found[0], (int, Dimension)):
                return int(found[0]) if isinstance(found[0], int) else found[0]
            raise FrontendError(f"expected an integer as {name!r}, found {data.dtype}{list(data.shape)}")
        if isinstance(argument, int):
            return int(argument)
        raise FrontendError(f"expected an integer as {name!r}, found {_described(argument)}")

    def dim(self, name: str, default: int | None = None) -> Dim:
        return self.dim_of(self.argument(name, default), name)

    def dims(self, name: str, default: tuple[int, ...] | None = None) -> tuple[Dim, ...]:
        """Integers or dimensions; one alone stands for a list of one."""
        given = self.argument(name, default)
        items = given if isinstance(given, tuple) else (given,)
        return tuple(self.dim_of(item, name) for item in items)

    def integer(self, name: str, default: int | None = None) -> int:
        found = self.dim(name, default)
        require_bound(symbols_of(found), f"{name!r}")
        assert isinstance(found, int)
        return found

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        return static_extents(self.dims(name, default), f"{name!r}")

    def per_axis(self, name: str, rank: int, default: int) -> tuple[int, ...]:
        """A number for each of `rank` axes; one alone counts for all, none for the default."""
        found = self.integers(name, (default,)) or (default,)
        if len(found) not in (1, rank):
            raise FrontendError(f"expected {rank} numbers as {name!r}, found {list(found)}")
        return found * rank if len(found) == 1 else found

    def number(self, name: str, default: float | None = None) -> float:
        argument = self.argument(name, default)
        if isinstance(argument, Reference):
            return float(self.scalar(self._positions[argument.name]))
        if not isinstance(argument, (int, float)):
            raise FrontendError(f"expected a number as {name!r}, found {_described(argument)}")
        return argument

    def flag(self, name: str, default: bool = False) -> bool:
        argument = self.argument(name, default)
        if not isinstance(argument, bool):
            raise FrontendError(f"expected true or false as {name!r}, found {_described(argument)}")
        return argument

    def text(self, name: str, default: str | None = None) -> str:
        argument = self.argument(name, default)
        if not isinstance(argument, str):
            raise FrontendError(f"expected text as {name!r}, found {_described(argument)}")
        return argument

    def graph(self, argument: Argument) -> ProgramGraph:
        if not isinstance(argument, ProgramGraph):
            raise FrontendError(f"expected a graph, found {_described(argument)}")
        return argument

    def element_type(self, name: str = "dtype") -> DType | None:
        """An element type; None if it is left out."""
        argument = self.argument(name)
        if argument is None:
            return None
        if not isinstance(argument, ElementType):
            raise FrontendError(f"expected an element type as {name!r}, found {_described(argument)}")
        return dtype_of(argument.number)

    def result_dtype(self, index: int = 0) -> DType:
        """The element type that the program declares for a result."""
        types = self.node.declared
        declared = types[index] if index < len(types) else None
        if declared is None:
            raise FrontendError(f"expected a declared type of result {index}, found none")
        return dtype_of(declared.element_type)

    def one_axis(self, rank: int, name: str = "dim", default: int | None = None) -> int:
        """An axis; a number without axes counts as one that has one (torch/_prims_common, canonicalize_dim)."""
        return normal_axis(self.integer(name, default), max(rank, 1))

    def axes(self, rank: int, name: str = "dim") -> tuple[int, ...]:
        """Axes in order; none, or an empty list, stand for all."""
        if not self.gives(name):
            return tuple(range(rank))
        given = self.integers(name)
        return normal_axes(given, max(rank, 1)) if given else tuple(range(rank))

    def require_table(self, *extents: int) -> None:
        """Raises UnsupportedError if a table of these extents is too large to be made while importing."""
        if min(extents, default=0) < 0 or prod(extents) > MOST_PLACES:
            raise UnsupportedError(f"a table of {' x '.join(map(str, extents))} elements is not supported")

    def _items(self, name: str) -> tuple[Argument, ...]:
        argument = self.argument(name)
        if not isinstance(argument, tuple):
            raise FrontendError(f"expected tensors as {name!r}, found {_described(argument)}")
        return argument


def _described(argument: Argument) -> str:
    match argument:
        case None:
            return "none"
        case Foreign(kind=kind):
            return f"a {kind}"
        case Reference():
            return "a tensor"
        case ProgramGraph():
            return "a graph"
        case ElementType():
            return "an element type"
        case _:
            return repr(argument)


Converter = ConverterOf[TorchNode]
