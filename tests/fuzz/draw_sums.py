"""Nodes that sum products: matrices, windows, normalisation, resizing, recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from random_graphs import INTEGERS, Drawing, UnfitError, Value


def mat_mul(d: Drawing, operator: str) -> None:
    x = d.take(
        ("float32", "float32", "float64", "float16", "bfloat16", "int32", "int64", "uint32", "uint64"), range(1, 5)
    )
    inner, columns = x.shape[-1], d.rng.choice((1, 2, 3, 5, 8, 17, 33))
    batch = [d.rng.choice((1, e)) for e in x.shape[:-2]][d.rng.randrange(max(x.rank - 1, 1)) :] if d.chance(0.5) else []
    shape = (inner,) if d.chance(0.15) else (*batch, inner, columns)
    d.add(operator, [x, d.take((x.dtype,), shape=shape)])


def gemm(d: Drawing, operator: str) -> None:
    a = d.take(("float32", "float32", "float64", "float16", "bfloat16", "int32", "int64"), (2,))
    over, under = d.rng.randrange(2), d.rng.randrange(2)
    m, k = reversed(a.shape) if over else a.shape
    n = d.rng.choice((1, 2, 3, 5, 8, 17))
    b = d.take((a.dtype,), shape=(n, k) if under else (k, n))
    bias = d.rng.choice((None, (), (n,), (1, n), (m, 1), (m, n)))
    factors = {name: d.rng.choice((1.0, 0.5, 2.0)) for name in ("alpha", "beta") if d.chance(0.4)}
    if a.dtype in INTEGERS:
        factors = {}
    c = None if bias is None else d.take((a.dtype,), shape=bias)
    d.add(operator, [a, b, c], transA=over or None, transB=under or None, **factors)


EQUATIONS = (
    "ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij->", "ii->i", "ij,ij->i", "i,j->ij", "bhid,bhjd->bhij", "ijk->k",
    "...ij,...jk->...ik", "ij,kj->ik",
)  # fmt: skip


def einsum(d: Drawing, operator: str) -> None:
    equation = d.rng.choice(EQUATIONS)
    extents = {letter: d.rng.choice((1, 2, 3, 5, 8)) for letter in "abcdefghijk"}
    dtype = d.rng.choice(("float32", "float32", "float64", "int32", "int64"))
    terms = equation.split("->")[0].replace("...", "b").split(",")
    d.add(operator, [d.take((dtype,), shape=[extents[c] for c in term]) for term in terms], equation=equation)


def integer_product(d: Drawing, operator: str) -> None:
    m, k, n = (d.rng.choice((1, 2, 3, 5, 8, 16, 17)) for _ in range(3))
    a = d.take(("uint8", "int8"), shape=(m, k))
    b = d.take(("uint8", "int8"), shape=(k, n))
    zeros = [d.scalar(d.rng.choice((0, 1, 3)), v.dtype) if d.chance(0.6) else None for v in (a, b)]
    d.add(operator, [a, b, *zeros])


def scale(d: Drawing, dtype: str = "float32") -> Value:
    return d.scalar(d.rng.choice((0.02, 0.1, 0.25, 1.0)), dtype)


def q_linear_mat_mul(d: Drawing, operator: str) -> None:
    m, k, n = (d.rng.choice((1, 2, 3, 5, 8, 16, 17)) for _ in range(3))
    a, b = d.take(("uint8", "int8"), shape=(m, k)), d.take(("uint8", "int8"), shape=(k, n))
    to = a.dtype
    parts = [a, scale(d), d.scalar(d.rng.choice((0, 3)), a.dtype), b, scale(d), d.scalar(d.rng.choice((0, 3)), b.dtype)]
    d.add(operator, [*parts, scale(d), d.scalar(d.rng.choice((0, 5)), to)])


def quantize(d: Drawing, operator: str) -> None:
    x = d.take(
        ("float32",) if d.chance(0.8) else ("float32", "float16"), where=lambda v: bool(np.all(np.isfinite(v.data)))
    )
    zero = d.scalar(d.rng.choice((0, 3, 100)), d.rng.choice(("uint8", "int8"))) if d.chance(0.8) else None
    if x.rank > 1 and d.chance(0.3):
        axis = d.rng.randrange(x.rank)
        scales = d.known(
            np.random.default_rng(d.rng.getrandbits(32)).uniform(0.05, 1, x.shape[axis]).astype(x.data.dtype)
        )
        if zero is not None:
            zero = d.known(np.full(x.shape[axis], 3, zero.dtype))
        d.add(operator, [x, scales, zero], axis=axis)
    else:
        d.add(operator, [x, scale(d, x.dtype), zero])


def dequantize(d: Drawing, operator: str) -> None:
    x = d.take(("uint8", "int8", "int32"))
    zero = d.scalar(d.rng.choice((0, 3)), x.dtype) if x.dtype != "int32" and d.chance(0.7) else None
    d.add(operator, [x, scale(d), zero])


def window(d: Drawing, rank: int, extents: Sequence[int], *, dilated: bool = True) -> dict[str, Any]:
    """Attributes of a window over the last axes of these extents."""
    kernel = [d.rng.choice((1, 2, 3, 3, 5)) for _ in range(rank)]
    dilations = [d.rng.choice((1, 1, 1, 2)) if dilated else 1 for _ in range(rank)]
    strides = [d.rng.choice((1, 1, 2, 3)) for _ in range(rank)]
    attributes: dict[str, Any] = {"kernel_shape": kernel}
    if strides != [1] * rank or d.chance(0.3):
        attributes["strides"] = strides
    if dilations != [1] * rank:
        attributes["dilations"] = dilations
    span = [(k - 1) * s + 1 for k, s in zip(kernel, dilations, strict=True)]
    if d.chance(0.2):
        attributes["auto_pad"] = d.rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
    elif d.chance(0.6):
        attributes["pads"] = [d.rng.randint(0, min(k - 1, 2)) for k in (*kernel, *kernel)]
    pads = attributes.get("pads", [0] * 2 * rank)
    for i, extent in enumerate(extents):
        if extent + pads[i] + pads[rank + i] < span[i]:
            raise UnfitError
    return attributes


def image(d: Drawing, dtypes: Sequence[str], channels: Sequence[int] = (1, 2, 3, 4, 8, 16, 17)) -> Value:
    """A batch of channels of one to three axes."""
    rank = d.rng.choice((1, 2, 2, 2, 2, 3))
    if d.chance(0.6):
        return d.take(dtypes, (rank + 2,), where=lambda v: 0 not in v.shape)
    extents = [d.rng.choice((1, 3, 5, 7, 8, 12)[: 6 if rank < 3 else 3]) for _ in range(rank)]
    return d.take(dtypes, shape=(d.rng.choice((1, 1, 2, 3)), d.rng.choice(channels), *extents))


def conv(d: Drawing, operator: str) -> None:
    quantised = operator in {"ConvInteger", "QLinearConv"}
    x = image(d, ("uint8", "int8") if quantised else ("float32", "float32", "float32", "float64", "float16"))
    channels, extents = x.shape[1], x.shape[2:]
    group = d.rng.choice([g for g in (1, 1, 2, 4, channels) if channels % g == 0])
    out = group * d.rng.choice((1, 2, 3, 4, 8))
    attributes = window(d, len(extents), extents)
    kernel = attributes["kernel_shape"]
    if operator == "ConvTranspose":
        if prod(kernel) * prod(extents) * channels * out > 1 << 16:
            raise UnfitError
        attributes.pop("auto_pad", None)
        strides = attributes.get("strides", [1] * len(kernel))
        if d.chance(0.3) and max(strides) > 1:
            attributes["output_padding"] = [d.rng.randrange(s) for s in strides]
        shape = (channels, out // group, *kernel)
    else:
        shape = (out, channels // group, *kernel)
    if prod(shape) > 1 << 13:
        raise UnfitError
    attributes["group"] = group if group > 1 else None
    if d.chance(0.3):
        kernel_shape = attributes.pop("kernel_shape")
        assert len(kernel_shape) == len(extents)
    w = d.take(("uint8", "int8"), shape=shape) if quantised else _weight(d, x.dtype, shape)
    if operator == "ConvInteger":
        zero = d.scalar(d.rng.choice((0, 3)), x.dtype) if d.chance(0.6) else None
        d.add(
            operator, [x, w, zero, d.scalar(0, w.dtype) if zero is not None and d.chance(0.5) else None], **attributes
        )
    elif operator == "QLinearConv":
        bias = d.known(d.data("int32", (out,))) if d.chance(0.5) else None
        parts = [x, scale(d), d.scalar(d.rng.choice((0, 3)), x.dtype), w, scale(d), d.scalar(0, w.dtype)]
        d.add(operator, [*parts, scale(d), d.scalar(d.rng.choice((0, 5)), x.dtype), bias], **attributes)
    else:
        bias = d.take((x.dtype,), shape=(out,)) if d.chance(0.5) else None
        d.add(operator, [x, w, bias], **attributes)


def _weight(d: Drawing, dtype: str, shape: Sequence[int]) -> Value:
    """Mostly a constant of the model."""
    return d.take((dtype,), shape=shape) if d.chance(0.2) else d.known(d.data(dtype, shape))


def pool(d: Drawing, operator: str) -> None:
    more = ("uint8", "int8") if operator == "MaxPool" else ()
    x = image(d, ("float32", "float32", "float32", "float64", "float16", *more))
    rank = x.rank - 2
    dilated = operator == "MaxPool" or d.opset >= (19 if operator == "AveragePool" else 18)
    attributes = window(d, rank, x.shape[2:], dilated=dilated)
    if "auto_pad" not in attributes and (operator != "LpPool" or d.opset >= 18):
        attributes["ceil_mode"] = d.rng.choice((None, 0, 1))
    if operator == "AveragePool":
        attributes["count_include_pad"] = d.rng.choice((None, 0, 1))
    if operator == "LpPool":
        attributes["p"] = d.rng.choice((None, 1, 2, 3))
    if operator == "MaxPool" and d.chance(0.3):
        d.add_many(operator, [x], 2, **attributes, storage_order=d.rng.choice((None, None, 1)))
    else:
        d.add(operator, [x], **attributes)


def global_pool(d: Drawing, operator: str) -> None:
    x = image(d, ("float32", "float32", "float64", "float16"))
    d.add(operator, [x], p=d.rng.choice((None, 1, 2, 3)) if operator == "GlobalLpPool" else None)


def max_unpool(d: Drawing, operator: str) -> None:
    x = d.take(("float32",), shape=(1, d.rng.choice((1, 2, 3)), 2 * d.rng.randint(1, 4), 2 * d.rng.randint(1, 4)))
    values, at = d.add_many("MaxPool", [x], 2, kernel_shape=[2, 2], strides=[2, 2])
    d.add(operator, [values, at], kernel_shape=[2, 2], strides=[2, 2])


def lrn(d: Drawing, operator: str) -> None:
    d.add(
        operator,
        [image(d, ("float32",))],
        size=d.rng.choice((1, 3, 5)),
        alpha=d.rng.choice((None, 0.1)),
        bias=d.rng.choice((None, 2.0)),
    )


def statistics(d: Drawing, operator: str) -> None:
    """Batch, instance and group normalisation: a scale and a bias of each channel."""
    x = image(d, ("float32", "float32", "float64", "float16") if operator != "GroupNormalization" else ("float32",))
    c = x.shape[1]
    scale_, bias = _weight(d, x.dtype, (c,)), _weight(d, x.dtype, (c,))
    if operator == "BatchNormalization":
        variance = d.known(np.abs(d.data("float32", (c,)).astype(x.data.dtype)) + x.data.dtype.type(0.5))
        d.add(operator, [x, scale_, bias, _weight(d, x.dtype, (c,)), variance], epsilon=d.rng.choice((None, 1e-3)))
    elif operator == "GroupNormalization":
        d.add(operator, [x, scale_, bias], num_groups=d.rng.choice([g for g in (1, 2, 4, c) if c % g == 0]))
    else:
        d.add(operator, [x, scale_, bias], epsilon=d.rng.choice((None, 1e-3)))


def layer_normalization(d: Drawing, operator: str) -> None:
    x = d.take(("float32", "float32", "float64", "float16"), range(1, 5), where=lambda v: 0 not in v.shape)
    axis = d.rng.randrange(-x.rank, x.rank)
    shape = x.shape[axis:]
    bias = d.take((x.dtype,), shape=shape) if d.chance(0.6) else None
    inputs = [x, _weight(d, x.dtype, shape), bias]
    d.add_many(operator, inputs, d.rng.choice((1, 1, 1, 3)), axis=axis, epsilon=d.rng.choice((None, 1e-3)))


def resize(d: Drawing, operator: str) -> None:
    x = d.take(("float32", "float32", "float32", "uint8", "int8", "int32"), (4,), where=lambda v: 0 not in v.shape)
    mode = d.rng.choice(("nearest", "linear", "cubic"))
    ways = [
        "half_pixel",
        "asymmetric",
        "align_corners",
        "pytorch_half_pixel",
        *(["half_pixel_symmetric"] if d.opset >= 19 else []),
    ]
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": d.rng.choice(ways)}
    if mode == "nearest":
        attributes["nearest_mode"] = d.rng.choice((None, "floor", "ceil", "round_prefer_ceil", "round_prefer_floor"))
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": d.rng.choice((None, -0.5)), "exclude_outside": d.rng.choice((None, 1))}
    if d.chance(0.5):
        scales = [1.0, 1.0, *(d.rng.choice((0.5, 1.0, 1.5, 2.0, 3.0)) for _ in range(2))]
        d.add(operator, [x, None, d.known(np.array(scales, np.float32))], **attributes)
    else:
        sizes = [*x.shape[:2], *(d.rng.randint(1, 12) for _ in range(2))]
        d.add(operator, [x, None, None, d.integers(*sizes)], **attributes)


def grid_sample(d: Drawing, operator: str) -> None:
    n, c, h, w = (d.rng.choice((1, 2, 3, 5)) for _ in range(4))
    x = d.take(("float32",), shape=(n, c, h, w))
    grid = d.leaf(np.random.default_rng(d.rng.getrandbits(32)).uniform(-1.3, 1.3, (n, 3, 4, 2)).astype(np.float32))
    modes = ("linear", "nearest", "cubic") if d.opset >= 20 else ("bilinear", "nearest", "bicubic")
    attributes = {"mode": d.rng.choice(modes), "padding_mode": d.rng.choice(("zeros", "border", "reflection"))}
    d.add(operator, [x, grid], align_corners=d.rng.randrange(2), **attributes)


def roi_align(d: Drawing, operator: str) -> None:
    n, c = d.rng.choice((1, 2)), d.rng.choice((1, 2, 3))
    x = d.take(("float32",), shape=(n, c, 7, 9))
    rng, count = np.random.default_rng(d.rng.getrandbits(32)), d.rng.choice((1, 2, 3))
    corner = rng.uniform(0, 4, (count, 2))
    rois = d.leaf(np.concatenate([corner, corner + rng.uniform(1, 4, (count, 2))], 1).astype(np.float32))
    batch = d.leaf(rng.integers(0, n, count).astype(np.int64))
    way = d.rng.choice(("half_pixel", "output_half_pixel")) if d.opset >= 16 else None
    d.add(operator, [x, rois, batch], output_height=2, output_width=3, sampling_ratio=d.rng.choice((0, 2)),
          mode=d.rng.choice((None, "avg", "max")), coordinate_transformation_mode=way)  # fmt: skip


def max_roi_pool(d: Drawing, operator: str) -> None:
    n, c, count = d.rng.choice((1, 2)), d.rng.choice((1, 2, 3)), d.rng.choice((1, 2, 3))
    x = d.take(("float32",), shape=(n, c, 7, 9))
    rng = np.random.default_rng(d.rng.getrandbits(32))
    regions = np.concatenate([rng.integers(0, n, (count, 1)), rng.uniform(-3, 12, (count, 4))], 1)
    rois = d.leaf(regions.astype(np.float32))
    shape = [d.rng.choice((1, 2, 3)), d.rng.choice((1, 2, 5))]
    d.add(operator, [x, rois], pooled_shape=shape, spatial_scale=d.rng.choice((None, 0.5, 1.5)))


def boxes(d: Drawing, operator: str) -> None:
    """Where all boxes are selected, or one of each class; sometimes none."""
    n, c, count = (d.rng.choice((1, 2, 3, 9)) for _ in range(3))
    rng = np.random.default_rng(d.rng.getrandbits(32))
    box = d.leaf(rng.uniform(-2, 4, (n, count, 4)).astype(np.float32))
    score = d.leaf(np.round(rng.standard_normal((n, c, count)), 1).astype(np.float32))
    most = d.rng.choice((0, 1, 1, count, count + 2))
    threshold = d.known(np.array([1.0 if most > 1 or d.chance(0.5) else 0.3], np.float32))
    d.add(operator, [box, score, d.integers(most), threshold], center_point_box=d.rng.choice((None, 0, 1)))


def recurrent(d: Drawing, operator: str) -> None:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator]
    steps, batch, width, hidden = (d.rng.choice((1, 2, 3, 5)) for _ in range(4))
    direction = d.rng.choice(("forward", "reverse", "bidirectional"))
    ways = 2 if direction == "bidirectional" else 1
    x = d.take(("float32",), shape=(steps, batch, width))
    inputs: list[Value | None] = [
        x, _weight(d, "float32", (ways, gates * hidden, width)), _weight(d, "float32", (ways, gates * hidden, hidden)),
        _weight(d, "float32", (ways, 2 * gates * hidden)) if d.chance(0.6) else None, None,
        d.take(("float32",), shape=(ways, batch, hidden)) if d.chance(0.4) else None,
    ]  # fmt: skip
    if d.chance(0.2):
        rng = np.random.default_rng(d.rng.getrandbits(32))
        inputs[4] = d.leaf(rng.integers(1, steps + 1, batch).astype(np.int32))
    linear = d.rng.choice((None, 1)) if operator == "GRU" else None
    clip_ = d.rng.choice((None, None, 1.5))
    outputs = 3 if operator == "LSTM" else 2
    d.add_many(
        operator, inputs, outputs, hidden_size=hidden, direction=direction, linear_before_reset=linear, clip=clip_
    )


def det(d: Drawing, operator: str) -> None:
    n = d.rng.choice((1, 2, 3, 4))
    shape = (n, n) if d.chance(0.5) else (d.rng.choice((1, 2, 3)), n, n)
    d.add(operator, [d.take(("float32", "float64"), shape=shape)])


def fourier(d: Drawing, operator: str) -> None:
    shape = (d.rng.choice((1, 2)), d.rng.choice((2, 4, 5, 8)), d.rng.choice((1, 2)))
    x = d.take(("float32", "float64"), shape=shape)
    d.add(operator, [x, None, d.scalar(1, "int64")], inverse=d.rng.choice((None, 1)) if shape[-1] == 2 else None)


def short_fourier(d: Drawing, operator: str) -> None:
    length = d.rng.choice((4, 5, 8))
    signal = d.take(("float32", "float64"), shape=(d.rng.choice((1, 2)), d.rng.choice((12, 17)), 1))
    window_ = d.known(d.data(signal.dtype, (length,))) if d.chance(0.6) else None
    step = d.scalar(d.rng.choice((1, 3, 4)), "int64")
    frame = d.scalar(length, "int64") if window_ is None or d.chance(0.5) else None
    d.add(operator, [signal, step, window_, frame], onesided=d.rng.choice((None, 0, 1)))


def deformable_convolution(d: Drawing, operator: str) -> None:
    n, c, out, h, w = (d.rng.choice((1, 2, 3)) for _ in range(5))
    x = d.take(("float32",), shape=(n, c, h + 3, w + 3))
    kernel = d.rng.choice(((1, 1), (2, 2), (3, 2)))
    places = (h + 3 - kernel[0] + 1, w + 3 - kernel[1] + 1)
    offset = d.leaf(np.clip(np.nan_to_num(d.data("float32", (n, 2 * prod(kernel), *places))), -2, 2))
    mask = d.take(("float32",), shape=(n, prod(kernel), *places)) if d.chance(0.4) else None
    bias = d.take(("float32",), shape=(out,)) if d.chance(0.4) else None
    d.add(operator, [x, _weight(d, "float32", (out, c, *kernel)), offset, bias, mask], kernel_shape=list(kernel))


def col2im(d: Drawing, operator: str) -> None:
    h, w, kh, kw = (d.rng.choice((2, 3, 4)) for _ in range(4))
    h, w = max(h, kh), max(w, kw)
    blocks = (h - kh + 1) * (w - kw + 1)
    x = d.take(("float32", "float64"), shape=(d.rng.choice((1, 2)), 2 * kh * kw, blocks))
    d.add(operator, [x, d.integers(h, w), d.integers(kh, kw)])
