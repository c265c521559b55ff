"""Networks as JSON: nodes with functions, names, inputs and attributes, as in the files of NNVM."""

from __future__ import annotations

import json
from typing import Any

from sateen.graph_ir.sym.function import as_attribute, type_of
from sateen.graph_ir.sym.net import VARIABLE, Net, NetNode, Variable, names_of, nodes_of
from sateen.graph_ir.sym.table import FUNCTIONS
from sateen.runtime.errors import ArgumentError

VERSION = 1
"""The version of the form, which a reader must know."""


def save_json(net: Net) -> str:
    """The text of a network: equal for networks that were written equally."""
    names, nodes = names_of(net), nodes_of(net)
    numbers = {node: i for i, node in enumerate(nodes)}
    listed = [
        {
            "op": node.function,
            "name": names[node],
            "inputs": [[numbers[source.entries[0][0]], source.entries[0][1]] for source in node.inputs],
            "attrs": dict(node.attributes or {}),
        }
        for node in nodes
    ]
    heads = [[numbers[node], i] for node, i in net.entries]
    return json.dumps({"sateen": VERSION, "nodes": listed, "heads": heads}, indent=1)


def load_json(text: str) -> Net:
    """The network of a text from `save_json`. Raises ArgumentError for any other text."""
    try:
        content = json.loads(text)
        if content["sateen"] != VERSION:
            raise ArgumentError(f"load_json expects version {VERSION}, found {content['sateen']!r}")
        nodes: list[NetNode] = []
        for found in content["nodes"]:
            nodes.append(_node(found, nodes))
        return Net(tuple(_entry(place, nodes) for place in content["heads"]))
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"load_json expects the text of save_json, found {type(error).__name__}: {error}") from None


def _node(found: dict[str, Any], nodes: list[NetNode]) -> NetNode:
    function, name = found["op"], found["name"]
    if function != VARIABLE and function not in FUNCTIONS:
        raise ArgumentError(f"load_json expects functions of networks, found {function!r} in node {name!r}")
    if not isinstance(name, str):
        raise ArgumentError(f"load_json expects names, found {name!r}")
    inputs = tuple(Net((_entry(place, nodes),)) for place in found["inputs"])
    attributes = {str(key): as_attribute(value) for key, value in found["attrs"].items()}
    if function in FUNCTIONS:
        FUNCTIONS[function].check(len(inputs), attributes)
    else:
        type_of(Variable(name, **attributes).entries[0][0], {}, name)
    return NetNode(function, inputs, attributes, name)


def _entry(place: Any, nodes: list[NetNode]) -> tuple[NetNode, int]:
    """An output of a node that is there: the node's number and that of its output."""
    number, output = place
    if type(number) is not int or type(output) is not int or min(number, output) < 0:
        raise ArgumentError(f"load_json expects numbers of a node and an output, found {place!r}")
    node = nodes[number]
    count = 1 if node.is_variable else FUNCTIONS[node.function].outputs(node.attributes or {})
    if output >= count:
        raise ArgumentError(f"load_json expects an output below {count} of node {node.name!r}, found {output}")
    return node, output
