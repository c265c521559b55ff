"""Convolution in both ways to compute it, against NumPy in float64."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sateen.tensor_ir import Machine, lower, te
from sateen.topi.computations.convolution import (
    ConvolutionShapes,
    OperandLayouts,
    conv,
    conv_candidates,
    conv_layouts,
)
from sateen.topi.computations.windows import Window
from sateen.topi.types import Layout, compute, placeholder

ROW_MAJOR = OperandLayouts(None, None, None, None)
SMALL = replace(Machine.of("llvm -mtriple=armv7-linux-gnueabihf"), l2_bytes=256 << 10, l3_bytes=1 << 20)


def window(kernel, strides=None, pads=None, dilations=None):
    rank = len(kernel)
    return Window(tuple(kernel), strides or (1,) * rank, pads or (0,) * 2 * rank, dilations or (1,) * rank)


def reference(x, weight, bias, w, groups):
    n, c, *spatial = x.shape
    outputs, out = weight.shape[0], w.output(spatial)
    widths = [(w.pads[d], w.pads[w.rank + d] + w.strides[d]) for d in range(w.rank)]
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *widths])
    y = np.zeros((n, groups, outputs // groups, *out))
    for k in product(*map(range, w.kernel)):
        starts = [i * d for i, d in zip(k, w.dilations, strict=True)]
        places = [slice(a, a + (e - 1) * s + 1, s) for a, e, s in zip(starts, out, w.strides, strict=True)]
        part = padded[(..., *places)]
        factor = weight[(..., *k)].astype(np.float64).reshape(groups, outputs // groups, -1)
        y += np.einsum("goc,ngc...->ngo...", factor, part.reshape(n, groups, c // groups, *out))
    return y.reshape(n, outputs, *out) + bias.reshape(-1, *[1] * w.rank)


CASES = {
    "one tile": ((1, 32, 14, 14), 32, window((3, 3), pads=(1, 1, 1, 1)), 1),
    "two tiles at both edges": ((1, 16, 5, 28), 32, window((3, 3), pads=(1, 1, 1, 1)), 1),
    "first, middle and last tiles": ((1, 16, 4, 56), 32, window((3, 3), pads=(1, 1, 1, 1)), 1),
    "tiles of two sizes, odd pads": ((2, 24, 13, 17), 40, window((3, 3), (2, 1), (1, 0, 1, 2)), 1),
    "channels that don't fill a block": ((1, 40, 9, 9), 85, window((1, 1)), 1),
    "few input channels": ((1, 3, 23, 23), 32, window((7, 7), (2, 2), (3, 3, 3, 3)), 1),
    "short rows": ((1, 64, 7, 7), 32, window((1, 1)), 1),
    "one pixel": ((1, 64, 1, 1), 128, window((1, 1)), 1),
    "dilation": ((1, 16, 14, 14), 16, window((3, 3), None, (2, 2, 2, 2), (2, 2)), 1),
    "a wide kernel with padding": ((1, 16, 40), 32, window((31,), None, (15, 15)), 1),
    "depthwise": ((1, 40, 16, 17), 40, window((5, 5), (2, 2), (2, 2, 2, 2)), 40),
    "two groups": ((1, 32, 6, 6), 64, window((3, 3), None, (1, 1, 1, 1)), 2),
    "three dimensions": ((1, 4, 6, 7, 8), 16, window((3, 3, 3), (1, 2, 1), (1,) * 6), 1),
    "few output channels": ((1, 16, 12, 35), 3, window((3, 3), None, (1, 1, 1, 1)), 1),
    "few output channels, strides": ((1, 16, 12, 12), 1, window((5, 5), (2, 2), (2, 2, 2, 2)), 1),
    "odd groups": ((1, 30, 6, 16), 60, window((3, 3), None, (1, 1, 1, 1)), 3),
    "depthwise with a multiplier": ((1, 6, 6, 6), 12, window((3, 3), None, (1, 1, 1, 1)), 6),
    "few channels in three dimensions": ((1, 4, 3, 4, 5), 6, window((2, 3, 3), (1, 2, 1), (1,) * 6), 1),
}


WIDTHS = (3, 5, 9, 11, 14, 15, 17, 23, 33)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_rows_of_any_width_are_whole_vectors_of_any_machine(vector_bytes, dtype):
    machine = replace(SMALL, vector_bytes=vector_bytes)
    for width, stride, padding in product(WIDTHS, (1, 2), (0, 1)):
        w = window((1, 3), (1, stride), (0, padding) * 2)
        data, weight = placeholder((1, 2, 2, width), dtype, "x"), placeholder((3, 2, 1, 3), dtype, "w")
        convolution = conv(data, weight, None, w)
        schedule = te.create_schedule(convolution.view.tensor)
        convolution.schedule_on(machine)(schedule, convolution.view.tensor, machine)
        lower(schedule, [data.tensor, weight.tensor, convolution.view.tensor])


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("width", [5, 11, 14, 23])
def test_values_of_rows_that_vectors_do_not_fill(run_views, view, error, random, lanes, width):
    machine = replace(SMALL, vector_bytes=4 * lanes)
    for groups, w in ((5, window((3, 3), pads=(1, 1, 1, 1))), (1, window((3, 2), (2, 2)))):
        case = ((2, 5, 6, width), 5, w, groups)
        for dtype, bound in (("float32", 1e-5), ("float64", 1e-14)):
            y, expected = convolved(run_views, view, random, case, ROW_MAJOR, dtype, machine=machine)
            assert error(y, expected) < bound


def convolved(run_views, view, random, case, layouts, dtype="float32", epilogue=None, machine=None, method=None):
    shape, outputs, w, groups = case
    x = random.standard_normal(shape).astype(dtype)
    weight = (random.standard_normal((outputs, shape[1] // groups, *w.kernel)) * 0.1).astype(dtype)
    bias = random.standard_normal(outputs).astype(dtype)
    operands = [view(x, "x", layouts.data), view(weight, "w", layouts.weight), view(bias, "b", layouts.bias)]
    computation = conv(*operands, w, groups, layouts.output, method)
    (y,) = run_views(computation, operands, [x, weight, bias], epilogue, machine)
    return y, reference(x, weight, bias, w, groups)


def layouts_of(case, lanes, vectors=0):
    shape, outputs, w, groups = case
    width = w.output(shape[2:])[-1]
    weight = (outputs, shape[1] // groups, *w.kernel)
    return conv_layouts(shape, None, weight, width, groups, lanes, vectors) or ROW_MAJOR


@pytest.mark.parametrize("name", CASES)
def test_in_its_best_layout(run_views, view, error, random, lanes, name):
    y, expected = convolved(run_views, view, random, CASES[name], layouts_of(CASES[name], lanes))
    assert error(y, expected) < 1e-5


@pytest.mark.parametrize("per_group", [1, 32])
def test_groups_by_each_method(run_views, view, error, random, lanes, per_group):
    channels = 48 if per_group == 1 else 64
    case = ((1, channels, 9, 11), channels, window((3, 3), (1, 2), (1, 1, 0, 1)), channels // per_group)
    shape, outputs, w, groups = case
    problem = ConvolutionShapes(shape, (outputs, per_group, *w.kernel), w, groups)
    found = conv_candidates(problem, Machine.of("llvm"))
    assert lanes == 1 or found
    for candidate in found[::2]:
        method = candidate.method
        layouts = layouts_of(case, lanes, method.vectors)
        y, expected = convolved(run_views, view, random, case, layouts, method=method)
        assert error(y, expected) < 1e-5


@pytest.mark.parametrize("name", ["tiles of two sizes, odd pads", "depthwise", "one pixel"])
def test_row_major(run_views, view, error, random, name):
    y, expected = convolved(run_views, view, random, CASES[name], ROW_MAJOR)
    assert error(y, expected) < 1e-5


def test_blocked_output_of_row_major_weights(run_views, view, error, random, lanes):
    layouts = OperandLayouts(None, None, None, Layout.blocked(4, 1, lanes))
    y, expected = convolved(run_views, view, random, CASES["one tile"], layouts)
    assert error(y, expected) < 1e-5


def test_a_fused_epilogue_in_another_layout(run_views, view, error, random, lanes):
    def transposed(v):
        shape = (*v.shape[:2], v.shape[3], v.shape[2])
        return compute(shape, lambda n, c, y, x: te.maximum(v(n, c, x, y), 0.0), "relu")

    case = CASES["few input channels"]
    y, expected = convolved(run_views, view, random, case, layouts_of(case, lanes), epilogue=transposed)
    assert error(y, np.maximum(expected, 0).swapaxes(2, 3)) < 1e-5


def test_a_fused_epilogue_in_place(run_views, view, error, random, lanes):
    def clipped(v):
        return compute(v.shape, lambda *i: te.minimum(v(*i), 0.5), "clip", v.layout)

    case = CASES["tiles of two sizes, odd pads"]
    y, expected = convolved(run_views, view, random, case, layouts_of(case, lanes), epilogue=clipped)
    assert error(y, np.minimum(expected, 0.5)) < 1e-5


def test_float16_is_added_in_float32(run_views, view, error, random, lanes):
    case = CASES["one tile"]
    y, expected = convolved(run_views, view, random, case, layouts_of(case, lanes), dtype="float16")
    assert error(y, expected) < 1e-3


def test_a_machine_with_few_short_registers(run_views, view, error, random):
    for name in ("one tile", "tiles of two sizes, odd pads", "depthwise"):
        y, expected = convolved(run_views, view, random, CASES[name], layouts_of(CASES[name], 4), machine=SMALL)
        assert error(y, expected) < 1e-5


LARGE_IMAGES = {
    "lines": ((2, 40, 12, 35), 96),
    "tall tiles with a rest": ((1, 24, 30, 7), 85),
    "three dimensions": ((1, 32, 8, 5, 6), 96),
    "one dimension": ((1, 64, 300), 96),
}


@pytest.mark.parametrize("name", LARGE_IMAGES)
def test_all_channels_of_a_part_of_an_image_that_caches_do_not_keep(run_views, view, error, random, name):
    shape, outputs = LARGE_IMAGES[name]
    case = (shape, outputs, window((1,) * (len(shape) - 2)), 1)
    machine = replace(SMALL, l2_bytes=16 << 10, l3_bytes=0)
    y, expected = convolved(run_views, view, random, case, layouts_of(case, 4), machine=machine)
    assert error(y, expected) < 1e-5


@pytest.mark.parametrize(("side", "cores", "is_in_parts"), [(8, 1, False), (32, 1, True), (32, 64, False)])
def test_the_part_of_an_image_that_a_cache_keeps_is_copied_once_for_all_channels(side, cores, is_in_parts):
    case = ((1, 64, side, side), 128, window((1, 1)), 1)
    layouts = layouts_of(case, 4)
    data = placeholder(case[0], "float32", "x", layouts.data)
    weight = placeholder((128, 64, 1, 1), "float32", "w", layouts.weight)
    convolution = conv(data, weight, None, case[2], layout=layouts.output)
    schedule = te.create_schedule(convolution.view.tensor)
    machine = replace(SMALL, l2_bytes=64 << 10, l3_bytes=0, cores=cores)
    convolution.schedule_on(machine)(schedule, convolution.view.tensor, machine)
    text = str(lower(schedule, [data.tensor, weight.tensor, convolution.view.tensor]))
    parts, copies, groups = (text.find(f" {name} in [0, {n})") for name, n in (("i0_i2o", 8), ("ax1", 16), ("i1o", 16)))
    assert (0 < parts < copies < groups) == is_in_parts
    assert ("x.global" in text) == is_in_parts


def test_weights_are_packed_in_the_order_they_are_read():
    found = conv_layouts((1, 64, 56, 56), None, (64, 64, 3, 3), 56, 1, 16)
    assert [str(found.data), str(found.weight), str(found.output)] == ["aBcd16b", "ABcd16b32a", "aBcd16b"]
    stem = conv_layouts((1, 3, 224, 224), None, (32, 3, 3, 3), 112, 1, 16)
    assert [stem.data, str(stem.weight)] == [None, "Abcd32a"]
    assert conv_layouts((1, 64, 56, 56), None, (3, 64, 3, 3), 56, 1, 16) is None
