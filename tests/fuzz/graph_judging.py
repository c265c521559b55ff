"""Random graphs: compiled and run, and what they give judged element by element.

A number is right where it is as near to what nodes computed in float64 give as onnxruntime is, or as rounding alone may
explain: random factors of a unit in the last place on every number show how far that leads, for each element. Whole
numbers and the places of NaN and infinities are the same, except where such factors change them: they jump, so there
the factors are as large as the errors that are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from graph_evaluation import Noise, Scope, is_float, judged, rounded, unit_of
from guarded_memory import guarded
from node_evaluation import Array, NoAnswerError
from onnx import ModelProto

from sateen.frontends import from_onnx
from sateen.graph_ir.compile import build
from sateen.graph_ir.passes import MOST_LOSS
from sateen.runtime import Target, load
from sateen.runtime.errors import FrontendError, SateenError
from sateen.tensor_ir import ObjectCache

TARGETS = ("llvm", "llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2")
FEW_UNITS = 32
"""Units in the last place that an element may be off in any case: functions are not correctly rounded."""
FACTOR = 16
"""How much further off than with small noise an element may be: few samples don't show the most that may be, nor do
they show the rounding of sums within a node. What jumps, as a conversion to integers does, is sure where noise so much
larger changes nothing."""
SMALL = tuple(Noise(seed) for seed in range(4))
LARGE = tuple(Noise(seed, FACTOR, sign) for seed in range(2) for sign in (1, -1))
MOST_OPEN = 0.5
"""Of the elements of an output, those that rounding decides."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What sateen makes of a graph: `kind` is run, refused (by the frontend) or fault."""

    kind: str
    text: str = ""
    outputs: Scope = field(default_factory=dict)
    loss: float = 0.0
    """What its numerics may lose in a convolution."""


class GraphCompiler:
    """Reads, compiles and runs models, keeping object code."""

    def __init__(self, cache: Path) -> None:
        self._cache = ObjectCache(cache)
        self._targets = [t for t in TARGETS if not Target.host().missing_features(Target.of(t))]

    def run(self, model: bytes, inputs: Mapping[str, Array], choice: int) -> Compiled:
        """The outputs of a model, with the target and numerics that `choice` draws."""
        target = self._targets[choice % len(self._targets)]
        try:
            graph, parameters = from_onnx(model)
        except FrontendError as error:
            return Compiled("refused", error.report())
        is_strict = choice // len(self._targets) % 2 or _has_odd_numbers(inputs) or _has_odd_numbers(parameters)
        numerics = "strict" if is_strict else "default"
        try:
            artifact = build(graph, target, params=parameters, numerics=numerics, cache=self._cache)
            given = {value.name: guarded(inputs[value.name], at_end=True) for value in graph.inputs}
            results = load(artifact, threads=1).run(given)
        except SateenError as error:
            return Compiled("fault", f"{target}, {numerics}: {type(error).__name__}: {error.report()}")
        outputs = {name: np.array(a.numpy()) for name, a in results.items()}
        return Compiled("run", f"{target}, {numerics}", outputs, MOST_LOSS if numerics == "default" else 0.0)


def _has_odd_numbers(inputs: Mapping[str, Array]) -> bool:
    """Whether there are NaN or infinities, which default numerics take to neighbours."""
    return any(is_float(a.dtype) and not np.isfinite(a.astype(np.float64)).all() for a in inputs.values())


def graph_verdict(model: bytes, inputs: Scope, found: Scope, loss: float) -> tuple[str, str]:
    """("right", why), ("wrong", how), ("open", why) where rounding decides most, ("unjudged", why)."""
    proto = ModelProto.FromString(model)
    try:
        values = judged(proto, inputs)
    except NoAnswerError as error:
        return "unjudged", str(error)
    names = [output.name for output in proto.graph.output]
    if not any(_apart(found[name], values[name]) for name in names):
        return "right", "the judges' numbers"
    if wrong := _wrong_types(found, values, names):
        return "wrong", wrong
    try:
        exact = rounded(proto, inputs, values, None)
        small, large = ([rounded(proto, inputs, values, noise, loss) for noise in noises] for noises in (SMALL, LARGE))
    except NoAnswerError as error:
        return "unjudged", str(error)
    shares = []
    for name in names:
        judges = [exact[name], values[name], *(sample[name] for sample in small)]
        wrong_places, open_places = _places(found[name], judges, [sample[name] for sample in large])
        if wrong_places.any():
            return "wrong", _told(name, wrong_places, found[name], exact[name], values[name])
        shares.append(open_places.mean() if open_places.size else 0.0)
    most = max(shares)
    return ("open", f"rounding decides {most:.0%} of an output") if most > MOST_OPEN else ("right", "rounding")


def _wrong_types(found: Scope, values: Scope, names: Sequence[str]) -> str:
    for name in names:
        ours, theirs = found[name], values[name]
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            return f"{name}: {theirs.dtype}{list(theirs.shape)} expected, found {ours.dtype}{list(ours.shape)}"
    return ""


def _apart(ours: Array, theirs: Array) -> bool:
    """Whether arrays differ by more than few units of each element."""
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        return True
    if not is_float(ours.dtype):
        return not np.array_equal(ours, theirs)
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= 4 * unit_of(ours.dtype) * np.abs(b) + _least(ours.dtype)
    return not np.all(near | (a == b) | (np.isnan(a) & np.isnan(b)))


def _least(dtype: np.dtype[Any]) -> float:
    """A few subnormal numbers."""
    return 8 * float(ml_dtypes.finfo(dtype).smallest_subnormal)


def _places(ours: Array, judges: Sequence[Array], large: Sequence[Array]) -> tuple[Array, Array]:
    """Where an output is wrong, and where rounding decides what is right.

    The first judge has the exact numbers; `large` are those with large noise.
    """
    if not is_float(ours.dtype):
        exact = judges[0]
        sure = np.logical_and.reduce([judge == exact for judge in (*judges, *large)])
        return sure & (ours != exact), ~sure
    y, right, *others = (array.astype(np.float64) for array in (ours, *judges))
    loud = [array.astype(np.float64) for array in large]
    kinds = [_kind(array) for array in (right, *others, *loud)]
    sure = np.logical_and.reduce([kind == kinds[0] for kind in kinds])
    other_kind = sure & (_kind(y) != kinds[0])
    finite = sure & (kinds[0] == 0) & (_kind(y) == 0)
    with np.errstate(all="ignore"):
        spreads = [*(FACTOR * np.abs(other - right) for other in others), *(np.abs(other - right) for other in loud)]
        allowed = np.max(spreads, axis=0) + FEW_UNITS * unit_of(ours.dtype) * np.abs(right) + _least(ours.dtype)
        far = finite & (np.abs(y - right) > allowed)
        is_open = ~sure | (finite & (allowed > 0.1 * np.abs(right)) & (allowed > 0.1))
    return other_kind | far, is_open


def _kind(array: Array) -> Array:
    """0 for numbers, 1 for NaN, 2 and 3 for infinities."""
    return np.isnan(array) * 1 + np.isposinf(array) * 2 + np.isneginf(array) * 3


def _told(name: str, wrong: Array, ours: Array, exact: Array, theirs: Array) -> str:
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{name} {ours.dtype}{list(ours.shape)} at {list(place)}: found {ours[place]}, float64 gives {exact[place]}, "
        f"the judge {theirs[place]}; {int(wrong.sum())} of {wrong.size} elements are wrong"
    )
