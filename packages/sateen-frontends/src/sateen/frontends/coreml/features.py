"""The features of a model: its inputs and outputs as the description declares them (mlmodel/format/FeatureTypes.proto).

A picture is float32[1, C, H, W] with pixels of 0 to 255, in the order of channels that the model declares. Sizes that
may vary are Symbols called `feature.axis`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.frontends.coreml.loading import Message
from sateen.graph_ir.ir import Dim, Symbol
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS

GRAYSCALE, RGB, BGR, GRAYSCALE_FLOAT16 = 10, 20, 30, 40
"""Values of ColorSpace."""
_CHANNELS = {GRAYSCALE: 1, RGB: 3, BGR: 3, GRAYSCALE_FLOAT16: 1}
_DTYPES = {65568: "float32", 65600: "float32", 131104: "int32", 131080: "int8", 65552: "float16"}
"""Element types by ArrayDataType. Networks compute in float32, into which Core ML converts doubles."""
_NUMBERS = {"doubleType": "float32", "int64Type": "int64"}
"""Element types of numbers by themselves."""
_LARGEST = 1 << 31


@dataclass(frozen=True, slots=True)
class Feature:
    """An input or output; `shape` is None if it is not declared. `colours` is the ColorSpace of a picture, or 0."""

    name: str
    dtype: DType
    shape: tuple[Dim, ...] | None
    colours: int = 0

    @property
    def is_picture(self) -> bool:
        return bool(self.colours)


def is_tensor(description: Message) -> bool:
    """Whether a feature is an array or a picture, not text, a number by itself, or a dictionary."""
    return description.type.WhichOneof("type") in ("multiArrayType", "imageType")


def feature_of(description: Message) -> Feature:
    """The feature of a description. Raises FrontendError unless it is an array or a picture."""
    name = description.name
    kind = description.type.WhichOneof("type")
    if kind == "imageType":
        return _picture(name, description.type.imageType)
    if kind == "multiArrayType":
        return _array(name, description.type.multiArrayType)
    found = "no type" if kind is None else kind.removesuffix("Type")
    raise FrontendError(f"feature {name!r}: expected an array or a picture, found {found}")


def array_of(description: Message) -> Feature:
    """As `feature_of`; a number by itself is an array of one."""
    kind = description.type.WhichOneof("type")
    if kind in _NUMBERS:
        return Feature(description.name, DType.of(_NUMBERS[kind]), (1,))
    return feature_of(description)


def _picture(name: str, image: Message) -> Feature:
    if image.colorSpace not in _CHANNELS:
        raise FrontendError(f"feature {name!r}: expected a picture of grey, RGB or BGR, found {image.colorSpace}")
    height, width = image.height, image.width
    allowed_heights, allowed_widths = [height], [width]
    flexibility = image.WhichOneof("size_flexibility")
    if flexibility == "enumeratedSizes":
        allowed_heights += [size.height for size in image.enumeratedSizes.sizes]
        allowed_widths += [size.width for size in image.enumeratedSizes.sizes]
    elif flexibility == "imageSizeRange":
        allowed_heights = _bounds(image.imageSizeRange.heightRange)
        allowed_widths = _bounds(image.imageSizeRange.widthRange)
    spatial = (_dimension(name, 2, allowed_heights), _dimension(name, 3, allowed_widths))
    return Feature(name, DType.of("float32"), (1, _CHANNELS[image.colorSpace], *spatial), image.colorSpace)


def _array(name: str, array: Message) -> Feature:
    if array.dataType not in _DTYPES:
        raise FrontendError(f"feature {name!r}: expected a known element type, found {array.dataType}")
    allowed = [[extent] for extent in array.shape]
    flexibility = array.WhichOneof("shape_flexibility")
    if flexibility == "enumeratedShapes":
        shapes = [list(array.shape), *(list(shape.shape) for shape in array.enumeratedShapes.shapes)]
        shapes = [shape for shape in shapes if shape]
        if len({len(shape) for shape in shapes}) > 1:
            raise FrontendError(f"feature {name!r}: expected shapes of as many dimensions, found {shapes}")
        allowed = [list(extents) for extents in zip(*shapes, strict=True)]
    elif flexibility == "shapeRange":
        allowed = [_bounds(bounds) for bounds in array.shapeRange.sizeRanges]
        if array.shape and len(array.shape) != len(allowed):
            raise FrontendError(
                f"feature {name!r}: expected ranges of its {len(array.shape)} dimensions, found {len(allowed)}"
            )
    if len(allowed) > MOST_DIMENSIONS:
        raise FrontendError(f"feature {name!r}: expected at most {MOST_DIMENSIONS} dimensions, found {len(allowed)}")
    shape = tuple(_dimension(name, axis, extents) for axis, extents in enumerate(allowed))
    return Feature(name, DType.of(_DTYPES[array.dataType]), shape or None)


def _bounds(bounds: Message) -> list[int]:
    """The least and the most of a range; the most is below the least if there is none."""
    return [bounds.lowerBound, bounds.upperBound]


def _dimension(name: str, axis: int, allowed: Sequence[int]) -> Dim:
    """The only size that is allowed, or a Symbol."""
    if len(set(allowed)) > 1 or -1 in allowed:
        return Symbol(f"{name}.{axis}")
    if not 0 < allowed[0] < _LARGEST:
        raise FrontendError(f"feature {name!r}: expected dimension {axis} of one or more elements, found {allowed[0]}")
    return int(allowed[0])
