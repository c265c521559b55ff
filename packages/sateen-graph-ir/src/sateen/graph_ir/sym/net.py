"""Networks as formulas: nodes that are functions of other nodes, without shapes.

A node has the name that it was given, or one by its function and its place in the network, so that equal programs give
equal names. A variable that was made for a parameter has the name of its node and its role: `conv2d0_weight`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sateen.runtime.errors import ArgumentError

VARIABLE = "variable"
"""The function of nodes that have no inputs: what users give."""


@dataclass(frozen=True, slots=True, eq=False)
class NetNode:
    """A function of other nodes, with attributes; `name` is '' until the network names it.

    A variable that stands for a parameter has its `role` there; its name follows from that of the node that reads it.
    """

    function: str
    inputs: tuple[Net, ...] = ()
    attributes: Mapping[str, Any] | None = None
    name: str = ""
    role: str = ""

    @property
    def is_variable(self) -> bool:
        return self.function == VARIABLE


@dataclass(frozen=True, slots=True, eq=False)
class Net:
    """One or several outputs of nodes, each a node and the number of its output.

    Networks have operators: `a + b`, `2 * a`, `-a`, `a > 0`, `a[:, 1:]`; `net[i]` is the output with that number or
    name, and `net(data=other)` the network with other values in place of its variables.
    """

    entries: tuple[tuple[NetNode, int], ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the variables, in the order in which nodes read them."""
        names = names_of(self)
        return tuple(names[node] for node in nodes_of(self) if node.is_variable)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        names = names_of(self)
        return tuple(names[node] if i == 0 else f"{names[node]}.{i}" for node, i in self.entries)

    @property
    def internals(self) -> Net:
        """The first output of every node, in topological order: `net.internals["relu0"]` is a part of the network."""
        return Net(tuple((node, 0) for node in nodes_of(self)))

    def __iter__(self) -> Iterator[Net]:
        """The outputs one by one."""
        return iter([Net((entry,)) for entry in self.entries])

    def __len__(self) -> int:
        return len(self.entries)

    def __call__(self, **values: Net) -> Net:
        """The network with values in place of the variables of these names.

        Raises ArgumentError for a name that is no variable, and for several values in one place.
        """
        names = names_of(self)
        unknown = sorted(set(values) - set(self.inputs))
        if unknown:
            raise ArgumentError(f"expected names of variables, {', '.join(self.inputs)}; found {', '.join(unknown)}")
        nodes = nodes_of(self)
        read = {source.entries[0] for node in nodes for source in node.inputs} | set(self.entries)
        placed: dict[tuple[NetNode, int], tuple[NetNode, int]] = {}
        for node in nodes:
            if node.is_variable and names[node] in values:
                placed[node, 0] = entry_of(values[names[node]], f"variable {names[node]!r}")
            elif not node.is_variable:
                inputs = tuple(Net((placed[net.entries[0]],)) for net in node.inputs)
                new = NetNode(node.function, inputs, node.attributes, names[node])
                placed |= {(node, i): (new, i) for one, i in read if one is node}
            else:
                placed[node, 0] = (NetNode(VARIABLE, (), node.attributes, names[node]), 0)
        return Net(tuple(placed[entry] for entry in self.entries))

    def __getitem__(self, place: Any) -> Net:
        if isinstance(place, str):
            if self.outputs.count(place) != 1:
                raise ArgumentError(f"expected the name of an output, {', '.join(self.outputs)}; found {place!r}")
            return Net((self.entries[self.outputs.index(place)],))
        if isinstance(place, int) and not isinstance(place, bool):
            if not -len(self.entries) <= place < len(self.entries):
                raise ArgumentError(f"expected the number of an output below {len(self.entries)}, found {place}")
            return Net((self.entries[place],))
        slices = place if isinstance(place, tuple) else (place,)
        if not all(isinstance(one, slice) for one in slices):
            raise ArgumentError(f"expected an output's number or name, or slices such as net[:, 1:], found {place!r}")
        steps = tuple(one.step if one.step is not None else 1 for one in slices)
        return self._applied(
            "strided_slice",
            begin=tuple(one.start for one in slices), end=tuple(one.stop for one in slices), stride=steps,
        )  # fmt: skip

    def _applied(self, function: str, *others: Net, **attributes: Any) -> Net:
        inputs = tuple(Net((entry_of(net, function),)) for net in (self, *others))
        return Net(((NetNode(function, inputs, attributes), 0),))

    def _combined(self, other: Net | float, function: str, scalar: str, *, swapped: bool = False) -> Net:
        if isinstance(other, Net):
            return other._applied(function, self) if swapped else self._applied(function, other)
        if isinstance(other, bool) or not isinstance(other, (int, float)):
            raise ArgumentError(f"expected a network or a number as an operand, found {type(other).__name__}")
        return self._applied(scalar, scalar=other)

    def __add__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_add", "__add_scalar__")

    __radd__ = __add__

    def __sub__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_sub", "__sub_scalar__")

    def __rsub__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_sub", "__rsub_scalar__", swapped=True)

    def __mul__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_mul", "__mul_scalar__")

    __rmul__ = __mul__

    def __truediv__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_div", "__div_scalar__")

    def __rtruediv__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_div", "__rdiv_scalar__", swapped=True)

    def __pow__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_pow", "__pow_scalar__")

    def __rpow__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_pow", "__rpow_scalar__", swapped=True)

    def __lshift__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_left_shift", "__lshift_scalar__")

    def __rshift__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_right_shift", "__rshift_scalar__")

    def __neg__(self) -> Net:
        return self._applied("negative")

    def __gt__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_greater", "__greater_scalar__")

    def __lt__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_less", "__less_scalar__")

    def __ge__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_greater_equal", "__greater_equal_scalar__")

    def __le__(self, other: Net | float) -> Net:
        return self._combined(other, "broadcast_less_equal", "__less_equal_scalar__")

    def __repr__(self) -> str:
        return f"<Net {', '.join(self.outputs)}>"


