"""Search by evolution: the fastest methods so far are crossed and changed, field by field."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from sateen.graph_ir.records import Record
from sateen.graph_ir.tune.search import EstimateSearch, Space, first_open
from sateen.topi.methods import Candidate, Method

FIRST = 8
"""The candidates that are measured before there are parents: by estimate, and some drawn."""
PARENTS = 8
"""The fastest so many have children."""
RIVALS = 2
"""A parent is the fastest of so many that are drawn."""
CHANGE = 0.5
"""The probability that a child differs from its parents in a field, by a few steps in the values that candidates have
there; it takes at least one such step."""
FAR = 3
"""The most steps of a change."""
STRANGERS = 8
"""One of so many candidates is drawn from all."""
TRIES = 200
"""How many children are made until one is a candidate that was not tried."""


class EvolutionarySearch(EstimateSearch):
    """A child of two of the fastest, of one class: each field is that of either, some are changed.

    Numbers in a space hang together, so that most children are no candidates: then others are made.
    """

    def next(self, space: Space) -> Candidate | None:
        if len(space.tried) < FIRST or len(space.records) < RIVALS:
            return super().next(space)
        chance = space.random("evolution")
        if len(space.tried) % STRANGERS == 0:
            return first_open(space.drawn(), space)
        parents, values = space.ranked[:PARENTS], _values(space)
        for _ in range(TRIES):
            mother = _parent(parents, chance)
            father = _parent([r for r in parents if type(r.method) is type(mother)], chance)
            child = _changed(_crossed(mother, father, chance), values, chance)
            candidate = space.by_method.get(child)
            if candidate is not None and child not in space.tried:
                return candidate
        return super().next(space)


_Values = dict[tuple[type[Method], str], list[int]]
"""The values that candidates of a class have in a field, in order."""


def _values(space: Space) -> _Values:
    found: dict[tuple[type[Method], str], set[int]] = {}
    for candidate in space.candidates:
        own: Any = candidate.method
        for f in fields(own):
            found.setdefault((type(own), f.name), set()).add(getattr(own, f.name))
    return {key: sorted(values) for key, values in found.items()}


def _parent(records: Sequence[Record], chance: random.Random) -> Method:
    """The fastest of a few; records are in the order of their times."""
    return records[min(chance.randrange(len(records)) for _ in range(RIVALS))].method


def _crossed(mother: Method, father: Method, chance: random.Random) -> Method:
    own: Any = mother
    values = {f.name: getattr(chance.choice((mother, father)), f.name) for f in fields(own)}
    crossed: Method = replace(own, **values)
    return crossed


def _changed(method: Method, values: _Values, chance: random.Random) -> Method:
    """The method with some fields, at least one, a few steps away."""
    own: Any = method
    names = [f.name for f in fields(own)]
    if not names:
        return method
    chosen = [name for name in names if chance.random() < CHANGE / len(names)] or [chance.choice(names)]
    changed: Method = replace(own, **{name: _near(own, name, values, chance) for name in chosen})
    return changed


def _near(method: Method, name: str, values: _Values, chance: random.Random) -> int:
    """A value near that of a field."""
    possible = values[type(method), name]
    step = chance.choice((-1, 1)) * chance.randint(1, FAR)
    return possible[max(0, min(len(possible) - 1, possible.index(getattr(method, name)) + step))]
