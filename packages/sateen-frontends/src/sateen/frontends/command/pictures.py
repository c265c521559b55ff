"""Pictures as inputs of a network: in its size, order of channels and range of pixels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sateen.frontends.core.packages import imported
from sateen.graph_ir.ir import Array
from sateen.runtime import ArgumentError, Parameter
from sateen.runtime.files import open_regular

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""The formats of pictures that are read."""
PILLOW = "pip install pillow"
"""The command that installs the reader of pictures."""
NO_PILLOW = f"a picture as input needs Pillow: {PILLOW}"
BRIGHTEST = 255
"""The default value of the brightest pixel."""
_SIXTEEN_BITS = ("I;16", "I;16L", "I;16B", "I;16N")
"""Pillow's modes of pictures with 16 bits a channel."""
_SIXTEEN_TO_EIGHT = 257
"""65535 / 255, the steps of 16 bits in one of 8."""
_OPTIONS = {"--bgr": "bgr", "--mean": "mean", "--std": "std", "--range": "brightest", "--crop": "crop"}
"""Options of pictures, and the fields of `Recipe` that they give."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """(pixel - mean) / std, per channel in the order that the network takes them; one number stands for all channels.

    Pixels are 0 to `brightest`, 1 or 255; None says that they are 0 to 255, and that a mean and std which can only be
    meant for 0 to 1 are refused. `bgr`: blue comes first. With `crop` the shorter side gets this number of pixels, and
    the centre is taken; without it, the picture is stretched. Raises ArgumentError if mean and std are for another
    range than that of the pixels.
    """

    bgr: bool = False
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    brightest: int | None = None
    crop: int | None = None

    @property
    def options(self) -> list[str]:
        """The options of the command line that differ from the defaults."""
        default = Recipe()
        return [option for option, field in _OPTIONS.items() if getattr(self, field) != getattr(default, field)]

    def __post_init__(self) -> None:
        if not all(self.std):
            raise ArgumentError("--std: expected numbers other than 0")
        given = {"--mean": self.mean} if any(self.mean) else {}
        given |= {"--std": self.std} if any(number != 1 for number in self.std) else {}
        for option, numbers in given.items():
            if self.brightest is None and all(abs(number) <= 1 for number in numbers):
                raise ArgumentError(
                    f"{option} {_text(numbers)} is for pixels of 0 to 1, but they are 0 to {BRIGHTEST}; give --range 1 "
                    f"as well, or --range {BRIGHTEST} if it is meant so"
                )
            if self.brightest == 1 and any(abs(number) > 1 for number in numbers):
                raise ArgumentError(
                    f"{option} {_text(numbers)} is for pixels of 0 to {BRIGHTEST}, but --range 1 makes them 0 to 1; "
                    f"leave it out, or divide by {BRIGHTEST}"
                )


def read_picture(path: Path, parameter: Parameter, recipe: Recipe) -> Array:
    """The picture as the array that an input expects: [1, C, H, W], [1, H, W, C], or either without the 1; C is 1 or 3.

    It is resized with bilinear filtering. Raises ArgumentError if the input has another shape, if the recipe does not
    fit it, or if the file is no picture.
    """
    height, width, channels, channels_first = _extents(parameter)
    mean = _per_channel(recipe.mean, channels, "--mean")
    std = _per_channel(recipe.std, channels, "--std")
    if recipe.bgr and channels == 1:
        raise ArgumentError(f"--bgr is the order of three channels, but input {parameter} has one, grey; leave it out")
    if parameter.dtype.is_int and (mean.any() or (std != 1).any() or recipe.brightest == 1):
        raise ArgumentError(f"input {parameter} takes whole numbers; expected no --mean, no --std and no --range 1")
    picture = _open(path, channels)
    sized = _stretched(picture, width, height) if recipe.crop is None else _centre(picture, width, height, recipe.crop)
    image = np.asarray(sized).reshape(height, width, channels).astype(np.float64)
    if recipe.bgr:
        image = image[:, :, ::-1]
    image = (image * ((recipe.brightest or BRIGHTEST) / BRIGHTEST) - mean) / std
    if channels_first:
        image = image.transpose(2, 0, 1)
    shape = tuple(extent for extent in parameter.shape if isinstance(extent, int))
    return np.ascontiguousarray(image.reshape(shape).astype(parameter.dtype.numpy))


def _stretched(picture: Any, width: int, height: int) -> Any:
    return picture.resize((width, height), _pillow().Resampling.BILINEAR)


def _centre(picture: Any, width: int, height: int, side: int) -> Any:
    """The centre of a picture once its shorter side is of `side` pixels: torchvision's Resize and CenterCrop.

    Raises ArgumentError if that is smaller than the network's input.
    """
    shorter = min(picture.size)
    across, down = (side if extent == shorter else int(side * extent / shorter) for extent in picture.size)
    if across < width or down < height:
        raise ArgumentError(
            f"--crop {side}: expected at least {max(width, height)}, since the network takes {width} x {height} "
            f"pixels; the picture becomes {across} x {down}"
        )
    left, top = round((across - width) / 2), round((down - height) / 2)
    return _stretched(picture, across, down).crop((left, top, left + width, top + height))


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


def _text(numbers: tuple[float, ...]) -> str:
    return ",".join(f"{number:g}" for number in numbers)


def _open(path: Path, channels: int) -> Any:
    """The picture upright, with 8 bits per channel, and transparent parts over white.

    Only formats that Pillow reads by itself are tried: it gives others, such as PostScript, to programs that run them.
    """
    pillow = _pillow()
    try:
        with open_regular(path) as file, warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            picture = pillow.open(file, formats=FORMATS)
            is_png = picture.format == "PNG"
            upright = imported("PIL.ImageOps", NO_PILLOW).exif_transpose(picture)
            return _flat(_eight_bits(upright, is_png=is_png)).convert("RGB" if channels == 3 else "L")
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        most = pillow.MAX_IMAGE_PIXELS
        raise ArgumentError(f"{path}: expected a picture of at most {most} pixels, found a larger one") from None
    except pillow.UnidentifiedImageError:
        known = ", ".join(FORMATS)
        raise ArgumentError(f"{path}: expected arrays of NumPy or a picture ({known}), found neither") from None
    except Exception as error:  # the readers of formats raise whatever damaged data leads them to
        raise ArgumentError(f"{path}: expected arrays of NumPy or a picture: {error}") from error


def _eight_bits(picture: Any, *, is_png: bool) -> Any:
    """A picture of at most 8 bits per channel. Raises ValueError for numbers of unknown range."""
    if picture.mode in _SIXTEEN_BITS or (picture.mode == "I" and is_png):
        return _pillow().fromarray(np.round(np.asarray(picture) / _SIXTEEN_TO_EIGHT).astype(np.uint8))
    if picture.mode in ("I", "F"):
        raise ValueError(f"its pixels are numbers of 32 bits (mode {picture.mode}), which have no brightest one")
    return picture


def _flat(picture: Any) -> Any:
    """A picture without transparency: over white."""
    if not picture.has_transparency_data:
        return picture
    clear = picture.convert("RGBA")
    return _pillow().alpha_composite(_pillow().new("RGBA", clear.size, "white"), clear)


def _pillow() -> Any:
    return imported("PIL.Image", NO_PILLOW)
