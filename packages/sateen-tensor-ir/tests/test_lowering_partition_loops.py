"""partition_loops: loop IR before and after; simplify then drops what each part decides."""

from textwrap import indent

import pytest

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.lowering.partition_loops import partition_loops
from sateen.tensor_ir.lowering.simplify import simplify

SIGNATURE = "function f[n](A: float32[n], B: out float32[n])\n"

CASES = {
    "a first iteration that tests": (
        """\
for o in [0, 4) partition:
  unrolled w in [0, 4):
    if o * 4 + w - 1 >= 0:
      B[o * 4 + w] = A[o * 4 + w - 1]""",
        """\
unrolled w in [0, 4):
  if w - 1 >= 0:
    B[w] = A[w - 1]
for o in [1, 4):
  unrolled w_1 in [0, 4):
    B[o * 4 + w_1] = A[o * 4 + w_1 - 1]""",
    ),
    "a last one": (
        """\
for o in [0, 3) partition:
  vectorized w in [0, 4):
    if o * 4 + w < 10:
      B[o * 4 + w] = A[o * 4 + w]""",
        """\
for o in [0, 2):
  vectorized w in [0, 4):
    B[o * 4 + w] = A[o * 4 + w]
vectorized w_1 in [0, 4):
  if w_1 + 8 < 10:
    B[w_1 + 8] = A[w_1 + 8]""",
    ),
    "a select is a condition": (
        "for i in [0, 8) partition:\n  B[i] = select(i >= 1 and i < 7, A[i], 0.0f)",
        "B[0] = 0.0f\nfor i in [1, 7):\n  B[i] = A[i]\nB[7] = 0.0f",
    ),
    "more than four iterations at the edges stay loops": (
        "for o in [0, 20) partition:\n  if o >= 6 and o < 9:\n    B[o] = A[o]",
        "for o in [6, 9):\n  B[o] = A[o]",
    ),
    "where a bound of an inner loop becomes constant": (
        "for o in [0, 3) partition:\n  for w in [0, min(4, 10 - o * 4)):\n    B[o * 4 + w] = A[o * 4 + w]",
        """\
for o in [0, 2):
  for w in [0, 4):
    B[o * 4 + w] = A[o * 4 + w]
for w_1 in [0, 2):
  B[w_1 + 8] = A[w_1 + 8]""",
    ),
    "a condition that holds throughout cuts nothing": (
        "for o in [0, 3) partition:\n  for w in [0, 4):\n    if o * 4 + w < 12:\n      B[o * 4 + w] = 1.0f",
        "for o in [0, 3):\n  for w in [0, 4):\n    B[o * 4 + w] = 1.0f",
    ),
}

UNCHANGED = {
    "an unrolled loop whose parts would have no constant extent": (
        "unrolled w in [0, 3) partition:\n  if w < n - 2:\n    B[w] = A[w]"
    ),
    "a loop that did not ask": "for o in [0, 4):\n  if o < 2:\n    B[o] = A[o]",
    "a vectorized loop": "vectorized o in [0, 4) partition:\n  if o < 2:\n    B[o] = A[o]",
    "a loop over threads": "thread threadIdx.x o in [0, 4) partition:\n  if o < 2:\n    B[o] = A[o]",
    "a range of data": "for o in [0, index(B[0])) partition:\n  if o < n - 2:\n    B[o] = A[o]",
    "a range up to data": "for o in [0, n) partition:\n  if o < index(B[0]):\n    B[o] = A[o]",
    "a condition on data": "for o in [0, 4) partition:\n  if A[o] < 2.0f:\n    B[o] = A[o]",
}


def partitioned(body):
    function = parse_function(SIGNATURE + indent(body, "  "))
    result = partition_loops(function.body, Analyzer())
    verify(Function(function.name, function.parameters, function.outputs, result))
    return function.body, result


@pytest.mark.parametrize("case", CASES)
def test_partition_loops(case):
    before, after = CASES[case]
    assert str(simplify(partitioned(before)[1], Analyzer())) == after


@pytest.mark.parametrize("case", UNCHANGED)
def test_a_loop_that_can_not_or_need_not_be_cut_stays(case):
    before, after = partitioned(UNCHANGED[case])
    assert after is before
