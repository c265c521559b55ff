"""If, Loop and Scan, whose bodies are drawn like graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from random_graphs import Drawing, UnfitError, Value, grow


def if_(d: Drawing, operator: str) -> None:
    condition = d.take(("bool",), (0,))
    branches = []
    first = d.body(repeated=d.is_repeated)
    grow(first, d.rng.choice((1, 2, 3)))
    results = first.values[-d.rng.choice((1, 1, 2)) :]
    if not results:
        raise UnfitError
    second = d.body(repeated=d.is_repeated)
    grow(second, d.rng.choice((0, 1, 2)))
    others = [_like(second, value) for value in results]
    for body, outputs in ((first, results), (second, others)):
        branches.append(body.graph(_own(body, outputs), "branch"))
    d.add_many(operator, [condition], len(results), then_branch=branches[0], else_branch=branches[1])
    d.used.update(first.used | second.used)


def _like(body: Drawing, value: Value) -> Value:
    """A value of a body with the type of another one."""
    return body.take((value.dtype,), shape=value.shape)


def _own(body: Drawing, outputs: Sequence[Value]) -> list[Value]:
    """Outputs of a body that are its nodes', each once, as a graph's outputs have to be."""
    return [body.add("Identity", [v]) for v in outputs]


def loop(d: Drawing, operator: str) -> None:
    state = [
        d.take(("float32", "float32", "int64", "int32", "bool", "float64"), range(4))
        for _ in range(d.rng.choice((1, 1, 2)))
    ]
    body = d.body(repeated=True)
    number, goes_on = Value(body.name("i"), np.array(0, np.int64)), Value(body.name("on"), np.array(True))
    held = [Value(body.name("s"), v.data) for v in state]
    body.inputs.extend([number, goes_on, *held])
    body.values.extend([number, goes_on, *held])
    grow(body, d.rng.choice((1, 2, 3, 4)))
    following = [_like(body, v) for v in held]
    stacked = [d.rng.choice(body.values) for _ in range(d.rng.choice((0, 0, 1)))]
    graph = body.graph(_own(body, [goes_on, *following, *stacked]), "body")
    count = d.scalar(d.rng.choice((1, 2, 3, 5)), "int64")
    start = d.scalar(True, "bool") if d.chance(0.5) else None
    d.add_many(operator, [count, start, *state], len(state) + len(stacked), body=graph)
    d.used.update(body.used)


def scan(d: Drawing, operator: str) -> None:
    source = d.take(("float32", "float32", "int64", "float64"), range(1, 4), where=lambda v: 0 < v.shape[0] <= 8)
    state = [d.take(("float32", "int64"), range(3)) for _ in range(d.rng.choice((0, 1)))]
    body = d.body(repeated=True)
    held = [Value(body.name("s"), v.data) for v in state]
    part = Value(body.name("x"), source.data[0])
    body.inputs.extend([*held, part])
    body.values.extend([*held, part])
    grow(body, d.rng.choice((1, 2, 3)))
    following = [_like(body, v) for v in held]
    stacked = [d.rng.choice(body.values)]
    graph = body.graph(_own(body, [*following, *stacked]), "body")
    d.add_many(operator, [*state, source], len(state) + 1, body=graph, num_scan_inputs=1)
    d.used.update(body.used)
