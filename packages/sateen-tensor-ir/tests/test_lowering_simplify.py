"""simplify: loop IR before and after."""

from textwrap import indent

import pytest

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering.simplify import simplify

SIGNATURE = "function f(A: float32[64], B: out float32[64])\n"

CASES = {
    "an index is put into normal form": (
        "for i in [0, 4):\n  B[i * 1 + 0] = A[2 + i * 2 + i]",
        "for i in [0, 4):\n  B[i] = A[i * 3 + 2]",
    ),
    "a quotient and its remainder are the whole": (
        "for i in [0, 8):\n  B[i] = A[i // 4 * 4 + i % 4]",
        "for i in [0, 8):\n  B[i] = A[i]",
    ),
    "a condition that always holds goes": (
        "for i in [0, 4):\n  if i < 4:\n    B[i] = A[i]",
        "for i in [0, 4):\n  B[i] = A[i]",
    ),
    "a condition that never holds takes its branch with it": (
        "for i in [0, 4):\n  if i > 7:\n    B[i] = A[i]\n  else:\n    B[i] = 1.0f",
        "for i in [0, 4):\n  B[i] = 1.0f",
    ),
    "a condition holds inside of itself": (
        "for i in [0, 4):\n  if i < 2:\n    if i < 3:\n      B[i] = A[i]",
        "for i in [0, 4):\n  if i < 2:\n    B[i] = A[i]",
    ),
    "a term is tested once": (
        "for i in [0, 4):\n  if i < 2 and i < 2:\n    B[i] = A[i]",
        "for i in [0, 4):\n  if i < 2:\n    B[i] = A[i]",
    ),
    "a decided select is its operand": (
        "for i in [0, 8):\n  B[i] = select(i < 8, A[i], A[i + 100])",
        "for i in [0, 8):\n  B[i] = A[i]",
    ),
    "a loop of one iteration is its body": ("for i in [3, 4):\n  B[i] = A[i]", "B[3] = A[3]"),
    "loops of one iteration within each other": (
        "for j in [2, 3):\n  for k in [5, 6):\n    for i in [0, 4):\n      B[i + k * j] = A[k] + float32(j)",
        "for i in [0, 4):\n  B[i + 10] = A[5] + float32(2)",
    ),
    "a loop of none is nothing": ("for i in [0, 0):\n  B[i] = A[i]", "pass"),
    "a loop over nothing is nothing": (
        "for i in [0, 4):\n  allocate t: float32[1]\n    if i > 7:\n      t[0] = A[i]",
        "pass",
    ),
    "a condition over nothing is that of its other branch": (
        "for i in [0, 4):\n  if i < 2:\n    if i > 3:\n      B[i] = A[i]\n  else:\n    B[i] = 1.0f",
        "for i in [0, 4):\n  if not i < 2:\n    B[i] = 1.0f",
    ),
}

UNCHANGED = {
    "normal forms": "for i in [0, 4):\n  B[i * 2 + 1] = A[i]",
    "floating-point sums": "for i in [0, 4):\n  B[i] = A[i] + 0.0f + A[i] * 1.0f",
    "conditions that may fail": "for i in [0, 4):\n  if i < 2:\n    B[i] = A[i]",
    "conditions on data": "for i in [0, 4):\n  if A[i] < A[i]:\n    B[i] = A[i]",
    "a hardware thread": "thread threadIdx.x i in [0, 1):\n  B[0] = A[0]",
    "a while loop without a body": "while B[0] < 1.0f:\n  pass",
}


def simplified(body):
    function = parse_function(SIGNATURE + indent(body, "  "))
    return function.body, simplify(function.body, Analyzer())


@pytest.mark.parametrize("case", CASES)
def test_simplify(case):
    before, after = CASES[case]
    assert str(simplified(before)[1]) == after


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_is_simple_stays_the_same_object(case):
    before, after = simplified(UNCHANGED[case])
    assert after is before


@pytest.mark.parametrize("case", CASES)
def test_simplify_is_idempotent(case):
    _, once = simplified(CASES[case][0])
    assert simplify(once, Analyzer()) is once
