"""Transposed convolution against NumPy in float64."""

from itertools import product

import numpy as np
import pytest

from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution import (
    ConvolutionShapes,
    OperandLayouts,
    conv_transpose,
    conv_transpose_layouts,
    transposed_candidates,
)
from sateen.topi.computations.windows import Window

ROW_MAJOR = OperandLayouts(None, None, None, None)


def reference(x, weight, bias, w, out, groups):
    n, c, *spatial = x.shape
    per_group = weight.shape[1]
    whole = [(e - 1) * w.strides[d] + w.reach(d) + out[d] for d, e in enumerate(spatial)]
    y = np.zeros((n, groups, per_group, *whole))
    for k in product(*map(range, w.kernel)):
        starts = [i * d for i, d in zip(k, w.dilations, strict=True)]
        place = [slice(a, a + (e - 1) * s + 1, s) for a, e, s in zip(starts, spatial, w.strides, strict=True)]
        factor = weight[(..., *k)].astype(np.float64).reshape(groups, c // groups, per_group)
        y[(..., *place)] += np.einsum("gco,ngc...->ngo...", factor, x.reshape(n, groups, c // groups, *spatial))
    y = y.reshape(n, groups * per_group, *whole)
    inside = tuple(slice(w.pads[d], w.pads[d] + e) for d, e in enumerate(out))
    return y[(..., *inside)] + bias.reshape(-1, *[1] * w.rank)


ONES = (1, 1)
CASES = {
    "whole strides": ((1, 32, 7, 9), 32, Window((2, 2), (2, 2), (0,) * 4, ONES), (0, 0), 1),
    "overlapping": ((1, 32, 5, 9), 16, Window((4, 4), (2, 2), (1, 1, 1, 1), ONES), (0, 0), 1),
    "output padding": ((1, 16, 4, 8), 16, Window((5, 5), (2, 2), (2,) * 4, ONES), (1, 1), 1),
    "gaps between": ((1, 16, 3, 5), 48, Window((2, 2), (3, 3), (0,) * 4, ONES), (0, 0), 1),
    "dilation": ((1, 16, 5, 7), 16, Window((3, 3), (2, 2), (1,) * 4, (2, 2)), (1, 0), 1),
    "groups": ((1, 16, 4, 5), 32, Window((3, 3), (2, 2), (0,) * 4, ONES), (0, 0), 2),
    "one dimension": ((1, 16, 9), 16, Window((3,), (2,), (0, 0), (1,)), (0,), 1),
    "few channels": ((1, 8, 6, 20), 3, Window((4, 4), (2, 2), (1,) * 4, ONES), (0, 0), 1),
    "few channels, unlike sides": ((2, 6, 5, 7), 4, Window((3, 2), (2, 3), (1, 0, 0, 1), ONES), (0, 0), 2),
    "few channels, dilation": ((1, 6, 5, 7), 4, Window((3, 3), (2, 2), (1,) * 4, (2, 2)), (1, 0), 1),
    "three dimensions": ((1, 4, 3, 4, 5), 6, Window((3,) * 3, (2, 1, 2), (1,) * 6, (1,) * 3), (0,) * 3, 1),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("best", [True, False])
def test_values(run_views, view, error, random, lanes, name, best):
    shape, outputs, w, extra, groups = CASES[name]
    out = w.transposed_output(shape[2:], extra)
    x = random.standard_normal(shape).astype("float32")
    weight = (random.standard_normal((shape[1], outputs // groups, *w.kernel)) * 0.1).astype("float32")
    bias = random.standard_normal(outputs).astype("float32")
    found = conv_transpose_layouts(shape, None, weight.shape, groups, lanes) if best else None
    layouts = found or ROW_MAJOR
    operands = [view(x, "x", layouts.data), view(weight, "w", layouts.weight), view(bias, "b", layouts.bias)]
    computation = conv_transpose(*operands, w, out, groups, layouts.output)
    (y,) = run_views(computation, operands, [x, weight, bias])
    assert error(y, reference(x, weight, bias, w, out, groups)) < 1e-5


@pytest.mark.parametrize("name", ["overlapping", "gaps between", "dilation", "groups"])
def test_values_by_each_method(run_views, view, error, random, lanes, name):
    shape, outputs, w, extra, groups = CASES[name]
    out = w.transposed_output(shape[2:], extra)
    x = random.standard_normal(shape).astype("float32")
    weight = (random.standard_normal((shape[1], outputs // groups, *w.kernel)) * 0.1).astype("float32")
    bias = random.standard_normal(outputs).astype("float32")
    found = transposed_candidates(ConvolutionShapes(shape, weight.shape, w, groups), out, Machine.of("llvm"))
    assert lanes == 1 or outputs // groups % lanes or found
    for candidate in found[::3]:
        method = candidate.method
        layouts = conv_transpose_layouts(shape, None, weight.shape, groups, lanes, method.vectors)
        operands = [view(x, "x", layouts.data), view(weight, "w", layouts.weight), view(bias, "b", layouts.bias)]
        computation = conv_transpose(*operands, w, out, groups, layouts.output, method)
        (y,) = run_views(computation, operands, [x, weight, bias])
        assert error(y, reference(x, weight, bias, w, out, groups)) < 1e-5
