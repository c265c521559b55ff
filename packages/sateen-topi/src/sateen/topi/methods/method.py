"""Methods: the ways to compute an operator if there is a choice, each a frozen value of whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, TypeVar

from sateen.runtime.errors import ArgumentError
from sateen.topi.schedules import Computation
from sateen.topi.types import TensorType, View

NUMERICS = ("strict", "default", "fast")
"""The levels of rearranging the sums of a network, from the strictest on (semantics 4.8)."""

Way = TypeVar("Way")


class Computable(Protocol):
    """The operator's interface for methods."""

    def compute(self, *inputs: Any, **_: Any) -> Computation:
        """The computation over views of the inputs, for keywords `outputs` and `method`."""
        ...


class Method:
    """Base of methods: frozen dataclasses whose fields are numbers from 1 on. `Operator.methods` lists its own."""

    __slots__ = ()
    numerics: ClassVar[str] = "strict"
    """The first of NUMERICS that allows this method."""

    def __post_init__(self) -> None:
        """Raises ArgumentError for numbers below 1."""
        own: Any = self
        for f in fields(own):
            if getattr(self, f.name) < 1:
                raise ArgumentError(
                    f"{self.method_name()}: expected {f.name} of 1 or more, found {getattr(self, f.name)}"
                )

    @classmethod
    def method_name(cls) -> str:
        """The name in text form: the name of the class in lower case."""
        return cls.__name__.lower()

    def __str__(self) -> str:
        """Such as direct(rows=1, columns=14, vectors=2)."""
        own: Any = self
        return f"{self.method_name()}({', '.join(f'{f.name}={getattr(self, f.name)}' for f in fields(own))})"

    def compute(self, op: Computable, inputs: Sequence[View | None], outputs: Sequence[TensorType]) -> Computation:
        """The computation of the operator by this method."""
        return op.compute(*inputs, outputs=outputs, method=self)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method of an operator, and its estimated cycles.

    They are those of all cores of a processor together. For a device they are those of its busiest unit, if that does a
    multiply-add of one thread in each.
    """

    method: Method
    cycles: float


def best_of_each(
    ways: Iterable[Way], cycles: Callable[[Way], float], essence: Callable[[Way], object], each: int, most: int
) -> list[Way]:
    """The ways of least cycles, best first: at most `each` of those that agree in their essence, and `most` in all.

    There may be many ways, so that they become methods only when they are chosen.
    """
    found: list[Way] = []
    count: dict[object, int] = {}
    for way in sorted(ways, key=cycles):
        key = essence(way)
        count[key] = count.get(key, 0) + 1
        if count[key] <= each:
            found.append(way)
    return found[:most]
