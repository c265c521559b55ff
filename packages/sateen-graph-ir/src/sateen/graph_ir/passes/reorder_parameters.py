"""Store parameters in the order in which kernels read them."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

from sateen.graph_ir.ir import Graph, Node, Value
from sateen.graph_ir.passes.fold_constants import bytes_of, fold_where

GROWTH_PART = 128
"""All parameters may take one part in so many more bytes, which spares the packing of small ones."""
LEAST_GROWTH = 16 << 10
"""The bytes that they may always take more: code that packs takes as many."""


def reorder_parameters(graph: Graph) -> Graph:
    """Evaluate nodes that only give parameters another order: conversions of layout that passes inserted.

        parameter %w: float32[64, 3, 7, 7]; %p: float32[64, 3, 7, 7]@Abcd16a = convert_layout(%w) {layout=@Abcd16a}
        =>  parameter %p: float32[64, 3, 7, 7]@Abcd16a

    Runs in the place of precompute_parameters where a file is to hold no more than the parameters. A node stays if its
    result has more bytes than what it is made of, such as Winograd's transform of a weight, or if something else reads
    that, so that both would be stored. Small results are stored anyway, up to a part of all parameters or to
    what code that packs would take.
    """
    constants, producers, consumers = graph.constants(), graph.producers(), graph.consumers()
    read = {v for node in graph.nodes if constants.isdisjoint(node.outputs) for v in node.inputs}
    needed = [node for node in graph.nodes if constants.issuperset(node.outputs) and not read.isdisjoint(node.outputs)]
    growths = [(_growth(node, graph, producers, consumers), node) for node in needed]
    room = max(bytes_of(graph.parameters) // GROWTH_PART, LEAST_GROWTH)
    stored: set[Node] = set()
    for growth, node in sorted(growths, key=itemgetter(0)):
        if growth > room:
            break
        room -= max(growth, 0)
        stored.add(node)
    return fold_where(graph, lambda node, _: node in stored)


def _growth(node: Node, graph: Graph, producers: Mapping[Value, Node], consumers: Mapping[Value, list[Node]]) -> int:
    """The bytes by which the results of a node exceed the parameters that nothing else reads once it is evaluated."""
    spared, pending = 0, [node]
    while pending:
        for v in {*pending.pop().inputs}:
            if v is None or len(consumers[v]) > 1 or v in graph.outputs:
                continue
            if v in graph.parameters:
                spared += v.type.bytes
            else:
                pending.append(producers[v])
    return bytes_of(node.outputs) - spared
