"""The input that a convolution's reduction reads: the data itself, or a copy with padding."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr, IterVar
from sateen.tensor_ir.targets import WIDEST_VECTOR
from sateen.topi.computations.windows import Window
from sateen.topi.schedules import elements, extent_of, share_among_threads
from sateen.topi.types import View

COLUMN_MULTIPLE = WIDEST_VECTOR // 2
"""Longer rows of a row-major input's copy are a multiple of this many elements: no vector has more."""
UNROLLED_TAPS = 16
"""The most kernel columns that are unrolled, so that the padding of each is decided at compile time."""


def reads_padding(window: Window, spatial: Sequence[int], output: Sequence[int]) -> bool:
    """Whether some window extends beyond the input."""
    return any(window.is_padded(d, spatial[d], output[d]) for d in range(window.rank))


def is_wide(window: Window, spatial: Sequence[int], output: Sequence[int]) -> bool:
    """Whether too many kernel columns meet padding for each to be decided on its own."""
    last = window.rank - 1
    return window.kernel[last] > UNROLLED_TAPS and window.is_padded(last, spatial[last], output[last])


def _whole_vectors(columns: int) -> int:
    """Columns rounded up so that the last vector of a row is whole, for vectors of any power of two up to a row."""
    return min(1 << (columns - 1).bit_length(), -(-columns // COLUMN_MULTIPLE) * COLUMN_MULTIPLE)


class ConvolutionInput:
    """The input that the reduction reads: the data itself, or a copy with padding.

    In the copy, elements that are a stride apart are neighbours: its last dimensions are [x % stride, x // stride].
    """

    def __init__(self, data: View, window: Window, output: Sequence[int], copied: bool) -> None:
        self.data, self.window, self.output = data, window, tuple(output)
        spatial = data.shape[2:]
        self.is_conditional = reads_padding(window, spatial, output)
        self.copy: te.Tensor | None = None
        self.columns = _whole_vectors(output[-1])
        is_ragged = self.columns > output[-1] > COLUMN_MULTIPLE // 2
        if copied and (self.is_conditional or window.strides[-1] > 1 or is_ragged):
            self.copy = self._padded()
            self.is_conditional = False

    @property
    def pads_columns(self) -> bool:
        """Whether some column of the output reads padding."""
        last = self.window.rank - 1
        return self.is_conditional and self.window.is_padded(last, self.data.shape[-1], self.output[last])

    def _padded(self) -> te.Tensor:
        window, (n, c, *spatial), data = self.window, self.data.shape, self.data
        counts = (*self.output[:-1], self.columns)
        extents = [(o - 1) * s + window.reach(d) for d, (o, s) in enumerate(zip(counts, window.strides, strict=True))]
        phases = window.strides[-1]

        def element(*index: Expr) -> Expr:
            b, ch, *rest, phase, quotient = index
            position = [i - window.pads[d] for d, i in enumerate([*rest, quotient * phases + phase])]
            inside = te.all(*(t for d, i in enumerate(position) for t in (i >= 0, i < spatial[d])))
            return te.if_then_else(inside, data(b, ch, *position), te.const(0, data.dtype))

        columns = -(-extents[-1] // phases)
        copy: te.Tensor = te.compute((n, c, *extents[:-1], phases, columns), element, name="padded")
        return copy

    def schedule(self, s: te.Schedule, machine: Machine) -> None:
        """Vectors along the columns of the copy, if there is one."""
        if self.copy is None:
            return
        stage = s[self.copy]
        *rows, column = stage.axes
        columns = extent_of(column.extent)
        outer, lane = stage.split(column, min(columns, machine.lanes(self.data.dtype)), tail="partition")
        stage.pragma(outer, "partition")
        stage.vectorize(lane)
        share_among_threads(stage, rows, elements(self.copy), machine)

    def read(self, n: Expr, c: Expr, position: Sequence[Expr], kernel: Sequence[IterVar]) -> tuple[Expr, Expr]:
        """The input under kernel element `kernel` at an output position, and the condition that it exists."""
        window = self.window
        if self.copy is None:
            index = [window.position(d, y, k) for d, (y, k) in enumerate(zip(position, kernel, strict=True))]
            inside = window.inside(self.data.shape[2:], self.output, index) if self.is_conditional else te.const(True)
            return self.data(n, c, *index), inside
        steps = zip(position, kernel, window.strides, window.dilations, strict=True)
        *rows, _ = [y * stride + k * dilation for y, k, stride, dilation in steps]
        offset, phases = kernel[-1] * window.dilations[-1], window.strides[-1]
        return self.copy(n, c, *rows, offset % phases, position[-1] + offset // phases), te.const(True)
