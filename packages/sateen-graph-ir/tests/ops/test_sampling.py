"""Reading between elements; the values of all modes are tested against ONNX in sateen-frontends."""

import re

import numpy as np
import pytest

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops import DeformableColumns, GridSample, RoiAlign
from sateen.runtime.errors import InferenceError

X = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype("float32")


def test_positions_on_elements_read_them(check_op):
    y, x = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 5), indexing="ij")
    grid = np.broadcast_to(np.stack([x, y], -1), (2, 4, 5, 2)).astype("float32")
    for mode in ("nearest", "cubic"):
        check_op(GridSample(mode=mode, align_corners=True), [X, grid], [X])


def test_halfway_between_elements(check_op):
    grid = np.zeros((2, 1, 1, 2), "float32")
    check_op(GridSample(), [X, grid], [X[:, :, 1:3, 2:3].mean(2, keepdims=True)])
    outside = np.full((2, 1, 1, 2), 3, "float32")
    check_op(GridSample(), [X, outside], [np.zeros((2, 3, 1, 1), "float32")])
    check_op(GridSample(padding="border"), [X, outside], [X[:, :, 3:, 4:]])


def test_a_region_of_whole_elements(check_op):
    rois, batch = np.array([[1, 0, 3, 4], [0, 0, 4, 2]], "float32"), np.array([1, 0])
    expected = np.stack(
        [X[1, :, :4, 1:3].reshape(3, 2, 2, 2).mean((2,)), X[0, :, :2, :4].reshape(3, 2, 1, 2, 2).mean((2, 4))]
    )
    check_op(RoiAlign(shape=(2, 2), samples=0), [X, rois, batch], [expected.astype("float32")])


def test_columns_of_a_kernel_that_moves(check_op):
    offset = np.zeros((2, 4, 4, 4), "float32")
    expected = np.stack([X[..., :4], X[..., 1:]], 2)[:, :, None]
    check_op(DeformableColumns((1, 2)), [X, offset], [expected])
    offset[:, 0] = 1
    expected[:, :, 0, 0] = np.pad(X[:, :, 1:, :4], ((0, 0), (0, 0), (0, 1), (0, 0)))
    mask = np.full((2, 2, 4, 4), 0.5, "float32")
    check_op(DeformableColumns((1, 2)), [X, offset, mask], [expected / 2])


@pytest.mark.parametrize(
    ("op", "shapes", "message"),
    [
        (GridSample(mode="best"), [(1, 1, 2, 2), (1, 1, 1, 2)], "expects mode of nearest, linear, cubic, found 'best'"),
        (GridSample(), [(1, 1, 2, 2), (2, 1, 1, 2)], "expects grid [1, …, 2] for data"),
        (RoiAlign(shape=(0, 1)), [(1, 1, 2, 2), (3, 4)], "expects a shape of two extents of at least 1, found [0, 1]"),
        (DeformableColumns((3, 3)), [(1, 1, 2, 2), (1, 18, 1, 1)], "a window of [3, 3] does not fit into data"),
        (DeformableColumns((1, 1)), [(1, 1, 2, 2), (1, 2, 3, 2)], "expects offset of shape [1, 2, 2, 2], found"),
        (
            DeformableColumns((1, 1), offset_groups=2),
            [(1, 3, 2, 2), (1, 4, 2, 2)],
            "3 channels can't be divided into 2",
        ),
    ],
)
def test_operands_that_do_not_fit_are_refused(op, shapes, message):
    types = [TensorType.of("float32", shape) for shape in shapes]
    if isinstance(op, RoiAlign):
        types.append(TensorType.of("int64", (3,)))
    with pytest.raises(InferenceError, match=re.escape(message)):
        op.infer(*types)
