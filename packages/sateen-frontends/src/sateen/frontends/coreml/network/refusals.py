"""Kinds of layers that can't be compiled: why, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import BEGIN, BRING, END, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.network.converters import CONVERTERS

_RANDOM = ("its numbers are drawn at random, by a generator that the format does not define", "make them an input")
_CONTROL = (
    "branches and loops of networks overwrite blobs, which is not supported",
    "convert the model to an ML program, or " + END,
)

REFUSALS: Mapping[str, Refusal] = {
    "none": ("the layer has no parameters of a known kind", "it may be of a newer version of the specification"),
    "branch": _CONTROL,
    "categoricalDistribution": _RANDOM,
    "custom": (
        "a custom layer is code of the application, which is not in the file",
        f"{BRING}, or make the layer of known ones",
    ),
    "loop": _CONTROL,
    "loopBreak": _CONTROL,
    "loopContinue": _CONTROL,
    "randomBernoulliDynamic": _RANDOM,
    "randomBernoulliLike": _RANDOM,
    "randomBernoulliStatic": _RANDOM,
    "randomNormalDynamic": _RANDOM,
    "randomNormalLike": _RANDOM,
    "randomNormalStatic": _RANDOM,
    "randomUniformDynamic": _RANDOM,
    "randomUniformLike": _RANDOM,
    "randomUniformStatic": _RANDOM,
    "whereNonZero": (
        "the number of places is known only at run time",
        END,
    ),
}


def refusal_of(kind: str) -> UnsupportedError:
    """The refusal of a layer that no converter takes."""
    return refusal_by(REFUSALS, kind, CONVERTERS, "layer", f"{END}; or {BEGIN}")
