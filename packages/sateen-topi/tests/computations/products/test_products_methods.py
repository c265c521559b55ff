"""The ways for matrix products."""

from sateen.runtime import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations.products.methods import Packed, Strassen, cpu_candidates

FLOAT32 = DType.of("float32")
MACHINE = Machine.of("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")


def test_a_matrix_on_the_right_is_packed_and_large_products_take_strassen_too():
    kinds = {type(c.method) for c in cpu_candidates((1, 2048, 2048), (2048, 2048), FLOAT32, MACHINE)}
    assert kinds == {Packed, Strassen}


def test_a_stack_of_matrices_on_the_right_is_not_packed():
    assert not cpu_candidates((2, 2048, 2048), (2, 2048, 2048), FLOAT32, MACHINE)
