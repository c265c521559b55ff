"""Lanes of vectors have memory of their own."""

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering.separate_lanes import separate_lanes

VECTORS = """\
function f(A: float32[16], B: out float32[16])
  vectorized i in [8, 16):
    allocate t: local float32[2]
    for k in [0, 2):
      t[k] = A[i]
    B[i] = t[0] * t[1]
"""
SEPARATE = """\
function f(A: float32[16], B: out float32[16])
  vectorized i in [8, 16):
    allocate t: local float32[8, 2]
    for k in [0, 2):
      t[i - 8, k] = A[i]
    B[i] = t[i - 8, 0] * t[i - 8, 1]
"""


def separated(text):
    function = parse_function(text)
    return function.body, separate_lanes(function.body, Analyzer())


def test_memory_in_a_vectorized_loop_gets_a_dimension_for_the_lanes():
    _, after = separated(VECTORS)
    assert str(after) == str(parse_function(SEPARATE).body)


def test_memory_of_other_loops_stays():
    before, after = separated(VECTORS.replace("vectorized", "parallel"))
    assert after is before
    outside = "function f(A: float32[8], B: out float32[8])\n  allocate t: local float32[8]\n"
    before, after = separated(f"{outside}  vectorized i in [0, 8):\n    t[i] = A[i]\n    B[i] = t[i]\n")
    assert after is before
