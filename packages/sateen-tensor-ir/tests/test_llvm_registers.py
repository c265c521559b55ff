"""Register buffers as SSA values: widths, branches, loops, and what is refused."""

import re

import numpy as np
import pytest

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir import build_functions
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.parser import parse_function

SIGNATURE = "function f(a: int32[8] align 4, b: out int32[8] align 4)\n  allocate r: register int32[8]\n"
FILL = """\
    unrolled z in [0, 8):
      r[z] = a[z]
"""
FILL_LANES = """\
    vectorized z in [0, 8):
      r[z] = a[z]
"""
DRAIN = """\
    unrolled w in [0, 8):
      b[w] = r[w]
"""
DRAIN_LANES = """\
    vectorized w in [0, 8):
      b[w] = r[w]
"""


def agree(body):
    function = parse_function(SIGNATURE + body)
    module = build_functions([function])
    for a in (np.arange(8, dtype="int32") * 3 - 5, np.arange(8, 0, -1, dtype="int32"), np.zeros(8, "int32")):
        wanted, found = np.full(8, -1, "int32"), np.full(8, -1, "int32")
        run(function, [a, wanted])
        module(a, found)
        np.testing.assert_array_equal(found, wanted)
    return module


BODIES = {
    "a part of a vector": """\
    vectorized v in [0, 2):
      r[v + 2] = r[v + 5] + int32(1)
""",
    "one element of a vector": """\
    r[3] = r[0] + r[7]
""",
    "overlapping parts": """\
    vectorized v in [0, 4):
      r[v] = r[v + 4]
    vectorized u in [0, 4):
      r[u + 2] = r[u + 2] * int32(2)
""",
    "a branch that changes widths": """\
    if a[0] < int32(0):
      vectorized v in [0, 8):
        r[v] = r[v] * int32(2)
    else:
      unrolled u in [0, 4):
        r[u + 2] = r[u] - int32(1)
""",
    "a branch without an alternative": """\
    if a[0] > int32(0):
      vectorized v in [0, 2):
        r[v + 6] = int32(9)
""",
    "a loop that changes widths": """\
    for k in [0, 3):
      vectorized v in [0, 8):
        r[v] = r[v] + int32(k)
      r[1] = r[0] + r[2]
""",
    "a loop that may have no iteration": """\
    for k in [0, index(a[7]) % 3):
      vectorized v in [0, 4):
        r[v + 4] = r[v] + int32(k)
""",
    "nested loops and branches": """\
    for k in [0, 3):
      for l in [0, 2):
        if k != l:
          vectorized v in [0, 4):
            r[v + 1] = r[v + 1] + a[v] * int32(l)
        r[7] = r[7] + r[1]
""",
    "a while loop": """\
    while r[0] < int32(40):
      vectorized v in [0, 4):
        r[v] = r[v] * int32(2) + int32(50)
      r[5] = r[5] + int32(1)
""",
    "masked lanes": """\
    vectorized v in [0, 8):
      if a[v] > int32(2):
        r[v] = int32(-3)
""",
    "masked lanes over elements": """\
    r[2] = int32(5)
    vectorized v in [0, 4):
      if a[v] > int32(0):
        r[v + 1] = a[v] + r[v + 1]
""",
    "a choice of register values": """\
    r[0] = select(r[1] < r[2], r[3], r[4])
""",
}


@pytest.mark.parametrize("case", BODIES)
@pytest.mark.parametrize("fill", [FILL, FILL_LANES], ids=["elements", "lanes"])
@pytest.mark.parametrize("drain", [DRAIN, DRAIN_LANES], ids=["elements", "lanes"])
def test_elements_keep_their_values_whatever_the_width(case, fill, drain):
    agree(fill + BODIES[case] + drain)


def test_what_only_some_iterations_set_is_carried_by_the_loop():
    first = """\
    for k in [0, 3):
      if k < 1:
        vectorized z in [0, 8):
          r[z] = a[z]
"""
    agree(first + DRAIN)


def test_what_an_outer_loop_sets_first_reaches_the_inner_ones_next_time():
    first = """\
    for k in [0, 2):
      for l in [0, 2):
        if k + l < 1:
          unrolled z in [0, 8):
            r[z] = a[z]
        if k == 1:
          r[2] = r[3] + r[2]
"""
    agree(first + DRAIN_LANES)


def test_lanes_set_under_different_masks_add_up():
    halves = """\
    for k in [0, 2):
      vectorized z in [0, 8):
        if a[z] % int32(2) == int32(k):
          r[z] = a[z] + int32(k)
"""
    agree(halves + DRAIN_LANES)


def test_register_code_has_no_memory():
    body = (
        FILL_LANES
        + "    for k in [0, 100):\n      vectorized v in [0, 8):\n        r[v] = r[v] * int32(3)\n"
        + DRAIN_LANES
    )
    kernel = re.search(r"define hidden [^\n]*\.kernel\(.*?\n}", agree(body).llvm_text(), re.DOTALL)
    assert kernel is not None
    assert "alloca" not in kernel[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "    for k in [0, 8):\n      r[k] = a[k]\n",
            "expected constant indices after unrolling, found an index that varies with loop 'k'; unroll or vectorize",
        ),
        (
            FILL + "    for k in [0, 2):\n      for l in [0, 4):\n        b[k] = r[k * 2 + l // 2]\n",
            "expected constant indices after unrolling, found an index that varies with loop 'k', 'l'",
        ),
        (
            FILL + "    b[0] = r[index(a[0])]\n",
            "expected constant indices after unrolling, found an index that varies with loaded data",
        ),
        (
            "    vectorized v in [0, 4):\n      r[v * 2] = a[v]\n",
            "expected the vectorized loop 'v' to run along its last dimension, found a stride of 2 elements; make that",
        ),
        ("    vectorized v in [0, 4):\n      r[0] = a[v]\n", "every lane of loop 'v' would store to one element"),
        (
            FILL + "    vectorized v in [0, 4):\n      if a[v] > int32(1):\n        r[0] = int32(1)\n",
            "every lane of loop 'v' would store to one element",
        ),
        ("    b[0] = r[3]\n", "element 3 is read before it is written"),
    ],
)
def test_registers_that_can_not_be_values_are_refused(body, message):
    with pytest.raises(CodegenError, match=re.escape(f"register buffer 'r': {message}")):
        build_functions([parse_function(SIGNATURE + body)])


def test_registers_do_not_cross_into_threads():
    body = FILL + "    parallel p in [0, 8):\n      b[p] = r[0]\n"
    with pytest.raises(
        CodegenError, match="parallel loop 'p' uses a register buffer that belongs to the code around it"
    ):
        build_functions([parse_function(SIGNATURE + body)])
