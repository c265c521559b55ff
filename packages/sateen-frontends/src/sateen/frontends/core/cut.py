"""Cuts a network at inner values, so that the nodes before or after them are not read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sateen.frontends.core.inputs import Bindings, require_known
from sateen.runtime.errors import FrontendError

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Part(Generic[P]):
    """The nodes of a part of a network in order, the inputs of the model that it reads, and its outputs."""

    nodes: Sequence[P]
    inputs: Sequence[str]
    outputs: Sequence[str]


def part_of(
    nodes: Sequence[P],
    inputs: Sequence[str],
    outputs: Sequence[str],
    reads: Callable[[P], Iterable[str]],
    gives: Callable[[P], Iterable[str]],
    bindings: Bindings,
) -> Part[P]:
    """The part of a network that the user wants, with nodes in order: all of it, or the nodes between the values at
    which it begins and those at which it ends.

    Raises FrontendError if the network has no value of a name, or if nothing depends on a value at which it begins.
    """
    if not bindings.inputs and not bindings.outputs:
        return Part(nodes, inputs, outputs)
    values = dict.fromkeys([*inputs, *(name for node in nodes for name in gives(node) if name)])
    require_known(bindings.inputs, values, "inputs (--from)", "values")
    require_known(bindings.outputs, values, "outputs (--to)", "values")
    ends = tuple(bindings.outputs or outputs)
    needed = set(ends)
    kept: list[P] = []
    for node in reversed(nodes):
        if any(name in needed and name not in bindings.inputs for name in gives(node)):
            kept.append(node)
            needed.update(reads(node))
    if unread := [name for name in bindings.inputs if name not in needed]:
        raise FrontendError(f"the network can't begin at {unread[0]!r}: what it gives does not depend on that")
    return Part(kept[::-1], [name for name in inputs if name in needed], ends)
