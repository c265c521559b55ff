"""A problem on a device in a session: its methods as networks of one node, timed by the device's clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import Array, Problem
from sateen.graph_ir.kernels import solved
from sateen.graph_ir.tune.problem_bench import SAMPLE_SECONDS, ProblemBench, ProblemData
from sateen.runtime import Device, Session, SessionArray, SessionModel, TimeResult
from sateen.runtime.target import Target
from sateen.tensor_ir import Machine
from sateen.topi.methods import Method


@dataclass(frozen=True, slots=True)
class PreparedNetwork:
    """A network with its inputs, which stay in the session."""

    model: SessionModel
    inputs: Mapping[str, SessionArray]
    results: Sequence[Array]

    def unload(self) -> None:
        self.model.close()


class NetworkBench(ProblemBench[PreparedNetwork]):
    """A problem on a device. What that has no place for is refused when it is compiled or loaded, and never runs."""

    def __init__(self, problem: Problem, target: Target, device: Device, session: Session, data: ProblemData) -> None:
        super().__init__(problem, session, data)
        self._target, self._device = target, device
        self._machine = Machine.of(target)

    def prepared(self, method: Method | None, inputs: Sequence[Array]) -> PreparedNetwork:
        problem = solved(self.problem, method, self._machine)
        artifact = build(problem.graph, self._target, pipeline=())
        model = self.session.load_model(artifact, device=self._device)
        given = zip(problem.graph.inputs, problem.arguments(inputs), strict=True)
        arrays = {v.name: self.session.array(a) for v, a in given}
        results = problem.results([a.numpy() for a in model.run(arrays).values()])
        return PreparedNetwork(model, arrays, results)

    def times(self, methods: Sequence[PreparedNetwork], repeat: int) -> list[TimeResult]:
        runs = [(m.model, m.inputs) for m in methods]
        return self.session.time_networks(runs, repeat=repeat, min_seconds=SAMPLE_SECONDS)
