"""Views of arrays as numbers: which elements of an array an index, a reshape, a transpose or a broadcast means."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

from sateen.runtime.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class View:
    """A shape, strides that count elements, and the position of the first element, counted from that of the array."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def reach(self) -> tuple[int, int]:
        """The positions of the lowest element and behind the highest one."""
        if 0 in self.shape:
            return self.offset, self.offset
        steps = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)]
        return self.offset + sum(s for s in steps if s < 0), self.offset + 1 + sum(s for s in steps if s > 0)

    def indexed(self, key: Any) -> View:
        """What NumPy's basic indices give: integers, slices, None and an ellipsis. Raises ArgumentError for others."""
        keys = _expanded(key if isinstance(key, tuple) else (key,), len(self.shape))
        axes = iter(zip(self.shape, self.strides, strict=True))
        shape, strides, offset = [], [], self.offset
        for one in keys:
            if one is None:
                shape.append(1)
                strides.append(0)
                continue
            extent, stride = next(axes)
            if isinstance(one, slice):
                taken = range(extent)[one]
                shape.append(len(taken))
                strides.append(stride * taken.step)
                offset += taken.start * stride if taken else 0
            else:
                offset += _position(one, extent) * stride
        return View(tuple(shape), tuple(strides), offset)

    def transposed(self, axes: Sequence[int]) -> View:
        """The axes in another order, without any reversed. Raises ArgumentError for axes that are no order of all."""
        count = len(self.shape)
        order = [axis + count if axis < 0 else axis for axis in axes] or list(reversed(range(count)))
        if sorted(order) != list(range(count)):
            raise ArgumentError(f"expected an order of {count} axes, found {tuple(axes)}")
        return View(tuple(self.shape[a] for a in order), tuple(self.strides[a] for a in order), self.offset)

    def reshaped(self, shape: Sequence[int]) -> View:
        """The elements, in row-major order without gaps, in another shape; an extent of -1 is what the others leave.

        Raises ArgumentError for a shape of another number of elements, and for elements in another order.
        """
        if not is_compact(self.shape, self.strides):
            raise ArgumentError(
                f"expected elements in row-major order to reshape, found strides {self.strides} of shape {self.shape}; "
                "to() makes a compact copy"
            )
        size, known = prod(self.shape), prod(extent for extent in shape if extent != -1)
        whole = tuple(size // known if extent == -1 and known else extent for extent in shape)
        if any(extent < 0 for extent in whole) or prod(whole) != size:
            raise ArgumentError(f"expected a shape of {size} elements, found {tuple(shape)}")
        return View(whole, compact_strides(whole), self.offset)

    def broadcast(self, shape: Sequence[int]) -> View:
        """The elements repeated along axes of one, and along axes before the first. Raises ArgumentError for a shape
        that repeats others."""
        added = len(shape) - len(self.shape)
        if added < 0 or any(n not in (1, m) for n, m in zip(self.shape, shape[added:], strict=True)):
            raise ArgumentError(f"expected a shape that repeats {self.shape}, found {tuple(shape)}")
        own = zip(self.shape, self.strides, shape[added:], strict=True)
        strides = (*(0 for _ in range(added)), *(0 if n != m else stride for n, stride, m in own))
        return View(tuple(shape), strides, self.offset)


def runs(one: View, other: View) -> tuple[int, Iterator[tuple[int, int]]]:
    """The elements of two views of one shape as runs without gaps in both: how long each is, and where it begins."""
    axes = [axis for axis in zip(one.shape, one.strides, other.strides, strict=True) if axis[0] != 1]
    length = 1
    while axes and axes[-1][1] == axes[-1][2] == length:
        length *= axes.pop()[0]

    def begins() -> Iterator[tuple[int, int]]:
        for position in product(*(range(extent) for extent, _, _ in axes)):
            steps = list(zip(position, axes, strict=True))
            first = one.offset + sum(i * stride for i, (_, stride, _) in steps)
            yield first, other.offset + sum(i * stride for i, (_, _, stride) in steps)

    return length, begins()


def is_compact(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements are in row-major order without gaps."""
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return 0 in shape
        expected *= extent
    return True


def compact_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of elements in row-major order without gaps."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _expanded(keys: tuple[Any, ...], count: int) -> list[Any]:
    """The indices with slices in place of an ellipsis, and behind the last one."""
    used = sum(one is not None and one is not Ellipsis for one in keys)
    if used > count:
        raise ArgumentError(f"expected at most {count} indices, found {used}")
    if sum(one is Ellipsis for one in keys) > 1:
        raise ArgumentError("expected one ellipsis at most")
    rest = [slice(None)] * (count - used)
    at = next((i for i, one in enumerate(keys) if one is Ellipsis), None)
    return [*keys, *rest] if at is None else [*keys[:at], *rest, *keys[at + 1 :]]


def _position(one: Any, extent: int) -> int:
    """The position of an integer index."""
    if isinstance(one, bool):
        one = None
    try:
        position = index(one)
    except TypeError:
        raise ArgumentError(
            f"expected integers, slices, None or an ellipsis as indices on a device, found {one!r:.40}; numpy() copies "
            "the array, which takes others"
        ) from None
    if not -extent <= position < extent:
        raise ArgumentError(f"expected an index in [{-extent}, {extent}), found {position}")
    return position % extent
