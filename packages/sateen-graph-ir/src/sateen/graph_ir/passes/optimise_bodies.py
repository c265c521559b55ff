"""Run passes over the graphs within nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import compress

from sateen.graph_ir.ir import Array, Graph, Node, Value
from sateen.graph_ir.ops import Control
from sateen.graph_ir.passes.runner import Pipeline, run_pipeline


def optimise_bodies(graph: Graph, before: Pipeline, after: Pipeline) -> Graph:
    """Run a pipeline, in which this pass is between `before` and `after`, on the bodies of control nodes.

        parameter %w: float32[2] = [1.0, -1.0]; %y = loop(%x, %w) {count=3, carried=1}
          body = input %i; input %s; input %v; %p = relu(%v); %t = add(%s, %p); output %t
        =>  parameter %w: float32[2] = [1.0, -1.0]; %y = loop(%x) {count=3, carried=1}
              body = input %i; input %s; parameter %p = [1.0, 0.0]; %t = add(%s, %p); output %t

    Parameters that a node captures become parameters of its bodies first, so that nodes that depend only on them are
    evaluated. Captured values that no body reads any more are dropped; remove_dead_nodes removes the nodes that compute
    them.
    """
    passes: Pipeline = (*before, partial(optimise_bodies, before=before, after=after), *after)
    nodes = tuple(_optimised(node, graph.parameters, passes) for node in graph.nodes)
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)


def _optimised(node: Node, parameters: Mapping[Value, Array], passes: Pipeline) -> Node:
    op = node.op
    if not isinstance(op, Control):
        return node
    own = op.deciding + len(op.state)
    captured = [v for v in node.inputs[own:] if v is not None]
    data = [parameters.get(v) for v in captured]
    optimised = op.map_bodies(lambda body: run_pipeline(_with_constants(op, body, data), passes))
    captured = [v for v, d in zip(captured, data, strict=True) if d is None]
    reads = [{v for n in body.nodes for v in n.inputs} for body in optimised.bodies]
    places = zip(*map(optimised.captures, optimised.bodies), strict=True)
    is_read = [any(v in read for v, read in zip(values, reads, strict=True)) for values in places]
    pruned = optimised.map_bodies(lambda b: optimised.with_captures(b, compress(optimised.captures(b), is_read)))
    if pruned is op:
        return node
    return replace(node, op=pruned, inputs=(*node.inputs[:own], *compress(captured, is_read)))


def _with_constants(op: Control, body: Graph, data: list[Array | None]) -> Graph:
    """The body with parameters in the place of captured values whose data is known."""
    captures = op.captures(body)
    known = {v: d for v, d in zip(captures, data, strict=True) if d is not None}
    if not known:
        return body
    left = op.with_captures(body, (v for v in captures if v not in known))
    return replace(left, parameters={**body.parameters, **known})
