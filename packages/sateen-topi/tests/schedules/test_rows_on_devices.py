"""Rows by blocks of threads, on the first OpenCL device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Call, Store, walk
from sateen.topi.computations.normalization import (
    group_normalization,
    layer_normalization,
    local_response_normalization,
    lp_normalization,
    rms_normalization,
)
from sateen.topi.computations.softmaxes import log_softmax, softmax
from sateen.topi.types import View, compute

TARGETS = ["opencl", "opencl -mcpu=processor"]
ALONG = [((3, 1000), 1), ((5, 7), 1), ((1, 1), 1), ((300,), 0), ((129, 1, 40, 1), 2), ((3, 30001), 1)]
ACROSS = [((2, 5, 33), 1), ((2, 500, 3), 1), ((30001, 3), 0), ((1, 20, 150, 151), 1)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("shape", "axis"), ALONG + ACROSS)
def test_rows_of_any_length(on_device: Any, random: Any, shape: tuple[int, ...], axis: int, target: str) -> None:
    x = random.standard_normal(shape).astype(np.float32)
    (found,) = on_device(lambda v: softmax(v, axis), x, epilogue=doubled, target=target)
    power = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    np.testing.assert_allclose(found, 2 * power / power.sum(axis, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(("shape", "axis"), [((5, 21), 1), ((2, 21, 3), 1), ((2, 9, 20), 1), ((1, 300), 1)])
def test_threads_share_rows_without_races(by_threads: Any, random: Any, shape: tuple[int, ...], axis: int) -> None:
    x = random.standard_normal(shape).astype(np.float32)
    (found,) = by_threads(lambda v: softmax(v, axis), x)
    power = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(found, power / power.sum(axis, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("axis", [1, 2])
def test_short_floats(on_device: Any, random: Any, axis: int, target: str) -> None:
    x = random.standard_normal((2, 37, 41)).astype(np.float16)
    (found,) = on_device(lambda v: log_softmax(v, axis), x, target=target)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(found, wide - np.log(np.exp(wide).sum(axis, keepdims=True)), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("target", TARGETS)
def test_statistics_of_statistics(on_device: Any, random: Any, target: str) -> None:
    x = random.standard_normal((5, 3, 77)).astype(np.float32)
    (found,) = on_device(lambda v: layer_normalization(v, None, None, 1, 1e-5), x, target=target)
    mean, variance = x.mean((1, 2), keepdims=True, dtype=np.float64), x.var((1, 2), keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(found, (x - mean) / np.sqrt(variance + 1e-5), rtol=1e-5, atol=1e-5)
    (found,) = on_device(lambda v: rms_normalization(v, None, 1, 1e-5), x, target=target)
    squares = (x.astype(np.float64) ** 2).mean((1, 2), keepdims=True)
    np.testing.assert_allclose(found, x / np.sqrt(squares + 1e-5), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("shape", "groups"), [((1, 3, 150, 151), 3), ((2, 6, 5, 7), 3), ((2, 4), 2), ((4, 128, 14, 14), 32)]
)
def test_groups_of_channels(on_device: Any, random: Any, shape: tuple[int, ...], groups: int, target: str) -> None:
    x = random.standard_normal(shape).astype(np.float32) + 3
    scale, bias = (random.standard_normal(shape[1]).astype(np.float32) for _ in "sb")
    (found,) = on_device(
        lambda *v: group_normalization(*v, groups, 1e-5), x, scale, bias, epilogue=doubled, target=target
    )
    rows = x.reshape(shape[0], groups, -1).astype(np.float64)
    rows = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    channels = (1, -1, *(1 for _ in shape[2:]))
    expected = 2 * (rows.reshape(shape) * scale.reshape(channels) + bias.reshape(channels))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("axis", [0, 1])
def test_norms_of_nothing_are_zero(on_device: Any, random: Any, axis: int, target: str) -> None:
    x = random.standard_normal((33, 65)).astype(np.float32)
    x[:, 3] = x[3] = 0
    (found,) = on_device(lambda v: lp_normalization(v, axis, 2), x, target=target)
    norm = np.sqrt((x.astype(np.float64) ** 2).sum(axis, keepdims=True))
    np.testing.assert_allclose(found, np.divide(x, norm, out=np.zeros(x.shape), where=norm > 0), rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(1, 10, 15, 15), (2, 3, 9)])
def test_neighbouring_channels(on_device: Any, random: Any, shape: tuple[int, ...], target: str) -> None:
    x = random.standard_normal(shape).astype(np.float32)
    (found,) = on_device(
        lambda v: local_response_normalization(v, 5, 0.1, 0.75, 1.0), x, epilogue=doubled, target=target
    )
    squares = np.pad(x.astype(np.float64) ** 2, [(0, 0), (2, 2), *((0, 0) for _ in shape[2:])])
    total = sum(squares[:, k : k + shape[1]] for k in range(5))
    np.testing.assert_allclose(found, 2 * x / (1 + 0.1 / 5 * total) ** 0.75, rtol=1e-5, atol=1e-6)


def test_rows_are_read_by_one_kernel_where_they_fill_the_device(kernels: Any) -> None:
    assert len(kernels(lambda v: softmax(v, 1), "opencl", (128, 1000))) == 1
    assert len(kernels(lambda v: softmax(v, 1), "opencl", (16, 1000, 40))) == 1


@pytest.mark.parametrize(("shape", "count"), [((1536, 128), 1), ((1, 1000), 1), ((128, 5000), 2)])
def test_exponentials_are_computed_once_where_a_block_has_room(
    kernels: Any, shape: tuple[int, ...], count: int
) -> None:
    (kernel,) = kernels(lambda v: softmax(v, 1), "opencl", shape)
    stores = [n for n in walk(kernel) if isinstance(n, Store)]
    assert sum(any(isinstance(e, Call) and e.name == "exp" for e in walk(s.value)) for s in stores) == count


@pytest.mark.parametrize("target", ["opencl", "webgpu"])
@pytest.mark.parametrize("shape", [(1, 3, 224, 224), (1, 32, 720, 720)])
def test_no_thread_sums_an_image_alone(kernels: Any, turns: Any, target: str, shape: tuple[int, ...]) -> None:
    found = kernels(lambda *v: group_normalization(*v, shape[1], 1e-5), target, shape, shape[1:2], shape[1:2])
    assert max(map(turns, found)) <= 1024


def doubled(x: View) -> View:
    return compute(x.shape, lambda *i: x(*i) * te.const(2.0, x.dtype), "doubled")
