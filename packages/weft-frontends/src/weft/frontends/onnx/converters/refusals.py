"""Operators that weft has not, for reasons that hold whatever their inputs."""

from __future__ import annotations

from typing import NoReturn

from weft.frontends.onnx.node import Converter, ImportedNode, UnsupportedError

_DATA_DECIDES = (
    "how many elements it gives depends on the values of its inputs, while weft compiles for known shapes",
    "end the model before this node and do what follows outside",
)
_RANDOM = ("random numbers are not supported", "draw them outside and make them an input of the model")
_SEQUENCES = ("sequences and optional values are not supported, only tensors", "export the model with tensors only")

_REASONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("NonMaxSuppression", "NonZero", "Unique"), _DATA_DECIDES),
    **dict.fromkeys(
        ("Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"), _RANDOM
    ),
    **dict.fromkeys(
        (
            "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt",
            "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
            "SplitToSequence",
        ),
        _SEQUENCES,
    ),
    "ImageDecoder": ("decoding of images is not supported", "decode them outside; `weft run` reads image files"),
    "TfIdfVectorizer": ("counting of n-grams is not supported", "do it outside of the model"),
}  # fmt: skip


def _refusal(reason: str, remedy: str) -> Converter:
    def refuse(node: ImportedNode) -> NoReturn:  # noqa: ARG001 - a converter takes the node
        raise UnsupportedError(reason, remedy)

    return refuse


REFUSALS: dict[str, Converter] = {name: _refusal(*why) for name, why in _REASONS.items()}
