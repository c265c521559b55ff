"""Problems that are solved by themselves."""

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.kernels import solved
from sateen.graph_ir.ops import MaxPool
from sateen.tensor_ir import Machine
from sateen.topi.computations.pool_methods import Lines
from sateen.topi.types import Layout, TensorType

MACHINE = Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4")
POOL = Problem(MaxPool((3, 3)), (TensorType.of("float32", (1, 32, 8, 8)),))


def test_a_method_has_the_fastest_layouts_of_its_operator():
    by_lines, by_default = solved(POOL, Lines(2, 3), MACHINE), solved(POOL, None, MACHINE)
    assert [t.layout for t in (*by_lines.inputs, *by_lines.outputs)] == [Layout.blocked(4, 1, 16)] * 2
    assert [t.layout for t in (*by_default.inputs, *by_default.outputs)] == [None] * 2
