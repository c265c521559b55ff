"""Activations of recurrent layers, by the names that ONNX gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations import element_wise


def limited(e: Expr, low: float, high: float) -> Expr:
    """An expression between two bounds."""
    return te.minimum(te.maximum(e, te.const(low, e.dtype)), te.const(high, e.dtype))


_ACTIVATIONS: dict[str, tuple[tuple[float, float], Callable[[Expr, float, float], Expr]]] = {
    "Relu": ((0.0, 0.0), lambda e, a, b: te.maximum(e, te.const(0, e.dtype))),
    "Tanh": ((0.0, 0.0), lambda e, a, b: te.tanh(e)),
    "Sigmoid": ((0.0, 0.0), lambda e, a, b: te.sigmoid(e)),
    "Affine": ((1.0, 0.0), lambda e, a, b: e * a + b),
    "LeakyRelu": ((0.01, 0.0), lambda e, a, b: te.select(e < 0.0, e * a, e)),
    "ThresholdedRelu": ((1.0, 0.0), lambda e, a, b: te.select(e > a, e, te.const(0, e.dtype))),
    "ScaledTanh": ((1.0, 1.0), lambda e, a, b: te.tanh(e * b) * a),
    "HardSigmoid": ((0.2, 0.5), lambda e, a, b: limited(e * a + b, 0.0, 1.0)),
    "Elu": ((1.0, 0.0), lambda e, a, b: element_wise.elu(e, a)),
    "Softsign": ((0.0, 0.0), lambda e, a, b: e / (te.abs(e) + 1.0)),
    "Softplus": ((0.0, 0.0), lambda e, a, b: element_wise.softplus(e)),
}
"""Activations by ONNX name: default alpha and beta, and the function."""

ACTIVATIONS = tuple(_ACTIVATIONS)


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation by its ONNX name; None is the default parameter."""

    name: str
    alpha: float | None = None
    beta: float | None = None

    def __call__(self, e: Expr) -> Expr:
        (alpha, beta), function = _ACTIVATIONS[self.name]
        return function(e, alpha if self.alpha is None else self.alpha, beta if self.beta is None else self.beta)
