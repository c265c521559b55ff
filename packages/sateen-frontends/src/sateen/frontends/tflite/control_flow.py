"""IF, WHILE and STABLEHLO_COMPOSITE, whose branches and bodies are other networks of the file. These see no value but
their inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sateen.frontends.core.bodies import Bodies, Body, Subgraph
from sateen.frontends.core.control import choice, is_true, open_loop, require_state, scalar
from sateen.frontends.core.operands import Operand
from sateen.frontends.tflite.model import Network, Operation, Tensor
from sateen.frontends.tflite.node import TfliteNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import NUMBER, Reshape
from sateen.runtime.errors import FrontendError

UNLIMITED = (1 << 63) - 1
"""The most iterations of a loop."""

Convert = Callable[[TfliteNode, Bodies[Operation], Sequence[Network]], Sequence[Operand] | None]
"""Gives the outputs of a node, None behind a gap; the networks are those of the file."""


def _network(node: TfliteNode, networks: Sequence[Network], option: str, inputs: int, outputs: int) -> Network:
    """The network that an option names. Raises FrontendError if it does not fit."""
    index = node.integer(option)
    if not 0 < index < len(networks):
        raise FrontendError(f"expected {option} of 1 to {len(networks) - 1}, found {index}")
    network = networks[index]
    if len(network.inputs) != inputs or len(network.outputs) != outputs:
        raise FrontendError(
            f"expected a network of {inputs} inputs and {outputs} outputs as {option}, "
            f"found {len(network.inputs)} and {len(network.outputs)}"
        )
    return network


def _subgraph(network: Network) -> Subgraph[Operation]:
    return Subgraph(
        name=network.name,
        inputs=tuple(tensor.name for tensor in network.inputs),
        outputs=tuple(tensor.name for tensor in network.outputs),
        nodes=network.operations,
        names=[tensor.name for tensor in network.tensors],
        reads=(),
        data=lambda: network.data,
    )


def _choose(node: TfliteNode, bodies: Bodies[Operation], networks: Sequence[Network]) -> Sequence[Operand] | None:
    """The branch that a known condition takes, or both. Inputs: the condition, then those of the branches."""
    shape = len(node.inputs) - 1, len(node.outputs)
    options = ("then_subgraph_index", "else_subgraph_index")
    branches = [_network(node, networks, option, *shape) for option in options]
    operands = [node.operand(1 + index) for index in range(shape[0])]
    if node.is_known(0):
        taken = branches[0 if node.scalar(0) else 1]
        return bodies.inline(_subgraph(taken), _given(taken, operands), taken.name or "branch")
    read: list[tuple[str, Body[Operation], Sequence[Operand]]] = []
    remedy = node.binding(0)
    for name, branch in zip(("the first branch", "the second"), branches, strict=True):
        body = bodies.open(_subgraph(branch))
        inside = [body.capture(o) if isinstance(o, Value) else o for o in operands]
        results = bodies.read(body, _given(branch, inside), remedy=remedy)
        if results is None:
            return None
        read.append((name, body, results))
    return choice(node, scalar(node, 0), read[0], read[1], remedy)


def _given(network: Network, operands: Sequence[Operand]) -> Mapping[str, Operand]:
    return {tensor.name: operand for tensor, operand in zip(network.inputs, operands, strict=True)}


def _repeat(node: TfliteNode, bodies: Bodies[Operation], networks: Sequence[Network]) -> Sequence[Operand] | None:
    """Iterations of a body while the network of the condition gives true for what they hand on."""
    count = len(node.inputs)
    condition = _network(node, networks, "cond_subgraph_index", count, 1)
    network = _network(node, networks, "body_subgraph_index", count, count)
    operands = [node.operand(index) for index in range(count)]
    first = bodies.inline(_subgraph(condition), _given(condition, operands), condition.name or "condition")
    if first is None:
        return None
    (start,) = first
    if not isinstance(start, Value) and not is_true(start):
        return operands
    initial = [node.value(index) for index in range(count)]
    body = bodies.open(_subgraph(_followed_by(network, condition)))
    names = [tensor.name for tensor in network.inputs]
    body.input(f"{node.call.heading.name}.iteration", NUMBER)
    states = [body.input(name, value.type) for name, value in zip(names, initial, strict=True)]
    results = bodies.read(body, _given(network, states))
    if results is None:
        return None
    goes_on, *results = results
    require_state(names, initial, results)
    begins = node.step(Reshape(()), start) if isinstance(start, Value) else True
    return open_loop(node, body, UNLIMITED, begins, initial, goes_on, results)


def _decomposed(node: TfliteNode, bodies: Bodies[Operation], networks: Sequence[Network]) -> Sequence[Operand] | None:
    """What an operator of another set, such as odml.rms_norm, stands for: the network that decomposes it."""
    count = len(node.inputs)
    network = _network(node, networks, "decomposition_subgraph_index", count, len(node.outputs))
    operands = [node.operand(index) for index in range(count)]
    return bodies.inline(_subgraph(network), _given(network, operands), node.text("name") or "composite")


def _followed_by(body: Network, condition: Network) -> Network:
    """A body, and the condition on what it gives: first whether there is a next iteration, then the results."""
    prefix = "condition/"
    while any(tensor.name.startswith(prefix) for tensor in body.tensors):
        prefix = f"condition/{prefix}"
    own = dict.fromkeys((*condition.tensors, *(tensor for o in condition.operations for tensor in o.outputs)))
    tensors: dict[Tensor | None, Tensor | None] = {None: None}
    tensors |= {tensor: replace(tensor, name=f"{prefix}{tensor.name}") for tensor in own}
    tensors |= dict(zip(condition.inputs, body.outputs, strict=True))

    def moved(several: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(tensors[tensor] for tensor in several)

    operations = [replace(o, inputs=moved(o.inputs), outputs=moved(o.outputs)) for o in condition.operations]
    return Network(
        body.name,
        [*body.tensors, *moved(condition.tensors)],
        body.inputs,
        (*moved(condition.outputs), *body.outputs),
        [*body.operations, *operations],
        {**body.data, **{f"{prefix}{name}": data for name, data in condition.data.items()}},
    )


CONTROL_FLOW: Mapping[str, Convert] = {"IF": _choose, "STABLEHLO_COMPOSITE": _decomposed, "WHILE": _repeat}
