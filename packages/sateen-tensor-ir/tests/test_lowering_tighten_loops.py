"""tighten_loops: loop IR before and after."""

from textwrap import indent

import pytest

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering.tighten_loops import tighten_loops

SIGNATURE = "function f(A: float32[64], B: out float32[64])\n"

CASES = {
    "an upper bound ends the loop": (
        "for h in [0, 8):\n  if h < 3:\n    B[h] = A[h]",
        "for h in [0, 3):\n  B[h] = A[h]",
    ),
    "a lower bound starts it": (
        "for h in [0, 8):\n  if h - 2 >= 0:\n    B[h] = A[h]",
        "for h in [2, 8):\n  B[h] = A[h]",
    ),
    "a coefficient divides, rounding outwards of the loop": (
        "for h in [0, 8):\n  if h * 3 < 10 and 2 * h >= 3:\n    B[h] = A[h]",
        "for h in [2, 4):\n  B[h] = A[h]",
    ),
    "a negative coefficient turns the bound": (
        "for h in [0, 8):\n  if 10 - h * 2 >= 0:\n    B[h] = A[h]",
        "for h in [0, 6):\n  B[h] = A[h]",
    ),
    "a bound may vary with an outer loop": (
        "for h in [0, 8):\n  for k in [0, 3):\n    if h + k < 9:\n      B[k] = A[h + k]",
        "for h in [0, 8):\n  for k in [0, min(3, h * -1 + 9)):\n    B[k] = A[h + k]",
    ),
    "a loop that may have no iteration is not negative": (
        "for h in [0, 8):\n  for k in [0, 3):\n    if h + k < 5:\n      B[k] = A[h + k]",
        "for h in [0, 8):\n  for k in [0, max(min(3, h * -1 + 5), 0)):\n    B[k] = A[h + k]",
    ),
    "a term without the variable leaves the loop, and becomes a bound outside": (
        "for h in [0, 8):\n  for k in [0, 3):\n    if h > 1:\n      B[k] = A[h]",
        "for h in [2, 8):\n  for k in [0, 3):\n    B[k] = A[h]",
    ),
    "a condition leaves an allocation": (
        "for h in [0, 8):\n  allocate t: float32[1]\n    if h < 3:\n      t[0] = A[h]",
        "for h in [0, 3):\n  allocate t: float32[1]\n  t[0] = A[h]",
    ),
    "nested conditions are one": (
        "if A[0] < 1.0f:\n  if A[1] < 1.0f:\n    B[0] = 1.0f",
        "if A[0] < 1.0f and A[1] < 1.0f:\n  B[0] = 1.0f",
    ),
    "a constant bound ends an unrolled loop": (
        "unrolled k in [0, 5):\n  if k < 3:\n    B[k] = A[k]",
        "unrolled k in [0, 3):\n  B[k] = A[k]",
    ),
    "a term that a vectorized loop decides stays, another leaves": (
        "for h in [0, 8):\n  vectorized k in [0, 4):\n    if h + k < 9 and h > 1:\n      B[k] = A[h + k]",
        "for h in [2, 8):\n  vectorized k in [0, 4):\n    if h + k < 9:\n      B[k] = A[h + k]",
    ),
    "a term on data stays, another leaves": (
        "for h in [0, 8):\n  for k in [0, 3):\n    if A[k] < 0.0f and h > 2:\n      B[k] = A[h]",
        "for h in [3, 8):\n  for k in [0, 3):\n    if A[k] < 0.0f:\n      B[k] = A[h]",
    ),
}

UNCHANGED = {
    "a varying bound of an unrolled loop": (
        "for h in [0, 8):\n  unrolled k in [0, 3):\n    if h + k < 9:\n      B[k] = A[h + k]"
    ),
    "a bound that differs between lanes": (
        "vectorized k in [0, 4):\n  for h in [0, 8):\n    if h + k < 9:\n      B[k] = A[h + k]"
    ),
    "a condition with an alternative": ("for h in [0, 8):\n  if h < 3:\n    B[h] = 1.0f\n  else:\n    B[h] = 2.0f"),
    "a condition on a part of the body": "for h in [0, 8):\n  B[h] = 1.0f\n  if h < 3:\n    B[h] = 2.0f",
    "a condition on loaded memory around an allocation": ("allocate t: float32[1]\n  if A[0] < 1.0f:\n    t[0] = A[0]"),
}


def tightened(body):
    function = parse_function(SIGNATURE + indent(body, "  "))
    return function.body, tighten_loops(function.body, Analyzer())


@pytest.mark.parametrize("case", CASES)
def test_tighten_loops(case):
    before, after = CASES[case]
    assert str(tightened(before)[1]) == after


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_no_bound_can_express_stays(case):
    before, after = tightened(UNCHANGED[case])
    assert str(after) == str(before)


def test_a_condition_that_is_not_linear_stays():
    body = "for h in [0, 8):\n  if h % 3 == 1:\n    B[h] = A[h]"
    assert str(tightened(body)[1]) == body
