"""Features of sound: spectra and cepstra, as products with constant matrices.

Sources: spectrogram.cc, mfcc.cc, mfcc_dct.cc and mfcc_mel_filterbank.cc of tensorflow/core/kernels.
"""

from __future__ import annotations

from math import inf

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed

_LARGEST_MATRIX = 1 << 24
"""The most elements of a transform's matrix; more are work for a fast transform, which sateen does not have."""
_LEAST_POWER = 1e-12
"""The least power of a band whose logarithm is taken (mfcc.cc, kFilterbankFloor)."""


def _spectrogram(node: TensorflowNode) -> Operand:
    """Magnitudes of the spectra of windows of sound [samples, channels]: [channels, windows, bins].

    Windows are Hann's, of a period of their length, and filled up with zeros to a power of two.
    """
    samples, _ = _audio(node)
    width, stride = node.integer("window_size"), node.integer("stride")
    if width < 2 or stride < 1:
        raise FrontendError(f"expected a window_size of 2 or more and a stride of 1 or more, found {width}, {stride}")
    length = 1 << (width - 1).bit_length()
    bins, windows = length // 2 + 1, (samples - width) // stride + 1
    if max(2 * width * bins, windows * width) > _LARGEST_MATRIX or windows < 1:
        raise UnsupportedError(f"a transform of {width} samples out of {samples} is not supported")
    data = node.step(ops.Transpose(permutation=(1, 0)), node.value(0))
    places = np.arange(windows)[:, None] * stride + np.arange(width)
    cut = node.step(ops.Gather(axis=1), data, node.parameter(places, "places"))
    waves = _waves(width, length, bins)
    parts = [node.step(ops.MatMul(), cut, node.parameter(wave, "wave")) for wave in waves]
    squares = [node.step(ops.Multiply(), part, part) for part in parts]
    if node.flag("magnitude_squared"):
        return node.result(ops.Add(), *squares)
    return node.result(ops.Sqrt(), node.step(ops.Add(), *squares))


def _audio(node: TensorflowNode) -> tuple[int, int]:
    shape = node.static_shape(0)
    if len(shape) != 2:
        raise FrontendError(f"expected sound [samples, channels], found {listed(shape)}")
    return shape[0], shape[1]


def _waves(width: int, length: int, bins: int) -> tuple[Array, Array]:
    """Cosines and sines of each bin under the window, [width, bins]."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)
    angle = 2 * np.pi / length * (np.arange(width)[:, None] * np.arange(bins) % length)
    return (window[:, None] * np.cos(angle)).astype(np.float32), (window[:, None] * np.sin(angle)).astype(np.float32)


def _cepstrum(node: TensorflowNode) -> Operand:
    """Cosine transforms of the logarithms of bands of squared spectra [channels, windows, bins]."""
    *_, bins = node.static_shape(0)
    rate = float(node.scalar(1))
    channels, coefficients = node.integer("filterbank_channel_count"), node.integer("dct_coefficient_count")
    low, high = node.number("lower_frequency_limit"), node.number("upper_frequency_limit")
    if bins * channels > _LARGEST_MATRIX:
        raise UnsupportedError(f"{channels} bands of {bins} bins are not supported")
    if bins < 2 or not 0 < rate < inf or not 0 < coefficients <= channels <= bins or not 0 <= low < high:
        raise FrontendError(
            f"expected 2 bins or more, a rate above 0, and limits and counts in order, found {bins}, {rate}, "
            f"{low} to {high}, {coefficients} of {channels}"
        )
    magnitude = node.step(ops.Sqrt(), node.value(0))
    filters = _mel_filters(bins, rate, channels, low, high).astype(np.float32)
    bands = node.step(ops.MatMul(), magnitude, node.parameter(filters, "filters"))
    logarithm = node.step(ops.Log(), node.step(ops.Clip(low=_LEAST_POWER, high=None), bands))
    order = np.arange(coefficients) * (np.arange(channels)[:, None] + 0.5)
    cosines = (np.sqrt(2 / channels) * np.cos(np.pi / channels * order)).astype(np.float32)
    return node.result(ops.MatMul(), logarithm, node.parameter(cosines, "cosines"))


def _mel_filters(bins: int, rate: float, channels: int, low: float, high: float) -> Array:
    """Triangular filters, evenly spaced on the mel scale, [bins, channels]; the lowest bin does not take part."""
    width = 0.5 * rate / (bins - 1)
    mel = 1127 * np.log1p(np.arange(bins) * width / 700)
    least, most = (1127 * np.log1p(limit / 700) for limit in (low, high))
    centres = least + (most - least) / (channels + 1) * np.arange(1, channels + 2)
    edges = np.concatenate([[least], centres])
    filters = np.zeros((bins, channels))
    for place in range(int(1.5 + low / width), min(int(high / width), bins - 1) + 1):
        band = int(np.searchsorted(centres[:channels], mel[place], "left"))  # centres below this place
        falling = (centres[band] - mel[place]) / (edges[band + 1] - edges[band])
        if band > 0:
            filters[place, band - 1] = falling
        if band < channels:
            filters[place, band] = 1 - falling
    return filters


AUDIO: dict[str, Converter] = {"AudioSpectrogram": _spectrogram, "Mfcc": _cepstrum}
