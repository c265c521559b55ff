"""The process in which candidates are compiled and run: a crash or a hang ends only this process.

It reads requests on its standard input and answers on its standard output. A request that takes longer than its limit
ends the process by SIGALRM.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from itertools import cycle
from math import ceil
from time import thread_time
from typing import Any

import numpy as np

from sateen import runtime
from sateen.graph_ir.ir import Array, Problem, TensorType, parse_problem
from sateen.graph_ir.judge import difference, element_difference
from sateen.graph_ir.kernels import problem_kernel
from sateen.graph_ir.ops import OPS
from sateen.runtime.dtype import TypeCode
from sateen.runtime.errors import ExecutionError
from sateen.runtime.limits import limit_memory
from sateen.runtime.target import Target
from sateen.tensor_ir import Machine, build_functions
from sateen.tensor_ir.codegen import receive_message, send_message
from sateen.topi.methods import Method, parse_method

MEMORY_BYTES = 8 << 30
"""The most bytes of memory that the work may take."""
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

Call = Callable[[], None]


def main() -> None:
    """Serve until the input ends."""
    limit_memory(MEMORY_BYTES)
    bench: Bench | None = None
    while (message := receive_message(sys.stdin.buffer)) is not None:
        signal.setitimer(signal.ITIMER_REAL, message["limit"])
        try:
            problem, target = parse_problem(message["problem"], OPS), Target.parse(message["target"])
            if bench is None or (bench.problem, bench.target) != (problem, target):
                bench = Bench(problem, target)
            answer = bench.measure(parse_method(message["method"], problem.op.methods), message["against"])
        except Exception as error:  # noqa: BLE001  # the candidate has failed, and its answer says how
            answer = {"error": f"{type(error).__name__}: {error}"}
        signal.setitimer(signal.ITIMER_REAL, 0)
        send_message(sys.stdout.buffer, answer)


class Bench:
    """A problem on random data, its `expected` result, and its kernels in use."""

    def __init__(self, problem: Problem, target: Target) -> None:
        self.problem, self.target = problem, target
        self._machine = Machine.of(target)
        random = np.random.default_rng(0)
        self._data = [_random(random, t) for t in problem.inputs if t is not None]
        self._calls: dict[Method, Call] = {}
        self.expected = self._prepare(None, self._data)[1]
        self._terms = self._prepare(None, [np.abs(a) for a in self._data])[1]

    def measure(self, method: Method, against: str) -> dict[str, Any]:
        """Samples of a method, in turns with those of the method `against`, if there is one."""
        other = parse_method(against, self.problem.op.methods) if against else None
        self._calls = {m: call for m, call in self._calls.items() if m == other}
        for m in (method, other):
            if m is not None and m not in self._calls:
                self._calls[m] = self._checked(m)
        calls = [self._calls[m] for m in (method, other) if m is not None]
        numbers = [_number(call) for call in calls]
        rounds: list[list[float]] = []
        count = ROUNDS
        while len(rounds) < count:
            rounds.append([_sample(call, number) for call, number in zip(calls, numbers, strict=True)])
            count = ROUNDS_OF_SLOW if rounds[0][0] > SLOW * rounds[0][-1] else ROUNDS
        return {"seconds": [r[0] for r in rounds], "against": [r[-1] for r in rounds]}

    def _checked(self, method: Method) -> Call:
        """The call of a method. Raises ExecutionError if its result is wrong."""
        call, result = self._prepare(method, self._data)
        off = difference(result, self.expected).overall
        off_terms = element_difference(result, self.expected, self._terms)
        if not (off <= TOLERANCE and off_terms <= TOLERANCE_OF_TERMS):
            raise ExecutionError(
                f"expected the result of the default within {TOLERANCE:g} of its largest element and "
                f"{TOLERANCE_OF_TERMS:g} of the terms of each, found {off:.2g} and {off_terms:.2g}"
            )
        return call

    def _prepare(self, method: Method | None, inputs: Sequence[Array]) -> tuple[Call, Array]:
        """A method's call on one thread, and its first result.

        Calls take copies of all inputs except the first in turn: as in a network, these come from memory, while the
        data of the first were just written.
        """
        kernel = problem_kernel(self.problem, method, self._machine)
        function = build_functions([kernel.function], self.target).module.with_threads(1)[kernel.function.name]
        data, *others = map(runtime.array, kernel.arguments(inputs))
        outputs = [runtime.empty(t.physical_shape, t.dtype) for t in kernel.outputs]
        function(data, *others, *outputs)
        size = sum(t.bytes for t in kernel.inputs[1:])
        copies = min(MOST_COPIES, ceil(2 * Machine.of(Target.host()).l3_bytes / max(size, 1))) + 1
        taken = [others, *([runtime.array(a.numpy()) for a in others] for _ in range(1, copies))]
        bound = cycle([function.bind(data, *given, *outputs) for given in taken])

        def call() -> None:
            next(bound)()

        return call, kernel.results([a.numpy() for a in outputs])[0]


def _random(random: np.random.Generator, type_: TensorType) -> Array:
    """Normal numbers; integers of -8 to 7, or 0 to 15."""
    if type_.dtype.is_float:
        return random.standard_normal(type_.static_shape, np.float32).astype(type_.dtype.numpy)
    low = -8 if type_.dtype.code is TypeCode.INT else 0
    return random.integers(low, low + 16, type_.static_shape).astype(type_.dtype.numpy)


def _number(call: Call) -> int:
    """The number of calls in a sample, found after one call that is not counted."""
    call()
    return ceil(SAMPLE_SECONDS / max(_sample(call, 1), 1e-7))


def _sample(call: Call, number: int) -> float:
    """Seconds of processor time of a call, which excludes other work on the machine."""
    start = thread_time()
    for _ in range(number):
        call()
    return (thread_time() - start) / number


if __name__ == "__main__":
    main()
