"""A network as a list of steps, each a call of one layer that has no layers inside.

Networks within networks, and layers around layers (TimeDistributed, Bidirectional, RNN), are taken apart here, so that
converters see plain layers only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sateen.frontends.core.inputs import require_few_arguments
from sateen.frontends.core.order import in_order
from sateen.frontends.core.source import Limits
from sateen.frontends.keras.layers import Arguments, Layer, Network, Reference, Structure, leaves
from sateen.frontends.keras.networks import recurrent
from sateen.frontends.keras.training import IN_TRAINING, is_in_training
from sateen.runtime.errors import FrontendError

ALIAS = "alias"
"""The kind of a step that gives its inputs: the border of a network within a network."""
FOLD, UNFOLD = "TimeDistributed/fold", "TimeDistributed/unfold"
"""The kinds of the steps around a layer that is applied to each time step."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a layer: `name` is that of the call, `arguments` have Tensors. `masks` are the names of the masks of
    its inputs, '' where there is none."""

    layer: Layer
    name: str
    arguments: Arguments
    outputs: tuple[str, ...]
    masks: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(tensor.name for tensor in self.arguments.leaves(Tensor))


@dataclass(frozen=True, slots=True)
class Steps:
    """All steps of a network in order, its input layers, and the names of its outputs."""

    steps: Sequence[Step]
    inputs: tuple[Layer, ...]
    outputs: tuple[str, ...]


def steps_of(network: Layer, limits: Limits) -> Steps:
    """The steps of a whole model. Raises FrontendError for cycles, and for more steps than the limits allow."""
    assert network.network is not None
    whole = network.network
    expansion = _Expansion(limits)
    steps = expansion.network(whole, "", {})
    inputs = [layer for layer in whole.layers if layer.kind == "InputLayer"]
    by_name = {layer.name: layer for layer in inputs}
    ordered = [by_name.pop(one.layer) for one in leaves(whole.inputs, Reference) if one.layer in by_name]
    outputs = [_name(one, "") for one in leaves(whole.outputs, Reference)]
    order = in_order(steps, lambda step: step.inputs, lambda step: step.outputs, lambda step: f"layer {step.name!r}")
    found = Steps(order, (*ordered, *by_name.values()), tuple(dict.fromkeys(outputs)))
    require_few_arguments(len(found.inputs), len(found.outputs))
    return found


def _name(one: Reference, prefix: str) -> str:
    """The name of a tensor: its layer, `@1` for the second call, `:1` for the second result."""
    return _result(_called(prefix, one.layer, one.call), one.result)


def _called(prefix: str, layer: str, index: int) -> str:
    return f"{prefix}{layer}@{index}" if index else f"{prefix}{layer}"


def _result(name: str, index: int) -> str:
    return f"{name}:{index}" if index else name


@dataclass(slots=True)
class _Expansion:
    limits: Limits
    count: int = 0

    def _counted(self, steps: Sequence[Step]) -> Sequence[Step]:
        self.count += len(steps)
        if self.count > self.limits.expanded:
            raise FrontendError(f"expected at most {self.limits.expanded} calls of layers, found more")
        return steps

    def network(self, network: Network, prefix: str, training: Mapping[str, Structure]) -> list[Step]:
        """The steps of a network; names of its tensors begin with `prefix`. Its layers are called in training if it
        is."""
        results = _results(network)
        steps: list[Step] = []
        for call in network.calls:
            if call.layer.kind != "InputLayer":
                name = _called(prefix, call.layer.name, call.index)
                own = call.arguments.map(Reference, lambda one: Tensor(_name(one, prefix)))
                arguments = Arguments(own.positional, {**own.named, **training})
                outputs = tuple(_result(name, index) for index in range(results[call.layer.name, call.index]))
                steps += self.call(call.layer, name, arguments, outputs)
        return steps

    def call(self, layer: Layer, name: str, arguments: Arguments, outputs: tuple[str, ...]) -> Sequence[Step]:
        """The steps of one call."""
        match layer.kind:
            case "Functional" | "Sequential":
                return self._inner_network(layer, name, arguments, outputs)
            case "TimeDistributed":
                return self._time_distributed(layer, name, arguments, outputs)
            case "Bidirectional":
                return self._bidirectional(layer, name, arguments, outputs)
            case "RNN":
                return self._cells(layer, name, arguments, outputs)
            case "SpectralNormalization" if not is_in_training(arguments):  # it stores the normalised kernel
                return self.call(layer.part("layer"), name, arguments, outputs)
            case _:
                return self._counted([Step(layer, name, arguments, outputs)])

    def _inner_network(self, layer: Layer, name: str, arguments: Arguments, outputs: tuple[str, ...]) -> Sequence[Step]:
        assert layer.network is not None
        network, prefix = layer.network, f"{name}/"
        wanted = list(leaves(network.inputs, Reference))
        given = _given(network, arguments.positional[0])
        if len(given) != len(wanted):
            raise FrontendError(f"network {name!r} expects {len(wanted)} inputs, found {len(given)}")
        alias = replace(layer, kind=ALIAS)
        steps = [
            Step(alias, name, Arguments((tensor,)), (_name(one, prefix),))
            for tensor, one in zip(given, wanted, strict=True)
        ]
        inner = self.network(network, prefix, _training(arguments))
        results = [Tensor(_name(one, prefix)) for one in leaves(network.outputs, Reference)]
        if len(outputs) > len(results):
            raise FrontendError(
                f"network {name!r} gives {len(results)} results, found a use of result {len(outputs) - 1}"
            )
        last = [Step(alias, name, Arguments((tensor,)), (own,)) for tensor, own in zip(results, outputs, strict=False)]
        return [*self._counted(steps), *inner, *self._counted(last)]

    def _time_distributed(
        self, layer: Layer, name: str, arguments: Arguments, outputs: tuple[str, ...]
    ) -> Sequence[Step]:
        """The layer on all time steps at once, as if they were more of the batch."""
        inner = layer.part("layer")
        whole, folded, result = arguments.positional[0], f"{name}/{inner.name}.steps", f"{name}/{inner.name}"
        fold = Step(replace(layer, kind=FOLD), name, Arguments((whole,)), (folded,))
        steps = self.call(inner, result, Arguments((Tensor(folded),), _training(arguments)), (result,))
        unfold = Step(replace(layer, kind=UNFOLD), name, Arguments((Tensor(result), whole)), outputs)
        return [*self._counted([fold]), *steps, *self._counted([unfold])]

    def _bidirectional(self, layer: Layer, name: str, arguments: Arguments, outputs: tuple[str, ...]) -> Sequence[Step]:
        """The layer forwards and backwards in time, then what merges both. The first half of initial states is for the
        layer that runs forwards."""
        sequence, states = sequence_and_states(arguments)
        half = len(states) // 2
        steps: list[Step] = []
        merged: list[list[Tensor]] = []
        for part, own in zip(layer.parts, (states[:half], states[half:]), strict=True):
            called = f"{name}/{part.layer.name}"
            count = 1 + (STATES.get(part.layer.kind, 0) if part.layer.config.get("return_state") else 0)
            results = tuple(_result(called, index) for index in range(count))
            named = {key: value for key, value in arguments.named.items() if key == "mask"}
            named |= _training(arguments)
            given = Arguments((sequence,), {**named, **({"initial_state": own} if own else {})})
            steps += self.call(part.layer, called, given, results)
            merged.append([Tensor(result) for result in results])
        return [*steps, *self._counted([Step(layer, name, Arguments((merged,)), outputs)])]

    def _cells(self, layer: Layer, name: str, arguments: Arguments, outputs: tuple[str, ...]) -> Sequence[Step]:
        """Cells over time, one above the other: a layer for each, those below the last giving all time steps."""
        stack = layer.part("cell")
        cells = [part.layer for part in stack.parts]
        takes_states = len(sequence_and_states(arguments)[1]) > 0 or layer.config.get("return_state")
        if takes_states or not cells or any(cell.kind not in _PLAIN_CELLS for cell in cells):
            return self._counted([Step(layer, name, arguments, outputs)])
        steps: list[Step] = []
        for index, cell in enumerate(cells):
            is_last = index == len(cells) - 1
            config = {**cell.config, **layer.config}
            if not is_last:
                config["return_sequences"] = True
            if index:  # the first layer has turned the sequence around
                config["go_backwards"] = False
            called = name if is_last else f"{name}/{cell.name}"
            results = outputs if is_last else (called,)
            steps.append(Step(recurrent(cell.term, cell.name, config, cell), called, arguments, results))
            arguments = Arguments((Tensor(called),), arguments.named)
        return self._counted(steps)


STATES = {"LSTM": 2, "GRU": 1, "SimpleRNN": 1, "ConvLSTM1D": 2, "ConvLSTM2D": 2, "ConvLSTM3D": 2}
"""The number of states of each recurrent layer."""
_PLAIN_CELLS = ("LSTMCell", "GRUCell", "SimpleRNNCell")


def sequence_and_states(arguments: Arguments) -> tuple[Structure, list[Tensor]]:
    """The sequence of a recurrent layer, and its initial states: Keras 2 has them in the first argument, too."""
    first = arguments.positional[0]
    sequence, *states = first if isinstance(first, (list, tuple)) else [first]
    named = [*arguments.positional[1:2], arguments.named.get("initial_state")]
    return sequence, [*states, *leaves(named, Tensor)]


def _training(arguments: Arguments) -> Mapping[str, Structure]:
    """What a call passes on to layers inside: whether they are in training, in place of their own argument."""
    return IN_TRAINING if is_in_training(arguments) else {}


def _results(network: Network) -> Counter[tuple[str, int]]:
    """How many results each call is known to give: as many as the network uses, and one at least."""
    used = [
        *(one for call in network.calls for one in call.arguments.leaves(Reference)),
        *leaves(network.outputs, Reference),
    ]
    results = Counter({(call.layer.name, call.index): 1 for call in network.calls})
    for one in used:
        results[one.layer, one.call] = max(results[one.layer, one.call], one.result + 1)
    return results


def _given(network: Network, given: Structure) -> list[Tensor]:
    """The tensors that a network is called with, in the order of its inputs; a dictionary has them by name."""
    if isinstance(given, dict):
        names = list(network.inputs) if isinstance(network.inputs, dict) else _input_names(network)
        if set(names) == given.keys():
            given = [given[name] for name in names]
    return list(leaves(given, Tensor))


def _input_names(network: Network) -> list[str]:
    return [one.layer for one in leaves(network.inputs, Reference)]
