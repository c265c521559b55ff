"""Matrix products; the values of all shapes are tested in sateen-topi."""

import re

import numpy as np
import pytest

from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import GraphBuilder, Symbol, TensorType
from sateen.graph_ir.ops import Det, MatMul, Relu, StrassenMatMul
from sateen.runtime import load
from sateen.runtime.errors import InferenceError

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(("a", "b"), [((5, 7), (7, 20)), ((3, 1, 2, 8), (4, 8, 3)), ((2, 3, 8), (8, 1))])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_values(check_op, a, b, dtype):
    x, y = (RANDOM.integers(-9, 9, s).astype(dtype) for s in (a, b))
    check_op(MatMul(), [x, y], [x @ y])


def test_determinants(check_op):
    x = RANDOM.standard_normal((2, 3, 5, 5)).astype("float32")
    x[0, 0, 0, 0] = 0
    x[1, 1, 4] = x[1, 1, 3]
    check_op(Det(), [x], [np.linalg.det(x.astype("float64")).astype("float32")])
    with pytest.raises(InferenceError, match=r"det: expects square matrices \[..., n, n\], found"):
        Det().infer(TensorType.of("float32", (3, 4)))


def test_a_matrix_on_the_right_comes_in_panels(of_lanes):
    types = [TensorType.of("float32", (1, 128, 96)), TensorType.of("float32", (96, 128))]
    choice = next(iter(MatMul().layouts(types, MatMul().infer(*types), of_lanes(16))))
    assert [str(i) for i in choice.inputs] == ["None", "Ba64b"]
    types[1] = TensorType.of("float32", (1, 96, 128))
    assert next(iter(MatMul().layouts(types, MatMul().infer(*types), of_lanes(16)))).inputs == (None, None)


def test_symbolic_dimensions():
    n = Symbol("n")
    (y,) = MatMul().infer(TensorType.of("float32", (n, 4, 8)), TensorType.of("float32", (8, 2)))
    assert y.shape == (n, 4, 2)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ((3,), (3, 5), "mat_mul: expects operands of rank 2 or more"),
        ((2, 3), (4, 5), "mat_mul: the inner dimensions differ: 3 columns on the left, 4 rows on the right"),
        ((2, 2, 3), (3, 3, 5), "don't broadcast: 2 and 3"),
    ],
)
def test_operands_that_don_t_fit_are_refused(a, b, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        MatMul().infer(TensorType.of("float32", a), TensorType.of("float32", b))


def test_other_types_are_refused():
    with pytest.raises(InferenceError, match="one type, or int32 and shorter integers, found float32 and float64"):
        MatMul().infer(TensorType.of("float32", (2, 2)), TensorType.of("float64", (2, 2)))
    with pytest.raises(InferenceError, match="expects numbers, found bool"):
        MatMul().infer(TensorType.of("bool", (2, 2)), TensorType.of("bool", (2, 2)))


@pytest.mark.parametrize("columns", [1, 40])
def test_a_product_of_no_rows_compiles(columns):
    network = GraphBuilder("empty")
    x = network.input("x", "float32", (0, 5))
    product = network.add(MatMul(), x, network.parameter("w", np.ones((5, columns), "float32")))
    network.output(network.add(Relu(), product, name="y"))
    found = load(build(network.finish())).run({"x": np.zeros((0, 5), "float32")})["y"]
    assert found.numpy().shape == (0, columns)


@pytest.mark.parametrize(
    ("a", "weight", "dtype", "message"),
    [
        ((1, 4, 6), (8, 3, 5), "float32", "expects data of rank 3 or more and a weight [7, k/2, n/2], found"),
        ((4, 6), (7, 3, 5), "float32", "expects data of rank 3 or more and a weight [7, k/2, n/2], found"),
        ((1, 4, 8), (7, 3, 5), "float32", "the inner dimensions differ: 8 columns on the left, 6 rows on the right"),
        ((1, 4, 6), (7, 3, 5), "float64", "expects float32, found"),
        ((1, Symbol("n"), 6), (7, 3, 5), "float32", "expects known dimensions, found"),
    ],
)
def test_operands_of_products_of_quarters_that_don_t_fit_are_refused(a, weight, dtype, message):
    with pytest.raises(InferenceError, match=re.escape(f"strassen_mat_mul: {message}")):
        StrassenMatMul().infer(TensorType.of(dtype, a), TensorType.of(dtype, weight))
