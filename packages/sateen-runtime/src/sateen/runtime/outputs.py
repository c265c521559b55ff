"""The result of running a network: its arrays, by name and by position."""

from __future__ import annotations

from operator import index
from typing import Any, SupportsIndex

import numpy as np

from sateen.runtime.display import did_you_mean, html_table, named
from sateen.runtime.errors import ArgumentError
from sateen.runtime.ndarray import NDArray

SHOWN_ELEMENTS = 6


class Outputs(dict[str, NDArray]):
    """Arrays by name, in the order of the network's outputs: a dict that takes positions as keys, too.

        outputs = model.run({"data": x})
        outputs["probabilities"], outputs[0], outputs[-1]

    As with any dict, iteration gives the names; `values()` gives the arrays.
    """

    __slots__ = ()

    def __getitem__(self, key: str | SupportsIndex) -> NDArray:
        """An output by name or position, from the end if negative. Raises ArgumentError if there is none."""
        if isinstance(key, str):
            if key not in self:
                raise ArgumentError(f"expected outputs {self._types()}; found {key!r}{did_you_mean(key, self)}")
            return super().__getitem__(key)
        try:
            position = index(key)
        except TypeError:
            raise ArgumentError(f"expected the name or the position of an output, found {key!r:.80}") from None
        if not -len(self) <= position < len(self):
            raise ArgumentError(f"expected an output from 0 to {len(self) - 1}, found {position}")
        return [*self.values()][position]

    def numpy(self) -> dict[str, np.ndarray[Any, Any]]:
        """The same memory as NumPy arrays, by name."""
        return {name: array.numpy() for name, array in self.items()}

    def __repr__(self) -> str:
        return f"Outputs({self._types()})"

    def _repr_html_(self) -> str:
        rows = [(str(i), name, array.type, _first(array)) for i, (name, array) in enumerate(self.items())]
        return html_table("outputs", {}, ("", "name", "type", "elements"), rows)

    def _types(self) -> str:
        return named([f"{name}: {array.type}" for name, array in self.items()])


def _first(array: NDArray) -> str:
    """The first elements, in memory that this process can read."""
    if not array.is_readable:
        return f"on {array.device}"
    first = array.numpy().flat[:SHOWN_ELEMENTS].tolist()
    elements = [f"{element:.6g}" if isinstance(element, float) else str(element) for element in first]
    return ", ".join([*elements, *(["…"] if array.size > SHOWN_ELEMENTS else [])])
