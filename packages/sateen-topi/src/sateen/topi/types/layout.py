"""Layouts: the order of a tensor's logical axes in memory; and views, which index memory by logical axes.

Operators are defined over logical axes. A view turns a logical index into the physical one, so that the same
definition reads and writes any layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Expr, Reduce, all_of, logical_and


@dataclass(frozen=True, slots=True)
class Block:
    """The inner part, of `size` elements, of a logical axis."""

    axis: int
    size: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The physical order of a tensor's axes, outermost first: a logical axis, the part of it outside its blocks, or a
    block.

    The text form names axes by letters in logical order and capitalises those that are blocked: `abcd` is row-major,
    `acdb` puts axis 1 last, `aBcd16b` splits axis 1 into blocks of 16 that are innermost.
    """

    order: tuple[int | Block, ...]

    @staticmethod
    def row_major(rank: int) -> Layout:
        return Layout(tuple(range(rank)))

    @staticmethod
    def blocked(rank: int, axis: int, size: int) -> Layout:
        """Row-major, with blocks of `size` of `axis` innermost."""
        return Layout((*range(rank), Block(axis, size)))

    @staticmethod
    def parse(text: str) -> Layout:
        """The layout that `str` writes as this text. Raises ExpressionError for other text."""
        parts = re.findall(r"(\d*)([a-zA-Z])", text)
        if "".join(n + c for n, c in parts) != text or not parts:
            raise ExpressionError(f"expected a layout such as 'abcd' or 'aBcd16b', found {text!r}")
        layout = Layout(tuple(Block(ord(c) - 97, int(n)) if n else ord(c.lower()) - 97 for n, c in parts))
        if str(layout) != text:
            raise ExpressionError(f"expected each axis once, capital where it is blocked, found {text!r}")
        return layout

    def __str__(self) -> str:
        split = {part.axis for part in self.order if isinstance(part, Block)}
        letters = "abcdefghijklmnopqrstuvwxyz"
        return "".join(
            f"{p.size}{letters[p.axis]}" if isinstance(p, Block) else letters[p].upper() if p in split else letters[p]
            for p in self.order
        )

    @property
    def rank(self) -> int:
        """The number of logical axes."""
        return sum(isinstance(part, int) for part in self.order)

    @property
    def is_row_major(self) -> bool:
        return self.order == tuple(range(len(self.order)))

    @property
    def is_in_order(self) -> bool:
        """Whether axes are in their logical order, apart from blocks."""
        return tuple(part for part in self.order if isinstance(part, int)) == tuple(range(self.rank))

    @property
    def is_unblocked(self) -> bool:
        """Whether it is only an order of axes."""
        return not any(isinstance(part, Block) for part in self.order)

    def block_of(self, axis: int) -> int:
        """The elements of an axis in its blocks together; 1 if it is not blocked."""
        return prod(part.size for part in self.order if isinstance(part, Block) and part.axis == axis)

    def physical_shape(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """Extents in memory of a tensor of logical `shape`; an axis that its block does not divide is rounded up."""
        if self.is_row_major:
            return tuple(shape)
        return tuple(
            part.size if isinstance(part, Block) else _ceildiv(shape[part], self.block_of(part)) for part in self.order
        )

    def physical_index(self, index: Sequence[Any]) -> tuple[Any, ...]:
        """The physical index of the element at a logical index."""
        if self.is_row_major:
            return tuple(index)
        inner = {axis: self.block_of(axis) for axis in range(self.rank)}
        result = []
        for part in self.order:
            if isinstance(part, Block):
                step = inner[part.axis]
                inner[part.axis] = step // part.size
                result.append(index[part.axis] % step // (step // part.size))
            else:
                result.append(index[part] // inner[part])
        return tuple(result)

    def logical_index(self, index: Sequence[Any]) -> tuple[Any, ...]:
        """The logical index of the element at a physical one."""
        if self.is_row_major:
            return tuple(index)
        inner = {axis: self.block_of(axis) for axis in range(self.rank)}
        result: dict[int, Any] = {}
        for part, i in zip(self.order, index, strict=True):
            axis = part.axis if isinstance(part, Block) else part
            if isinstance(part, Block):
                inner[axis] //= part.size
            result[axis] = result[axis] + i * inner[axis] if axis in result else i * inner[axis]
        return tuple(result[axis] for axis in range(self.rank))

    def transposed(self, permutation: Sequence[int]) -> Layout:
        """The same memory with other axes, of which number d is permutation[d] of these."""
        place = {axis: d for d, axis in enumerate(permutation)}
        return Layout(tuple(Block(place[p.axis], p.size) if isinstance(p, Block) else place[p] for p in self.order))

    def pads(self, shape: Sequence[Any]) -> tuple[int, ...]:
        """The axes whose last block is not full."""
        if self.is_unblocked:
            return ()
        return tuple(
            a for a in range(self.rank) if not (isinstance(shape[a], int) and shape[a] % self.block_of(a) == 0)
        )

    def offset_of(self, shape: Sequence[int], starts: Sequence[int], extents: Sequence[int]) -> int | None:
        """The number of elements before those of a box in a tensor of logical `shape`; None if other elements are
        between them or blocks are cut."""
        offset, step, is_whole = 0, 1, True
        for part, full in reversed(list(zip(self.order, self.physical_shape(shape), strict=True))):
            if isinstance(part, int):
                block = self.block_of(part)
                start, extent = starts[part], extents[part]
                if extent == shape[part]:
                    extent = full * block
                if start % block or extent % block or not (is_whole or extent == block):
                    return None
                offset += start // block * step
                is_whole = is_whole and extent == full * block
            step *= full
        return offset


def _ceildiv(a: Any, b: int) -> Any:
    return a if b == 1 else (a + (b - 1)) // b


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A tensor with logical axes: `view[n, c, h, w]` reads the element from its place in the layout."""

    tensor: te.Tensor
    shape: tuple[int, ...]
    layout: Layout

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index: Any) -> Expr:
        return self(*(index if isinstance(index, tuple) else (index,)))

    def __call__(self, *index: Any) -> Expr:
        if len(index) != len(self.shape):
            raise ExpressionError(f"view {self.name!r} has {len(self.shape)} axes, found {len(index)} indices")
        return self.tensor(*self.layout.physical_index(index))


def placeholder(shape: Sequence[int], dtype: DType | str, name: str, layout: Layout | None = None) -> View:
    """An argument of logical `shape`."""
    layout = layout or Layout.row_major(len(shape))
    return View(te.placeholder(layout.physical_shape(shape), dtype, name), tuple(shape), layout)


def compute(shape: Sequence[int], function: Callable[..., Any], name: str, layout: Layout | None = None) -> View:
    """A tensor with element function(*index) at each logical index. In blocks that are not full, the rest is zero (in a
    reduction, its identity)."""
    layout = layout or Layout.row_major(len(shape))
    padded = [a for a in layout.pads(shape) if layout.block_of(a) > 1]

    def element(*physical: Any) -> Any:
        index = layout.logical_index(physical)
        body = function(*index)
        inside = all_of([index[a] < shape[a] for a in padded])
        if not padded:
            return body
        if isinstance(body, Reduce):
            return Reduce(
                body.combiner, body.sources, body.axes, logical_and(inside, body.where), body.output, body.dtype
            )
        return te.if_then_else(inside, body, te.const(0, body.dtype))

    return View(te.compute(layout.physical_shape(shape), element, name), tuple(shape), layout)
