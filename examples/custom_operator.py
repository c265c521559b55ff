"""An operator of your own in a network, and a computation of your own for an operator of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sateen import graph_ir, runtime
from sateen.graph_ir import OPS, GraphBuilder
from sateen.graph_ir.ops import LeakyRelu, MatMul
from sateen.tensor_ir import te
from sateen.topi import Computation, Operator, TensorType, View
from sateen.topi.computations.element_wise import unary


@dataclass(frozen=True, slots=True)
class Swish(Operator):
    """x · sigmoid(beta · x)."""

    name = "acme.Swish"
    beta: float = 1.0

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (x,)

    def compute(self, x: View, *, outputs: Sequence[TensorType]) -> Computation:
        return unary(x, lambda e: e * te.sigmoid(e * self.beta), "swish", outputs[0].layout)


random = np.random.default_rng(0)
weight = random.standard_normal((64, 32)).astype(np.float32)

builder = GraphBuilder("net")
data = builder.input("data", "float32", (8, 64))
hidden = builder.add(MatMul(), data, builder.parameter("weight", weight))
builder.output(builder.add(LeakyRelu(0.1), builder.add(Swish(1.5), hidden), name="out"))
graph = builder.finish()
print(graph)

inputs = {"data": random.standard_normal((8, 64)).astype(np.float32)}
expected = graph_ir.interpret(graph, inputs)["out"]
found = runtime.load(graph_ir.build(graph)).run(inputs)["out"].numpy()
np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def leaky_relu(op: LeakyRelu, x: View, *, outputs: Sequence[TensorType]) -> Computation | None:
    """max(x, alpha · x) where alpha is from 0 to 1; else the computation stays ours, which compares and selects."""
    if not 0 <= op.alpha <= 1:
        return None
    return unary(x, lambda e: te.maximum(e, e * op.alpha), "leaky_relu", outputs[0].layout)


operators = OPS.with_lowering(LeakyRelu, "llvm", leaky_relu)
other = runtime.load(graph_ir.build(graph, operators=operators)).run(inputs)["out"].numpy()
np.testing.assert_allclose(other, expected, rtol=1e-4, atol=1e-5)
print("largest difference to the definition:", np.abs(found - expected).max(), "and", np.abs(other - expected).max())
