"""One case through the compiler: does the compiled model give what ONNX says?"""

from __future__ import annotations

import enum
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from cases import Case, Data
from onnx.backend.test.runner import Runner

from sateen import frontends, runtime
from sateen.graph_ir.compile import build
from sateen.runtime.errors import FrontendError, InferenceError
from sateen.tensor_ir import ObjectCache

SIXTEEN_BIT_ROUNDING = 4 * 2.0**-11
"""The relative error of four float16 operations, each rounded to the nearest."""
TRANSFORM_ROUNDING = 4 * 2.0**-24
"""Likewise of float32, relative to the largest element, as each of a Fourier transform is a sum of all."""


class Verdict(enum.StrEnum):
    PASSED = "passed"
    REFUSED = "refused"
    """The frontend or an operator said that it can't."""
    WRONG = "wrong"
    """Compiled and ran, but gave other numbers, another type or another shape."""
    INEXACT = "inexact"
    """Past the tolerance, but no further than the rounding of the expected outputs leads: each step to 16 bits, or in a
    Fourier transform to 32."""
    FAILED = "failed"
    """Any other exception, a crash, or past the time limit."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case. `bound` says that the inputs which decide shapes were given while compiling."""

    name: str
    verdict: Verdict
    reason: str = ""
    bound: bool = False
    seconds: float = 0.0


def examine(case: Case, cache: ObjectCache) -> Outcome:
    """Compile and run a case as given and, where this is refused, with the inputs bound that decide shapes."""
    start = time.perf_counter()
    outcome = _attempt(case, cache, bound=False)
    if outcome.verdict is not Verdict.PASSED and case.deciding:
        second = _attempt(case, cache, bound=True)
        if outcome.verdict is Verdict.REFUSED or second.verdict is Verdict.WRONG:
            outcome = second
    seconds = time.perf_counter() - start
    return Outcome(case.name, outcome.verdict, outcome.reason, outcome.bound, seconds)


def _attempt(case: Case, cache: ObjectCache, *, bound: bool) -> Outcome:
    model = case.model()
    try:
        for data in case.data(model):
            outputs = _run(model, data, case.deciding if bound else (), cache)
            verdict, reason = _compared(case, data, outputs)
            if verdict is not Verdict.PASSED:
                return Outcome(case.name, verdict, reason, bound)
    except (FrontendError, InferenceError) as error:
        return Outcome(case.name, Verdict.REFUSED, str(error), bound)
    except Exception as error:  # noqa: BLE001 - every failure is a finding
        place = traceback.extract_tb(error.__traceback__)[-1]
        return Outcome(case.name, Verdict.FAILED, f"{type(error).__name__} in {place.name}: {_brief(error)}", bound)
    return Outcome(case.name, Verdict.PASSED, "", bound)


def _compared(case: Case, data: Data, outputs: list[Any]) -> tuple[Verdict, str]:
    """Whether these are the outputs that ONNX expects, by its own runner's rule."""
    try:
        Runner.assert_similar_outputs(data.outputs, outputs, case.source.rtol, case.source.atol)
    except AssertionError as error:
        near = all(_is_near(case, found, expected) for found, expected in zip(outputs, data.outputs, strict=True))
        return Verdict.INEXACT if near else Verdict.WRONG, _brief(error)
    return Verdict.PASSED, ""


def _is_near(case: Case, found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if case.operator == "DFT" and found.dtype == np.float32:
        return np.allclose(found, expected, rtol=0, atol=TRANSFORM_ROUNDING * float(np.abs(expected).max()))
    if found.dtype != np.float16:
        return np.array_equal(found, expected)
    return np.allclose(found, expected, rtol=SIXTEEN_BIT_ROUNDING, atol=0, equal_nan=True)


def _run(model: onnx.ModelProto, data: Data, deciding: tuple[str, ...], cache: ObjectCache) -> list[Any]:
    initialised = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in initialised]
    given: Mapping[str, Any] = dict(zip(names, data.inputs, strict=True))
    constants = {name: given[name] for name in deciding}
    graph, params = frontends.from_onnx(model, constants=constants)
    compiled = runtime.load(build(graph, params=params, cache=cache))
    results = compiled.run({value.name: np.asarray(given[value.name], order="C") for value in graph.inputs})
    return [results[value.name].numpy() for value in model.graph.output]


def _brief(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
