"""Boxes of detectors: regions of pictures, and the suppression of boxes that overlap better ones."""

from __future__ import annotations

from math import inf

from sateen.frontends.core.channels import result_channels_last, to_channels_first
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import INT32, INT64, Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed

_FLOAT = DType.of("float32")
_MODES = {"bilinear": "linear", "nearest": "nearest"}


def _crop_and_resize(node: TensorflowNode) -> Operand:
    height, width = _pair(node.integers_at(3))
    mode = node.text("method")
    if mode not in _MODES:
        raise FrontendError(f"expected method bilinear or nearest, found {mode!r}")
    data = to_channels_first(node, node.cast(node.value(0), _FLOAT))
    op = ops.CropAndResize((height, width), _MODES[mode], node.number("extrapolation_value"))
    return result_channels_last(node, node.step(op, data, node.value(1), node.value(2)))


def _pair(sizes: tuple[int, ...]) -> tuple[int, int]:
    if len(sizes) != 2 or min(sizes) < 1:
        raise FrontendError(f"expected height and width of 1 or more, found {list(sizes)}")
    return sizes[0], sizes[1]


def _threshold(node: TensorflowNode, index: int) -> float | None:
    """A score that boxes must exceed; None: all take part."""
    found = float(node.scalar(index)) if node.has(index) else -inf
    return None if found == -inf else found


def _suppressed(node: TensorflowNode) -> tuple[Operand, ...]:
    """Indices of boxes, with zeros after the last, and their number (V4: pad_to_max_output_size). How many there are
    depends on the data; without padding it is known of the best box alone, taken that one has a score above -inf
    (non_max_suppression_op.cc)."""
    boxes, scores = node.static_shape(0), node.static_shape(1)
    if len(boxes) != 2 or boxes[1] != 4 or scores != boxes[:1]:
        raise FrontendError(f"expected boxes [N, 4] and scores [N], found {listed(boxes)} and {listed(scores)}")
    wanted, count = int(node.scalar(2)), boxes[0]
    if wanted < 1 or not count:
        raise UnsupportedError("a suppression that selects no boxes is not supported")
    most = min(wanted, count)
    overlap = node.number("iou_threshold") if node.operator == "NonMaxSuppression" else float(node.scalar(3))
    takes_one = most == 1 and _threshold(node, 4) is None
    if not node.flag("pad_to_max_output_size") and not takes_one:
        raise UnsupportedError(
            "how many boxes it selects depends on the data, while sateen compiles for known shapes",
            "end the network before it: outputs=[...], or --to NAME; or export with pad_to_max_output_size=True",
        )
    if node.operator == "NonMaxSuppressionV5" and float(node.scalar(5)) != 0:
        raise UnsupportedError("suppression by lower scores (soft_nms_sigma) is not supported", "set it to 0")
    op = ops.NonMaxSuppression(most, overlap, _threshold(node, 4))
    rows = node.step(ops.Reshape(shape=(1, count, 4)), node.value(0))
    ranks = node.step(ops.Reshape(shape=(1, 1, count)), node.value(1))
    places, number = node.steps(op, rows, ranks, count=2)
    flat = node.step(ops.Reshape(shape=(most,)), places)
    kept = node.step(ops.Maximum(), flat, node.literal(0, INT64))
    length = wanted if node.flag("pad_to_max_output_size") else most
    padded = _filled_up(node, kept, length, 0)
    indices = node.result(ops.Cast(dtype=INT32), padded)
    total = node.step(ops.Reshape(shape=()), number)
    if node.operator != "NonMaxSuppressionV5":
        return indices, node.result(ops.Cast(dtype=INT32), total, output=1)
    chosen = node.step(ops.Gather(axis=0), node.value(1), kept)
    is_box = node.step(ops.GreaterEqual(), flat, node.literal(0, INT64))
    shown = node.step(ops.Where(), is_box, chosen, node.literal(0, node.dtype(1)))
    return indices, _filled_up(node, shown, length, 0), node.result(ops.Cast(dtype=INT32), total, output=2)


