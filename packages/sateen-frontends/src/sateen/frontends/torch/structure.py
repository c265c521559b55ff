"""What holds for every program: each name is defined once and before it is read, tensors have data."""

from __future__ import annotations

from collections.abc import Iterable

from sateen.frontends.torch.program import Argument, Program, ProgramGraph
from sateen.runtime.errors import FrontendError, printable


def check_structure(program: Program) -> None:
    """Raises FrontendError for a program whose names don't fit together."""
    given = {*program.inputs, *program.parameters, *program.tokens}
    for name in program.graph.inputs:
        if name not in given:
            raise FrontendError(f"input {name!r} of the graph has no meaning in the signature of the program")
    computed = {*program.graph.outputs, *program.state.values()}
    for name in program.outputs:
        if name not in computed:
            raise FrontendError(f"output {name!r} of the signature is none of the graph")
    _check_graph(program.graph, given)


def _check_graph(graph: ProgramGraph, given: Iterable[str]) -> None:
    """Of graphs within graphs, which read only their own inputs, without recursion."""
    pending = [(graph, set(given))]
    while pending:
        graph, known = pending.pop()
        for name in known:
            if not name or not name.isprintable():
                raise FrontendError(f"expected names of values as printable text, found {name!r}")
        for node in graph.nodes:
            for name in node.reads():
                if name not in known:
                    raise FrontendError(f"node {printable(node.name)!r} reads {name!r}, which nothing before it gives")
            for name in filter(None, node.outputs):
                if name in known or not name.isprintable():
                    raise FrontendError(f"expected the name {name!r} as printable text, and once")
                known.add(name)
            pending += [(inner, set(inner.inputs)) for _, given in node.arguments for inner in _graphs(given)]
        for output in graph.outputs:
            if output is not None and output not in known:
                raise FrontendError(f"graph {printable(graph.name)!r} gives {output!r}, which nothing computes")


def _graphs(argument: Argument) -> list[ProgramGraph]:
    return [argument] if isinstance(argument, ProgramGraph) else []


def named_tensors(program: Program) -> dict[str, str]:
    """The names of the program's tensors in the graph, by those of the inputs that stand for them: those of the
    module's state, unless another value has that name."""
    values = {*program.inputs, *(name for node in program.graph.nodes for name in node.outputs)}
    return {
        given: name if name not in values and name.isprintable() else given
        for given, name in program.parameters.items()
    }
