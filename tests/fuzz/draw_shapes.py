"""Nodes that move elements: shapes, repetitions and pads, gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from draw_elements import fits, fixed
from onnx import helper, numpy_helper
from random_graphs import ALL, INTEGERS, Drawing, UnfitError, Value, numpy_type

INDICES = ("int64", "int64", "int32")


def reshape(d: Drawing, operator: str) -> None:
    x = d.take(ALL)
    size, shape = x.data.size, []
    while size > 1 and len(shape) < 4 and d.chance(0.8):
        part = d.rng.choice([n for n in range(1, min(size, 40) + 1) if size % n == 0])
        shape.append(part)
        size //= part
    shape.append(size)
    d.rng.shuffle(shape)
    if x.data.size and d.chance(0.3):
        shape[d.rng.randrange(len(shape))] = -1
    if not x.data.size:
        shape = list(x.shape)
        d.rng.shuffle(shape)
    d.add(operator, [x, d.integers(*shape)], allowzero=1 if 0 in shape and d.opset >= 14 else None)


def transpose(d: Drawing, operator: str) -> None:
    x = d.take(ALL)
    order = d.rng.sample(range(x.rank), x.rank)
    d.add(operator, [x], perm=order if order and d.chance(0.9) else None)


def flatten(d: Drawing, operator: str) -> None:
    x = d.take(ALL)
    d.add(operator, [x], axis=d.rng.randint(-x.rank, x.rank))


def squeeze(d: Drawing, operator: str) -> None:
    x = d.take(ALL, where=lambda v: 1 in v.shape)
    ones = [i for i, extent in enumerate(x.shape) if extent == 1]
    axes = [a - x.rank if d.chance(0.3) else a for a in d.rng.sample(ones, d.rng.randint(1, len(ones)))]
    d.add(operator, [x, d.integers(*axes) if d.chance(0.8) else None])


def unsqueeze(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(4))
    count = d.rng.choice((1, 1, 2))
    axes = d.rng.sample(range(x.rank + count), count)
    d.add(operator, [x, d.integers(*(a - x.rank - count if d.chance(0.3) else a for a in axes))])


def expand(d: Drawing, operator: str) -> None:
    x = d.take(ALL)
    shape = [d.rng.choice((1, 2, 3, 5)) if e == 1 else d.rng.choice((1, e)) for e in x.shape]
    if d.chance(0.3):
        shape = [d.rng.choice((1, 2, 3)), *shape]
    d.add(operator, [x, d.integers(*shape)])


def tile(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 5))
    d.add(operator, [x, d.integers(*(d.rng.choice((1, 1, 2, 3, 0 if d.chance(0.05) else 1)) for _ in x.shape))])


def concat(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 5))
    axis = d.rng.randrange(x.rank)
    others = []
    for _ in range(d.rng.choice((0, 1, 1, 2, 3))):
        fits = [
            v for v in (*d.outer, *d.values)
            if v.dtype == x.dtype and v.rank == x.rank
            and all(a == b for i, (a, b) in enumerate(zip(v.shape, x.shape, strict=True)) if i != axis)
        ]  # fmt: skip
        shape = [d.rng.choice((1, 2, 3, 0 if d.chance(0.1) else 4)) if i == axis else e for i, e in enumerate(x.shape)]
        others.append(d.rng.choice(fits) if fits and d.chance(0.7) else d.leaf(d.data(x.dtype, shape)))
    parts = [x, *others]
    d.rng.shuffle(parts)
    d.add(operator, parts, axis=axis - (x.rank if d.chance(0.3) else 0))


def split(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 5))
    axis = d.rng.randrange(-x.rank, x.rank)
    extent, count = x.shape[axis], d.rng.choice((1, 2, 2, 3))
    if d.chance(0.5):
        cuts = sorted(d.rng.randint(0, extent) for _ in range(count - 1))
        sizes = [b - a for a, b in zip([0, *cuts], [*cuts, extent], strict=True)]
        d.add_many(operator, [x, d.integers(*sizes)], count, axis=axis)
    elif d.opset >= 18:
        d.add_many(operator, [x], count, axis=axis, num_outputs=count)
    elif extent % count == 0:
        d.add_many(operator, [x], count, axis=axis)


def slice_(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 5))
    axes = d.rng.sample(range(x.rank), d.rng.randint(1, x.rank))
    steps = [d.rng.choice((1, 1, 1, 2, 3, -1, -2)) for _ in axes]
    starts, ends = [], []
    for axis, step in zip(axes, steps, strict=True):
        extent = x.shape[axis]
        start, end = sorted((d.rng.randint(-1, extent + 1), d.rng.randint(-1, extent + 1)))
        if step < 0:
            start, end = end, start
        marks = [m - extent if d.chance(0.2) and 0 <= m < extent else m for m in (start, end)]
        if d.chance(0.2):
            marks[1] = (1 << 31) - 1 if step > 0 else -(1 << 31)
        starts.append(marks[0])
        ends.append(marks[1])
    if axes == list(range(len(axes))) and set(steps) == {1} and d.chance(0.5):
        d.add(operator, [x, d.integers(*starts), d.integers(*ends)])
    else:
        d.add(operator, [x, d.integers(*starts), d.integers(*ends), d.integers(*axes), d.integers(*steps)])


def pad(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 5))
    mode = d.rng.choice(("constant", "constant", "constant", "reflect", "edge", *(("wrap",) if d.opset >= 19 else ())))
    least = -1 if mode == "constant" else 0
    axes = range(x.rank)
    use_axes = d.opset >= 18 and d.chance(0.3)
    if use_axes:
        axes = d.rng.sample(range(x.rank), d.rng.randint(1, x.rank))
    most = [
        3 if mode == "constant" else max(x.shape[a] - 1, 0) if mode == "reflect" else x.shape[a] and 2 for a in axes
    ]
    pads = [d.rng.randint(least if d.chance(0.2) else 0, min(m, 3)) for m in (*most, *most)]
    value = None
    if mode == "constant" and d.chance(0.6):
        value = d.scalar(d.rng.choice((0, 1, 2)), x.dtype)
    d.add(operator, [x, d.integers(*pads), value, d.integers(*axes) if use_axes else None], mode=mode)


def shape_of(d: Drawing, operator: str) -> None:
    x = d.take(ALL)
    attributes = {}
    if operator == "Shape" and d.opset >= 15 and d.chance(0.4):
        attributes = {"start": d.rng.randint(-x.rank, x.rank), "end": d.rng.randint(-x.rank, x.rank)}
    d.add(operator, [x], **attributes)


def constant_of_shape(d: Drawing, operator: str) -> None:
    dtype = d.dtype(ALL)
    value = numpy_helper.from_array(np.array([d.rng.choice((0, 1, 2))], numpy_type(dtype)))
    d.add(operator, [d.integers(*d.extents(d.rng.randrange(4)))], value=value if d.chance(0.8) else None)


def range_(d: Drawing, operator: str) -> None:
    dtype = d.rng.choice(("int64", "int32", "float32", "float64", "int16"))
    start, delta = d.rng.randint(-3, 3), d.rng.choice((1, 2, -1, -3) if dtype in INTEGERS else (0.5, 1, -0.25))
    d.add(
        operator,
        [d.scalar(start, dtype), d.scalar(start + delta * d.rng.randint(0, 12), dtype), d.scalar(delta, dtype)],
    )


def eye_like(d: Drawing, operator: str) -> None:
    dtype = d.rng.choice((None, "int32", "int64", "float32", "float64"))
    x = d.take(("float32", "int32", "int64", "float64"), (2,))
    to = None if dtype is None else helper.np_dtype_to_tensor_dtype(numpy_type(dtype))
    d.add(operator, [x], dtype=to, k=d.rng.randint(-3, 3))


def trilu(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(2, 5))
    k = d.scalar(d.rng.randint(-4, 4), "int64") if d.chance(0.6) else None
    d.add(operator, [x, k], upper=d.rng.choice((None, 0, 1)))


def depth_to_space(d: Drawing, operator: str) -> None:
    block = d.rng.choice((1, 2, 3))
    n, c, h, w = (d.rng.choice((1, 2, 3, 4)) for _ in range(4))
    dtypes = ("float32", "float64", "float16", "uint8", "int8", "int32", "bool")
    if operator == "DepthToSpace":
        x = d.take(dtypes, shape=(n, c * block * block, h, w))
        d.add(operator, [x], blocksize=block, mode=d.rng.choice((None, "DCR", "CRD")))
    else:
        d.add(operator, [d.take(dtypes, shape=(n, c, h * block, w * block))], blocksize=block)


def indices(d: Drawing, shape: Sequence[int] | None, extent: int, dtypes: Sequence[str] = INDICES) -> Value:
    """Whole numbers that are places along an extent, also from its end."""
    if not extent:
        raise UnfitError

    def is_place(v: Value) -> bool:
        return fixed(d, v) and bool(np.all((v.data >= -extent) & (v.data < extent)))

    if d.chance(0.5):
        return d.take(dtypes, range(4), shape=shape, where=is_place)
    low = -extent if d.chance(0.3) else 0
    shape = d.extents(d.rng.randrange(3)) if shape is None else shape
    rng = np.random.default_rng(d.rng.getrandbits(32))
    return d.leaf(rng.integers(low, extent, tuple(shape)).astype(d.rng.choice(dtypes)))


def gather(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 5))
    axis = d.rng.randrange(-x.rank, x.rank)
    shape = None
    if operator == "GatherElements":
        shape = [d.rng.randint(1, max(2 * e if i == axis % x.rank else e, 1)) for i, e in enumerate(x.shape)]
        if 0 in x.shape:
            raise UnfitError
    d.add(operator, [x, indices(d, shape, x.shape[axis])], axis=axis if d.chance(0.9) else 0 if axis == 0 else axis)


def tuples(d: Drawing, extents: Sequence[int], shape: Sequence[int]) -> Value:
    """Indices of GatherND and ScatterND: tuples along the last axis."""
    rng = np.random.default_rng(d.rng.getrandbits(32))
    if 0 in extents:
        raise UnfitError
    columns = [rng.integers(-e if d.chance(0.2) else 0, e, tuple(shape)) for e in extents]
    return d.leaf(np.stack(columns, -1).astype(np.int64))


def gather_nd(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 5))
    batch = d.rng.choice((0, 0, 1)) if x.rank > 1 else 0
    depth = d.rng.randint(1, x.rank - batch)
    shape = (*x.shape[:batch], *(d.rng.choice((1, 2, 3, 5)) for _ in range(d.rng.randrange(3))))
    d.add(operator, [x, tuples(d, x.shape[batch : batch + depth], shape)], batch_dims=batch or None)


def _reduction(d: Drawing, dtype: str) -> str:
    """How a scatter combines what is in a place with what comes there: as its operator set can."""
    kinds = ("none", "add", "mul", "max", "min")[: 5 if d.opset >= 18 else 3 if d.opset >= 16 else 1]
    return d.rng.choice(kinds) if dtype != "bool" else "none"


def scatter(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 5), where=lambda v: 0 not in v.shape)
    axis = d.rng.randrange(x.rank)
    shape = [d.rng.randint(1, e) for e in x.shape]
    kind = _reduction(d, x.dtype)
    if kind == "none" and x.shape[axis] < shape[axis]:
        raise UnfitError
    rng = np.random.default_rng(d.rng.getrandbits(32))
    if kind == "none":  # places that occur twice have no meaning
        rows = np.argsort(rng.random([x.shape[axis] if i == axis else e for i, e in enumerate(shape)]), axis=axis)
        places = np.take(rows, range(shape[axis]), axis=axis)
    else:
        places = rng.integers(0, x.shape[axis], shape)
    if d.chance(0.2):
        places = places - x.shape[axis]
    at = d.leaf(places.astype(d.rng.choice(INDICES)))
    d.add(operator, [x, at, d.take((x.dtype,), shape=shape)], axis=axis, reduction=None if kind == "none" else kind)


def scatter_nd(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 5), where=lambda v: 0 not in v.shape)
    depth = d.rng.randint(1, x.rank)
    extents = x.shape[:depth]
    count = d.rng.randint(1, min(prod(extents), 6))
    kind = _reduction(d, x.dtype)
    rng = np.random.default_rng(d.rng.getrandbits(32))
    flat = rng.choice(prod(extents), count, replace=kind != "none")
    at = d.leaf(np.stack(np.unravel_index(flat, extents), -1).astype(np.int64))
    updates = d.take((x.dtype,), shape=(count, *x.shape[depth:]))
    d.add(operator, [x, at, updates], reduction=None if kind == "none" else kind)


def tensor_scatter(d: Drawing, operator: str) -> None:
    cache = d.take(("float32", "float16", "int32"), (3, 4), where=lambda v: 0 not in v.shape)
    length = d.rng.randint(1, cache.shape[-2])
    update = d.take((cache.dtype,), shape=(*cache.shape[:-2], length, cache.shape[-1]))
    mode = d.rng.choice(("linear", "circular"))
    rng = np.random.default_rng(d.rng.getrandbits(32))
    most = cache.shape[-2] if mode == "circular" else cache.shape[-2] - length + 1
    starts = d.leaf(rng.integers(0, most, cache.shape[0])) if d.chance(0.7) else None
    d.add(operator, [cache, update, starts], mode=mode, axis=-2)


def one_hot(d: Drawing, operator: str) -> None:
    depth = d.rng.randint(1, 7)
    rng = np.random.default_rng(d.rng.getrandbits(32))
    if d.chance(0.5):
        at = d.take(("int64", "int32", "float32"), range(3), where=lambda v: fixed(d, v) and fits(v.data, "int64"))
    else:
        at = d.leaf(rng.integers(-depth, depth + 2, d.extents(d.rng.randrange(3))).astype(d.rng.choice(INDICES)))
    values = d.take(("float32", "int32", "int64", "float64"), shape=(2,))
    d.add(operator, [at, d.scalar(depth, "int64"), values], axis=d.rng.randint(-at.rank - 1, at.rank))


def reverse_sequence(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(2, 5), where=lambda v: 0 not in v.shape)
    time = d.rng.randrange(2)
    rng = np.random.default_rng(d.rng.getrandbits(32))
    lengths = d.leaf(rng.integers(1, x.shape[time] + 1, x.shape[1 - time]).astype(np.int64))
    d.add(operator, [x, lengths], time_axis=time, batch_axis=1 - time)


def compress(d: Drawing, operator: str) -> None:
    x = d.take(ALL, range(1, 4))
    axis = None if d.chance(0.3) else d.rng.randrange(x.rank)
    extent = x.data.size if axis is None else x.shape[axis]
    rng = np.random.default_rng(d.rng.getrandbits(32))
    d.add(operator, [x, d.known(rng.integers(0, 2, d.rng.randint(0, extent)).astype(bool))], axis=axis)
