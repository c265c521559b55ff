"""Pragmas: what each asks for, hints that nothing reads, and values that are refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sateen.runtime.errors import CodegenError, ScheduleError
from sateen.tensor_ir import build, explain, lower, te

A = te.placeholder((3, 4, 5), name="A")
C = te.compute((3, 4, 5), lambda i, j, k: A[i, j, k] + 1.0, name="C")
I, J, K = C.op.axis


def schedule(*pragmas):
    s = te.create_schedule(C)
    for pragma in pragmas:
        s[C].pragma(*pragma)
    return s


def unrolled(*pragmas):
    """The loops that are unrolled."""
    text = str(lower(schedule((I, "auto_unroll_max_step", 100), *pragmas), [A, C]).body)
    return re.findall(r"unrolled (\w)", text)


def test_depths_say_which_loops_are_unrolled():
    assert unrolled() == ["i", "j", "k"]
    assert unrolled((I, "auto_unroll_max_depth", 2)) == ["j", "k"]
    assert unrolled((I, "auto_unroll_max_depth", 2), (J, "auto_unroll_max_depth", 1)) == ["k"]
    assert unrolled((I, "auto_unroll_min_depth", 1)) == ["j", "k"]
    assert unrolled((I, "auto_unroll_min_depth", 3)) == []


def test_loops_that_are_not_unrolled_explicitly_are_loops_of_machine_code():
    explicit, left = (schedule((K, "unroll"), (I, "unroll_explicit", value)) for value in (1, 0))
    stores = [build(s, [A, C], keep_loops=True).llvm_text().count("store float") for s in (explicit, left)]
    assert stores == [5, 1]
    assert "loop k: not unrolled: its pragma unroll_explicit is False" in str(explain(left, [A, C]))
    a, c = np.ones((3, 4, 5), "float32"), np.zeros((3, 4, 5), "float32")
    build(left, [A, C])(a, c)
    np.testing.assert_array_equal(c, a + 1)


def test_a_region_is_left_out():
    s = schedule((J, "debug_skip_region"))
    assert "C" not in str(lower(s, [A, C]).body)
    assert "loop j of C: left out, as the pragma debug_skip_region asks" in str(explain(s, [A, C]))
    assert "C" in str(lower(schedule((J, "debug_skip_region", False)), [A, C]).body)


def test_primitives_are_pragmas_too():
    s = schedule((I, "parallel", None), (J, "unroll"), (K, "vectorize"))
    assert [s[C].kinds[axis].value for axis in C.op.axis] == ["parallel", "unrolled", "vectorized"]


HINTS = {
    "parallel_launch_point": "not used: every parallel loop is launched by itself",
    "parallel_barrier_when_finish": "not used: threads wait for each other at the end of every parallel loop",
    "parallel_stride_pattern": "not used: each thread takes iterations that follow one another",
    "prefetch_scope": "not used: prefetch says what is read ahead",
    "dma_copy": "not used: no pass of sateen reads it; one of your own may",
    "unroll_explicitly": "one of your own may; did you mean unroll_explicit or",
}


@pytest.mark.parametrize("key", HINTS)
def test_a_hint_changes_nothing_and_is_told(key):
    s = schedule((I, "parallel"), (I, key))
    assert f"loop i of C: pragma {key} " in (text := str(explain(s, [A, C])))
    assert HINTS[key] in text
    a, c = np.ones((3, 4, 5), "float32"), np.zeros((3, 4, 5), "float32")
    build(s, [A, C])(a, c)
    np.testing.assert_array_equal(c, a + 1)


def test_a_pass_of_the_users_own_sees_a_hint():
    seen = []
    build(schedule((I, "dma_copy", "pad")), [A, C], passes=[lambda body, _: seen.append(body.pragmas) or body])
    assert seen == [(("dma_copy", "pad"),)]


REFUSED = {
    "expects a name, found 'a b'": (I, "a b"),
    "expects a name, found 3": (I, 3),
    "dma_copy expects a bool, an integer or a text, found [1]": (I, "dma_copy", [1]),
    "keep expects True or False, found 2": (I, "keep", 2),
    "unroll_explicit expects True or False, found 'no'": (I, "unroll_explicit", "no"),
    "auto_unroll_max_depth expects an integer of at least 0, found -1": (I, "auto_unroll_max_depth", -1),
    "import_llvm expects LLVM text, found True": (I, "import_llvm"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_a_pragma_does_not_mean_is_refused(message):
    with pytest.raises(ScheduleError, match=re.escape(f"pragma in stage 'C', axis 'i': {message}")):
        schedule(REFUSED[message])


TEXT = """
@third = private constant float 3.000000e+00

declare float @llvm.fabs.f32(float)

define float @distance(float %a, float %b) {
  %c = fsub float %a, %b
  %d = call float @llvm.fabs.f32(float %c)
  %e = load float, ptr @third
  %f = fmul float %d, %e
  ret float %f
}
"""


def distances(text, result="float32"):
    x, y = te.placeholder((6,), name="x"), te.placeholder((6,), name="y")
    d = te.compute((6,), lambda i: te.call_extern(result, "distance", x[i], y[i]).astype("float32"), name="d")
    s = te.create_schedule(d)
    s[d].pragma(s[d].split(d.op.axis[0], factor=6)[0], "import_llvm", text)  # a loop of one iteration
    return s, [x, y, d]


def test_a_function_of_llvm_text_is_called(tmp_path):
    f = build(*distances(TEXT))
    x, y, d = np.arange(6, dtype="float32"), np.full(6, 2.5, "float32"), np.zeros(6, "float32")
    f(x, y, d)
    np.testing.assert_array_equal(d, 3 * np.abs(x - y))
    f.export_library(tmp_path / "f.so")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("fsub float", "fsub half"), "import_llvm: LLVM refuses the text: "),
        ("declare float @distance(float, float)", "import_llvm: expected text that defines a function, found none"),
        (TEXT.replace("float %b)", "double %b)").replace("fsub float %a, %b", "fptrunc double %b to float"),
         "the code calls 'distance' as float (float, float), found it defined as float (float, double)"),
        (TEXT.replace("llvm.fabs.f32", "fabsf"), "import_llvm: the text calls 'fabsf', which it does not define"),
        (TEXT + "define i32 @run(i32 %a) {\n  ret i32 %a\n}",
         "import_llvm: the code has a function 'run' already; give it another name"),
    ],
)  # fmt: skip
def test_llvm_text_that_does_not_fit_is_refused(text, message):
    with pytest.raises(CodegenError, match=re.escape(message)):
        build(*distances(text))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_llvm_text_is_for_llvm(target):
    with pytest.raises(CodegenError, match="expected a target of kind llvm for the LLVM text"):
        build(*distances(TEXT), target)


def test_a_function_comes_from_one_place():
    with pytest.raises(CodegenError, match="external 'distance' is defined by LLVM text of the pragma import_llvm"):
        build(*distances(TEXT), externals={"distance": np.hypot})
