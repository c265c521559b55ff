"""Fourier transforms against NumPy's in float64."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import FrontendError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)


def parts(x: Array) -> Array:
    return np.stack([x.real, x.imag], axis=-1)


def complex_of(x: Array) -> Array:
    return x[..., 0].astype("float64") + (1j * x[..., 1] if x.shape[-1] == 2 else 0)


@pytest.mark.parametrize("length", [7, 12, 9])
@pytest.mark.parametrize("width", [1, 2])
def test_transforms_of_any_length(run_node: Callable[..., list[Array]], width: int, length: int) -> None:
    x = RANDOM.standard_normal((2, 9, 3, width)).astype("float32")
    inputs = {"x": x, "n": np.array(length), "axis": np.array(1)}
    (found,) = run_node("DFT", inputs, bound=("n", "axis"))
    np.testing.assert_allclose(found, parts(np.fft.fft(complex_of(x), length, 1)), rtol=1e-4, atol=1e-5)
    (found,) = run_node("DFT", inputs, bound=("n", "axis"), inverse=1)
    np.testing.assert_allclose(found, parts(np.fft.ifft(complex_of(x), length, 1)), rtol=1e-4, atol=1e-5)


def test_one_side_of_a_spectrum_and_back(run_node: Callable[..., list[Array]]) -> None:
    x = RANDOM.standard_normal((10, 1)).astype("float32")
    (spectrum,) = run_node("DFT", {"x": x}, onesided=1)
    np.testing.assert_allclose(spectrum, parts(np.fft.rfft(x[:, 0])), rtol=1e-4, atol=1e-5)
    (back,) = run_node("DFT", {"x": spectrum}, onesided=1, inverse=1)
    np.testing.assert_allclose(back, x, rtol=1e-4, atol=1e-5)


def test_windows_of_a_signal(run_node: Callable[..., list[Array]]) -> None:
    x = RANDOM.standard_normal((2, 50, 1)).astype("float32")
    window = np.hanning(16).astype("float32")
    inputs = {"x": x, "step": np.array(8), "w": window}
    (found,) = run_node("STFT", inputs, bound=("step",))
    frames = np.stack([x[:, start : start + 16, 0] * window for start in range(0, 35, 8)], 1)
    np.testing.assert_allclose(found, parts(np.fft.rfft(frames.astype("float64"))), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("operator", "inputs", "bound", "text"),
    [
        (
            "DFT",
            {"x": np.zeros((4, 3), "f")},
            (),
            "expected data [..., 1 or 2] and an axis before the last, found [4, 3], 0",
        ),
        ("DFT", {"x": np.zeros((4, 1), "f"), "n": np.array(0)}, ("n",), "expected a length of at least 1, found 0"),
        ("DFT", {"x": np.zeros((1 << 14, 1), "f")}, (), "a transform of 16384 elements is too long"),
        (
            "STFT",
            {"x": np.zeros((1, 9, 1), "f"), "s": np.array(2)},
            ("s",),
            "expected a window or frame_length, found neither",
        ),
        (
            "STFT",
            {"x": np.zeros((1, 9, 3), "f"), "s": np.array(2)},
            ("s",),
            "expected a signal [batch, elements, 1 or 2], found [1, 9, 3]",
        ),
    ],
)
def test_transforms_that_make_no_sense_are_refused(
    run_node: Callable[..., list[Array]], operator: str, inputs: dict[str, Array], bound: tuple[str, ...], text: str
) -> None:
    with pytest.raises(FrontendError) as caught:
        run_node(operator, inputs, bound=bound)
    assert text in str(caught.value)
