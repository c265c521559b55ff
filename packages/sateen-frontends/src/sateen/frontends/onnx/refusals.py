"""Standard operators that sateen lacks for a reason that does not depend on their inputs."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import DATA_DECIDES, Refusal

_RANDOM = ("random numbers are not supported", "draw them outside and make them an input of the model")
_SEQUENCES = ("sequences and optional values are not supported, only tensors", "export the model with tensors only")

REFUSALS: Mapping[str, Refusal] = {
    "Unique": DATA_DECIDES,
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
