"""A problem on a processor in a session: its methods as functions of libraries, timed on one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from sateen.graph_ir.ir import Array, Problem
from sateen.graph_ir.kernels import problem_kernel, solved
from sateen.graph_ir.tune.problem_bench import SAMPLE_SECONDS, ProblemBench, ProblemData
from sateen.runtime import Session, SessionArray, SessionModule, TimeResult
from sateen.runtime.target import Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.ir import Function
from sateen.topi.methods import Method

MOST_COPIES = 64
"""The most copies of inputs."""
OF_THIRD_CACHE = 8
"""The bytes of copies, as a multiple of those of the third cache. It keeps a part of data that are read in turn, of one
method more than of the other, which made one seem a fifth faster with a multiple of 2."""

Libraries = Callable[[Function, Target], bytes]
"""What compiles a function to a library."""


@dataclass(frozen=True, slots=True)
class PreparedFunction:
    """A library, its function, and the arguments of calls in turn."""

    module: SessionModule
    name: str
    arguments: Sequence[Sequence[SessionArray]]
    results: Sequence[Array]

    def unload(self) -> None:
        self.module.unload()


class FunctionBench(ProblemBench[PreparedFunction]):
    """A problem on a processor."""

    def __init__(
        self,
        problem: Problem,
        target: Target,
        session: Session,
        libraries: Libraries,
        data: ProblemData,
        machine: Machine | None = None,
    ) -> None:
        super().__init__(problem, session, data)
        self._target, self._libraries = target, libraries
        self._machine = Machine.of(target) if machine is None else machine

    def prepared(self, method: Method | None, inputs: Sequence[Array]) -> PreparedFunction:
        """Calls take copies of all inputs except the first in turn: as in a network, these come from memory, while the
        data of the first were just written."""
        problem = solved(self.problem, method, self._machine)
        function = problem_kernel(problem, self._machine)
        module = self.session.load(self._libraries(function, self._target), threads=1)
        data, *others = map(self.session.array, problem.arguments(inputs))
        outputs = [self.session.empty(t.physical_shape, t.dtype) for t in problem.outputs]
        module[function.name](data, *others, *outputs)
        size = sum(t.bytes for t in problem.inputs[1:])
        copies = min(MOST_COPIES, ceil(OF_THIRD_CACHE * self._machine.l3_bytes / max(size, 1))) if others else 0
        taken = [others, *([a.copy() for a in others] for _ in range(copies))]
        arguments = [[data, *given, *outputs] for given in taken]
        results = problem.results([a.numpy() for a in outputs])
        return PreparedFunction(module, function.name, arguments, results)

    def times(self, methods: Sequence[PreparedFunction], repeat: int) -> list[TimeResult]:
        """Seconds of processor time."""
        calls = [(m.module[m.name], m.arguments) for m in methods]
        return self.session.time_in_turns(calls, repeat=repeat, min_seconds=SAMPLE_SECONDS)
