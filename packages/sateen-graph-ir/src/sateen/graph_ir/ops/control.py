"""Control flow: operators that run graphs, their bodies, depending on values at run time.

A node's inputs are those that only decide, then those that its bodies read. A body's inputs are the number of the
iteration, if there are iterations, then those that it reads: first values that iterations hand on, then captured ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sateen.graph_ir.ir import HOST, Array, Dim, Graph, TensorType, Value, subgraphs
from sateen.graph_ir.ops.fused import listed, require_devices
from sateen.runtime import Device
from sateen.tensor_ir import Machine
from sateen.topi.operators import LayoutChoice, Operator, require

Run = Callable[[Graph, Sequence[Array]], list[Array]]
"""The outputs of a body for its inputs."""
CONDITION = TensorType.of("bool", ())
NUMBER = TensorType.of("int64", ())
"""The type of the number of an iteration, from 0, and of the most iterations."""


class Control(Operator):
    """Base of operators with bodies.

    Each output of a body is computed by a node of the body, and no value is an output twice, since it is written
    directly to the control node's output. Values go in and come out in the layouts of the bodies' inputs and outputs,
    and on their devices; those that only decide are on the host. The number of an iteration is where the body asks for
    it.
    """

    __slots__ = ()
    minds_layouts: ClassVar[bool] = True
    deciding: ClassVar[int] = 0
    """The number of the node's inputs that no body reads."""
    counted: ClassVar[int] = 0
    """The number of a body's inputs that are no inputs of the node: the number of the iteration."""
    deciding_outputs: ClassVar[int] = 0
    """The number of a body's outputs, its first ones, that the node does not give."""

    @property
    def bodies(self) -> tuple[Graph, ...]:
        return tuple(subgraphs(self).values())

    @property
    def state(self) -> tuple[Value, ...]:
        """The outputs of the body that an iteration hands on to the next."""
        return ()

    def map_bodies(self, function: Callable[[Graph], Graph]) -> Self:
        """The operator with other bodies; itself if `function` changes none."""
        bodies = subgraphs(self)
        changed: dict[str, Graph] = {n: new for n, b in bodies.items() if (new := function(b)) is not b}
        return replace(self, **changed) if changed else self  # type: ignore[type-var]

    def copied(self, inputs: Sequence[Value | None]) -> list[Value]:
        """The copied inputs: those that only decide, and those that iterations hand on."""
        return [v for v in inputs[: self.deciding + len(self.state)] if v is not None]

    def captures(self, body: Graph) -> tuple[Value, ...]:
        """The inputs of a body that stand for captured values."""
        return body.inputs[self.counted + len(self.state) :]

    def with_captures(self, body: Graph, captures: Iterable[Value]) -> Graph:
        """The body with other inputs that stand for captured values; itself if they are the same."""
        inputs = (*body.inputs[: self.counted + len(self.state)], *captures)
        return body if inputs == body.inputs else replace(body, inputs=inputs)

    def output_devices(self, inputs: Sequence[Device], count: int) -> tuple[Device, ...]:
        decide, read = inputs[: self.deciding], inputs[self.deciding :]
        require_devices(self, "inputs that decide", [HOST] * self.deciding, decide)
        for name, body in subgraphs(self).items():
            given = [*(v.device for v in body.inputs[: self.counted]), *read]
            require_devices(self, f"inputs of {name}", [v.device for v in body.inputs], given)
            decide = [v.device for v in body.outputs[: self.deciding_outputs]]
            require_devices(self, f"outputs of {name} that decide", [HOST] * self.deciding_outputs, decide)
        state = [v.device for v in self.state]
        require_devices(self, "outputs of body that the next iteration takes", read[: len(state)], state)
        (first, devices), *others = (
            (name, [v.device for v in body.outputs[self.deciding_outputs :]]) for name, body in subgraphs(self).items()
        )
        for name, found in others:
            require_devices(self, f"outputs of {name}, like those of {first},", devices, found)
        return tuple(devices)

    @abstractmethod
    def run(self, inputs: Sequence[Array], run: Run) -> list[Array]:
        """The outputs by the definition of the operator, for inputs of all kinds."""

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        read = [v.type.layout for v in self.bodies[0].inputs[self.counted :]]
        yield LayoutChoice((*[None] * self.deciding, *read), (None,) * len(outputs))

    def _require_inputs(self, inputs: Sequence[TensorType]) -> None:
        """Raise InferenceError if a body takes other inputs, or gives outputs that it does not compute."""
        for name, body in subgraphs(self).items():
            expected = [v.type for v in body.inputs]
            given = [*[NUMBER] * self.counted, *inputs[self.deciding :]]
            message = f"{name} takes {listed(expected)}, found {listed(given)}"
            require(expected == given, self, message)
            computed = {v for node in body.nodes for v in node.outputs}
            own = len(set(body.outputs)) == len(body.outputs) and computed.issuperset(body.outputs)
            require(own, self, f"{name} must compute each of its outputs by a node of its own, such as identity")
            types = [v.type for v in body.outputs]
            row_major = all(t.layout is None for t in types)
            require(row_major, self, f"{name} must give row-major outputs, found {listed(types)}")

    def _require_state(self, given: Sequence[TensorType]) -> None:
        """Raise InferenceError if an iteration hands on other types than it gets."""
        before, after = list(given[: len(self.state)]), [v.type for v in self.state]
        require(before == after, self, f"iterations are given {listed(before)}, but hand on {listed(after)}")


