"""A hybrid script: of the boxes that a detector finds, those that overlap no box with a better score."""

from typing import Any

import numpy as np

from sateen.tensor_ir import build, hybrid, lower, te

COUNT, MOST = 200, 0.5


@hybrid.script
def shared_area(boxes: Any, i: Any, k: Any) -> Any:
    """The area that two boxes, given as (left, top, right, bottom), have in common."""
    width = min(boxes[i, 2], boxes[k, 2]) - max(boxes[i, 0], boxes[k, 0])
    height = min(boxes[i, 3], boxes[k, 3]) - max(boxes[i, 1], boxes[k, 1])
    return max(width, 0.0) * max(height, 0.0)


@hybrid.script
def area(boxes: Any, i: Any) -> Any:
    return (boxes[i, 2] - boxes[i, 0]) * (boxes[i, 3] - boxes[i, 1])


@hybrid.script
def best_boxes(boxes: Any, most: float) -> Any:
    """Whether each box is kept, and how many are. Boxes come in the order of their scores, the best first."""
    is_kept = hybrid.output_tensor((boxes.shape[0],), "bool")
    number = hybrid.output_tensor((1,), "int32")
    number[0] = 0
    for i in range(boxes.shape[0]):
        seems_new = True
        k = 0
        while seems_new and k < i:
            if is_kept[k]:
                common = shared_area(boxes, i, k)
                seems_new = common <= most * (area(boxes, i) + area(boxes, k) - common)
            k += 1
        is_kept[i] = seems_new
        if seems_new:
            number[0] += 1
    return is_kept, number


def main() -> None:
    n = te.var("n")
    boxes = te.placeholder((n, 4), name="boxes")
    is_kept, number = best_boxes(boxes, MOST)
    s = te.create_schedule([is_kept, number])
    print(lower(s, [boxes, is_kept, number]))

    f = build(s, [boxes, is_kept, number], name="best_boxes")
    corners = np.random.default_rng(0).integers(0, 64, (COUNT, 2))
    data = np.concatenate([corners, corners + 16], axis=1).astype("float32")
    found, count = np.zeros(COUNT, "bool"), np.zeros(1, "int32")
    f(data, found, count)
    by_python, count_by_python = best_boxes(data, MOST)  # the same function, executed by Python
    assert np.array_equal(found, by_python)
    assert np.array_equal(count, count_by_python)
    print(f"{count[0]} of {COUNT} boxes overlap no better one by half")


if __name__ == "__main__":
    main()
