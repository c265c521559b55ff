"""Pictures as inputs of a network: resized to what it expects, channels in its order, normalised."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sateen.graph_ir.graph import Array
from sateen.runtime import ArgumentError, Parameter


@dataclass(frozen=True, slots=True)
class Normalisation:
    """(pixel - mean) / std, per channel in the order that the network takes them; pixels are 0 to 255.

    `bgr`: blue comes first. One number stands for all channels.
    """

    bgr: bool = False
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)


def read_picture(path: Path, parameter: Parameter, normalisation: Normalisation) -> Array:
    """The picture as the array that an input expects: [1, C, H, W], [1, H, W, C], or either without the 1; C is 1 or 3.

    It is resized to H x W with bilinear filtering, whatever its own proportions. Raises ArgumentError where the input
    is not of such a shape, or the file is no picture.
    """
    height, width, channels, channels_first = _extents(parameter)
    mean = _per_channel(normalisation.mean, channels, "--mean")
    std = _per_channel(normalisation.std, channels, "--std")
    if not std.all():
        raise ArgumentError("--std: expected numbers other than 0")
    if parameter.dtype.is_int and (mean.any() or (std != 1).any()):
        raise ArgumentError(f"input {parameter} takes whole numbers; expected no --mean and --std")
    pixels = np.asarray(_open(path, channels).resize((width, height), resample=_pillow().Resampling.BILINEAR))
    image = pixels.reshape(height, width, channels).astype(np.float64)
    if normalisation.bgr:
        image = image[:, :, ::-1]
    image = (image - mean) / std
    if channels_first:
        image = image.transpose(2, 0, 1)
    shape = tuple(extent for extent in parameter.shape if isinstance(extent, int))
    return np.ascontiguousarray(image.reshape(shape).astype(parameter.dtype.numpy))


def _extents(parameter: Parameter) -> tuple[int, int, int, bool]:
    """Height, width, channels, and whether channels come before both."""
    shape = [extent for extent in parameter.shape if isinstance(extent, int)]
    if len(shape) == 4 and shape[0] == 1:
        shape = shape[1:]
    if len(shape) == 3 and shape[0] in (1, 3):
        return shape[1], shape[2], shape[0], True
    if len(shape) == 3 and shape[2] in (1, 3):
        return shape[0], shape[1], shape[2], False
    raise ArgumentError(
        f"a picture fits inputs of shape 1xCxHxW or 1xHxWxC with 1 or 3 channels; input {parameter} is of another"
    )


def _per_channel(numbers: tuple[float, ...], channels: int, option: str) -> Array:
    if len(numbers) not in (1, channels):
        raise ArgumentError(f"{option}: expected 1 number or {channels}, one per channel; found {len(numbers)}")
    return np.array(numbers)


def _open(path: Path, channels: int) -> Any:
    pillow = _pillow()
    try:
        return pillow.open(path).convert("RGB" if channels == 3 else "L")
    except (pillow.UnidentifiedImageError, pillow.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise ArgumentError(f"{path}: expected arrays of NumPy or a picture: {error}") from None


def _pillow() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise ArgumentError("a picture as input needs Pillow: pip install 'sateen-frontends[pictures]'") from None
