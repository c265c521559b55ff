"""Operators of ACME: an activation, and a normalization that brings its schedule.

An ONNX node of domain `acme` and type `Swish` is an operator named `acme.Swish`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sateen.runtime import InferenceError
from sateen.tensor_ir import Machine, te
from sateen.topi import Computation, LayoutChoice, Operator, TensorType, View
from sateen.topi.computations.element_wise import unary
from sateen.topi.schedules import Rows


@dataclass(frozen=True, slots=True)
class Swish(Operator):
    """x · sigmoid(beta · x) (Ramachandran et al., Searching for Activation Functions, 2017)."""

    name = "acme.Swish"
    beta: float = 1.0

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (x,)

    def compute(self, x: View, *, outputs: Sequence[TensorType]) -> Computation:
        return unary(x, lambda e: e * te.sigmoid(e * self.beta), "swish", outputs[0].layout)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        """The layout of the input, whatever it is: no conversion stands between a convolution and its activation."""
        yield LayoutChoice((inputs[0].layout,), (inputs[0].layout,))


@dataclass(frozen=True, slots=True)
class RMSNorm(Operator):
    """x / √(mean(x²) + epsilon) · scale over the last axis (Zhang, Sennrich, Root Mean Square Normalization, 2019)."""

    name = "acme.RMSNorm"
    epsilon: float = 1e-6

    def infer(self, x: TensorType, scale: TensorType) -> tuple[TensorType, ...]:
        if str(x.dtype) != "float32" or scale.dtype != x.dtype or scale.rank != 1 or scale.shape != x.shape[-1:]:
            raise InferenceError(f"expected float32 data and a scale as long as its last axis, found {x} and {scale}")
        return (x,)

    def compute(self, x: View, scale: View, *, outputs: Sequence[TensorType]) -> Computation:
        rows = Rows(x.shape, x.ndim - 1, x.ndim)
        total = rows.reduction(te.sum, lambda o, r, i: x(*rows.index(o, r, i)) * x(*rows.index(o, r, i)), "total")
        factor = rows.statistic(lambda o, i: 1.0 / te.sqrt(total(o, i) / rows.length + self.epsilon), "factor")
        return rows.computation(lambda *i: x(*i) * factor(*rows.row_of(i)) * scale(i[-1]), "rms_norm")


OPERATORS = (Swish, RMSNorm)
"""What entry point `sateen.operators` names."""
