"""A problem on random data in a session: its methods as compiled functions there, checked and timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from sateen.graph_ir.ir import Array, Problem, TensorType
from sateen.graph_ir.judge import difference, element_difference
from sateen.graph_ir.kernels import problem_kernel
from sateen.graph_ir.tune.measuring import Timing
from sateen.runtime import Session, SessionArray, SessionModule
from sateen.runtime.dtype import TypeCode
from sateen.runtime.errors import ExecutionError
from sateen.runtime.target import Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.ir import Function
from sateen.topi.methods import Method

TOLERANCE, TOLERANCE_OF_TERMS = 1e-4, 2e-5
"""The allowed differences from the default's result, relative to the largest element, and of each element relative to
Σ|w||x|: several times the error of Winograd's method on random numbers."""
SAMPLE_SECONDS = 0.003
"""The least seconds of processor time of a sample."""
ROUNDS = 7
"""The number of samples of each method."""
SLOW, ROUNDS_OF_SLOW = 1.3, 3
"""A candidate is slow if it takes this many times as long as the fastest so far; the second is its number of
samples."""
MOST_COPIES = 64
"""The most copies of inputs."""

Libraries = Callable[[Function, Target], bytes]
"""What compiles a function to a library."""


class ProblemData:
    """Random inputs of a problem, and what they give: `expected`, the result of the default method, and `terms`, that
    of the magnitudes. Both are computed on the first device."""

    def __init__(self, problem: Problem) -> None:
        random = np.random.default_rng(0)
        self.inputs = [_random(random, t) for t in problem.inputs if t is not None]
        self.expected: Array | None = None
        self.terms: Array | None = None

    def require_right(self, result: Array) -> None:
        """Raises ExecutionError if a result is not the expected one, within the error of a method."""
        assert self.expected is not None
        assert self.terms is not None
        off = difference(result, self.expected).overall
        off_terms = element_difference(result, self.expected, self.terms)
        if not (off <= TOLERANCE and off_terms <= TOLERANCE_OF_TERMS):
            raise ExecutionError(
                f"expected the result of the default within {TOLERANCE:g} of its largest element and "
                f"{TOLERANCE_OF_TERMS:g} of the terms of each, found {off:.2g} and {off_terms:.2g}"
            )


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A method in a session: its library, the arguments of calls in turn, and its first result."""

    module: SessionModule
    name: str
    arguments: Sequence[Sequence[SessionArray]]
    result: Array


class ProblemBench:
    """A problem in a session, and the methods that are in use there."""

    def __init__(
        self, problem: Problem, target: Target, session: Session, libraries: Libraries, data: ProblemData
    ) -> None:
        self.problem, self._target = problem, target
        self._machine = Machine.of(target)
        self._session, self._libraries, self._data = session, libraries, data
        self._methods: dict[Method, _Prepared] = {}
        if data.expected is None:
            data.expected = self._default(data.inputs)
        if data.terms is None:
            data.terms = self._default([np.abs(a) for a in data.inputs])

    def measure(self, method: Method, against: Method | None, machine: str) -> Timing:
        """Samples of a method, in turns with those of the method `against`, if there is one. Raises ExecutionError if
        its result is wrong."""
        for other in [m for m in self._methods if m not in {method, against}]:
            self._methods.pop(other).module.unload()
        for m in (method, against):
            if m is not None and m not in self._methods:
                self._methods[m] = self._checked(m)
        used = [self._methods[m] for m in (method, against) if m is not None]
        calls = [(m.module[m.name], m.arguments) for m in used]
        first = self._session.time_in_turns(calls, repeat=ROUNDS_OF_SLOW, min_seconds=SAMPLE_SECONDS)
        own, other_samples = first[0].samples, first[-1].samples
        if own[0] <= SLOW * other_samples[0]:
            rest = ROUNDS - ROUNDS_OF_SLOW
            more = self._session.time_in_turns(calls, repeat=rest, min_seconds=SAMPLE_SECONDS)
            own, other_samples = own + more[0].samples, other_samples + more[-1].samples
        return Timing(own, other_samples, machine)

    def _default(self, inputs: Sequence[Array]) -> Array:
        prepared = self._prepared(None, inputs)
        prepared.module.unload()
        return prepared.result

    def _checked(self, method: Method) -> _Prepared:
        prepared = self._prepared(method, self._data.inputs)
        self._data.require_right(prepared.result)
        return prepared

    def _prepared(self, method: Method | None, inputs: Sequence[Array]) -> _Prepared:
        """A method, compiled, loaded on one thread, and run once.

        Calls take copies of all inputs except the first in turn: as in a network, these come from memory, while the
        data of the first were just written.
        """
        kernel = problem_kernel(self.problem, method, self._machine)
        name = kernel.function.name
        module = self._session.load(self._libraries(kernel.function, self._target), threads=1)
        data, *others = map(self._session.array, kernel.arguments(inputs))
        outputs = [self._session.empty(t.physical_shape, t.dtype) for t in kernel.outputs]
        module[name](data, *others, *outputs)
        size = sum(t.bytes for t in kernel.inputs[1:])
        copies = min(MOST_COPIES, ceil(2 * self._machine.l3_bytes / max(size, 1))) if others else 0
        taken = [others, *([a.copy() for a in others] for _ in range(copies))]
        arguments = [[data, *given, *outputs] for given in taken]
        return _Prepared(module, name, arguments, kernel.results([a.numpy() for a in outputs])[0])


def _random(random: np.random.Generator, type_: TensorType) -> Array:
    """Normal numbers; integers of -8 to 7, or 0 to 15."""
    if type_.dtype.is_float:
        return random.standard_normal(type_.static_shape, np.float32).astype(type_.dtype.numpy)
    low = -8 if type_.dtype.code is TypeCode.INT else 0
    return random.integers(low, low + 16, type_.static_shape).astype(type_.dtype.numpy)
