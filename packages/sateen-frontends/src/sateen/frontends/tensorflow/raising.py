"""Loops and choices of TensorFlow 1 as operations with bodies."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.tensorflow.operation import Operation


def raised(operations: Sequence[Operation]) -> list[Operation]:
    """The operations with loops and choices as While and If."""
    return list(operations)
