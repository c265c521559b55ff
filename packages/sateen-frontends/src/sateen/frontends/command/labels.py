"""The largest elements of an output, with the names that a file of labels gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sateen.graph_ir.graph import Array
from sateen.runtime import ArgumentError
from sateen.runtime.files import read_regular

MOST_BYTES = 64 << 20
"""Of a file of labels."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """An element of a flattened output: its place, value and label ('' without labels)."""

    index: int
    value: float
    label: str


def read_labels(path: Path) -> list[str]:
    """The lines of a file. Raises ArgumentError where it can't be read or is not UTF-8."""
    try:
        return read_regular(path, MOST_BYTES).decode().splitlines()
    except OSError as error:
        raise ArgumentError(f"{path}: expected labels, one a line: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{path}: expected labels in UTF-8, one a line: {error}") from None


def largest(output: Array, count: int, labels: list[str] | None = None) -> list[Ranked]:
    """The `count` largest elements, largest first, equal ones in order.

    Raises ArgumentError where there are labels, but not one per element.
    """
    values = output.ravel().astype(np.float64)
    if labels is not None and len(labels) != values.size:
        raise ArgumentError(f"expected {values.size} labels, one per element of the output, found {len(labels)}")
    order = np.argsort(-values, kind="stable")[:count]
    return [Ranked(int(i), float(values[i]), "" if labels is None else labels[i]) for i in order]