def _filled_up(node: TensorflowNode, value: Value, extent: int, axis: int) -> Value:
    """A value with zeros at the end of an axis."""
    rest = extent - value.type.static_shape[axis]
    if not rest:
        return value
    pads = [0] * (2 * value.type.rank)
    pads[value.type.rank + axis] = rest
    return node.step(ops.Pad(pads=tuple(pads)), value)


def _combined(node: TensorflowNode) -> tuple[Operand, ...]:
    """The best boxes of all classes, suppressed by class: boxes, scores, classes and their number, with zeros after
    the last (combined_non_max_suppression_op.cc). Inputs: boxes [B, N, 1 or C, 4], scores [B, N, C]."""
    batch, count, owners, _ = node.static_shape(0)
    classes = node.static_shape(1)[2]
    per_class, total = int(node.scalar(2)), int(node.scalar(3))
    if owners not in (1, classes) or min(per_class, total, count, classes) < 1:
        raise FrontendError(f"expected boxes for 1 or {classes} classes, found {owners}")
    most = min(per_class, count)
    kept = min(total, per_class * classes) if node.flag("pad_per_class") else total
    boxes = node.step(ops.Transpose(permutation=(0, 2, 1, 3)), node.value(0))
    scores = node.step(ops.Transpose(permutation=(0, 2, 1)), node.value(1))
    if owners == 1:
        rows = node.step(ops.Reshape(shape=(batch, count, 4)), boxes)
        found, _ = node.steps(_suppression(node, most), rows, scores, count=2)
    else:
        rows = node.step(ops.Reshape(shape=(batch * classes, count, 4)), boxes)
        ranks = node.step(ops.Reshape(shape=(batch * classes, 1, count)), scores)
        found, _ = node.steps(_suppression(node, most), rows, ranks, count=2)
        found = node.step(ops.Reshape(shape=(batch, classes, most)), found)
    places = node.step(ops.Maximum(), found, node.literal(0, INT64))
    chosen = node.step(ops.GatherElements(axis=2), scores, places)
    is_box = node.step(ops.GreaterEqual(), found, node.literal(0, INT64))
    ranked = node.step(ops.Where(), is_box, chosen, node.literal(-inf, _FLOAT))
    flat = node.step(ops.Reshape(shape=(batch, classes * most)), ranked)
    best, order = node.steps(ops.TopK(k=min(kept, classes * most), axis=1), flat, count=2)
    is_best = node.step(ops.Greater(), best, node.literal(-inf, _FLOAT))
    owner = node.step(ops.Divide(), order, node.literal(most, INT64))
    place = node.step(ops.GatherElements(axis=1), node.step(ops.Reshape(shape=(batch, classes * most)), places), order)
    if owners > 1:
        place = node.step(ops.Add(), place, node.step(ops.Multiply(), owner, node.literal(count, INT64)))
    table = node.step(ops.Reshape(shape=(batch, owners * count, 4)), boxes)
    index = node.step(ops.Reshape(shape=(*place.type.static_shape, 1)), place)
    taken = node.step(ops.GatherND(batch_dims=1), table, index)
    if node.flag("clip_boxes"):
        taken = node.step(ops.Clip(low=0.0, high=1.0), taken)
    zero = node.literal(0, _FLOAT)
    row = node.step(ops.Reshape(shape=(*best.type.static_shape, 1)), is_best)
    results = (
        node.step(ops.Where(), row, taken, zero),
        node.step(ops.Where(), is_best, best, zero),
        node.step(ops.Where(), is_best, node.cast(owner, _FLOAT), zero),
    )
    valid = node.step(ops.ReduceSum(axes=(1,), keepdims=False), node.cast(is_best, INT32))
    return (*(_filled_up(node, value, kept, 1) for value in results), node.result(ops.Identity(), valid, output=3))


def _suppression(node: TensorflowNode, most: int) -> ops.NonMaxSuppression:
    return ops.NonMaxSuppression(most, float(node.scalar(4)), _threshold(node, 5))


BOXES: dict[str, Converter] = {
    "CombinedNonMaxSuppression": _combined,
    "CropAndResize": _crop_and_resize,
    "NonMaxSuppression": _suppressed,
    "NonMaxSuppressionV2": _suppressed,
    "NonMaxSuppressionV3": _suppressed,
    "NonMaxSuppressionV4": _suppressed,
    "NonMaxSuppressionV5": _suppressed,
}
