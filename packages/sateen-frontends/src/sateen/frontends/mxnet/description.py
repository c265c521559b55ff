"""What an operator of MXNet is here: its converter, the names of its arguments and results, and its attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sateen.frontends.core.node import Converter
from sateen.frontends.mxnet.node import REQUIRED, MxnetNode

TRAINED = frozenset({"beta", "bias", "gamma", "moving_mean", "moving_var", "parameters", "weight"})
"""Arguments whose data training makes."""


@dataclass(frozen=True, slots=True)
class OperatorDescription:
    """An operator as MXNet's registry describes it, as far as inference needs it.

    `results` gives the names of its results for its attributes, () if they are numbered. `defaults` has all its
    attributes; REQUIRED has no default. The last `auxiliary` arguments are states that training updates, the last
    `labels` ones are read by training only.
    """

    convert: Converter[MxnetNode]
    arguments: tuple[str, ...]
    results: Callable[[Mapping[str, str]], tuple[str, ...]]
    defaults: Mapping[str, Any]
    auxiliary: int = 0
    labels: int = 0

    @property
    def trained(self) -> frozenset[str]:
        """The arguments that must have data."""
        return TRAINED.intersection(self.arguments)


def operator(
    convert: Converter[MxnetNode],
    arguments: str = "data",
    results: str | Callable[[Mapping[str, str]], tuple[str, ...]] = "output",
    *,
    auxiliary: int = 0,
    labels: int = 0,
    **attributes: object,
) -> OperatorDescription:
    """An operator with names separated by spaces, and attributes with their defaults."""
    names = () if callable(results) else tuple(results.split())
    named = results if callable(results) else lambda attributes: names
    return OperatorDescription(convert, tuple(arguments.split()), named, attributes, auxiliary, labels)


__all__ = ["REQUIRED", "OperatorDescription", "operator"]
