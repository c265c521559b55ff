"""Register tiles stay in registers, whatever is fused behind them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sateen.graph_ir.compile import lower_network
from sateen.graph_ir.ir import GraphBuilder
from sateen.graph_ir.ops import Gelu, MatMul, Sigmoid, Tanh
from sateen.graph_ir.passes import default_pipeline, run_pipeline
from sateen.runtime import Target
from sateen.tensor_ir import build_functions

MOST_SPILLS = 60
"""Of vectors, most of them in the epilogue, none in the loop of the product; with constants held there are 170."""


@pytest.mark.parametrize("op", [Sigmoid(), Tanh(), Gelu()], ids=lambda op: op.op_name())
def test_constants_of_an_epilogue_do_not_displace_the_accumulators_of_a_product(op):
    target = Target.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4")
    builder = GraphBuilder("block")
    x = builder.input("x", "float32", (3, 128, 512))
    weight = builder.parameter("w", np.zeros((512, 2048), np.float32))
    builder.output(builder.add(op, builder.add(MatMul(), x, weight)))
    network = lower_network(run_pipeline(builder.finish(), default_pipeline(target)), target)
    (kernel,) = network.kernels
    assembly = build_functions([kernel], target).assembly()
    spills = re.findall(r"vmov\w+\s+%zmm\d+, \d*\(%rsp\)", assembly)
    assert "vfmadd231ps" in assembly
    assert len(spills) < MOST_SPILLS
