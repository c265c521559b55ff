"""A symbol as a network of named values, in which only what its outputs need is left.

MXNet names values after their node: `conv0_output`, `split0_output1`, `batchnorm0_mean`; a variable is its own value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sateen.frontends.core.inputs import MOST_ARGUMENTS
from sateen.frontends.mxnet.description import OperatorDescription
from sateen.frontends.mxnet.symbol import VARIABLE, Entry, Symbol, SymbolNode
from sateen.runtime.errors import FrontendError

_VERSION_OF_LAST_AXIS = 905
"""Files before this version mean all axes by axis -1 of argmax and argmin (legacy_json_util.cc)."""
_MOST_VALUES = 1 << 20
"""The most outputs of all nodes together."""
_JOIN = "_rnn_param_concat"
"""What Gluon makes one vector with of the parameters of a recurrent layer."""
_VERSION_OF_STATES = 900
"""Files before this version leave out auxiliary states, which were no inputs of their operators then."""


@dataclass(frozen=True, slots=True)
class NetworkNode:
    """An operator with the names of the values that it reads and gives."""

    name: str
    operator: str
    attributes: Mapping[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Network:
    """Nodes in order, the notes of the variables that they read, and the names of the outputs.

    `weights` has, for each variable that is a trained argument of a node, that node and the argument's name.
    """

    nodes: tuple[NetworkNode, ...]
    variables: Mapping[str, Mapping[str, str]]
    outputs: tuple[str, ...]
    weights: Mapping[str, tuple[str, str]]


def network_of_symbol(symbol: Symbol, operators: Mapping[str, OperatorDescription], place: str) -> Network:
    """The network of a symbol. Raises FrontendError for two variables of one name, or too many outputs."""
    names = _Names(symbol, operators, place)
    nodes = [
        NetworkNode(
            node.name,
            node.operator,
            _attributes(node, symbol.version),
            names.inputs_of(node),
            tuple(names.values[index]),
        )
        for index, node in enumerate(symbol.nodes)
        if node.operator != VARIABLE
    ]
    outputs = tuple(dict.fromkeys(names.of(head) for head in symbol.heads))
    kept, needed = [], set(outputs)
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    kept.reverse()
    variables = {name: notes for name, notes in names.variables.items() if name in needed}
    if len(outputs) > MOST_ARGUMENTS:
        raise FrontendError(f"{place}: expected at most {MOST_ARGUMENTS} outputs, found {len(outputs)}")
    return Network(tuple(kept), variables, outputs, dict(_weights(kept, variables, operators)))


def _attributes(node: SymbolNode, version: int) -> Mapping[str, str]:
    """The attributes of an operator as MXNet 1.9 means them."""
    means_all = version < _VERSION_OF_LAST_AXIS and node.operator in {"argmax", "argmin"}
    return {key: text for key, text in node.attributes.items() if not (means_all and (key, text) == ("axis", "-1"))}


def _weights(
    nodes: Sequence[NetworkNode], variables: Mapping[str, object], operators: Mapping[str, OperatorDescription]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Also the variables that Gluon joins to the parameters of a recurrent layer, each reshaped before."""
    found: dict[str, tuple[str, str]] = {}
    joined: set[str] = set()
    for node in reversed(nodes):
        described = operators.get(node.operator)
        for argument, name in zip(described.arguments if described else (), node.inputs, strict=False):
            if described is not None and argument in described.trained:
                found[name] = node.name, argument
        whole = node.outputs[0]
        if whole in found and (node.operator == _JOIN or (node.operator == "Reshape" and whole in joined)):
            joined.update(node.inputs)
            found.update((name, found[whole]) for name in node.inputs)
    return ((name, found[name]) for name in variables if name in found)


class _Names:
    """The names of all values of a symbol: `values` by node and output, `variables` with their notes."""

    def __init__(self, symbol: Symbol, operators: Mapping[str, OperatorDescription], place: str) -> None:
        self.symbol, self.operators = symbol, operators
        self.variables: dict[str, Mapping[str, str]] = {}
        for node in symbol.nodes:
            if node.operator == VARIABLE:
                if node.name in self.variables:
                    raise FrontendError(f"{place}: expected variables of different names, found {node.name!r} twice")
                self.variables[node.name] = node.notes
        self._taken = dict.fromkeys(self.variables, 0)
        counts = [1] * len(symbol.nodes)
        for entry in (*symbol.heads, *(entry for node in symbol.nodes for entry in node.inputs)):
            counts[entry.node] = max(counts[entry.node], entry.output + 1)
        if sum(counts) > _MOST_VALUES:
            raise FrontendError(f"{place}: expected at most {_MOST_VALUES} values, found {sum(counts)}")
        self.values = [
            list(self._values_of(node, count, place)) for node, count in zip(symbol.nodes, counts, strict=True)
        ]

    def of(self, entry: Entry) -> str:
        return self.values[entry.node][entry.output]

    def inputs_of(self, node: SymbolNode) -> tuple[str, ...]:
        """The values that inference reads: without labels, and with the auxiliary states that old files leave out."""
        found = tuple(map(self.of, node.inputs))
        described = self.operators.get(node.operator)
        if described is None:
            return found
        states = described.arguments[len(described.arguments) - described.auxiliary :]
        if self.symbol.version < _VERSION_OF_STATES and len(found) == len(described.arguments) - len(states):
            named = [f"{node.name}_{state}" for state in states]
            for name in named:
                self.variables.setdefault(name, {})
            found = (*found, *named)
        return found[: len(described.arguments) - described.labels] if described.labels else found

    def _values_of(self, node: SymbolNode, count: int, place: str) -> Iterator[str]:
        """The names of the first `count` outputs. Names of nodes need not differ in MXNet; here those of values do."""
        if node.operator == VARIABLE:
            if count > 1:
                raise FrontendError(f"{place}: variable {node.name!r} has one output, a node reads output {count - 1}")
            yield node.name
            return
        described = self.operators.get(node.operator)
        results = ("output",) * (count == 1) if described is None else described.results(node.attributes)
        for output in range(count):
            name = f"{node.name}_{results[output] if output < len(results) else f'output{output}'}"
            free = name
            while free in self._taken:
                self._taken[name] += 1
                free = f"{name}.{self._taken[name]}"
            self._taken[free] = 0
            yield free
