"""Reading between elements; the values of all modes are tested against ONNX in sateen-frontends."""

import re

import numpy as np
import pytest

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops import CropAndResize, DeformableColumns, GridSample, PsRoiPool, RoiAlign, RoiPool
from sateen.runtime.errors import InferenceError

RANDOM = np.random.default_rng(0)
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


def cropped(data, boxes, batch, shape, mode, outside):
    result = np.full((len(boxes), data.shape[1], *shape), outside, "float32")
    for k, (y1, x1, y2, x2) in enumerate(boxes):
        for r, c in np.ndindex(*shape):
            at = [
                a * (n - 1) + p * (b - a) * (n - 1) / (count - 1) if count > 1 else (a + b) / 2 * (n - 1)
                for a, b, p, n, count in zip((y1, x1), (y2, x2), (r, c), data.shape[2:], shape, strict=True)
            ]
            if not all(0 <= p <= n - 1 for p, n in zip(at, data.shape[2:], strict=True)):
                continue
            if mode == "nearest":
                y, x = (int(np.floor(p + 0.5)) for p in at)
                result[k, :, r, c] = data[batch[k], :, y, x]
                continue
            (y, x), (v, w) = (int(np.floor(p)) for p in at), (p - np.floor(p) for p in at)
            rows = data[batch[k]][:, [y, int(np.ceil(at[0]))]][:, :, [x, int(np.ceil(at[1]))]]
            result[k, :, r, c] = (rows * np.outer([1 - v, v], [1 - w, w])).sum((1, 2))
    return result


@pytest.mark.parametrize("shape", [(4, 3), (1, 5)], ids=str)
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_boxes_resized(check_op, mode, shape):
    data = RANDOM.standard_normal((2, 3, 6, 9)).astype("float32")
    boxes = np.array([[0, 0, 1, 1], [0.21, 0.13, 0.72, 0.94], [0.93, 0.81, 0.12, 0.33], [-0.4, 0, 1.3, 1]], "float32")
    batch = np.array([0, 1, 1, 0])
    op = CropAndResize(shape, mode, extrapolation_value=7.5)
    check_op(op, [data, boxes, batch], [cropped(data, boxes, batch, shape, mode, 7.5)])


def test_maxima_of_regions(check_op):
    data = RANDOM.standard_normal((2, 3, 8, 9)).astype("float32")
    rois = np.array([[0, 0, 16, 15], [3, 2, 9.1, 7], [-6, -9, 3, 2], [40, 40, 50, 50], [5, 5, 3, 3]], "float32")
    batch, scale, (height, width) = np.array([0, 1, 0, 1, 1]), 0.5, (3, 2)
    expected = np.zeros((5, 3, height, width), "float32")
    for k, roi in enumerate(rois):
        x1, y1, x2, y2 = (np.trunc(p * scale + np.copysign(0.5, p)) for p in roi)
        sizes = (max(y2 - y1 + 1, 1) / height, max(x2 - x1 + 1, 1) / width)
        for r, c in np.ndindex(height, width):
            spans = [
                slice(int(np.clip(np.floor(p * s) + a, 0, n)), int(np.clip(np.ceil((p + 1) * s) + a, 0, n)))
                for p, s, a, n in zip((r, c), sizes, (y1, x1), (8, 9), strict=True)
            ]
            own = data[batch[k]][:, spans[0], spans[1]]
            expected[k, :, r, c] = own.max((1, 2)) if own.size else 0
    check_op(RoiPool((height, width), scale), [data, rois, batch], [expected])


@pytest.mark.parametrize(("shape", "groups"), [((2, 2), 2), ((3, 4), 2), ((2, 3), 1)], ids=str)
def test_averages_of_regions_with_channels_for_each_part(check_op, shape, groups):
    data = RANDOM.standard_normal((2, 3 * groups**2, 8, 9)).astype("float32")
    rois = np.array([[0, 0, 15, 13], [3, 2, 9.1, 7], [-6, -9, 3, 2], [40, 40, 50, 50], [5, 5, 3, 3]], "float32")
    batch, scale = np.array([0, 1, 0, 1, 1]), 0.5
    expected = np.zeros((5, 3, *shape), "float32")
    for k, roi in enumerate(rois):
        x1, y1, x2, y2 = np.trunc(roi + np.copysign(0.5, roi))
        firsts = (y1 * scale, x1 * scale)
        sizes = [max((b + 1) * scale - a, 0.1) / n for a, b, n in zip(firsts, (y2, x2), shape, strict=True)]
        for r, c in np.ndindex(*shape):
            spans = [
                slice(int(np.clip(np.floor(p * s + a), 0, n)), int(np.clip(np.ceil((p + 1) * s + a), 0, n)))
                for p, s, a, n in zip((r, c), sizes, firsts, (8, 9), strict=True)
            ]
            part = (r * groups // shape[0]) * groups + c * groups // shape[1]
            own = data[batch[k], part :: groups**2][:, spans[0], spans[1]]
            expected[k, :, r, c] = own.mean((1, 2)) if own.size else 0
    check_op(PsRoiPool(shape, groups, scale), [data, rois, batch], [expected])
    with pytest.raises(InferenceError, match="ps_roi_pool: expects channels in groups of 16, found"):
        PsRoiPool(groups=4).infer(*(TensorType.of(str(a.dtype), a.shape) for a in (data, rois, batch)))
