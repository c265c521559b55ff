"""Normalizations; the values of all shapes are tested in sateen-topi."""

import re

import numpy as np
import pytest

from sateen.graph_ir import ops
from sateen.graph_ir.ir import TensorType
from sateen.runtime.errors import InferenceError
from sateen.tensor_ir import Machine
from sateen.topi.types import Layout

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 24, 5, 6)).astype("float32")
SCALE, BIAS, MEAN, VARIANCE = (RANDOM.uniform(0.5, 2, 24).astype("float32") for _ in range(4))
BLOCKED = Layout.blocked(4, 1, 16)


def by_channel(v):
    return v.astype(np.float64).reshape(-1, 1, 1)


def standardized(x, axes):
    wide = x.astype(np.float64)
    return (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + 1e-5)


def scaled(x):
    return (x * by_channel(SCALE) + by_channel(BIAS)).astype("float32")


def test_batch(check_op):
    expected = scaled((X - by_channel(MEAN)) / np.sqrt(by_channel(VARIANCE) + 1e-5))
    check_op(ops.BatchNormalization(), [X, SCALE, BIAS, MEAN, VARIANCE], [expected], BLOCKED)


def test_instance_and_group(check_op):
    check_op(ops.InstanceNormalization(), [X, SCALE, BIAS], [scaled(standardized(X, (2, 3)))], BLOCKED)
    grouped = standardized(X.reshape(2, 4, -1), (2,)).reshape(X.shape)
    check_op(ops.GroupNormalization(4), [X, SCALE, BIAS], [scaled(grouped)])


def test_layer(check_op):
    scale, bias = RANDOM.standard_normal((5, 6)).astype("float32"), RANDOM.standard_normal(6).astype("float32")
    expected = standardized(X, (2, 3)) * scale + bias
    check_op(ops.LayerNormalization(2), [X, scale, bias], [expected.astype("float32")])


def test_by_root_mean_square(check_op):
    scale = RANDOM.standard_normal(6).astype("float32")
    expected = X / np.sqrt((X.astype(np.float64) ** 2).mean((2, 3), keepdims=True) + 1e-2)
    check_op(ops.RmsNormalization(2, 1e-2), [X, scale], [(expected * scale).astype("float32")])
    check_op(ops.RmsNormalization(2, 1e-2), [X], [expected.astype("float32")])


def test_across_channels_and_by_a_norm(check_op):
    wide = X.astype(np.float64) ** 2
    around = np.pad(wide, ((0, 0), (1, 1), (0, 0), (0, 0)))
    sums = around[:, :-2] + wide + around[:, 2:]
    check_op(ops.LRN(3, 0.3, 0.75, 2.0), [X], [(X / (2 + 0.1 * sums) ** 0.75).astype("float32")])
    check_op(ops.LpNormalization(1), [X], [X / np.linalg.norm(X, 2, 1, keepdims=True)])
    check_op(ops.LpNormalization(3, 1), [X], [X / np.abs(X).sum(3, keepdims=True)])


@pytest.mark.parametrize(
    ("op", "shapes", "message"),
    [
        (ops.InstanceNormalization(), [(1, 4, 5), (3,), (4,)], "data has 4 channels, but scale is float32[3]"),
        (ops.InstanceNormalization(), [(1, 4), (4,), (4,)], "expects data [N, C, …] of rank 3 or more, found rank 2"),
        (ops.GroupNormalization(3), [(1, 4, 5), (4,), (4,)], "4 channels can't be divided into 3 groups"),
        (ops.LayerNormalization(1), [(2, 5), (4,)], "scale float32[4] does not broadcast to data float32[2, 5]"),
        (ops.LayerNormalization(2), [(2, 5), (5,)], "expects an axis in [0, 2), found 2"),
        (ops.RmsNormalization(1), [(2, 5), (4,)], "scale float32[4] does not broadcast to data float32[2, 5]"),
        (ops.RmsNormalization(2), [(2, 5), (5,)], "expects an axis in [0, 2), found 2"),
        (ops.LpNormalization(1, 3), [(2, 5)], "expects p of 1 or 2, found 3"),
        (ops.LRN(0), [(1, 4, 5)], "expects a size of at least 1, found 0"),
        (ops.LRN(3), [(1, 4)], "expects data [N, C, …] of rank 3 or more, found rank 2"),
    ],
)
def test_operands_that_don_t_fit_are_refused(op, shapes, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        op.infer(*(TensorType.of("float32", s) for s in shapes))


@pytest.mark.parametrize(
    ("layout", "channels", "taken"),
    [("aDbc16d", 48, "aDbc16d"), ("aDbc8d", 48, None), ("aDbc16d", 40, None), ("acbd", 48, None), ("abcd", 48, None)],
)
@pytest.mark.parametrize("op", [ops.LayerNormalization(3), ops.RmsNormalization(3)])
def test_rows_of_channels_in_blocks_of_whole_vectors_are_read_there(op, layout, channels, taken):
    data, scale = TensorType.of("float32", (1, 5, 6, channels), Layout.parse(layout)), TensorType.of("float32", (1,))
    machine = Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4")
    first = next(iter(op.layouts([data, scale], [data], machine)))
    assert [given and str(given) for given in (*first.inputs, *first.outputs)] == [taken, None, None]
