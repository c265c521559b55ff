"""Extents of different arguments that have to fit each other: what lowering finds, and calls that do not give it."""

import re

import numpy as np
import pytest

from sateen.runtime import ArgumentError
from sateen.runtime.errors import LoweringError
from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.equal import why_different
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.verifier import verify

n, k, m = (te.var(name) for name in "nkm")
A, B = te.placeholder((n,), name="A"), te.placeholder((k,), name="B")
TEXT = """\
function run[k, m, n](A: float32[n] align 4, B: float32[k] align 4, C: out float32[m] align 4) \
requires A[0]: n - m, B[0]: k - m
  for i in [0, m):
    C[i] = A[i] * B[i]"""


def ones(*sizes):
    return [np.ones(size, "float32") for size in sizes]


def product():
    C = te.compute((m,), lambda i: A[i] * B[i], name="C")
    return te.create_schedule(C), [A, B, C]


def required(body, *arguments):
    """What the function of an output requires."""
    C = te.compute((m,), body, name="C")
    head = str(lower(te.create_schedule(C), [*arguments, C])).splitlines()[0]
    return head.partition(" requires ")[2]


def test_requirements_are_part_of_the_text():
    function = lower(*product())
    assert str(function) == TEXT
    again = parse_function(TEXT)
    assert str(again) == TEXT
    assert why_different(function, again) is None
    other = parse_function(TEXT.replace("k - m", "k - 2 * m"))
    assert digest(other) != digest(again) == digest(function)
    assert "requirements" in str(why_different(again, other))


def test_reads_that_fit_by_their_extents_require_nothing():
    kk = te.reduce_axis(k, "k")
    outputs = [
        te.compute((n,), lambda i: A[n - 1 - i], name="C"),
        te.compute((n // 2,), lambda i: A[2 * i] + A[2 * i + 1], name="C"),
        te.compute((n - k + 1,), lambda i: te.sum(A[i + kk] * B[kk], axis=kk), name="C"),
        te.compute((m,), lambda i: te.if_then_else(i < n, A[i], 0.0), name="C"),
    ]
    for C in outputs:
        arguments = [t for t in (A, B) if t in C.op.inputs]
        assert lower(te.create_schedule(C), [*arguments, C]).requirements == ()


def test_what_a_read_reaches_is_required_unless_the_domain_is_empty():
    kk = te.reduce_axis(k, "k")
    assert required(lambda i: A[n - 1 - i], A) == "A[0]: n - m"
    assert required(lambda i: A[i + 3], A) == "A[0]: min(max(m, 0), 1) * (n - m - 3)"
    window = required(lambda i: te.sum(A[i + kk] * B[kk], axis=kk), A, B)
    assert window == "A[0]: min(max(k, 0), 1) * (min(max(m, 0), 1) * (n - m - k + 1))"
    D = te.compute((k,), lambda i: B[i] * 2.0, name="D")
    assert required(lambda i: D[i], B) == "C[0]: k - m"  # of what is no argument


@pytest.mark.parametrize("sizes", [(8, 8, 8), (9, 11, 8), (0, 3, 0)])
def test_a_call_with_extents_that_fit_runs(sizes):
    a, b, c = ones(*sizes)
    build(*product())(a, b, c * 0)
    run(lower(*product()), [a, b, c])


def refuses(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()


def test_a_call_that_would_read_beyond_an_argument_is_refused(compiled_c):
    function, arrays = lower(*product()), ones(9, 7, 8)
    message = (
        "argument 1 (B): expected a dimension 0 that holds all elements that are read, found shape (7,) beside A (9,)"
    )
    refuses(lambda: build(*product())(*arrays), message)
    refuses(lambda: compiled_c(function)(*arrays), message)
    refuses(
        lambda: run(function, arrays), "argument 'B' expects an extent with which all reads are within their tensors"
    )


def test_an_argument_that_broadcasts_has_one_element_or_enough():
    schedule, arguments = product()
    view = te.decl_buffer((k,), name="B", alignment=4, buffer_type="auto_broadcast")
    f = build(schedule, arguments, buffers={B: view})
    f(*ones(8, 1, 8))
    f(*ones(8, 8, 8))
    refuses(lambda: f(*ones(8, 2, 8)), "argument 1 (B): expected a dimension 0 that holds all elements that are read")
    refuses(lambda: f(*ones(8, 0, 8)), "argument 1 (B): expected a dimension 0 that holds all elements that are read")


def test_host_code_of_a_device_has_the_requirements_of_its_function():
    schedule, arguments = product()
    schedule[arguments[-1]].bind(arguments[-1].op.axis[0], te.thread_axis("blockIdx.x"))
    host = build(schedule, arguments, "opencl").program.host
    assert [(r.parameter.name, r.dimension, str(r.slack)) for r in host.requirements] == [
        ("A", 0, "n - m"),
        ("B", 0, "k - m"),
    ]


@pytest.mark.parametrize(
    ("slack", "message"),
    [
        ("A[1]: n", "requirement of dimension 1 of Buffer(A"),
        ("A[0]: float32(n)", "requirement of parameter 'A'"),
    ],
)
def test_the_verifier_checks_requirements(slack, message):
    with pytest.raises(LoweringError, match=re.escape(message)):
        verify(parse_function(f"function f[n](A: out float32[n]) requires {slack}\n  pass"))
