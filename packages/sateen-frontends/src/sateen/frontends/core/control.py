"""If and loops of a model as operators whose bodies are graphs, and loops as the nodes of all their iterations.

A format says what decides an If or a loop and which results are state; this file has the parts that all formats share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sateen.frontends.core.bodies import Body
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import Operand, open_dimensions_of, require_bound, static_extents, type_of
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Concat, If, Loop, Reshape, While
from sateen.runtime.errors import FrontendError

MOST_UNROLLED = 1024
"""The most nodes that a loop becomes by unrolling."""


def choice(
    node: ModelNode,
    condition: Value,
    then: tuple[str, Body[Any], Sequence[Operand]],
    otherwise: tuple[str, Body[Any], Sequence[Operand]],
    remedy: str,
) -> Sequence[Value]:
    """An If whose condition is computed at run time.

    Of each branch, the format's name and the results are given. Raises UnsupportedError if their types differ; `remedy`
    says what helps.
    """
    (one_name, one_body, one), (other_name, other_body, other) = then, otherwise
    for name, a, b in zip(one_body.graph.outputs, one, other, strict=True):
        require_bound((*open_dimensions_of(a), *open_dimensions_of(b)), f"output {name!r} of a branch")
        if type_of(a) != type_of(b):
            raise UnsupportedError(
                f"the condition is computed at run time, but {one_name} gives {name!r} as {type_of(a)}, "
                f"{other_name} as {type_of(b)}",
                remedy,
            )
    captured = list(dict.fromkeys([*one_body.read_with(one), *other_body.read_with(other)]))
    op = If(one_body.finish(one, captured), other_body.finish(other, captured))
    return node.results(op, condition, *captured, count=len(one))


def counted_loop(
    body: Body[Any], count: int, initial: Sequence[Value], results: Sequence[Operand]
) -> tuple[Loop, Sequence[Value]]:
    """A loop of a known number of iterations, and its inputs."""
    captured = body.read_with(results)
    return Loop(body.finish(results, captured), count, len(initial)), (*initial, *captured)


def open_loop(
    node: ModelNode,
    body: Body[Any],
    limit: int | Value,
    start: bool | Value,
    initial: Sequence[Value],
    goes_on: Operand,
    states: Sequence[Operand],
) -> Sequence[Value]:
    """A loop that ends when its body or the limit says so. `start` says whether there is a first iteration."""
    results = [_as_scalar(body, goes_on), *states]
    captured = body.read_with(results)
    deciding = [_deciding(node, limit, "limit"), _deciding(node, start, "condition")]
    return node.results(While(body.finish(results, captured)), *deciding, *initial, *captured, count=len(states))


def require_state(names: Sequence[str], initial: Sequence[Value], results: Sequence[Operand]) -> None:
    """Raises UnsupportedError if iterations hand on values of other types than they take."""
    for name, before, after in zip(names, initial, results, strict=False):
        require_bound(open_dimensions_of(after), f"what iterations hand on as {name!r}")
        if type_of(after) != before.type:
            raise UnsupportedError(f"iterations take {name!r} as {before.type}, but hand it on as {type_of(after)}")
    for result in results[len(initial) :]:
        require_bound(open_dimensions_of(result), "what iterations give")


def stacked(node: ModelNode, output: int, results: Sequence[Operand]) -> Operand:
    """The results of all iterations along a new axis."""
    types = {type_of(result) for result in results}
    if len(types) > 1:
        raise FrontendError(f"expected results of one type in all iterations, found {', '.join(map(str, types))}")
    known = [result for result in results if not isinstance(result, Value)]
    if len(known) == len(results):
        return np.stack(known)
    (type_,) = types
    slices = [
        node.step(Reshape((1, *type_.static_shape)), r if isinstance(r, Value) else node.parameter(r, "result"))
        for r in results
    ]
    return node.result(Concat(0), *slices, output=output)


def nothing(result: Operand) -> Operand:
    """The results of no iteration."""
    type_ = type_of(result)
    return np.empty((0, *static_extents(type_.shape, "what iterations give")), type_.dtype.numpy)


def scalar(node: ModelNode, index: int) -> Value:
    """An input that holds one element, without axes."""
    value = node.value(index)
    if any(extent != 1 for extent in value.type.shape):
        raise FrontendError(f"expected one element as {node.call.heading.inputs[index]!r}, found {value.type}")
    return value if value.type.rank == 0 else node.step(Reshape(()), value)


def is_true(goes_on: Operand) -> bool:
    """Whether it is known that there is a next iteration. Raises FrontendError for a value that is no condition."""
    type_ = type_of(goes_on)
    if not type_.dtype.is_bool or any(extent != 1 for extent in type_.shape):
        raise FrontendError(f"expected one bool as the condition that the body computes, found {type_}")
    return not isinstance(goes_on, Value) and bool(goes_on)


def _as_scalar(body: Body[Any], goes_on: Operand) -> Value:
    value = goes_on if isinstance(goes_on, Value) else body.constant(goes_on)
    return value if value.type.rank == 0 else body.add(Reshape(()), value)


def _deciding(node: ModelNode, known: int | bool | Value, role: str) -> Value:
    return known if isinstance(known, Value) else node.parameter(np.array(known), role)
