"""Operators on whole tensors, which broadcast, and tensors that get their indices one after the other."""

import numpy as np
import pytest

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir import build, te
from sateen.tensor_ir.interpret import evaluate

n, m = te.var("n"), te.var("m")
A = te.placeholder((n, 3), name="A")
B = te.placeholder((3,), name="B")
C = te.placeholder((n, 1), name="C")
K = te.placeholder((3,), "int32", name="K")
a = np.array([[1, 2, 3], [-4, 5, 6]], "float32")
b = np.array([0.5, 2, -1], "float32")
c = np.array([[10], [20]], "float32")
k = np.array([7, -7, 5], "int32")


def refused(message, use):
    with pytest.raises(ExpressionError) as error:
        use()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("tensor", "name", "expected"),
    [
        (A + B, "add", a + b),
        (A - C, "subtract", a - c),
        (2 - A, "subtract", 2 - a),
        (C * B, "multiply", c * b),
        (np.float32(3) * A, "multiply", 3 * a),
        (1.0 / A, "divide", 1 / a),
        (K // 2, "floordiv", k // 2),
        (9 % K, "floormod", 9 % k),
        (-A, "negative", -a),
        (abs(K), "absolute", abs(k)),
        (K.astype("float32"), "cast", k.astype("float32")),
        (te.const(2, "float32") * A, "multiply", 2 * a),
        (A**2, "power", a**2),
        (K & 3, "bitwise_and", k & 3),
        (1 | K, "bitwise_or", 1 | k),
        (K ^ K, "bitwise_xor", k ^ k),
        (~K, "bitwise_not", ~k),
        (K << 2, "left_shift", k << 2),
        (K >> 1, "right_shift", k >> 1),
        ((A + B) * (A - B) / 4, "divide", (a + b) * (a - b) / 4),
    ],
)
def test_operators_compute_each_element_of_the_common_shape(tensor, name, expected):
    assert tensor.name == name
    (found,) = evaluate([tensor], {A: a, B: b, C: c, K: k})
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert str(tensor.dtype) == str(expected.dtype)


def test_chains_of_operators_are_stages_of_a_schedule():
    total = A * 2
    D = total + B
    s = te.create_schedule(D)
    s[total].compute_inline()
    result = np.empty_like(a)
    build(s, [A, B, D])(a, b, result)
    np.testing.assert_array_equal(result, a * 2 + b)


def test_a_single_value_may_be_a_variable():
    factor = te.var("factor", "float32")
    for D in (A * factor, factor * A):
        result = np.empty_like(a)
        build(te.create_schedule(D), [factor, A, D])(0.5, a, result)
        np.testing.assert_array_equal(result, a / 2)


def test_a_tensor_without_dimensions_beside_an_expression_over_axes_is_its_element():
    T = te.placeholder((), name="T")
    D = te.compute((3,), lambda i: T * B[i] - T, name="D")
    assert D.op.inputs == (T, B)
    assert (T + T).ndim == 0


def test_operands_that_do_not_fit():
    refused(
        "'add' expects shapes that broadcast to a common one, found [n, 3] and [m, 3]",
        lambda: A + te.placeholder((m, 3)),
    )
    refused("found [n, 3] and [4], whose dimension 1 is not provably equal", lambda: A * te.placeholder((4,)))
    refused("operands of '+' have types float32 and int32; convert one with .astype(...)", lambda: A + K)
    refused("'/' is the division of floating-point numbers, found int32; use //", lambda: K / 2)
    refused("expected an integer for a literal of type int32, found 2.5", lambda: K * 2.5)
    refused("'multiply' of tensor 'A' expects a tensor or a number, found a bool, which Python", lambda: A * (A == B))
    refused("expected an expression or a number, found ndarray", lambda: A + a)
    refused("expected an expression or a number, found NoneType", lambda: A + None)
    refused("found tensor 'A'; use its elements", lambda: te.compute((n,), lambda i: B[0] + te.const(1.0) * B[i] + A))


def test_equality_of_tensors_is_identity():
    assert A in (B, A)
    assert A != B
    assert {A: 1}[A] == 1


def test_what_python_made_of_tensors_is_no_element():
    def body(_, outs):
        ib = te.ir_builder.create()
        result = ib.buffer_ptr(outs[0])
        result[0] = A == B
        return ib.get()

    refused("expected a number of index, found False, which Python has decided already", lambda: B[A == B])
    refused(
        "compute 'D' expects an expression from its function, found a bool",
        lambda: te.compute((3,), lambda i: A == B, "D"),
    )
    refused("expected a number of float32, found False", lambda: te.extern((3,), [B], body))


def test_indices_may_be_given_one_after_the_other():
    D = te.compute((3, n), lambda i, j: A[j][i] + A[j, i], name="D")
    assert str(D.op.body[0]) == "A[j, i] + A[j, i]"
    np.testing.assert_array_equal(evaluate([D], {A: a})[0], 2 * a.T)


def test_a_tensor_that_lacks_indices_is_no_expression():
    lacks = "tensor 'A' has 2 dimensions, found 1 indices"
    for use in (
        lambda: te.compute((n,), lambda i: A[i]),
        lambda: A[0] + 1.0,
        lambda: 1.0 + A[0],
        lambda: A[0, 0] * A[0],
        lambda: te.exp(A[0]),
        lambda: A[0] == A[1],
        lambda: list(A[0]),
        lambda: A[0].astype("int32"),
        lambda: A(0),
    ):
        refused(lacks, use)
    refused("tensor 'A' has 2 dimensions, found 3 indices", lambda: A[0][1, 2])
    refused("an index of tensor 'A' expects an integer, found a slice", lambda: A[0][:] + 1.0)
