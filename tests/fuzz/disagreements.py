"""Where a judge leaves the standard: operator and condition, and the clause that decides.

onnxruntime is asked first, then the evaluator of the onnx package ("reference"). A node and its data to which an entry
applies is not judged by that judge; where both are wrong, it is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import NodeProto

Array = np.ndarray[Any, Any]
Condition = Callable[[NodeProto, Sequence[Array | None]], bool]
RUNTIME, REFERENCE = "onnxruntime", "reference"


@dataclass(frozen=True, slots=True)
class Disagreement:
    judge: str
    operators: tuple[str, ...]
    condition: Condition
    clause: str
    """What the standard says, and what the judge does."""
    before: int | None = None
    """Operator sets before this one, where not all."""


def _text(node: NodeProto, name: str) -> str:
    return next((a.s.decode() for a in node.attribute if a.name == name), "")


def _number(node: NodeProto, name: str, default: int = 0) -> int:
    return next((a.i for a in node.attribute if a.name == name), default)


def _has_fractions(array: Array | None) -> bool:
    return array is not None and array.dtype.kind == "f" and bool(np.any(array != np.trunc(array)))


def _has_nan(array: Array | None) -> bool:
    return array is not None and array.dtype.kind == "f" and bool(np.isnan(array).any())


def _all_finite(inputs: Sequence[Array | None]) -> bool:
    return all(a is None or a.dtype.kind != "f" or bool(np.isfinite(a).all()) for a in inputs)


def _squares_overflow(array: Array | None) -> bool:
    """Whether the sum of the squares of integers leaves their type."""
    if array is None or array.dtype.kind not in "iu":
        return False
    return float(np.sum(array.astype(np.float64) ** 2)) > np.iinfo(array.dtype).max


def _products_leave_float64(inputs: Sequence[Array | None]) -> bool:
    """Whether A·B + C of integers may leave the range in which float64 has every one."""
    a, b, *c = (0.0 if x is None or not x.size else float(np.abs(x.astype(np.float64)).max()) for x in inputs)
    is_int = inputs[0] is not None and inputs[0].dtype.kind in "iu"
    return is_int and inputs[0] is not None and a * b * max(inputs[0].shape, default=1) + sum(c) > 2**53


def _numbers(node: NodeProto, name: str) -> tuple[int, ...]:
    return next((tuple(a.ints) for a in node.attribute if a.name == name), ())


REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip

DISAGREEMENTS: tuple[Disagreement, ...] = (
    Disagreement(
        RUNTIME,
        ("LRN",),
        lambda node, inputs: inputs[0] is not None and not bool(np.all(np.abs(inputs[0]) <= 100)),
        "square_sum is the sum over the channels of the window; onnxruntime takes what leaves the window off a "
        "running sum, which loses what is small beside it and keeps NaN and infinities",
    ),
    Disagreement(
        REFERENCE,
        ("LRN",),
        lambda node, inputs: inputs[0] is not None and inputs[0].shape[0] != inputs[0].shape[1],
        "square_sum is of each channel; the evaluator computes as many channels as the batch has items",
    ),
    Disagreement(
        REFERENCE,
        ("Gemm",),
        lambda node, inputs: _products_leave_float64(inputs),
        "Y = alpha * A' * B' + beta * C in the type of A, exactly where alpha and beta are 1; the evaluator multiplies "
        "integers by them in float64",
    ),
    Disagreement(
        REFERENCE,
        ("LpNormalization",),
        lambda node, inputs: (
            _number(node, "p", 2) == 1 and inputs[0] is not None and bool(np.any(inputs[0].astype(np.float64) < 0))
        ),
        "the norm of p 1 is the sum of the magnitudes; the evaluator adds numbers with their signs",
    ),
    Disagreement(
        REFERENCE,
        ("BatchNormalization",),
        lambda node, inputs: True,
        "of its one output, mean and var are the estimated statistics; the evaluator blends those of the data in",
        before=14,
    ),
    Disagreement(
        RUNTIME,
        ("BatchNormalization",),
        lambda node, inputs: not _all_finite(inputs),
        "Y = (X - input_mean) / sqrt(input_var + epsilon) * scale + B; onnxruntime multiplies out, and "
        "infinities cancel",
    ),
    Disagreement(
        REFERENCE,
        ("LSTM", "GRU", "RNN"),
        lambda node, inputs: (
            any(a.name == "clip" for a in node.attribute) or (len(inputs) > 4 and inputs[4] is not None)
        ),
        "clip bounds what enters the activations, sequence_lens the steps of each sequence; the evaluator ignores both",
    ),
    *(
        Disagreement(
            judge,
            ("LSTM", "GRU", "RNN"),
            lambda node, inputs: not _all_finite(inputs),
            "Ht-1*(R^T) is NaN where a state of 0 meets an infinity or NaN (IEEE 754); both judges leave out "
            "what is times 0",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    *(
        Disagreement(
            judge,
            ("DFT", "STFT"),
            lambda node, inputs: not _all_finite(inputs),
            "a sum over all products with cosines and sines: NaN where an infinity meets a 0 of these; a fast "
            "transform meets fewer of them",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    Disagreement(
        REFERENCE,
        ("LogSoftmax",),
        lambda node, inputs: inputs[0] is not None and float(np.max(np.abs(inputs[0]), initial=0.0)) > 40,
        "log(softmax(x)) is a number however small the softmax is; the evaluator's is -inf where that is 0",
    ),
    Disagreement(
        REFERENCE,
        ("ConvTranspose",),
        lambda node, inputs: _number(node, "group", 1) > 1 and len(inputs) > 2,
        "B is a bias for each feature map; the evaluator adds that of the first group to all groups",
    ),
    *(
        Disagreement(
            judge,
            ("ConvTranspose",),
            lambda node, inputs: not _all_finite(inputs[1:2]),
            "nothing says whether there are zeros around the data: an infinite weight meets them here, which is NaN",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    Disagreement(
        REFERENCE,
        ("OneHot",),
        lambda node, inputs: len(inputs) > 2 and inputs[2] is not None and inputs[2].dtype.kind in "fV",
        "elements are on_value or off_value; the evaluator adds off_value to their difference, which rounds",
    ),
    Disagreement(
        REFERENCE,
        ("RoiAlign",),
        lambda node, inputs: True,
        "before half_pixel was there, positions were not moved by half an element; the evaluator moves them",
        before=16,
    ),
    *(
        Disagreement(
            judge,
            ("RoiAlign",),
            lambda node, inputs: _text(node, "mode") == "max" and not _all_finite(inputs),
            "nothing says what the maximum is of contributions of which one is NaN, as that of an infinity that counts "
            "0 is: it is NaN here, both judges may leave it out",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    Disagreement(
        REFERENCE,
        ("MaxPool",),
        lambda node, inputs: (
            _number(node, "ceil_mode") == 1
            or _text(node, "auto_pad").startswith("SAME")
            or len(set(_numbers(node, "pads"))) > 1
            or len(node.output) > 1
        ),
        "pads are [x1_begin, x2_begin, ..., x1_end, x2_end, ...], a window begins in the data or first pads, and an "
        "index is that into the whole input; the evaluator takes pads by pairs, adds windows and counts in a part",
    ),
    *(
        Disagreement(
            judge,
            ("ReduceL2",),
            lambda node, inputs: _squares_overflow(inputs[0]),
            "nothing says what a sum of squares is that its type of integers can't hold: it wraps here, as in the "
            "evaluator, whose root of a negative sum is no integer; onnxruntime gives the largest integer",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    *(
        Disagreement(
            judge,
            ("Gelu", "HardSwish"),
            lambda node, inputs: inputs[0] is not None and inputs[0].dtype == np.float64,
            "numbers as 1/6, 0.044715 and erf are those of the formula; in double, both judges take them as floats",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    *(
        Disagreement(
            judge,
            ("MaxPool", "GlobalMaxPool"),
            lambda node, inputs: _has_nan(inputs[0]),
            "nothing says what the maximum of a window with a NaN is: it is NaN here, onnxruntime leaves NaN out",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    Disagreement(
        REFERENCE,
        ("AveragePool",),
        lambda node, inputs: _number(node, "ceil_mode") == 1,
        "padding counts, what a last window has beyond it does not, and windows begin at the first pad; the evaluator "
        "moves windows by what the last one lacks",
    ),
    Disagreement(
        REFERENCE,
        ("GlobalMaxPool",),
        lambda node, inputs: inputs[0] is not None and inputs[0].ndim != 4,
        "the output has the rank of the input; the evaluator drops an axis",
    ),
    Disagreement(
        REFERENCE,
        ("Erf",),
        lambda node, inputs: inputs[0] is not None and inputs[0].dtype == np.float64,
        "Erf of double gives a double; the evaluator's is that of float",
    ),
    Disagreement(
        RUNTIME,
        REDUCTIONS,
        lambda node, inputs: inputs[0] is not None and not inputs[0].size,
        "a reduced axis has extent 1 with keepdims, also over an empty set of values; onnxruntime keeps extent 0 where "
        "the data have one axis",
    ),
    *(
        Disagreement(
            judge,
            ("AveragePool", "LpPool", "MaxPool"),
            lambda node, inputs: (
                _text(node, "auto_pad").startswith("SAME") and any(d > 1 for d in _numbers(node, "dilations"))
            ),
            "auto_pad SAME_UPPER and SAME_LOWER: output_shape[i] = ceil(input_shape[i] / strides[i]); both judges pad "
            "as if the kernel were not dilated",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    Disagreement(
        REFERENCE,
        ("AveragePool", "LpPool"),
        lambda node, inputs: _has_nan(inputs[0]),
        "an average or a norm of numbers of which one is NaN is NaN (IEEE 754); the evaluator takes NaN for padding, "
        "which it leaves out",
    ),
    *(
        Disagreement(
            judge,
            ("OneHot",),
            lambda node, inputs: _has_fractions(inputs[0]),
            "in case 'indices' is of non-integer type, the values will be casted to int64 before use; both judges "
            "compare them as they are",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    *(
        Disagreement(
            judge,
            ("Resize",),
            lambda node, inputs: _text(node, "mode") in {"linear", "cubic"} and not _all_finite(inputs),
            "nothing says whether an element that counts 0 is added: an infinity is not here, along an axis that keeps "
            "its extent",
        )
        for judge in (RUNTIME, REFERENCE)
    ),
    Disagreement(
        REFERENCE,
        ("Resize",),
        lambda node, inputs: _text(node, "coordinate_transformation_mode") == "pytorch_half_pixel",
        "x_original = length_resized > 1 ? (x_resized + 0.5) / scale - 0.5 : 0; the evaluator takes -0.5 for 0",
    ),
    Disagreement(
        RUNTIME,
        ("GridSample",),
        lambda node, inputs: _text(node, "mode") in {"cubic", "bicubic"} and _text(node, "padding_mode") == "border",
        "padding_mode border: border values for out-of-bound grid locations, of each axis as in the evaluator of onnx; "
        "onnxruntime moves both coordinates to the border where one of them is out of bounds",
    ),
)


def misjudges(judge: str, node: NodeProto, inputs: Sequence[Array | None], opset: int) -> bool:
    """Whether an entry says that the judge is wrong about the node."""
    return any(
        d.judge == judge
        and node.op_type in d.operators
        and (d.before is None or opset < d.before)
        and d.condition(node, inputs)
        for d in DISAGREEMENTS
    )
