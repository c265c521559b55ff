"""Puts nodes in an order in which each comes after those whose results it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import TypeVar

from sateen.runtime.errors import FrontendError

P = TypeVar("P")


def in_order(
    nodes: Sequence[P],
    reads: Callable[[P], Iterable[str]],
    gives: Callable[[P], Iterable[str]],
    what: Callable[[P], str],
) -> Sequence[P]:
    """The nodes in an order in which each comes after those whose results it reads, and otherwise in the given order.

    Formats require this order, but not every exporter keeps it. Raises FrontendError for a cycle; `what` describes a
    node of it.
    """
    makers = {name: index for index, node in enumerate(nodes) for name in gives(node) if name}
    needs = [{makers[name] for name in reads(node) if name in makers} for node in nodes]
    if all(max(need, default=-1) < index for index, need in enumerate(needs)):
        return nodes
    users: dict[int, list[int]] = {}
    for index, need in enumerate(needs):
        for maker in need:
            users.setdefault(maker, []).append(index)
    missing = [len(need) for need in needs]
    ready = [index for index, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        index = heappop(ready)
        order.append(index)
        for user in users.get(index, ()):
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, user)
    if len(order) < len(nodes):
        stuck = next(node for node, count in zip(nodes, missing, strict=True) if count)
        raise FrontendError(f"{what(stuck)} depends on itself, through a cycle of nodes")
    return [nodes[index] for index in order]
