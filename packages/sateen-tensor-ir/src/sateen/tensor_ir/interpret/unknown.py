"""Numbers that are not known yet, such as dimensions with symbols: elements of an array of objects.

They are moved like numbers, and computed and compared as far as they have operators for it. Two are equal if their
difference is false.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sateen.runtime.dtype import DType

Array = np.ndarray[Any, Any]


def is_unknown(*arrays: Array) -> bool:
    """Whether some elements are unknown numbers."""
    return any(array.dtype == object for array in arrays)


def in_place_of(array: Array, dtype: DType) -> Array:
    """The array; in place of unknown integers it has zeros, without separate memory."""
    return np.broadcast_to(np.zeros((), dtype.numpy), array.shape) if dtype.is_int and is_unknown(array) else array


def equal(a: Array, b: Array) -> Array:
    return ~differ(a, b)


def differ(a: Array, b: Array) -> Array:
    return np.asarray(a - b).astype(bool)