def entry_of(net: object, what: str) -> tuple[NetNode, int]:
    """The only output of a network. Raises ArgumentError for several, and for what is no network."""
    if not isinstance(net, Net):
        raise ArgumentError(f"{what} expects a network such as Variable('x'), found {type(net).__name__}")
    if len(net.entries) != 1:
        raise ArgumentError(f"{what} expects one output, found {len(net.entries)}: choose one by net[0]")
    return net.entries[0]


def Variable(name: str, shape: Sequence[int] | None = None, dtype: str = "float32") -> Net:
    """A value that the user gives: an input or a parameter. Its shape may be given later, or follow from its use."""
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"Variable expects a name, found {name!r}")
    attributes = {"shape": None if shape is None else tuple(shape), "dtype": dtype}
    return Net(((NetNode(VARIABLE, (), attributes, name), 0),))


def Group(nets: Sequence[Net]) -> Net:
    """All outputs of several networks."""
    return Net(tuple(entry for net in nets for entry in net.entries))


def nodes_of(net: Net) -> list[NetNode]:
    """All nodes, each after those that it reads, in the order in which it reads them."""
    found: dict[NetNode, None] = {}
    pending: list[tuple[NetNode, bool]] = [(node, False) for node, _ in reversed(net.entries)]
    while pending:
        node, read = pending.pop()
        if node in found:
            continue
        if read:
            found[node] = None
            continue
        pending.append((node, True))
        pending += [(source.entries[0][0], False) for source in reversed(node.inputs)]
    return list(found)


def names_of(net: Net) -> dict[NetNode, str]:
    """The name of each node. Raises ArgumentError if two nodes were given the same one."""
    nodes = nodes_of(net)
    given: dict[str, NetNode] = {}
    for node in nodes:
        if node.name and given.setdefault(node.name, node) is not node:
            raise ArgumentError(f"expected each name once, found {node.name!r} for two nodes")
    numbers: dict[str, int] = {}
    names: dict[NetNode, str] = {}
    for node in nodes:
        name = node.name
        while not name and not node.role:
            number = numbers.get(node.function, 0)
            numbers[node.function] = number + 1
            candidate = f"{node.function.strip('_')}{number}"
            name = "" if candidate in given else candidate
        if not node.role or node.name:
            names[node] = name
        for source in node.inputs:
            parameter = source.entries[0][0]
            if parameter.role and not parameter.name:
                names.setdefault(parameter, f"{name}_{parameter.role}")
    return names
