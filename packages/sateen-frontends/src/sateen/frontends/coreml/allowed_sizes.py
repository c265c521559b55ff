"""The sizes that a model allows for inputs that may vary: ranges, or a list of shapes (FeatureTypes.proto)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

from sateen.frontends.core.inputs import Declaration
from sateen.frontends.coreml.loading import Message
from sateen.graph_ir.ir import Dim, TensorType
from sateen.runtime.errors import FrontendError

_MOST_LISTED = 8
"""The most shapes that an error lists."""


def require_allowed(description: Message, types: Mapping[str, TensorType]) -> None:
    """Raises FrontendError if an input has a shape that its description does not allow; open dimensions are not
    judged. A vector that is a step of a sequence has other axes than its description, and is left out."""
    for feature in _inputs_of(description):
        if feature.name not in types:
            continue
        shape = types[feature.name].shape
        listed = [allowed for allowed in _listed(feature, shape) if len(allowed) == len(shape)]
        if listed and not any(_agrees(allowed, shape) for allowed in listed):
            few = " or ".join(str(list(allowed)) for allowed in dict.fromkeys(listed[:_MOST_LISTED]))
            more = f" and {len(listed) - _MOST_LISTED} more" if len(listed) > _MOST_LISTED else ""
            raise FrontendError(
                f"input {feature.name!r}: the model is made for shapes {few}{more}, found {list(shape)}"
            )
        ranges = _ranges(feature)
        for axis, (least, most) in ranges.items() if len(shape) > max(ranges, default=-1) else ():
            extent = shape[axis]
            if isinstance(extent, int) and not least <= extent <= most:
                sizes = f"{least} or more" if most == inf else f"{least} to {most}"
                raise FrontendError(
                    f"input {feature.name!r}: dimension {axis}: the model is made for {sizes}, found {extent}"
                )


def with_examples(inputs: Sequence[Declaration], description: Message) -> Sequence[Declaration]:
    """The inputs with the shapes that the description names first, which are their default ones."""
    examples = {feature.name: feature.type for feature in _inputs_of(description)}
    return [replace(given, example=_example(examples.get(given.name), given.shape or ())) for given in inputs]


def _example(type_: Message | None, shape: Sequence[Dim]) -> tuple[int, ...] | None:
    found: tuple[Dim, ...] = ()
    if type_ is not None and type_.WhichOneof("type") == "imageType":
        found = (*shape[:2], type_.imageType.height, type_.imageType.width)
    elif type_ is not None:
        found = tuple(type_.multiArrayType.shape)
    extents = tuple(extent for extent in found if isinstance(extent, int) and extent > 0)
    return extents if 0 < len(extents) == len(found) == len(shape) else None


def _inputs_of(description: Message) -> Iterable[Message]:
    """The inputs of a model, or of the one of its functions that is read."""
    functions = {function.name: function for function in description.functions}
    default = functions.get(description.defaultFunctionName or "main")
    return description.input or ([] if default is None else default.input)


def _listed(feature: Message, shape: Sequence[Dim]) -> list[tuple[Dim, ...]]:
    """The shapes of which an input has one; none if it has no list."""
    array, image = feature.type.multiArrayType, feature.type.imageType
    if array.WhichOneof("shape_flexibility") == "enumeratedShapes":
        return [tuple(one) for one in (array.shape, *(allowed.shape for allowed in array.enumeratedShapes.shapes))]
    if image.WhichOneof("size_flexibility") == "enumeratedSizes":
        return [(*shape[:2], size.height, size.width) for size in (image, *image.enumeratedSizes.sizes)]
    return []


def _agrees(allowed: Sequence[Dim], shape: Sequence[Dim]) -> bool:
    return all(
        a == extent or not isinstance(extent, int) or not isinstance(a, int)
        for a, extent in zip(allowed, shape, strict=True)
    )


def _ranges(feature: Message) -> dict[int, tuple[int, float]]:
    """The least and the most extent by axis; the most is negative if there is none."""
    array, image = feature.type.multiArrayType, feature.type.imageType
    given = {}
    if array.WhichOneof("shape_flexibility") == "shapeRange":
        given = dict(enumerate(array.shapeRange.sizeRanges))
    if image.WhichOneof("size_flexibility") == "imageSizeRange":
        given = {2: image.imageSizeRange.heightRange, 3: image.imageSizeRange.widthRange}
    return {axis: (one.lowerBound, one.upperBound if one.upperBound >= 0 else inf) for axis, one in given.items()}
