"""A problem solved by itself, in the fastest layouts of its node: as a graph, and as a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sateen.graph_ir.ir import Array, Graph, Node, Problem, TensorType, Value
from sateen.graph_ir.kernels.groups import lower_group
from sateen.graph_ir.ops import Cast, Fused
from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine
from sateen.tensor_ir.ir import Function
from sateen.topi import operators
from sateen.topi.methods import Method
from sateen.topi.operators import Preparation, Substitution
from sateen.topi.types import pack, unpack

NAME = "solve"
"""The name of every function that `problem_kernel` makes."""


@dataclass(frozen=True, slots=True, eq=False)
class SolvedProblem:
    """A graph of one node that solves a problem, and the preparation of the inputs that it takes in another form."""

    graph: Graph
    prepared: Mapping[int, Preparation]

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        """The types of the inputs that are present."""
        return tuple(v.type for v in self.graph.inputs)

    @property
    def outputs(self) -> tuple[TensorType, ...]:
        return tuple(v.type for v in self.graph.outputs)

    def arguments(self, inputs: Sequence[Array]) -> list[Array]:
        """The arguments for the present inputs of a problem, which are row-major."""
        forms = [self.prepared[i].function(a) if i in self.prepared else a for i, a in enumerate(inputs)]
        return [pack(a, t.memory_layout) for a, t in zip(forms, self.inputs, strict=True)]

    def results(self, outputs: Sequence[Array]) -> list[Array]:
        """The results, row-major."""
        return [unpack(a, t.static_shape, t.memory_layout) for a, t in zip(outputs, self.outputs, strict=True)]


def solved(problem: Problem, method: Method | None, machine: Machine) -> SolvedProblem:
    """The graph that solves a problem by a method; without a method, as the operator chooses by the shapes. What the
    method takes in another type is given in it: in a network the conversion is a part of what computes it."""
    substitution = None if method is None else problem.op.substitute(method)
    if substitution is None:
        substitution = Substitution(problem.op, method, {})
    given = list(problem.inputs)
    converted = {i: Preparation(Cast(t), partial(_converted, dtype=t)) for i, t in substitution.converted.items()}
    prepared = {**substitution.prepared, **converted}
    for position, preparation in prepared.items():
        given[position] = _prepared(given[position], preparation)
    node = _node(substitution, given, operators.types_of(substitution.operator, given))
    choice = min(node.layouts(node.input_types, machine), key=lambda choice: choice.slowdown)
    layouts = iter(choice.inputs)
    laid = [None if t is None else replace(t, layout=next(layouts)) for t in given]
    results = [replace(t, layout=layout) for t, layout in zip(node.output_types, choice.outputs, strict=True)]
    node = _node(substitution, laid, results)
    inputs = tuple(v for v in node.inputs if v is not None)
    return SolvedProblem(Graph(NAME, inputs, {}, (node,), node.outputs), prepared)


def problem_kernel(problem: SolvedProblem, machine: Machine) -> Function:
    """The kernel of a problem: a function of the inputs that are present, then of the outputs."""
    graph = problem.graph
    return lower_group(Node(Fused(graph), graph.inputs, graph.outputs), NAME, machine)


def _prepared(given: TensorType | None, preparation: Preparation) -> TensorType:
    """The type of a constant that is prepared."""
    (form,) = operators.types_of(preparation.operator, [given])
    return form


def _converted(data: Array, dtype: DType) -> Array:
    return data.astype(dtype.numpy)


def _node(substitution: Substitution, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> Node:
    operands = tuple(None if t is None else Value(f"input{i}", t) for i, t in enumerate(inputs))
    results = tuple(Value(f"output{i}", t) for i, t in enumerate(outputs))
    return Node(substitution.operator, operands, results, method=substitution.method)
