"""Candidates as numbers, for a model that learns from records of all problems alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import log2
from typing import Any

from sateen.graph_ir.ir import Problem
from sateen.topi.methods import Method

Features = Mapping[str, float]
"""Numbers by name; one that is missing doesn't apply."""


@dataclass(frozen=True, slots=True)
class ProblemFeatures:
    """The numbers of a problem: its kind, extents counted from the last, operations, bytes."""

    own: Features
    extents: Mapping[str, int]
    operations: int

    @staticmethod
    def of(problem: Problem) -> ProblemFeatures:
        inputs, outputs = [t for t in problem.inputs if t is not None], problem.outputs
        named = {**{f"input{i}": t for i, t in enumerate(inputs)}, **{f"output{i}": t for i, t in enumerate(outputs)}}
        extents = {
            f"{name}[-{d}]": extent for name, t in named.items() for d, extent in enumerate(reversed(t.static_shape), 1)
        }
        operations = problem.op.operations(inputs, outputs)
        own = {
            f"op {problem.op.op_name()}": 1.0,
            "operations": log2(1 + operations),
            "bytes": log2(1 + sum(t.bytes for t in named.values())),
            **{name: log2(1 + extent) for name, extent in extents.items()},
        }
        return ProblemFeatures(own, extents, operations)

    def with_method(self, method: Method, cycles: float, best_cycles: float) -> Features:
        """The numbers of a candidate: those of the problem, the fields of the method, how evenly each field divides the
        extents of the result, and the estimate, also over the best one of the problem and over the operations."""
        own: Any = method
        name = method.method_name()
        values: dict[str, int] = {f.name: getattr(own, f.name) for f in fields(own)}
        results = {where: extent for where, extent in self.extents.items() if where.startswith("output0") and extent}
        return {
            **self.own,
            f"by {name}": 1.0,
            **{f"{name}.{field}": log2(value) for field, value in values.items()},
            **{field: log2(value) for field, value in values.items()},
            **{
                f"waste of {field} in {where}": -(-extent // value) * value / extent
                for field, value in values.items()
                for where, extent in results.items()
            },
            "cycles": log2(1 + cycles),
            "cycles over best": log2((1 + cycles) / (1 + best_cycles)),
            "cycles per operation": log2((1 + cycles) / (1 + self.operations)),
        }
