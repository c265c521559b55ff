"""What the iterations of a loop compute alike leaves it when code is generated."""

from dataclasses import replace

import numpy as np
import pytest

from weft.tensor_ir.build import build_functions
from weft.tensor_ir.codegen.c_family.c99 import emit_c
from weft.tensor_ir.codegen.invariants import enclosed, without_invariants
from weft.tensor_ir.interpret import run
from weft.tensor_ir.ir.parser import parse_function
from weft.tensor_ir.ir.stmt import For
from weft.tensor_ir.ir.visit import walk

SHARED = """\
function f(a: float32[4] align 4, b: out float32[6, 4] align 4)
  {kind} i in [0, 6):
    allocate t: float32[4]
    allocate u: float32[4]
    for j in [0, 4):
      allocate s: float32[1]
      s[0] = a[j] * 2.0f
      t[j] = s[0] + 1.0f
    for k in [0, 4):
      u[k] = t[k] + float32(i)
    for l in [0, 4):
      b[i, l] = u[l] * t[l]
"""


def hoisted(text):
    function = parse_function(text)
    loop = next(n for n in walk(function.body) if isinstance(n, For))
    inner, around = without_invariants(loop)
    return function, loop, inner, around


def test_it_comes_before_the_loop_with_its_storage():
    function, _, inner, around = hoisted(SHARED.format(kind="for"))
    assert str(replace(function, body=enclosed(inner, around))) == """\
function f(a: float32[4] align 4, b: out float32[6, 4] align 4)
  allocate t: float32[4]
  for j in [0, 4):
    allocate s: float32[1]
    s[0] = a[j] * 2.0f
    t[j] = s[0] + 1.0f
  for i in [0, 6):
    allocate u: float32[4]
    for k in [0, 4):
      u[k] = t[k] + float32(i)
    for l in [0, 4):
      b[i, l] = u[l] * t[l]"""


@pytest.mark.parametrize("kind", ["for", "parallel"])
def test_generated_code_gives_the_same(kind):
    function = parse_function(SHARED.format(kind=kind))
    a, found, wanted = np.arange(4, dtype="float32"), np.zeros((6, 4), "float32"), np.zeros((6, 4), "float32")
    run(function, [a, wanted])
    build_functions([function])(a, found)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["for", "parallel"])
def test_c_computes_it_once(kind):
    text = emit_c([parse_function(SHARED.format(kind=kind))])
    loops = [line.strip() for line in text.splitlines() if line.strip().startswith("for (")]
    assert [loop.split()[2] for loop in loops if loop.split()[2] != "d"] == ["j", "i", "k", "l"]  # d: checks of shapes


@pytest.mark.parametrize(
    "body",
    [
        """\
    allocate t: float32[4]
    t[0] = float32(i)
    b[i] = t[0]
""",
        """\
    b[0] = a[0]
    b[i] = a[1]
""",
        """\
    allocate t: float32[4]
    t[0] = a[0]
    t[0] = t[0] + float32(i)
    b[i] = t[0]
""",
        """\
    allocate t: float32[4]
    t[0] = b[0]
    b[i] = t[0] + 1.0f
""",
        """\
    allocate t: float32[4]
    t[0] = a[0]
""",
    ],
    ids=["it depends on the iteration", "others see it", "changed later", "it reads a result", "it is all there is"],
)
def test_other_statements_stay(body):
    _, loop, inner, around = hoisted(f"function f(a: float32[4], b: out float32[4])\n  for i in [0, 4):\n{body}")
    assert inner is loop
    assert around == ()
