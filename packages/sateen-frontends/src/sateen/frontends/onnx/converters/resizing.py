"""Resize, and Upsample before it."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir.ir import Dim
from sateen.graph_ir.ops import Resize
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import symbols_of

LARGEST_SCALE = 1 << 24
"""The integer up to which float32 holds all integers."""

MOST_PARTS = 64
"""The largest denominator of a scale that multiplies an open dimension; the product with another, such as 1.3, is
rounded before it is cut."""

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}


def _resize(node: OnnxNode) -> Operand:
    """Sizes or scales of some or all axes; opset 10 has scales only and no choice of coordinates."""
    if node.version == 10:
        return _upsample(node)
    rank = node.rank(0)
    axes = _axes(node, rank)
    extents = node.shape(0)
    scales, sizes = _numbers(node, 2), _numbers(node, 3)
    if (scales is None) == (sizes is None):
        raise FrontendError("expected either scales or sizes")
    if scales is not None:
        factors = _scales(_per_axis(scales, axes, rank, 1.0))
        targets = _scaled(node, extents, factors)
    else:
        assert sizes is not None
        factors, targets = _factors_of_sizes(node, sizes, axes, extents)
    transformation = node.text("coordinate_transformation_mode")
    op = Resize(
        sizes=targets,
        scales=factors,
        mode=_mode(node),
        coordinate_transformation=transformation,
        nearest_mode=node.text("nearest_mode"),
        cubic_coeff_a=node.number("cubic_coeff_a"),
        exclude_outside=node.flag("exclude_outside"),
        antialias=node.flag("antialias"),
        roi=_roi(node, axes, rank) if transformation == "tf_crop_and_resize" else (),
        extrapolation_value=node.number("extrapolation_value"),
    )
    return node.result(op, node.value(0))


def _numbers(node: OnnxNode, index: int) -> tuple[Any, ...] | None:
    """The numbers of an optional input; some exporters write an absent one as an empty tensor."""
    if not node.has(index):
        return None
    data = node.data(index)
    if data.ndim != 1:
        raise FrontendError(f"expected numbers in one dimension, found {data.dtype}{list(data.shape)}")
    return tuple(data.tolist()) if data.size else None


def _scales(given: tuple[float, ...]) -> tuple[float, ...]:
    """Scales that are numbers above zero."""
    if not all(0 < scale < LARGEST_SCALE for scale in given):
        raise FrontendError(f"expected scales above 0 and below {LARGEST_SCALE}, found {list(given)}")
    return given


def _scaled(node: OnnxNode, extents: tuple[Dim, ...], scales: tuple[float, ...]) -> tuple[Dim, ...]:
    """The extents times the scales, rounded down."""
    result: list[Dim] = []
    for extent, scale in zip(extents, scales, strict=True):
        times = Fraction(scale)
        if not isinstance(extent, int) and times.denominator <= MOST_PARTS:
            result.append(extent * times.numerator // times.denominator)
        else:
            result.append(floor(static_extents((extent,), node.described(0))[0] * scale))
    return tuple(result)


def _axes(node: OnnxNode, rank: int) -> tuple[int, ...]:
    given = node.optional_integers("axes") if node.knows("axes") else None
    return tuple(range(rank)) if given is None else tuple(normal_axis(axis, rank) for axis in given)


def _per_axis(values: tuple[Any, ...], axes: tuple[int, ...], rank: int, other: Any) -> tuple[Any, ...]:
    if len(values) != len(axes) or len(set(axes)) < len(axes):
        raise FrontendError(f"expected a number for each of the axes {list(axes)}, found {list(values)}")
    by_axis = dict(zip(axes, values, strict=True))
    return tuple(by_axis.get(axis, other) for axis in range(rank))


def _factors_of_sizes(
    node: OnnxNode, sizes: tuple[Any, ...], axes: tuple[int, ...], shape: tuple[Dim, ...]
) -> tuple[tuple[float, ...], tuple[Dim, ...]]:
    """Scales (None if they are the ratios of open dimensions) and sizes of each axis; keep_aspect_ratio_policy makes
    the scales of the resized axes one."""
    policy = node.text("keep_aspect_ratio_policy") if node.knows("keep_aspect_ratio_policy") else "stretch"
    if 0 in shape:
        raise UnsupportedError("resizing an empty tensor is not supported")
    wanted = _per_axis(sizes, axes, len(shape), None)
    if policy == "stretch" and symbols_of(*shape, *sizes):
        return (), tuple(extent if size is None else size for extent, size in zip(shape, wanted, strict=True))
    extents = static_extents((*shape, *sizes), node.described(0))[: len(shape)]
    factors = {axis: wanted[axis] / extents[axis] for axis in axes}
    if policy not in {"stretch", "not_larger", "not_smaller"}:
        raise FrontendError(f"expected policy stretch, not_larger or not_smaller, found {policy!r}")
    if policy == "stretch":
        targets = [extent if size is None else int(size) for extent, size in zip(extents, wanted, strict=True)]
    else:
        factor = (min if policy == "not_larger" else max)(factors.values())
        factors = dict.fromkeys(axes, factor)
        targets = [floor(extents[a] * factor + 0.5) if a in factors else extents[a] for a in range(len(extents))]
    return tuple(factors.get(axis, 1.0) for axis in range(len(extents))), tuple(targets)


def _roi(node: OnnxNode, axes: tuple[int, ...], rank: int) -> tuple[float, ...]:
    """Starts and ends, as parts of the extents, of every axis."""
    given = _numbers(node, 1)
    if given is None or len(given) != 2 * len(axes):
        raise FrontendError(f"expected a roi of {2 * len(axes)} numbers, found {given}")
    starts = _per_axis(given[: len(axes)], axes, rank, 0.0)
    return (*starts, *_per_axis(given[len(axes) :], axes, rank, 1.0))


def _mode(node: OnnxNode) -> str:
    name = node.text("mode")
    if name not in _MODES:
        raise FrontendError(f"expected mode nearest, linear or cubic, found {name!r}")
    if _MODES[name] != "nearest" and not node.dtype(0).is_float:
        # onnxruntime cuts its sums in float32 off, so that some 100 between two 100 become 99 (upsample.cc).
        reason = f"mode {name} of {node.dtype(0)} is not supported: the standard does not say how it rounds"
        raise UnsupportedError(reason, "cast the data to float32 before it, and round and cast back behind it")
    return _MODES[name]


def _upsample(node: OnnxNode) -> Operand:
    """Scales from the attributes of opset 1 or 7 or an input; positions are output position / scale, rounded down."""
    extents = node.shape(0)
    scales: tuple[float, ...]
    if node.knows("width_scale"):
        scales = (1.0, 1.0, node.number("height_scale"), node.number("width_scale"))
    elif node.knows("scales"):
        scales = tuple(float(scale) for scale in node.attribute("scales"))
    else:
        scales = tuple(float(scale) for scale in np.asarray(node.constant(1)).reshape(-1))
    if len(_scales(scales)) != len(extents):
        raise FrontendError(f"expected {len(extents)} scales, found {list(scales)}")
    mode = _mode(node)
    if mode == "nearest" and min(scales) < 1:
        raise UnsupportedError(
            f"{node.operator} of opset {node.opset} does not say how nearest rounds for scales below 1",
            "convert the model to opset 11",
        )
    op = Resize(
        sizes=_scaled(node, extents, scales),
        scales=scales,
        mode=mode,
        coordinate_transformation="asymmetric",
        nearest_mode="floor",
    )
    return node.result(op, node.value(0))


RESIZING: dict[str, Converter] = {"Resize": _resize, "Upsample": _upsample}
