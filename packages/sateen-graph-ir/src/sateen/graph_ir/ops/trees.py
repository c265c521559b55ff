"""Ensembles of decision trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.graph_ir.ir import TensorType
from sateen.runtime.dtype import DType
from sateen.topi.computations import trees
from sateen.topi.operators import Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View

_PLACES = DType.of("int32")


@dataclass(frozen=True, slots=True)
class TreeEnsemble(Operator):
    """The sum, min or max (`aggregate`) of what all trees give for each row of data [N, F]: [N, outputs].

    Inputs after data, int32: roots, depths and targets [trees]: a tree's first node, its longest way, and the output of
    its first value; nodes [nodes, words]: the element that it looks at, the child where that exceeds the threshold, the
    other child, and the bits of the threshold, of the type of data, lower ones first. Then values [leaves, W] of the
    last nodes, which are their own children; and perhaps tracks [nodes], not 0 where NaN leads to the other child, too.
    """

    outputs: int
    aggregate: str = "sum"

    def infer(
        self, data: TensorType, roots: TensorType, depths: TensorType, targets: TensorType, nodes: TensorType,
        values: TensorType, tracks: TensorType | None = None,
    ) -> tuple[TensorType, ...]:  # fmt: skip
        known = ", ".join(trees.AGGREGATES)
        require(self.aggregate in trees.AGGREGATES, self, f"expects aggregate {known}, found {self.aggregate!r}")
        for name, matrix in (("data", data), ("values", values)):
            fits = matrix.rank == 2 and matrix.dtype.is_float and matrix.dtype.bits >= 32
            require(fits, self, f"{name} expects a matrix of float32 or float64, found {matrix}")
        count, rows = roots.shape[:1], nodes.shape[:1]
        expected = {
            "roots": (roots, count), "depths": (depths, count), "targets": (targets, count),
            "nodes": (nodes, (*rows, trees.words_of(data.dtype))), "tracks": (tracks, rows),
        }  # fmt: skip
        for name, (found, shape) in expected.items():
            fits = found is None or (found.shape == shape and found.dtype == _PLACES)
            require(fits, self, f"{name} expects int32[{', '.join(map(str, shape))}], found {found}")
        leaves, width = values.shape
        require(
            all(isinstance(n, int) for n in (leaves, width, *rows, *count)), self,
            f"expects an ensemble of known sizes, found {roots}, {nodes}, {values}",
        )  # fmt: skip
        require(0 < width <= self.outputs, self, f"expects values of 1 to {self.outputs} outputs, found {values}")
        require(0 < leaves <= rows[0], self, f"expects values of 1 to {rows[0]} leaves, found {values}")
        return (TensorType(values.dtype, (data.shape[0], self.outputs)),)

    def compute(
        self, data: View, roots: View, depths: View, targets: View, nodes: View, values: View,
        tracks: View | None = None, *, outputs: Sequence[TensorType],
    ) -> Computation:  # fmt: skip
        ensemble = trees.Trees(roots, depths, targets, nodes, values, tracks)
        return trees.tree_ensemble(data, ensemble, self.outputs, self.aggregate)


OPS = (TreeEnsemble,)
"""The operators of this file."""
