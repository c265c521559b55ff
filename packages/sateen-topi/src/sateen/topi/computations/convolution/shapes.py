"""The view that choices of methods and layouts have of a convolution: shapes and a window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from sateen.runtime.dtype import DType
from sateen.topi.computations.windows import Window, plain
from sateen.topi.types import FLOAT32, Layout

MOST_VECTORS = 8
"""The most vectors of output channels in a register tile: wider ones leave no registers for positions."""


@dataclass(frozen=True, slots=True)
class ConvolutionShapes:
    """A convolution: shapes of data [N, C, …] and weight [O, C/groups, …], with data of type `dtype`."""

    data: tuple[int, ...]
    weight: tuple[int, ...]
    window: Window
    groups: int = 1
    dtype: DType = FLOAT32

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is convolved by itself, into one."""
        return 1 < self.groups == self.data[1] == self.weight[0]

    @property
    def on_a_line(self) -> ConvolutionShapes:
        """The same with all positions on a line, if each depends on the input there only; otherwise itself."""
        if self.groups > 1 or not self.window.is_plain:
            return self
        data, weight = (*self.data[:2], prod(self.data[2:])), (*self.weight[:2], 1)
        return ConvolutionShapes(data, weight, plain(1), 1, self.dtype)

    @property
    def output(self) -> tuple[int, ...]:
        """The spatial extents of the result."""
        return self.window.output(self.data[2:])


@dataclass(frozen=True, slots=True)
class OperandLayouts:
    """The layouts of the operands of a convolution, or of its transpose."""

    data: Layout | None
    weight: Layout | None
    bias: Layout | None
    output: Layout | None


def panels(outputs: int, lanes: int) -> Iterator[int]:
    """Numbers of vectors that divide the blocks of output channels."""
    blocks = -(-outputs // lanes)
    return (v for v in range(1, MOST_VECTORS + 1) if blocks % v == 0)
