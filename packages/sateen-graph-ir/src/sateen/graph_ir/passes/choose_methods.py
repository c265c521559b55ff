"""Choose the method by which each node is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf

from sateen.graph_ir.ir import Array, Graph, GraphRewriter, Node, Problem, Value
from sateen.graph_ir.ops import Cast
from sateen.runtime import DType
from sateen.tensor_ir import Machine
from sateen.topi.methods import NUMERICS, Method
from sateen.topi.operators import Operator, Substitution

MOST_LOSS = 1e-5
"""The most that an element may lose by a method, as a part of Σ|w| times the largest input that it depends on
(semantics 4.8)."""

Known = Callable[[Problem], Sequence[Method]]
"""The methods of a problem that were measured, fastest first."""


def nothing_known(problem: Problem) -> Sequence[Method]:  # noqa: ARG001  # the signature is that of Known
    """Gives no methods: nothing was measured."""
    return ()


def choose_methods(graph: Graph, machine: Machine, *, numerics: str = "default", known: Known = nothing_known) -> Graph:
    """Give each node with a choice the method that is known or, if none is, estimated to be fastest.

        parameter %w: float32[64, 64, 3, 3]; %y = conv(%x, %w, %b) {pads=(1, 1, 1, 1)}; %z = mat_mul(%a, %c)
        =>  %w.1 = winograd_weight(%w) {tile=6}
            %y = winograd_conv(%x, %w.1, %b) {tile=6, pads=(1, 1, 1, 1)} by blocks(rows=1, columns=10, vectors=2)
            %z = mat_mul(%a, %c) by packed(rows=4, vectors=6, panels=1, terms=768)

    A method that takes a constant in another form replaces the node's operator by another one, and a node of its own
    gives the constant that form. It is used only if it loses no more than MOST_LOSS with the constant and `numerics`
    allow it. Known methods that are no candidates of the problem do not count. Requires: static types. Runs before
    choose_layouts.
    """
    rewriter = GraphRewriter(graph)
    prepared: dict[tuple[Value, Operator], Value] = {}
    converted: dict[tuple[Value, DType], Value] = {}
    for node in graph.nodes:
        if not node.op.methods:
            rewriter.keep(node)
            continue
        constants = [constant_of(v, rewriter.constant, rewriter.producer) for v in rewriter.values(node.inputs)]
        method = chosen_method(node, constants, machine, numerics, known)
        if method is None:
            rewriter.keep(node)
            continue
        inputs = list(rewriter.values(node.inputs))
        way = node.op.substitute(method) or Substitution(node.op, method, {})
        for position in way.prepared:
            inputs[position] = _prepared(rewriter, inputs[position], way, position, prepared)
        for position, dtype in way.converted.items():
            inputs[position] = _converted(rewriter, inputs[position], dtype, converted)
        rewriter.put(replace(node, op=way.operator, method=way.method), tuple(inputs), node.outputs)
    return rewriter.finish()


def constant_of(
    v: Value | None, parameter: Callable[[Value], Array | None], producer: Callable[[Value], Node | None]
) -> Array | None:
    """The data of a value that is a parameter, or one in another type, as widen_short_floats leaves weights."""
    if v is None or (data := parameter(v)) is not None:
        return None if v is None else data
    node = producer(v)
    if node is None or not isinstance(node.op, Cast) or node.inputs[0] is None:
        return None
    given = parameter(node.inputs[0])
    return None if given is None else given.astype(node.op.dtype.numpy)


def chosen_method(
    node: Node,
    constants: Sequence[Array | None],
    machine: Machine,
    numerics: str = "default",
    known: Known = nothing_known,
) -> Method | None:
    """The method that `choose_methods` takes for a node, some of whose inputs are constants; None: no choice."""
    if not node.op.methods:
        return None
    problem = Problem.of(node)
    possible = [c.method for c in problem.candidates(machine.at(node.outputs[0].device.kind))]
    preferred = [m for m in known(problem) if m in possible]
    return next(_allowed(node.op, (*preferred, *possible), constants, numerics), None)


def _allowed(
    op: Operator, methods: Sequence[Method], constants: Sequence[Array | None], numerics: str
) -> Iterator[Method]:
    """The methods that numerics allow and that lose no more than allowed with their constants."""
    losses: dict[Operator, float] = {}
    for method in methods:
        if NUMERICS.index(method.numerics) > NUMERICS.index(numerics):
            continue
        way = op.substitute(method)
        if way is not None:
            if way.operator not in losses:
                losses[way.operator] = _loss(way, constants)
            if losses[way.operator] > MOST_LOSS:
                continue
        yield method


def _loss(way: Substitution, constants: Sequence[Array | None]) -> float:
    """The loss of an element by a method; infinite if the input to prepare is no constant."""
    losses = [0.0]
    for position, preparation in way.prepared.items():
        data = constants[position]
        losses.append(inf if data is None else preparation.loss(data))
    return max(losses)


def _prepared(
    rewriter: GraphRewriter,
    value: Value | None,
    way: Substitution,
    position: int,
    prepared: dict[tuple[Value, Operator], Value],
) -> Value:
    """The prepared form of a constant, shared by all nodes that read it in this form."""
    assert value is not None
    key = value, way.prepared[position].operator
    if key not in prepared:
        prepared[key] = rewriter.insert(way.prepared[position].operator, value, name=value.name)
    return prepared[key]


def _converted(
    rewriter: GraphRewriter, value: Value | None, dtype: DType, converted: dict[tuple[Value, DType], Value]
) -> Value:
    """The value in another type, converted once for all nodes that read it."""
    assert value is not None
    if (value, dtype) not in converted:
        converted[value, dtype] = rewriter.insert(Cast(dtype), value, name=value.name)
    return converted[value, dtype]
