"""Suppression of boxes, and regions of images."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.frontends import check
from sateen.frontends.coreml.schemas import coreml_pb2 as schema

HALF, FLOAT, INT = 10, 11, 23
_BOXES = np.array([[[1, 1, 2, 2], [1.1, 1, 2, 2], [5, 5, 2, 2], [1, 1.1, 2, 2]]], np.float32)
_SCORES = np.array([[[0.1, 0.6], [0.8, 0.2], [0.3, 0.3], [0.7, 0.1]]], np.float32)


def _suppression(coreml, **parameters):
    layer = coreml.layer("NonMaximumSuppression", "boxes scores", "b s p n", iouThreshold=0.5, **parameters)
    inputs = [coreml.array("boxes", 1, 4, 4), coreml.array("scores", 1, 4, 2)]
    outputs = [coreml.array("b", 1, 4, 4), coreml.array("s", 1, 4, 2), coreml.array("p", 1, 4), coreml.array("n", 1)]
    made = coreml.model([layer], inputs, outputs, exact=True)
    return {name: data.tolist() for name, data in coreml.results(made, {"boxes": _BOXES, "scores": _SCORES}).items()}


def test_a_box_is_of_its_best_class(coreml):
    assert _suppression(coreml, maxBoxes=4)["p"] == [[1, 2, -1, -1]]
    found = _suppression(coreml, maxBoxes=4, perClassSuppression=True)
    assert (found["p"], found["n"]) == ([[1, 0, 2, -1]], [3])
    assert found["b"] == [[*_BOXES[0, [1, 0, 2]].tolist(), [0, 0, 0, 0]]]
    assert found["s"] == [[*_SCORES[0, [1, 0, 2]].tolist(), [0, 0]]]


@pytest.mark.parametrize("per_class", [True, False])
def test_the_best_box_is_left_where_all_scores_are_too_low(coreml, per_class):
    found = _suppression(coreml, maxBoxes=6, scoreThreshold=0.9, perClassSuppression=per_class)
    assert (found["p"], found["n"]) == ([[1, -1, -1, -1, -1, -1]], [1])


def test_the_last_pixel_of_a_region_is_that_of_the_image(coreml):
    """1 + (12 - 1) of an image of 13 rows is the last one, whatever the processor makes of 1 / 12."""
    image = np.arange(13 * 13, dtype=np.float32).reshape(1, 1, 13, 13)
    arguments = {"x": "x", "boxes": "boxes", "sampling_mode": coreml.value("ALIGN_CORNERS")}
    for name in ("target_height", "target_width"):
        arguments[name] = coreml.value(7, INT)
    operation = coreml.operation("crop_resize", [coreml.tensor("y", FLOAT, 1, 1, 7, 7)], **arguments)
    given = [coreml.tensor("x", FLOAT, 1, 1, 13, 13), coreml.tensor("boxes", FLOAT, 1, 4)]
    made = coreml.program([operation], given, ["y"])
    for start in range(12):
        found = coreml.results(made, {"x": image, "boxes": [[start, start, 12, 12]]})["y"]
        assert (found[0, 0, 0, 0], found[0, 0, 6, 6]) == pytest.approx((image[0, 0, start, start], 168), abs=1e-4)
    halves = coreml.program(
        [coreml.operation("crop_resize", [coreml.tensor("y", HALF, 1, 1, 7, 7)], **arguments)],
        [coreml.tensor("x", HALF, 1, 1, 13, 13), coreml.tensor("boxes", FLOAT, 1, 4)], ["y"],
    )  # fmt: skip
    assert coreml.results(halves, {"x": image, "boxes": [[0, 0, 12, 12]]})["y"][0, 0, 6, 6] == 168
    beyond = coreml.results(made, {"x": image, "boxes": [[0, 0, 12.5, 12]]})["y"]
    assert beyond[0, 0, 6].tolist() == [0] * 7


def test_a_sampling_mode_of_whole_images_is_refused(coreml):
    mode = schema.SamplingMode(samplingMethod=2)
    layer = coreml.layer("cropResize", "x r", "y", targetSize=[2, 2], mode=mode)
    inputs = [coreml.array("x", 1, 1, 1, 4, 4), coreml.array("r", 1, 1, 4, 1, 1)]
    made = coreml.model([layer], inputs, [coreml.array("y", 1, 1, 1, 2, 2)])
    assert "where sampling mode UPSAMPLE puts the positions" in check(made.SerializeToString()).gaps[0].reason
