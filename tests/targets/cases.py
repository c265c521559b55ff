"""What is compiled for every target: the rows of the table, with programs and what their definitions say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from primitives import PRIMITIVES, Scheduled
from test_every_operator import CASES as OPERATORS
from test_every_operator import TOLERANCE, network

from sateen.graph_ir import Graph, Node, build, interpret
from sateen.graph_ir.kernels import lower_group
from sateen.graph_ir.memory import hoist_scratch
from sateen.graph_ir.ops import Control, Fused
from sateen.runtime import LoweringError, Target
from sateen.runtime.device import DeviceKind
from sateen.tensor_ir import CompiledModule, Machine, build_functions, lower, te
from sateen.tensor_ir.codegen.kinds import kind_of
from sateen.tensor_ir.interpret import te_oracle
from sateen.tensor_ir.ir import LoopKind
from sateen.tensor_ir.ir.expr import AxisKind
from sateen.tensor_ir.lowering import serialize_loops
from sateen.topi.operators import Operator

Array = np.ndarray[Any, Any]
NAME = "run"


@dataclass(frozen=True, eq=False)
class Program:
    """Code of a function `run`, or a library with it; for a device a module or the artifact of a network. Arguments are
    inputs, outputs, then other memory."""

    code: CompiledModule | bytes
    inputs: tuple[Array, ...]
    memory: tuple[Array, ...] = ()

    @property
    def library(self) -> bytes:
        """The library with the function."""
        return self.code if isinstance(self.code, bytes) else self.code.library()

    @property
    def module(self) -> CompiledModule:
        """The code as source, which isn't linked."""
        assert isinstance(self.code, CompiledModule)
        return self.code


class Case(ABC):
    """A program for any target, and its outputs by definition. `table` and `row` are its place on the page."""

    table: ClassVar[str]
    row: str
    name: str

    @abstractmethod
    def program(self, target: Target) -> Program:
        """The program for a target. Raises SateenError where there is none."""

    @cached_property
    def expected(self) -> list[Array]:
        """The outputs by definition."""
        return self._by_definition()

    @abstractmethod
    def _by_definition(self) -> list[Array]: ...

    @abstractmethod
    def agrees(self, found: Array, expected: Array) -> bool:
        """Whether an output is what the definition says."""


class PrimitiveCase(Case):
    """A schedule with a primitive. All numbers are whole, so results are exact."""

    table = "primitive of schedules"

    def __init__(self, name: str, make: Callable[[], Scheduled]) -> None:
        self.row = self.name = name
        self._make = make

    def program(self, target: Target) -> Program:
        made = self._make()
        if _is_device(target):
            bind_free_loops(made.schedule)
        inputs = tuple(map(_whole_numbers, made.inputs))
        return _compiled(made.schedule, [*made.inputs, made.output], inputs, target)

    def _by_definition(self) -> list[Array]:
        made = self._make()
        given = {tensor: _whole_numbers(tensor) for tensor in made.inputs}
        (result,) = te_oracle.evaluate([made.output], given)
        return [result.astype(made.output.dtype.numpy)]

    def agrees(self, found: Array, expected: Array) -> bool:
        return np.array_equal(found, expected)


class OperatorCase(Case):
    """A network of one operator; for targets that have no networks yet, its kernel."""

    table = "family of operators"

    def __init__(self, operator: Operator, arrays: tuple[Array, ...]) -> None:
        self.row = type(operator).__module__.rpartition(".")[2].replace("_", " ")
        self.name = operator.op_name()
        self._operator, self._arrays = operator, arrays

    def program(self, target: Target) -> Program:
        if _is_device(target):
            return Program(build(self._graph, target, pipeline=()).to_bytes(), self._arrays)
        if not kind_of(target).has_libraries:
            return self._kernel(target)
        artifact = build(self._graph, target, pipeline=())
        memory = (np.frombuffer(bytes(artifact.parameters), np.uint8), _workspace(artifact.workspace_bytes))
        return Program(bytes(artifact.library), self._arrays, memory)

    def _kernel(self, target: Target) -> Program:
        """The kernel without an entry."""
        self._refuse(Control)
        (node,) = self._graph.nodes
        fused = node if isinstance(node.op, Fused) else Node(Fused(self._graph), node.inputs, node.outputs)
        function = lower_group(fused, NAME, Machine.of(target))
        return Program(build_functions([function], target), self._arrays)

    @cached_property
    def _graph(self) -> Graph:
        return network([(self._operator, self._arrays)])[0]

    def _refuse(self, *kinds: type[Operator]) -> None:
        if isinstance(self._operator, kinds):
            raise LoweringError("it is part of the entry of a network, which is code of kind llvm")

    def _by_definition(self) -> list[Array]:
        graph, given = network([(self._operator, self._arrays)])
        return list(interpret(graph, given).values())

    def agrees(self, found: Array, expected: Array) -> bool:
        if expected.dtype.kind in "biu":
            return np.array_equal(found, expected)
        bound = TOLERANCE[expected.dtype.itemsize]
        return np.allclose(np.float64(found), np.float64(expected), rtol=bound, atol=bound, equal_nan=True)


def _is_device(target: Target) -> bool:
    return Target.of(target).device_kind is not DeviceKind.CPU


def _compiled(
    schedule: te.Schedule, arguments: Sequence[te.Tensor], inputs: tuple[Array, ...], target: Target
) -> Program:
    """A schedule over arguments, which are in the memory of the host if the target is a device."""
    buffers = {t: te.decl_buffer(t.shape, t.dtype, name=t.name, device="cpu") for t in arguments}
    function = lower(schedule, arguments, NAME, buffers=buffers if _is_device(target) else None)
    memory: tuple[Array, ...] = ()
    if Machine.of(target).cores == 1:  # the host of a machine without threads has no memory to give
        function, scratch = hoist_scratch(serialize_loops(function))
        memory = tuple(map(_zeros, function.parameters[len(function.parameters) - len(scratch) :]))
    return Program(build_functions([function], target), inputs, memory)


def _workspace(size: int) -> Array:
    return np.zeros(max(size, 64), np.uint8)


def bind_free_loops(schedule: te.Schedule) -> None:
    """Bind a loop of every stage that is computed on its own to blocks, unless it has such loops: the outermost data
    loop that runs in no other way."""
    for stage in schedule.stages:
        if not stage.op.body or stage.attach is not None or stage.inlined or LoopKind.THREAD in stage.kinds.values():
            continue
        free = [leaf for leaf in stage.leaves if leaf.kind is AxisKind.DATA and leaf not in stage.kinds]
        if free:
            stage.bind(free[0], te.thread_axis("blockIdx.x"))


def _zeros(buffer: te.Buffer) -> Array:
    return np.zeros([int(extent.value) for extent in buffer.shape], buffer.dtype.numpy)


def _whole_numbers(tensor: te.Tensor) -> Array:
    shape = [int(extent.value) for extent in tensor.shape]
    return np.random.default_rng(0).integers(-3, 4, shape).astype(tensor.dtype.numpy)


CASES: tuple[Case, ...] = (
    *(PrimitiveCase(name, make) for name, make in PRIMITIVES.items()),
    *(OperatorCase(operator, arrays) for operator, arrays in OPERATORS),
)
