"""The graph of a network, once the shapes of its inputs are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.graph_ir.ir import Dim, Graph, GraphBuilder, Value
from sateen.graph_ir.ops import Identity
from sateen.graph_ir.sym.function import Parameter, Site, type_of, unknown_shape
from sateen.graph_ir.sym.net import Net, NetNode, names_of, nodes_of
from sateen.graph_ir.sym.table import FUNCTIONS
from sateen.runtime.errors import ArgumentError, SateenError


def to_graph(net: Net, shapes: Mapping[str, Sequence[Dim | str]], name: str = "net") -> Graph:
    """The graph of a network. Its variables are the inputs; `build(graph, params=…)` makes those constants that have
    data.

    Shapes of parameters follow from the layers that read them. A dimension that is a name stays open. Raises
    ArgumentError for a name that is no variable and for a variable whose shape is not known, and InferenceError, with
    the node, for shapes that don't fit.
    """
    names = names_of(net)
    unknown = sorted(set(shapes) - set(net.inputs))
    if unknown:
        raise ArgumentError(f"shapes: expected names of variables, {', '.join(net.inputs)}; found {', '.join(unknown)}")
    builder = GraphBuilder(name)
    values: dict[NetNode, tuple[Value, ...]] = {}
    made: dict[str, Value] = {}
    for node in nodes_of(net):
        if node.is_variable:
            found = type_of(node, shapes, names[node])
            if found is not None:
                values[node] = (builder.input(names[node], found.dtype, found.shape),)
            continue
        inputs = []
        for source in node.inputs:
            ((giver, i),) = source.entries
            dtype = str((giver.attributes or {}).get("dtype", "float32"))
            value = values[giver][i] if giver in values else made.get(names[giver])
            inputs.append(Parameter(names[giver], dtype, value))
        function = FUNCTIONS.get(node.function)
        if function is None:
            raise ArgumentError(f"{names[node]}: expected a function of networks, found {node.function!r}")
        try:
            values[node] = function.apply(Site(builder, names[node], made), inputs, node.attributes or {})
        except SateenError as error:
            error.add_note(f'in node "{names[node]}" ({node.function}) of network "{name}"')
            raise
    _give(builder, net, names, values, made)
    return builder.finish()


def _give(
    builder: GraphBuilder,
    net: Net,
    names: Mapping[NetNode, str],
    values: Mapping[NetNode, tuple[Value, ...]],
    made: Mapping[str, Value],
) -> None:
    """The outputs, each once and none of them an input."""
    given: list[Value] = []
    for node, i in net.entries:
        value = values[node][i] if node in values else made.get(names[node])
        if value is None:
            raise unknown_shape(names[node])
        own = builder.producer(value) is None or value in given
        given.append(builder.add(Identity(), value, name=f"{value.name}_output") if own else value)
    builder.output(*given)
