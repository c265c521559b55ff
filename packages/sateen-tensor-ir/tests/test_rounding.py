"""Rounding to integral values on processors without an instruction for it: in line, against NumPy's."""

import re

import numpy as np
import pytest

from sateen.runtime import Target, load_module
from sateen.tensor_ir import build, te

FUNCTIONS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}


def values(dtype: str) -> np.ndarray:
    """Halves and their neighbours of all sizes, both zeros, infinities, NaN."""
    kind = np.dtype(dtype).type
    most = 2.0 ** np.finfo(kind).nmant
    halves = np.concatenate([np.arange(0, 12, 0.5), most / 2 + np.arange(-4, 4, 0.5), most + np.arange(-4, 4)])
    near = [halves.astype(kind)] + [np.nextafter(halves.astype(kind), kind(end)) for end in (0, np.inf)]
    special = np.array([0, 1e-30, np.finfo(kind).max, np.finfo(kind).smallest_subnormal, np.inf, np.nan], kind)
    positive = np.concatenate([*near, special])
    return np.resize(np.concatenate([positive, -positive]), 256)


@pytest.mark.skipif(Target.host().architecture != "x86_64", reason="other processors have the instruction")
@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_value_is_rounded_as_numpy_does(name: str, dtype: str, lanes: int) -> None:
    x = te.placeholder((256,), dtype=dtype, name="x")
    y = te.compute(x.shape, lambda i: getattr(te, name)(x[i]), name="y")
    s = te.create_schedule(y)
    s[y].vectorize(s[y].split(y.op.axis[0], lanes)[1])
    module = build(s, [x, y], Target("llvm", Target.host().triple, "x86-64"), name="f")
    assert not re.search(rf"call\w*\s+{name}", module.assembly())
    given, found = values(dtype), np.empty(256, dtype)
    load_module(module.library())["f"](given, found)
    expected = FUNCTIONS[name](given)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("target", ["armv7-linux-gnueabihf", "thumbv7em-none-eabihf -mcpu=cortex-m4"])
def test_arm_calls_no_function_for_it(target: str) -> None:
    x = te.placeholder((64,), name="x")
    results = [te.compute((64,), lambda i, f=name: getattr(te, f)(x[i]), name=name) for name in FUNCTIONS]
    code = build(te.create_schedule(results), [x, *results], f"llvm -mtriple={target}", name="f").assembly()
    assert not re.search(r"\bbl?x?\s+\w*(floor|ceil|trunc|round)", code)


def test_others_use_their_instruction() -> None:
    x = te.placeholder((64,), name="x")
    y = te.compute((64,), lambda i: te.round(x[i]), name="y")
    code = build(te.create_schedule(y), [x, y], "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2").assembly()
    assert "roundps" in code
