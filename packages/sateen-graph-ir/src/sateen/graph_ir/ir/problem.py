"""Problems that can be solved in several ways: an operator on inputs of known types. Measurements have them as keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sateen.graph_ir.ir.graph import Node
from sateen.graph_ir.ir.op_set import OpSet
from sateen.graph_ir.ir.parser import parse_application
from sateen.graph_ir.ir.text import format_application
from sateen.runtime.errors import ArgumentError, SateenError
from sateen.tensor_ir import Machine
from sateen.topi import operators
from sateen.topi.methods import Candidate
from sateen.topi.operators import Operator
from sateen.topi.types import TensorType

MOST_KEPT = 512
"""The most problems whose candidates are kept."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An operator and the row-major types of its inputs, None for an absent one."""

    op: Operator
    inputs: tuple[TensorType | None, ...]

    def __post_init__(self) -> None:
        """Operators that mean the same are one problem."""
        object.__setattr__(self, "op", self.op.canonical())

    @staticmethod
    def of(node: Node) -> Problem:
        """The problem that a node solves, in any layouts."""
        types = (None if v is None else v.type for v in node.inputs)
        return Problem(node.op, tuple(None if t is None else replace(t, layout=None) for t in types))

    @property
    def outputs(self) -> tuple[TensorType, ...]:
        """The types of the results."""
        return operators.types_of(self.op, self.inputs)

    def candidates(self, machine: Machine) -> Sequence[Candidate]:
        """The methods on a machine, best first by estimate; none if there is no choice. Those of the last problems are
        kept, since networks have equal nodes."""
        return _candidates(self, machine)

    def __str__(self) -> str:
        """conv(float32[1, 64, 56, 56], float32[64, 64, 3, 3]) {pads=(1, 1, 1, 1)}"""
        return format_application(self.op, ["none" if t is None else str(t) for t in self.inputs])


@lru_cache(MOST_KEPT)
def _candidates(problem: Problem, machine: Machine) -> tuple[Candidate, ...]:
    op = problem.op
    return tuple(op.candidates(problem.inputs, problem.outputs, machine)) if op.methods else ()


def parse_problem(text: str, operators: OpSet) -> Problem:
    """The problem that `str` writes as this text. Raises ArgumentError for other text, and for types that the operator
    does not take."""
    try:
        problem = Problem(*parse_application(text, operators))
        known = all(t is None or (t.is_static and t.layout is None) for t in problem.inputs)
        if known and problem.outputs:
            return problem
    except SateenError as error:
        raise ArgumentError(f"expected an operator on types, found {text!r:.160}: {error}") from None
    raise ArgumentError(f"expected an operator on row-major types of known sizes, found {text!r:.160}")
