"""Standard operators that sateen lacks for a reason that does not depend on their inputs."""

from __future__ import annotations

_DATA_DECIDES = (
    "how many elements it gives depends on the values of its inputs, while sateen compiles for known shapes",
    "end the model before this node and do what follows outside",
)
_RANDOM = ("random numbers are not supported", "draw them outside and make them an input of the model")
_SEQUENCES = ("sequences and optional values are not supported, only tensors", "export the model with tensors only")

REFUSALS: dict[str, tuple[str, str]] = {
    "Unique": _DATA_DECIDES,
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
    "ImageDecoder": ("decoding of images is not supported", "decode them outside; `sateen run` reads image files"),
    "TfIdfVectorizer": ("counting of n-grams is not supported", "do it outside of the model"),
}  # fmt: skip
"""The reason by operator, and what would help."""
