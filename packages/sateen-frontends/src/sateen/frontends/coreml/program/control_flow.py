"""cond and while_loop, whose branches and bodies are blocks of the operation. These see all values around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sateen.frontends.core.bodies import Bodies, Body, Subgraph
from sateen.frontends.core.control import choice, is_true, open_loop, require_state, scalar
from sateen.frontends.core.operands import Operand
from sateen.frontends.coreml.program.node import OperationNode, Slots
from sateen.frontends.coreml.steps import Step
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import NUMBER, Reshape
from sateen.runtime.errors import FrontendError

UNLIMITED = (1 << 63) - 1
"""The most iterations of a loop."""
Block = Subgraph[Step]


def choose(blocks: Sequence[Block], slots: Slots, bodies: Bodies[Step]) -> Sequence[Operand] | None:
    """The branch that a known condition takes, or both."""
    node = _node(slots, bodies)
    at = node.at("pred")
    if node.is_known(at):
        return bodies.take(blocks[0 if node.scalar(at) else 1])
    read: list[tuple[str, Body[Step], Sequence[Operand]]] = []
    remedy = node.binding(at)
    for name, block in zip(("the first branch", "the second"), blocks, strict=True):
        body = bodies.open(block)
        results = bodies.read(body, {}, remedy=remedy)
        if results is None:
            return None
        read.append((name, body, results))
    return choice(node, scalar(node, at), read[0], read[1], remedy)


def repeat(blocks: Sequence[Block], slots: Slots, bodies: Bodies[Step]) -> Sequence[Operand] | None:
    """Iterations of the second block while the first one gives true for what they hand on."""
    node, (condition, block) = _node(slots, bodies), blocks
    operands = [node.operand(place) for place in node.places("loop_vars")]
    if not len(condition.inputs) == len(block.inputs) == len(block.outputs) == len(operands):
        raise FrontendError(
            f"expected blocks of {len(operands)} values, found {len(condition.inputs)} of the condition, "
            f"{len(block.inputs)} that the body takes and {len(block.outputs)} that it gives"
        )
    first = bodies.inline(condition, _given(condition, operands), "condition")
    if first is None:
        return None
    (start,) = first
    if not isinstance(start, Value) and not is_true(start):
        return operands
    initial = [node.value(place) for place in node.places("loop_vars")]
    body = bodies.open(_followed_by(block, condition))
    body.input(f"{node.call.heading.name}.iteration", NUMBER)
    states = [body.input(name, value.type) for name, value in zip(block.inputs, initial, strict=True)]
    results = bodies.read(body, _given(block, states))
    if results is None:
        return None
    goes_on, *results = results
    require_state(block.inputs, initial, results)
    begins = node.step(Reshape(()), start) if isinstance(start, Value) else True
    return open_loop(node, body, UNLIMITED, begins, initial, goes_on, results)


def _node(slots: Slots, bodies: Bodies[Step]) -> OperationNode:
    return OperationNode(bodies.call, slots, {}, ())


def _given(block: Block, operands: Sequence[Operand]) -> Mapping[str, Operand]:
    return dict(zip(block.inputs, operands, strict=True))


def _followed_by(body: Block, condition: Block) -> Block:
    """A body, and the condition on what it gives: first whether there is a next iteration, then the results."""
    prefix = "condition/"
    while any(name.startswith(prefix) for name in (*body.names, *body.reads, *condition.reads)):
        prefix = f"condition/{prefix}"
    names = {name: f"{prefix}{name}" for step in condition.nodes for name in step.outputs}
    names |= dict(zip(condition.inputs, body.outputs, strict=True))

    def moved(several: Sequence[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in several)

    steps = [replace(step, inputs=moved(step.inputs), outputs=moved(step.outputs)) for step in condition.nodes]
    return replace(
        body,
        outputs=(*moved(condition.outputs), *body.outputs),
        nodes=[*body.nodes, *steps],
        names=[*body.names, *(name for step in steps for name in step.outputs)],
        reads=[*body.reads, *condition.reads],
    )


CONTROL_FLOW = {"cond": choose, "while_loop": repeat}
