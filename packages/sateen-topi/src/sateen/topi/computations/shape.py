"""Operators that move elements: each element of the output is one of the input, or a constant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.te import Expr
from sateen.topi.computations.arguments import (
    require,
    require_axis,
    require_count,
    require_integers,
    require_numbers,
    require_one_of,
    require_rank,
    require_same_type,
    require_shape,
    require_views,
)
from sateen.topi.schedules import Computation, schedule_injective
from sateen.topi.types import Layout, View, compute


def reshape(x: View, shape: Sequence[int], layout: Layout | None = None) -> Computation:
    """The elements of x in row-major order, in another shape with as many elements."""
    require_views("reshape", x=x)
    require_integers("reshape", "shape", shape, len(shape), 0)
    require(prod(shape) == prod(x.shape), "reshape", f"a shape of {prod(x.shape)} elements", list(shape))
    groups = list(equal_products(x.shape, shape))

    def element(*index: Expr) -> Expr:
        source: list[Expr] = []
        for old, new in groups:
            source += _unravel(_ravel([index[d] for d in new], [shape[d] for d in new]), [x.shape[d] for d in old])
        return x(*source)

    return Computation((compute(shape, element, "reshape", layout),))


def equal_products(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """The axes of two shapes with equal numbers of elements, in the smallest consecutive groups with equal numbers.

    [2, 3, 4, 5], [6, 4, 1, 5]   →   ([0, 1], [0]), ([2], [1]), ([], [2]), ([3], [3])
    """
    if 0 in old:
        yield list(range(len(old))), list(range(len(new)))
        return
    i = j = 0
    while i < len(old) or j < len(new):
        if j < len(new) and new[j] == 1 and not (i < len(old) and old[i] == 1):
            yield [], [j]
            j += 1
            continue
        if i < len(old) and old[i] == 1 and not (j < len(new) and new[j] == 1):
            yield [i], []
            i += 1
            continue
        first, second = i, j
        sizes = [old[i], new[j]]
        i, j = i + 1, j + 1
        while sizes[0] != sizes[1]:
            if sizes[0] < sizes[1]:
                sizes[0] *= old[i]
                i += 1
            else:
                sizes[1] *= new[j]
                j += 1
        yield list(range(first, i)), list(range(second, j))


def _ravel(index: Sequence[Expr], shape: Sequence[int]) -> Expr:
    flat: Expr = te.const(0)
    for i, extent in zip(index, shape, strict=True):
        flat = flat * extent + i
    return flat


def _unravel(flat: Expr, shape: Sequence[int]) -> list[Expr]:
    index: list[Expr] = []
    for d, extent in enumerate(shape):
        inner = prod(shape[d + 1 :])
        if inner == 0 or extent == 0:
            index.append(te.const(0))
        else:
            index.append(te.const(0) if extent == 1 else flat // inner % extent if d else flat // inner)
    return index


def transpose(x: View, permutation: Sequence[int], layout: Layout | None = None) -> Computation:
    """Axis d of the output is axis permutation[d] of x."""
    require_views("transpose", x=x)
    whole = sorted(permutation) == list(range(x.ndim))
    require(whole, "transpose", f"a permutation of {x.ndim} axes", list(permutation))

    def element(*index: Expr) -> Expr:
        return x(*(index[permutation.index(axis)] for axis in range(x.ndim)))

    return Computation((compute([x.shape[axis] for axis in permutation], element, "transpose", layout),))


def concatenate(inputs: Sequence[View], axis: int, layout: Layout | None = None) -> Computation:
    """The inputs one after the other along an axis; their other extents are equal."""
    require(len(inputs) > 0, "concatenate", "at least one input", "none")
    named = {f"input{i}": x for i, x in enumerate(inputs)}
    require_views("concatenate", **named)
    require_same_type("concatenate", **named)
    require_axis("concatenate", axis, inputs[0].ndim)
    for name, x in named.items():
        others = (x.shape[:axis], x.shape[axis + 1 :]) == (inputs[0].shape[:axis], inputs[0].shape[axis + 1 :])
        require(others, "concatenate", f"{name} like {list(inputs[0].shape)} but along axis {axis}", list(x.shape))
    sizes = [x.shape[axis] for x in inputs]
    last = max((n for n, size in enumerate(sizes) if size), default=0)

    def own(n: int, index: Sequence[Expr]) -> Expr:
        return inputs[n](*index[:axis], index[axis] - sum(sizes[:n]), *index[axis + 1 :])

    def element(*index: Expr) -> Expr:
        result = own(last, index)
        for n in reversed([n for n in range(len(inputs)) if n != last]):
            end = sum(sizes[: n + 1]) if sizes[n] else 0  # no index is below 0, so none reads an input without elements
            result = te.if_then_else(index[axis] < end, own(n, index), result)
        return result

    first = inputs[0].shape
    return Computation((compute((*first[:axis], sum(sizes), *first[axis + 1 :]), element, "concatenate", layout),))


def split(x: View, axis: int, sizes: Sequence[int], layouts: Sequence[Layout | None] | None = None) -> Computation:
    """Pieces of x along an axis, of the given sizes in order."""
    require_views("split", x=x)
    require_axis("split", axis, x.ndim)
    require_integers("split", "sizes", sizes, max(len(sizes), 1), 0)
    require(sum(sizes) == x.shape[axis], "split", f"sizes that add up to {x.shape[axis]}", list(sizes))
    layouts = layouts or [None] * len(sizes)

    def piece(n: int) -> View:
        start = sum(sizes[:n])
        shape = (*x.shape[:axis], sizes[n], *x.shape[axis + 1 :])
        name = f"split{n}"
        return compute(shape, lambda *i: x(*i[:axis], i[axis] + start, *i[axis + 1 :]), name, layouts[n])

    pieces = tuple(piece(n) for n in range(len(sizes)))

    def schedule(s: te.Schedule, _: te.Tensor, machine: Machine) -> None:
        for view in pieces:
            schedule_injective(s, view.tensor, machine)

    return Computation(pieces, schedule if len(pieces) > 1 else None, takes_epilogue=False)


def strided_slice(
    x: View, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int], layout: Layout | None = None
) -> Computation:
    """Elements starts[d], starts[d] + steps[d], … of each axis, before ends[d]; -1 ends a backward slice at its first
    element. All are within the axis."""
    require_views("strided_slice", x=x)
    for name, values in (("starts", starts), ("ends", ends), ("steps", steps)):
        require_integers("strided_slice", name, values, x.ndim)
    for d, (start, end, step) in enumerate(zip(starts, ends, steps, strict=True)):
        least, most = (0, x.shape[d]) if step > 0 else (-1, x.shape[d] - 1)
        within = step != 0 and least <= start <= most and least <= end <= most
        found = f"start {start}, end {end}, step {step}"
        require(within, "strided_slice", f"a step other than 0 and bounds of {least} to {most} along axis {d}", found)
    shape = [len(range(a, b, c)) for a, b, c in zip(starts, ends, steps, strict=True)]

    def element(*index: Expr) -> Expr:
        return x(*(i * step + start for i, start, step in zip(index, starts, steps, strict=True)))

    return Computation((compute(shape, element, "slice", layout),))


def pad(
    x: View,
    before: Sequence[int],
    after: Sequence[int],
    mode: str = "constant",
    value: float = 0,
    layout: Layout | None = None,
) -> Computation:
    """x with elements added at both ends of each axis, or removed where negative.

    `mode` gives the added ones: `constant` is `value`, `edge` the nearest element, `reflect` a mirror at the centre of
    the outermost element, `symmetric` one at its outer edge, `wrap` the other end.
    """
    require_views("pad", x=x)
    require_one_of("pad", "mode", mode, ("constant", *_PADDING))
    for name, values in (("before", before), ("after", after)):
        require_integers("pad", name, values, x.ndim)
    for low, extent, high in zip(before, x.shape, after, strict=True):
        rest = extent + low + high
        made = rest >= 0 and (mode == "constant" or extent > 0 or rest == 0)
        require(made, "pad", f"pads that an axis of {extent} elements has room for", f"{low} and {high}")
    shape = [low + extent + high for low, extent, high in zip(before, x.shape, after, strict=True)]

    def constant(*index: Expr) -> Expr:
        source = [i - low for i, low in zip(index, before, strict=True)]
        inside = []
        for i, extent, low, high in zip(source, x.shape, before, after, strict=True):
            inside += [i >= 0] if low > 0 else []
            inside += [i < extent] if high > 0 else []
        return te.if_then_else(te.all(*inside), x(*source), te.const(value, x.dtype)) if inside else x(*source)

    def moved(*index: Expr) -> Expr:
        source = [
            _PADDING[mode](i - low, extent, max(low, high) < extent) if low > 0 or high > 0 else i - low
            for i, extent, low, high in zip(index, x.shape, before, after, strict=True)
        ]
        if not (before[-1] > 0 or after[-1] > 0):
            return x(*source)
        inner, extent = index[-1] - before[-1], x.shape[-1]
        inside = te.all(inner >= 0, inner < extent)  # told apart, as all but the ends is along memory
        return te.if_then_else(inside, x(*source[:-1], inner), x(*source))

    return Computation((compute(shape, constant if mode == "constant" else moved, "pad", layout),))


def _nearest(i: Expr, extent: int, _: bool) -> Expr:
    return te.minimum(te.maximum(i, 0), extent - 1)


def _reflected(i: Expr, extent: int, once: bool) -> Expr:
    if extent == 1:
        return te.const(0)
    position = te.maximum(i, 0 - i) if once else i % (2 * (extent - 1))
    return te.minimum(position, 2 * (extent - 1) - position)


def _mirrored(i: Expr, extent: int, once: bool) -> Expr:
    """Mirrors at the outer edges: element -1 is element 0."""
    if once:
        return te.select(i < 0, -1 - i, te.select(i >= extent, 2 * extent - 1 - i, i))
    position = i % (2 * extent)
    return te.minimum(position, 2 * extent - 1 - position)


def _wrapped(i: Expr, extent: int, once: bool) -> Expr:
    if not once:
        return i % extent
    return te.select(i < 0, i + extent, te.select(i >= extent, i - extent, i))


_PADDING: dict[str, Callable[[Expr, int, bool], Expr]] = {
    "edge": _nearest, "reflect": _reflected, "symmetric": _mirrored, "wrap": _wrapped,
}  # fmt: skip
"""The source of the element at an index beyond [0, extent); `once`: the index is less than an extent away."""


def tile(x: View, repeats: Sequence[int], layout: Layout | None = None) -> Computation:
    """x repeated repeats[d] times along each axis."""
    require_views("tile", x=x)
    require_integers("tile", "repeats", repeats, x.ndim, 0)
    shape = [n * times for n, times in zip(x.shape, repeats, strict=True)]

    def element(*index: Expr) -> Expr:
        return x(*(i % n if times != 1 else i for i, n, times in zip(index, x.shape, repeats, strict=True)))

    return Computation((compute(shape, element, "tile", layout),))


def depth_to_space(x: View, block: int, mode: str = "DCR", layout: Layout | None = None) -> Computation:
    """[n, c, h, w] to [n, c / block², h·block, w·block]; the depth is [block, block, c'] (DCR) or [c', block, block]
    (CRD)."""
    require_one_of("depth_to_space", "mode", mode, ("DCR", "CRD"))
    _require_picture("depth_to_space", x, block)
    require(x.shape[1] % block**2 == 0, "depth_to_space", f"a multiple of {block**2} channels", x.shape[1])
    n, c, h, w = x.shape
    depth = c // block**2

    def element(i: Expr, k: Expr, y: Expr, z: Expr) -> Expr:
        inner = y % block * block + z % block
        channel = inner * depth + k if mode == "DCR" else k * block**2 + inner
        return x(i, channel, y // block, z // block)

    return Computation((compute((n, depth, h * block, w * block), element, "depth_to_space", layout),))


def space_to_depth(x: View, block: int, layout: Layout | None = None) -> Computation:
    """[n, c, h, w] to [n, c·block², h / block, w / block]; the depth is [block, block, c]."""
    _require_picture("space_to_depth", x, block)
    whole = x.shape[2] % block == 0 and x.shape[3] % block == 0
    require(whole, "space_to_depth", f"height and width of multiples of {block}", list(x.shape[2:]))
    n, c, h, w = x.shape

    def element(i: Expr, k: Expr, y: Expr, z: Expr) -> Expr:
        inner = k // c
        return x(i, k % c, y * block + inner // block, z * block + inner % block)

    return Computation((compute((n, c * block**2, h // block, w // block), element, "space_to_depth", layout),))


def _require_picture(operator: str, x: View, block: int) -> None:
    require_views(operator, x=x)
    require_rank(operator, "x [n, c, h, w]", x, 4)
    require_count(operator, "block", block, 1)


def trilu(x: View, upper: bool, k: int = 0, layout: Layout | None = None) -> Computation:
    """The upper or lower triangle of the last two axes, from the k-th diagonal; zero elsewhere."""
    require_views("trilu", x=x)
    require_rank("trilu", "x", x, 2, or_more=True)
    require_integers("trilu", "k", (k,), 1)

    def element(*index: Expr) -> Expr:
        row, column = index[-2:]
        kept = column >= row + k if upper else column <= row + k
        return te.if_then_else(kept, x(*index), te.const(0, x.dtype))

    return Computation((compute(x.shape, element, "trilu", layout),))


def one_hot(indices: View, values: View, depth: int, axis: int, layout: Layout | None = None) -> Computation:
    """values[1] where the new axis, of extent `depth`, is at the index, otherwise values[0]. Negative indices count
    from the end; indices out of range select nothing."""
    require_views("one_hot", indices=indices, values=values)
    require_numbers("one_hot", indices=indices)
    require_shape("one_hot", "values", values, (2,))
    require_count("one_hot", "depth", depth, 1)
    require_axis("one_hot", axis, indices.ndim + 1)

    def element(*index: Expr) -> Expr:
        chosen = indices(*index[:axis], *index[axis + 1 :]).astype("int64")
        return te.select(te.any(chosen.equal(index[axis]), (chosen + depth).equal(index[axis])), values(1), values(0))

    return Computation((compute((*indices.shape[:axis], depth, *indices.shape[axis:]), element, "one_hot", layout),))
