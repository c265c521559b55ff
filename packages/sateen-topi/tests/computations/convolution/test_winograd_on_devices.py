"""Winograd's convolution in three kernels: its values on the first OpenCL device, and where it is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import Machine, build_functions, lower, te
from sateen.topi.computations.convolution import (
    TRANSFORMS,
    WEIGHT_LAYOUT,
    ConvolutionShapes,
    WinogradTiles,
    conv_candidates,
    winograd_conv,
    winograd_weight,
)
from sateen.topi.computations.windows import Window
from sateen.topi.types import View, compute

ONES = (1, 1)
CASES = [
    ((1, 8, 14, 14), (16, 8, 3, 3), 2, 1, (1, 1, 1, 1), 1),
    ((2, 5, 15, 13), (7, 5, 3, 3), 4, 1, (1, 0, 2, 1), 1),
    ((1, 8, 15, 13), (16, 8, 3, 3), 6, 1, (0, 0, 0, 0), 1),
    ((1, 8, 15, 13), (16, 8, 3, 3), 2, 2, (1, 1, 1, 1), 1),
    ((1, 5, 15, 13), (7, 5, 3, 3), 4, 1, (1, 1, 1, 1), 2),
]


def expected(x: Any, w: Any, b: Any, stride: int, pads: tuple[int, ...], pool: int) -> Any:
    """By definition, in float64."""
    top, left, bottom, right = pads
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]
    result = np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float64)) + b[:, None, None]
    n, o, height, width = result.shape
    squares = result[:, :, : height // pool * pool, : width // pool * pool]
    return np.maximum(squares.reshape(n, o, height // pool, pool, width // pool, pool).max((3, 5)), 0.0)


def relu(x: View) -> View:
    return compute(x.shape, lambda *i: te.maximum(x(*i), 0.0), "relu")


@pytest.mark.parametrize(("data", "weight", "tile", "stride", "pads", "pool"), CASES)
def test_three_kernels_give_the_convolution(
    on_device: Any, random: Any, error: Any, data: Any, weight: Any, tile: int, stride: int, pads: Any, pool: int
) -> None:
    """With a bias, a fused function of the result, and maxima of squares."""
    x, w, b = (random.standard_normal(shape).astype(np.float32) for shape in (data, weight, weight[:1]))
    f, window = TRANSFORMS[tile, stride], Window((3, 3), (stride, stride), pads, ONES)

    def computation(*views: View) -> Any:
        return winograd_conv(*views, f, window, None, pool)

    (found,) = on_device(computation, x, winograd_weight(w, f), b, epilogue=relu)
    assert error(found, expected(x, w, b, stride, pads, pool)) < 1e-5


def test_tiles_of_the_input_lie_in_registers(view: Any) -> None:
    """Each element of a tile is loaded once, and kernels share nothing but the tiles in memory."""
    f = TRANSFORMS[4, 1]
    given = [
        view(np.zeros((1, 16, 14, 14), np.float32), "data"),
        view(np.zeros((16, 16, 6, 6), np.float32), "weight", WEIGHT_LAYOUT),
    ]
    computation = winograd_conv(*given, None, f, Window((3, 3), ONES, (1, 1, 1, 1), ONES))
    machine, output = Machine.of("opencl"), computation.view.tensor
    schedule = te.create_schedule(output)
    computation.schedule_on(machine)(schedule, output, machine)
    module = build_functions([lower(schedule, [*(v.tensor for v in given), output], "f")], "opencl")
    transform, products, result = module.program.kernels
    assert transform.shared_bytes == result.shared_bytes == 0 < products.shared_bytes
    assert module.source.count("data[") == 1
    assert "float padded[36]" in module.source


def problem(channels: int, size: int, batch: int = 1, **options: Any) -> ConvolutionShapes:
    window = Window((3, 3), options.get("strides", ONES), (1, 1, 1, 1), options.get("dilations", ONES))
    groups = options.get("groups", 1)
    return ConvolutionShapes((batch, channels, size, size), (64, channels // groups, 3, 3), window, groups)


@pytest.mark.parametrize("target", ["opencl", "cuda", "cuda -mcpu=sm_90"])
@pytest.mark.parametrize(
    ("given", "is_chosen"),
    [
        (problem(64, 56, 64), True),
        (problem(256, 28, 64), True),
        (problem(3, 224), False),
        (problem(8, 224), False),
        (problem(64, 56, 64, dilations=(2, 2)), False),
        (problem(64, 56, 64, groups=64), False),
    ],
)
def test_winograd_is_chosen_where_it_saves_more_than_it_moves(
    target: str, given: ConvolutionShapes, is_chosen: bool
) -> None:
    found = conv_candidates(given, Machine.of(target))
    assert isinstance(found[0].method, WinogradTiles) is is_chosen
    assert [c.cycles for c in found] == sorted(c.cycles for c in found)


def test_where_a_page_fetches_the_weight_it_must_save_more() -> None:
    """A batch has the positions that save as much."""
    opencl, webgpu = (Machine.of(target) for target in ("opencl", "webgpu"))
    deep, flat = problem(256, 28), problem(256, 56, 64)
    assert isinstance(conv_candidates(deep, opencl)[0].method, WinogradTiles)
    assert not isinstance(conv_candidates(deep, webgpu)[0].method, WinogradTiles)
    assert isinstance(conv_candidates(flat, opencl)[0].method, WinogradTiles)
    assert isinstance(conv_candidates(flat, webgpu)[0].method, WinogradTiles)


def test_a_processor_as_a_device_has_no_winograd() -> None:
    found = conv_candidates(problem(64, 56), Machine.of("opencl -mcpu=processor"))
    assert found
    assert not any(isinstance(c.method, WinogradTiles) for c in found)
