"""Convolutions on tensor cores: what the schedule computes, by the interpreter and by an OpenCL device, and the PTX."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from sateen.runtime import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.interpret import evaluate
from sateen.topi.computations.convolution import ConvolutionShapes, conv, conv_candidates
from sateen.topi.computations.products import Warped
from sateen.topi.computations.windows import Window
from sateen.topi.types import View, compute, placeholder

SMALL = Warped(1, 1, 1, 1, 16)
CASES = {
    "plain": ((2, 16, 6, 6), (16, 16, 3, 3), Window((3, 3), (1, 1), (0, 0, 0, 0), (1, 1)), SMALL),
    "padded": ((1, 20, 7, 7), (24, 20, 3, 3), Window((3, 3), (1, 1), (1, 1, 1, 1), (1, 1)), SMALL),
    "strides": ((2, 3, 11, 9), (17, 3, 5, 3), Window((5, 3), (2, 2), (2, 1, 1, 0), (1, 1)), SMALL),
    "dilated": ((1, 32, 12, 12), (32, 32, 3, 3), Window((3, 3), (1, 1), (2, 2, 2, 2), (2, 2)), Warped(2, 1, 1, 2, 32)),
    "product": ((2, 32, 8, 8), (32, 32, 1, 1), Window((1, 1), (1, 1), (0, 0, 0, 0), (1, 1)), Warped(1, 2, 2, 1, 16)),
    "line": ((3, 16, 30), (16, 16, 5), Window((5,), (1,), (2, 2), (1,)), SMALL),
    "volume": ((1, 16, 4, 4, 4), (16, 16, 2, 2, 2), Window((2, 2, 2), (1, 1, 1), (0,) * 6, (1, 1, 1)), SMALL),
}


def relu(x: View) -> View:
    return compute(x.shape, lambda *i: te.maximum(x(*i), te.const(0, x.dtype)), "relu")


def arrays(case: str, dtype: str = "float16") -> list[np.ndarray]:
    """Data, a weight and a bias: whole numbers, whose sums are exact."""
    data, weight, _, _ = CASES[case]
    random = np.random.default_rng(5)
    return [random.integers(-2, 3, shape).astype(dtype) for shape in (data, weight, weight[:1])]


def expected(case: str) -> np.ndarray:
    given = arrays(case, "float32")
    views = [placeholder(a.shape, "float32", f"x{i}") for i, a in enumerate(given)]
    computation = conv(views[0], views[1], views[2], CASES[case][2])
    (found,) = evaluate([computation.view.tensor], {v.tensor: a for v, a in zip(views, given, strict=True)})
    return np.asarray(found)


def on_warps(case: str) -> Any:
    *_, window, method = CASES[case]
    return lambda x, w, b: conv(x, w, b, window, method=method)


@pytest.mark.parametrize("case", CASES)
def test_convolutions_of_any_window(interpreted: Any, case: str) -> None:
    (found,) = interpreted(on_warps(case), *arrays(case))
    np.testing.assert_array_equal(found.astype(np.float32), expected(case))


def test_an_epilogue_is_computed_on_tiles_of_sums(interpreted: Any) -> None:
    (found,) = interpreted(on_warps("plain"), *arrays("plain"), epilogue=relu)
    np.testing.assert_array_equal(found.astype(np.float32), np.maximum(expected("plain"), 0))


def test_a_device_without_the_instructions_computes_the_same_by_loops(on_device: Any) -> None:
    (found,) = on_device(on_warps("padded"), *arrays("padded"))
    np.testing.assert_array_equal(found.astype(np.float32), expected("padded"))


SHAPES = ConvolutionShapes(
    (8, 64, 28, 28), (64, 64, 3, 3), Window((3, 3), (1, 1), (1, 1, 1, 1), (1, 1)), dtype=DType.of("float16")
)


def test_large_convolutions_are_on_tensor_cores_where_a_device_has_them() -> None:
    assert isinstance(conv_candidates(SHAPES, Machine.of("cuda -mcpu=sm_80"))[0].method, Warped)
    for target in ("cuda-c -mcpu=sm_80", "opencl"):
        assert not any(isinstance(c.method, Warped) for c in conv_candidates(SHAPES, Machine.of(target)))


def test_convolutions_in_groups_have_tiles_of_threads() -> None:
    grouped = ConvolutionShapes(SHAPES.data, (64, 16, 3, 3), SHAPES.window, 4, SHAPES.dtype)
    assert not any(isinstance(c.method, Warped) for c in conv_candidates(grouped, Machine.of("cuda -mcpu=sm_80")))


def test_a_thread_waits_for_many_elements_at_once(ptx: Any) -> None:
    method = Warped(2, 2, 2, 2, 32)
    window = SHAPES.window
    source = ptx(lambda x, w: conv(x, w, None, window, method=method), SHAPES.data, SHAPES.weight, dtype="float16")
    body = source[source.index("$L__BB0_1:") : source.index("wmma.load")]
    assert len(re.findall(r"ld\.global", body)) == 32
    assert len(re.findall(r"bra", body[body.index("ld.global") :])) == 0
    assert source.count("wmma.mma.sync") == 8
    assert source.count("st.global.v2") == 8  # four elements of 16 bits, which divide rows of 28
