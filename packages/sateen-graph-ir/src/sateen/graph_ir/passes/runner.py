"""Runs passes over a graph in order: timed, observed, verified.

A pipeline is a tuple of passes, functions from graph to graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from sateen.graph_ir.ir import Graph, Node, verify_graph
from sateen.runtime.errors import InferenceError

Pass = Callable[[Graph], Graph]

Pipeline = tuple[Pass, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PassRun:
    """The run of one pass. `after is before` if it changed nothing."""

    name: str
    before: Graph
    after: Graph
    seconds: float


Observer = Callable[[PassRun], None]


def run_pipeline(
    graph: Graph, passes: Iterable[Pass], observer: Observer | None = None, *, verify: bool = True
) -> Graph:
    """The graph after all passes. An error names the pass; with `verify` each result is verified.

    Raises InferenceError for a pass that returns no graph.
    """
    verified: frozenset[Node] = frozenset()
    for pass_ in passes:
        name = pass_name(pass_)
        start = perf_counter()
        try:
            after = pass_(graph)
            seconds = perf_counter() - start
            if not isinstance(after, Graph):
                raise InferenceError(f"expected {name} to return a Graph, found {type(after).__name__}")
            _require_same_interface(graph, after)
            if verify and after is not graph:
                verify_graph(after, verified)
                verified = frozenset(after.nodes)
        except Exception as error:
            error.add_note(f"while running {name}")
            raise
        if observer is not None:
            observer(PassRun(name, graph, after, seconds))
        graph = after
    return graph


def _require_same_interface(before: Graph, after: Graph) -> None:
    """Raise InferenceError if inputs have other names, or the number of outputs differs."""
    names, found = ([v.name for v in graph.inputs] for graph in (before, after))
    if names != found:
        expected, given = (", ".join(f"%{name}" for name in listed) or "none" for listed in (names, found))
        raise InferenceError(f"expected the inputs to stay, {expected}; found {given}")
    if len(before.outputs) != len(after.outputs):
        listed = ", ".join(map(str, before.outputs))
        raise InferenceError(f"expected the outputs to stay, {listed}; found {len(after.outputs)} of them")


def pass_name(pass_: Pass) -> str:
    """The name of the function, which arguments bound by functools.partial don't change."""
    while isinstance(pass_, partial):
        pass_ = pass_.func
    return getattr(pass_, "__name__", type(pass_).__name__)
