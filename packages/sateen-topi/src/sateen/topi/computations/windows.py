"""Windows: how output positions of convolutions and pools map to input positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Expr
from sateen.topi.dimensions import Dim

Extent = TypeVar("Extent", int, Dim)


@dataclass(frozen=True, slots=True)
class Window:
    """A window that moves over spatial dimensions; one entry per dimension, pads are (begin…, end…)."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def is_plain(self) -> bool:
        """Whether a position depends on the element there only."""
        return self == plain(self.rank)

    @property
    def rank(self) -> int:
        return len(self.kernel)

    def reach(self, d: int) -> int:
        """Input positions that one output position spans."""
        return (self.kernel[d] - 1) * self.dilations[d] + 1

    @property
    def reaches(self) -> tuple[int, ...]:
        """`reach` of each dimension."""
        return tuple(self.reach(d) for d in range(self.rank))

    def output(self, spatial: Sequence[Extent], ceil_mode: bool = False) -> tuple[Extent, ...]:
        """Output extents for input extents; at most 0 if the window doesn't fit.

        With `ceil_mode` a last window may extend beyond the input, if it starts on data or in the padding before it.
        """
        result = []
        for d, extent in enumerate(spatial):
            last = self.pads[self.rank + d] - self.reach(d)  # where a window starts last, from the end of data
            if ceil_mode:
                last = min(last + self.strides[d] - 1, -1)
            result.append((extent + self.pads[d] + last) // self.strides[d] + 1)
        return tuple(result)

    def transposed_output(self, spatial: Sequence[Extent], output_padding: Sequence[int]) -> tuple[Extent, ...]:
        """Output extents of the transpose for input extents: those for which `output` gives the input's, or more."""
        changes = [self.reach(d) - self.pads[d] - self.pads[self.rank + d] for d in range(self.rank)]
        return tuple(
            (extent - 1) * self.strides[d] + output_padding[d] + changes[d] for d, extent in enumerate(spatial)
        )

    def position(self, d: int, y: Expr, k: Expr) -> Expr:
        """Input position of kernel element k at output position y; outside of the input on padding."""
        return y * self.strides[d] + k * self.dilations[d] - self.pads[d]

    def inside(
        self, spatial: Sequence[int], output: Sequence[int], index: Sequence[Expr], along: Iterable[int] | None = None
    ) -> Expr:
        """The conditions that input positions are on data, along some dimensions or all, without tests that can't
        fail."""
        tests = []
        for d in range(self.rank) if along is None else along:
            if self.pads[d] > 0:
                tests.append(index[d] >= 0)
            if self._passes_end(d, spatial[d], output[d]):
                tests.append(index[d] < spatial[d])
        return te.all(*tests)

    def is_padded(self, d: int, extent: int, output: int) -> bool:
        """Whether some window extends beyond the input along a dimension."""
        return self.pads[d] > 0 or self._passes_end(d, extent, output)

    def _passes_end(self, d: int, extent: int, output: int) -> bool:
        return (output - 1) * self.strides[d] + self.reach(d) - self.pads[d] > extent


def plain(rank: int) -> Window:
    """The window of a single element, without padding, that moves to each."""
    return Window((1,) * rank, (1,) * rank, (0, 0) * rank, (1,) * rank)
