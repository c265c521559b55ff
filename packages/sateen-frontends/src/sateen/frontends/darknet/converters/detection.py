"""Layers of detectors: they activate parts of each box's numbers, which stay where they are.

The result is [N, boxes · numbers, H, W]: for each box x, y, width, height, objectness and classes, each a plane. Widths
and heights are the logarithms of factors of the anchors; decoding follows outside (get_yolo_detections).
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.darknet.activations import FLOAT
from sateen.frontends.darknet.node import Converter, DarknetNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Add, Concat, Multiply, Reshape, Sigmoid, Softmax, Split
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

Part = tuple[int, Sequence[Operator | float]]
"""A number of a box's planes, and what happens to them: an operator, or a spread around 1/2 by a factor."""


def _yolo(node: DarknetNode) -> Operand:
    """x and y are spread by `scale_x_y`. With `new_coords` the layer before has activated all (yolo_layer.c)."""
    section = node.section
    boxes = len(section.integers("mask")) or section.integer("num", 1)
    classes, scale = section.integer("classes", 20), section.number("scale_x_y", 1)
    if section.flag("new_coords"):
        return _parts(node, boxes, [(2, [scale]), (3 + classes, [])])
    return _parts(node, boxes, [(2, [Sigmoid(), scale]), (2, []), (1 + classes, [Sigmoid()])])


def _gaussian_yolo(node: DarknetNode) -> Operand:
    """Each coordinate is followed by its uncertainty (gaussian_yolo_layer.c)."""
    section = node.section
    boxes = len(section.integers("mask")) or section.integer("num", 1)
    classes, scale = section.integer("classes", 20), section.number("scale_x_y", 1)
    place: list[Part] = [(1, [Sigmoid(), scale]), (1, [Sigmoid()])]
    extent: list[Part] = [(1, []), (1, [Sigmoid()])]
    return _parts(node, boxes, [*place, *place, *extent, *extent, (1 + classes, [Sigmoid()])])


def _region(node: DarknetNode) -> Operand:
    """Classes compete with `softmax` (pjreddie/darknet, region_layer.c; AlexeyAB's turns the planes into rows)."""
    section = node.section
    if section.text("tree"):
        raise UnsupportedError("trees of classes are not read", "end the network before it")
    section.require_zero({"background": "classes for the background are not supported"})
    classes, coords = section.integer("classes", 20), section.integer("coords", 4)
    rest: list[Part] = [(coords - 2, [])] if coords > 2 else []
    competing: Operator = Softmax(axis=2) if section.flag("softmax") else Sigmoid()
    return _parts(node, section.integer("num", 1), [(2, [Sigmoid()]), *rest, (1, [Sigmoid()]), (classes, [competing])])


def _parts(node: DarknetNode, boxes: int, parts: Sequence[Part]) -> Operand:
    """Planes of each box by parts, each of them activated."""
    data = node.picture()
    batch, channels, *spatial = data.type.shape
    (count,) = static_extents((channels,), "the channels")
    sizes = tuple(size for size, _ in parts)
    if boxes < 1 or min(sizes) < 1 or boxes * sum(sizes) != count:
        raise FrontendError(f"expected {boxes} x {sum(sizes)} channels for these boxes and classes, found {count}")
    by_box = node.step(Reshape((batch, boxes, sum(sizes), *spatial)), data)
    values = node.steps(Split(2, sizes), by_box, count=len(sizes))
    made = [_activated(node, value, steps) for value, (_, steps) in zip(values, parts, strict=True)]
    return node.result(Reshape(data.type.shape), node.step(Concat(2), *made))


def _activated(node: DarknetNode, value: Value, steps: Sequence[Operator | float]) -> Value:
    for step in steps:
        if isinstance(step, Operator):
            value = node.step(step, value)
        elif step != 1:
            scaled = node.step(Multiply(), value, node.literal(step, FLOAT))
            value = node.step(Add(), scaled, node.literal(-0.5 * (step - 1), FLOAT))
    return value


def _detection(node: DarknetNode) -> Operand:
    """The numbers as they are (detection_layer.c)."""
    node.section.require_zero({"softmax": "softmax of the classes of a detection layer is not supported"})
    return node.operand(0)


def _iseg(node: DarknetNode) -> Operand:
    """Classes of each place, and numbers that tell instances apart (pjreddie/darknet, iseg_layer.c)."""
    classes, numbers = node.section.integer("classes", 20), node.section.integer("ids", 32)
    rest: list[Part] = [(numbers, [])] if numbers else []
    return _parts(node, 1, [(classes, [Sigmoid()]), *rest])


DETECTION: dict[str, Converter] = {
    "Gaussian_yolo": _gaussian_yolo,
    "detection": _detection,
    "iseg": _iseg,
    "region": _region,
    "yolo": _yolo,
}