@dataclass(frozen=True, slots=True, eq=False)
class If(Control):
    """The outputs of one of two graphs. Inputs: a condition, bool[], then those of both branches."""

    then_branch: Graph
    else_branch: Graph
    deciding = 1

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        require(inputs[:1] == (CONDITION,), self, f"condition expects {CONDITION}, found {listed(inputs[:1])}")
        self._require_inputs(inputs)
        one, other = ([v.type for v in branch.outputs] for branch in self.bodies)
        require(one == other, self, f"then_branch gives {listed(one)}, but else_branch {listed(other)}")
        return tuple(one)

    def run(self, inputs: Sequence[Array], run: Run) -> list[Array]:
        condition, *captured = inputs
        return run(self.then_branch if condition else self.else_branch, captured)

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """The operations of the branch that has more."""
        return max(branch.operations() for branch in self.bodies)


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Control):
    """`count` iterations of a graph. Inputs: the first of `carried` values that iterations hand on, captured values.

    The body takes the number of the iteration, int64[], before these; it gives the values that it hands on, then
    others. Outputs: the values of the last iteration, then the others of all iterations, stacked along a new axis 0.
    """

    body: Graph
    count: int
    carried: int = 0
    counted = 1

    @property
    def state(self) -> tuple[Value, ...]:
        return self.body.outputs[: self.carried]

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        require(self.count >= 0, self, f"count expects 0 or more, found {self.count}")
        most = min(len(inputs), len(self.body.outputs))
        require(0 <= self.carried <= most, self, f"carried expects 0 to {most}, found {self.carried}")
        self._require_inputs(inputs)
        self._require_state(inputs)
        return (*(v.type for v in self.state), *(self._stacked(v.type) for v in self._others))

    @property
    def _others(self) -> tuple[Value, ...]:
        return self.body.outputs[self.carried :]

    def _stacked(self, type_: TensorType) -> TensorType:
        shape: tuple[Dim, ...] = (self.count, *type_.shape)
        return TensorType(type_.dtype, shape)

    def run(self, inputs: Sequence[Array], run: Run) -> list[Array]:
        state, captured = list(inputs[: self.carried]), inputs[self.carried :]
        others = [np.empty(self._stacked(v.type).static_shape, v.type.dtype.numpy) for v in self._others]
        for iteration in range(self.count):
            results = run(self.body, [np.array(iteration), *state, *captured])
            state = results[: self.carried]
            for all_, one in zip(others, results[self.carried :], strict=True):
                all_[iteration] = one
        return [*state, *others]

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        return self.count * self.body.operations()


@dataclass(frozen=True, slots=True, eq=False)
class While(Control):
    """Iterations of a graph while a condition holds. Inputs: the most iterations, int64[]; whether there is a first,
    bool[]; the values that iterations hand on; captured values.

    The body takes the number of the iteration, int64[], the values handed on, and the captured ones; it gives whether
    there is a next iteration, bool[], and the values that it hands on. Outputs: the values of the last iteration.
    """

    body: Graph
    deciding = 2
    counted = 1
    deciding_outputs = 1

    @property
    def state(self) -> tuple[Value, ...]:
        return self.body.outputs[1:]

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        expected = (NUMBER, CONDITION)
        require(inputs[:2] == expected, self, f"expected {listed(expected)} first, found {listed(inputs[:2])}")
        self._require_inputs(inputs)
        outputs = tuple(v.type for v in self.body.outputs)
        require(outputs[:1] == (CONDITION,), self, f"body expects to give {CONDITION} first, gives {listed(outputs)}")
        self._require_state(inputs[self.deciding :])
        return outputs[1:]

    def run(self, inputs: Sequence[Array], run: Run) -> list[Array]:
        most, goes_on, *values = inputs
        state, captured = values[: len(self.state)], values[len(self.state) :]
        iteration = 0
        while goes_on and iteration < most:
            goes_on, *state = run(self.body, [np.array(iteration), *state, *captured])
            iteration += 1
        return state

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """The operations of one iteration: the number of iterations is known only at run time."""
        return self.body.operations()


OPS = (If, Loop, While)
"""The operators of this file."""
