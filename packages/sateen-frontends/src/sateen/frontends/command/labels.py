"""Labels: of the largest elements of an output, from a file or the network, and those that a network predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from sateen.graph_ir.ir import Array
from sateen.runtime import ArgumentError
from sateen.runtime.files import read_regular

MOST_BYTES = 64 << 20
"""The most bytes of a file of labels."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """An element of an output: its place in the flattened output and along the axes, value and label ('' without)."""

    index: int
    position: tuple[int, ...]
    value: float
    label: str


def read_labels(path: Path) -> list[str]:
    """The lines of a file. Raises ArgumentError if it can't be read or is not UTF-8."""
    try:
        return read_regular(path, MOST_BYTES).decode().splitlines()
    except OSError as error:
        raise ArgumentError(f"{path}: expected labels, one a line: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{path}: expected labels in UTF-8, one a line: {error}") from None


def require_labels(labels: Sequence[str], shape: Sequence[object]) -> None:
    """Raises ArgumentError if an output of this shape does not have one element per label; an open shape may have."""
    extents = [extent for extent in shape if isinstance(extent, int)]
    if len(extents) < len(shape) or len(labels) == prod(extents):
        return
    first = f"; if the first, {labels[0]!r}, is an extra line such as 'background', leave it out"
    hint = first if len(labels) == prod(extents) + 1 else ""
    raise ArgumentError(f"expected {prod(extents)} labels, one per element of the output, found {len(labels)}{hint}")


def are_labels(output: Array) -> bool:
    """Whether labels of an output name its values, not the elements along its last axis."""
    return bool(output.dtype == np.int64)


def predicted(outputs: Mapping[str, Array], labels: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The labels that stand in outputs by position, in order of their elements."""
    found = {name: (outputs[name], labels[name]) for name in outputs if name in labels and are_labels(outputs[name])}
    return {
        name: [known[i] if 0 <= i < len(known) else str(i) for i in output.ravel().tolist()]
        for name, (output, known) in found.items()
    }


def largest(output: Array, count: int, labels: list[str] | None = None) -> list[Ranked]:
    """The `count` largest elements, largest first, equal ones in order.

    Raises ArgumentError if there are labels, but not one per element.
    """
    values = output.ravel().astype(np.float64)
    if labels is not None:
        require_labels(labels, output.shape)
    order = np.argsort(-values, kind="stable")[:count]
    positions = np.stack(np.unravel_index(order, output.shape), 1).tolist() if output.ndim else [[]]
    return [
        Ranked(int(i), tuple(position), float(values[i]), "" if labels is None else labels[i])
        for i, position in zip(order, positions, strict=True)
    ]
