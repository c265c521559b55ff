"""A problem on random data in a session: its methods as code there, checked and timed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from sateen.graph_ir.ir import Array, Problem, TensorType
from sateen.graph_ir.judge import difference, element_difference
from sateen.graph_ir.tune.measuring import Timing
from sateen.runtime import Session, TimeResult
from sateen.runtime.dtype import TypeCode
from sateen.runtime.errors import ExecutionError
from sateen.topi.methods import Method

TOLERANCE, TOLERANCE_OF_TERMS = 1e-4, 2e-5
"""The allowed differences from the default's result, relative to the largest element, and of each element relative to
Σ|w||x|: several times the error of Winograd's method on random numbers."""
TOLERANCE_OF_ROUNDED = 1.01 * 2.0**-8
"""The same of methods that round both operands to bfloat16, each by 2⁻⁹ of it at most: of Σ|w||x| alone."""
SAMPLE_SECONDS = 0.003
"""The least seconds of a sample."""
ROUNDS = 7
"""The number of samples of each method."""
SLOW, ROUNDS_OF_SLOW = 1.3, 3
"""A candidate is slow if it takes this many times as long as the fastest so far; the second is its number of
samples."""


class ProblemData:
    """Random inputs of a problem, and what they give: `expected`, the results of the default method, and `terms`, those
    of the magnitudes, if they are sums of products. Both are computed on the first device."""

    def __init__(self, problem: Problem) -> None:
        random = np.random.default_rng(0)
        self.inputs = [_random(random, t) for t in problem.inputs if t is not None]
        present = [t for t in problem.inputs if t is not None]
        self.sums_products = problem.op.operations(present, problem.outputs) > 0
        self.expected: Sequence[Array] | None = None
        self.terms: Sequence[Array] | None = None

    def require_right(self, results: Sequence[Array], *, are_rounded: bool = False) -> None:
        """Raises ExecutionError if results are not the expected ones, within the error of a method; `are_rounded` says
        that it rounds its operands."""
        assert self.expected is not None
        off = max(difference(y, r).overall for y, r in zip(results, self.expected, strict=True))
        off_terms = 0.0
        if self.terms is not None:
            off_terms = max(map(element_difference, results, self.expected, self.terms))
        if are_rounded:
            if not off_terms <= TOLERANCE_OF_ROUNDED:
                raise ExecutionError(
                    f"expected the result of the default within {TOLERANCE_OF_ROUNDED:.2g} of the terms of each "
                    f"element, found {off_terms:.2g}"
                )
        elif not (off <= TOLERANCE and off_terms <= TOLERANCE_OF_TERMS):
            raise ExecutionError(
                f"expected the result of the default within {TOLERANCE:g} of its largest element and "
                f"{TOLERANCE_OF_TERMS:g} of the terms of each, found {off:.2g} and {off_terms:.2g}"
            )


class Prepared(Protocol):
    """A method in a session, which has run once."""

    @property
    def results(self) -> Sequence[Array]:
        """The results of its first run."""

    def unload(self) -> None:
        """Frees its code."""


P = TypeVar("P", bound=Prepared)


class ProblemBench(ABC, Generic[P]):
    """A problem in a session, and the methods that are in use there."""

    def __init__(self, problem: Problem, session: Session, data: ProblemData) -> None:
        self.problem, self.session, self.data = problem, session, data
        self._methods: dict[Method, P] = {}

    @abstractmethod
    def prepared(self, method: Method | None, inputs: Sequence[Array]) -> P:
        """A method, or the default, compiled, loaded, and run once on row-major inputs."""

    @abstractmethod
    def times(self, methods: Sequence[P], repeat: int) -> list[TimeResult]:
        """Samples of methods in turns, each of SAMPLE_SECONDS at least."""

    def measure(self, method: Method, against: Method | None, machine: str) -> Timing:
        """Samples of a method, in turns with those of the method `against`, if there is one. Raises ExecutionError if
        its result is wrong."""
        self._find_expected()
        for other in [m for m in self._methods if m not in {method, against}]:
            self._methods.pop(other).unload()
        for m in (method, against):
            if m is not None and m not in self._methods:
                self._methods[m] = self._checked(m)
        used = [self._methods[m] for m in (method, against) if m is not None]
        first = self.times(used, ROUNDS_OF_SLOW)
        own, other_samples = first[0].samples, first[-1].samples
        if own[0] <= SLOW * other_samples[0]:
            more = self.times(used, ROUNDS - ROUNDS_OF_SLOW)
            own, other_samples = own + more[0].samples, other_samples + more[-1].samples
        return Timing(own, other_samples, machine)

    def _find_expected(self) -> None:
        data = self.data
        if data.expected is None:
            data.expected = self._default(data.inputs)
        if data.terms is None and data.sums_products:
            data.terms = self._default([np.abs(a) for a in data.inputs])

    def _default(self, inputs: Sequence[Array]) -> Sequence[Array]:
        prepared = self.prepared(None, inputs)
        prepared.unload()
        return prepared.results

    def _checked(self, method: Method) -> P:
        substitution = self.problem.op.substitute(method)
        prepared = self.prepared(method, self.data.inputs)
        try:
            rounds = substitution is not None and bool(substitution.converted)
            self.data.require_right(prepared.results, are_rounded=rounds)
        except ExecutionError:
            prepared.unload()
            raise
        return prepared


def _random(random: np.random.Generator, type_: TensorType) -> Array:
    """Normal numbers; integers of -8 to 7, or 0 to 15."""
    if type_.dtype.is_float:
        return random.standard_normal(type_.static_shape, np.float32).astype(type_.dtype.numpy)
    low = -8 if type_.dtype.code is TypeCode.INT else 0
    return random.integers(low, low + 16, type_.static_shape).astype(type_.dtype.numpy)
