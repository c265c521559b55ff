"""Methods: how an operator is computed, where there is a choice. A method is a frozen dataclass of whole numbers,
which a tuner can turn; an estimate or a measurement chooses between those that suit a problem."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from sateen.runtime.errors import ArgumentError

if TYPE_CHECKING:
    from sateen.topi.layout import View
    from sateen.topi.operator import Computation, Operator
    from sateen.topi.types import TensorType

NUMERICS = ("strict", "default", "fast")
"""How far the sums of a network may be rearranged, from the least on (semantics 4.8)."""

_TEXT = re.compile(r"(\w{1,64})\(([\w=, ]{0,256})\)")
_FIELD = re.compile(r"(\w+)=([0-9]{1,9})")


class Method:
    """Base of methods: frozen dataclasses whose fields are numbers from 1 on. `Operator.methods` lists its own."""

    __slots__ = ()
    numerics: ClassVar[str] = "strict"
    """The least of NUMERICS that this method needs."""

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
        """The name in text form: that of the class in lower case."""
        return cls.__name__.lower()

    def __str__(self) -> str:
        """Such as direct(rows=1, columns=14, vectors=2)."""
        own: Any = self
        return f"{self.method_name()}({', '.join(f'{f.name}={getattr(self, f.name)}' for f in fields(own))})"

    def compute(self, op: Operator, inputs: Sequence[View | None], outputs: Sequence[TensorType]) -> Computation:
        """What the operator computes by this method."""
        return op.compute(*inputs, outputs=outputs, method=self)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to compute an operator, and the cycles that it is estimated to take of all cores together."""

    method: Method
    cycles: float


def parse_method(text: str, methods: Iterable[type[Method]]) -> Method:
    """The method of one of these classes that `str` writes so. Raises ArgumentError for other text."""
    kinds = {kind.method_name(): kind for kind in methods}
    match = _TEXT.fullmatch(text)
    kind: Callable[..., Method] | None = kinds.get(match[1]) if match else None
    if match is not None and kind is not None:
        given = [_FIELD.fullmatch(part) for part in match[2].split(", ")] if match[2] else []
        values = {field[1]: int(field[2]) for field in given if field is not None}
        expected = [f.name for f in fields(kinds[match[1]])]  # type: ignore[arg-type]
        if len(values) == len(given) and [*values] == expected:
            return kind(**values)
    listed = ", ".join(_form(kind) for kind in kinds.values()) or "none"
    raise ArgumentError(f"expected a method of {listed}; found {text!r:.80}")


def _form(kind: type[Method]) -> str:
    names: Any = kind
    return f"{kind.method_name()}({', '.join(f'{f.name}=…' for f in fields(names))})"
