"""Minima and maxima are one instruction where there is one that keeps NaN."""

import re

import pytest

from sateen.tensor_ir import Machine, build, te


def assembly(target, value):
    A, B = (te.placeholder((64,), "float32", name=name) for name in "AB")
    C = te.compute((64,), lambda i: value(A[i], B[i]), name="C")
    s = te.create_schedule(C)
    s[C].vectorize(s[C].split(C.op.axis[0], 4)[1])
    return build(s, [A, B, C], target).assembly()


@pytest.mark.parametrize(("target", "name"), [("aarch64", r"\bf{}\b"), ("wasm32", r"f32x4\.{}|f32\.{}")])
@pytest.mark.parametrize("short", ["min", "max"])
@pytest.mark.parametrize("beside", [None, 0.0])
def test_one_instruction_gives_an_extremum_where_it_keeps_nan(target, name, short, beside):
    extremum = te.maximum if short == "max" else te.minimum
    text = assembly(target, lambda a, b: extremum(a, b if beside is None else te.const(beside, "float32")))
    assert re.search(name.format(short, short), text)
    assert not re.search(r"\bfcm|\bbsl|\bbi[ft]\b|f32(x4)?\.(eq|ne|lt|gt)|bitselect", text)
    assert Machine.of(target).maximum_operations == 1


def test_elsewhere_it_takes_a_comparison_and_a_choice():
    text = assembly("x86-64-v3", te.maximum)
    assert "vmaxps" in text
    assert "vcmpunordps" in text
    assert Machine.of("x86-64-v3").maximum_operations == 3
