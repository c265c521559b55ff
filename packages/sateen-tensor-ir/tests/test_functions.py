"""Every function of the table through both interpreters and all emitters; derivatives against differences."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen.runtime import Target, array, load_module
from sateen.runtime.dtype import DType
from sateen.runtime.errors import CodegenError, ExpressionError
from sateen.tensor_ir import DEFAULT_RULES, build, build_functions, te
from sateen.tensor_ir.functions import FUNCTIONS, LIBRARY, Lack, MathFunction, function_of, library_function
from sateen.tensor_ir.functions.function import NumberKind
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.lowering import lower

Array = np.ndarray[Any, Any]

TYPES = {
    NumberKind.FLOAT: ("float32", "float64"),
    NumberKind.INTEGER: ("int8", "int32", "int64", "uint8", "uint32", "uint64"),
}
CASES = [
    (function, dtype)
    for function in FUNCTIONS.values()
    for dtype in TYPES[function.operands.kind]
    if function.name != "ldexp" or dtype == "float32"  # what formulas for float32 are made of
]
cases = pytest.mark.parametrize(("function", "dtype"), CASES, ids=[f"{f.name}-{dtype}" for f, dtype in CASES])
differentiable = [f for f in FUNCTIONS.values() if f.derivative is not None]


def operands(function: MathFunction, dtype: str, count: int = 37) -> list[Array]:
    """Numbers for which the function has a result, the same each time."""
    rng = np.random.default_rng(3)
    kinds = [*(DType.of(dtype) for _ in range(function.operands.count)), *function.operands.others]
    found = []
    for position, kind in enumerate(kinds):
        if kind.is_float:
            low = (
                0.2
                if function.name in ("pow", "sqrt") or function.name.startswith("log")
                else 0.5
                if function.name == "ldexp"
                else -2.0
            )
            found.append(rng.uniform(low, 2.0, count).astype(kind.numpy))
        elif function.domain is not None and position == function.domain.operand:
            within = function.domain.range(kind)
            found.append(rng.integers(within.start, within.stop, count).astype(kind.numpy))
        elif position >= function.operands.count:
            found.append(rng.integers(-100, 100, count).astype(kind.numpy))
        else:
            found.append(rng.integers(0, 256, (count, kind.bytes)).astype(np.uint8).view(kind.numpy).ravel())
    return found


def computation(function: MathFunction, dtype: str) -> tuple[list[te.Tensor], te.Tensor]:
    given = [te.placeholder(x.shape, str(x.dtype), name=f"x{i}") for i, x in enumerate(operands(function, dtype))]
    return given, te.compute(given[0].shape, lambda i: function(*(x[i] for x in given)), name="y")


def lowered(function: MathFunction, dtype: str) -> Function:
    given, y = computation(function, dtype)
    return lower(te.create_schedule(y), [*given, y], f"{function.name}_{dtype}")


def reference(function: MathFunction, arrays: list[Array]) -> Array:
    return np.asarray(function.reference(*(x.astype("float64") if x.dtype.kind == "f" else x for x in arrays)))


def check(function: MathFunction, dtype: str, found: Array) -> None:
    expected = reference(function, operands(function, dtype))
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "float32" else 1e-14)
    else:
        np.testing.assert_array_equal(found, expected)


@cases
def test_interpreters_agree_with_the_reference(function: MathFunction, dtype: str) -> None:
    given, y = computation(function, dtype)
    arrays = operands(function, dtype)
    (found,) = evaluate([y], dict(zip(given, arrays, strict=True)))
    check(function, dtype, found)
    result = np.zeros(arrays[0].shape, dtype)
    run(lowered(function, dtype), [*arrays, result])
    check(function, dtype, result)


@cases
@pytest.mark.parametrize("lanes", [1, 8])
def test_machine_code_agrees_with_the_reference(function: MathFunction, dtype: str, lanes: int) -> None:
    given, y = computation(function, dtype)
    s = te.create_schedule(y)
    if lanes > 1:
        s[y].vectorize(s[y].split(y.op.axis[0], lanes)[1])
    arrays = operands(function, dtype)
    result = np.zeros(arrays[0].shape, dtype)
    build(s, [*given, y], keep_loops=True)(*arrays, result)
    check(function, dtype, result)


def test_c_agrees_with_the_reference(tmp_path: Path) -> None:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    functions = [lowered(function, dtype) for function, dtype in CASES]
    (tmp_path / "f.c").write_text(build_functions(functions, Target("c", triple=Target.host().triple)).source)
    command = [gcc, "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", tmp_path / "f.c"]
    subprocess.run([*command, "-o", tmp_path / "f.so", "-lm"], check=True)
    library = load_module(tmp_path / "f.so")
    for function, dtype in CASES:
        arrays = operands(function, dtype)
        *given, result = (array(x) for x in (*arrays, np.zeros(arrays[0].shape, dtype)))
        library[f"{function.name}_{dtype}"](*given, result)
        check(function, dtype, result.numpy())


@cases
def test_opencl_agrees_with_the_reference(launch: Callable[..., object], function: MathFunction, dtype: str) -> None:
    given, y = computation(function, dtype)
    s = te.create_schedule(y)
    s[y].bind(y.op.axis[0], te.thread_axis("threadIdx.x"))
    arrays = operands(function, dtype)
    result = np.zeros(arrays[0].shape, dtype)
    launch(lower(s, [*given, y], "f"), *arrays, result)
    check(function, dtype, result)


@pytest.mark.parametrize("target", ["cuda-c", "metal"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_text_of_kernels_agrees_with_the_reference(
    launch_on: Callable[[str], Callable[..., object]], function: MathFunction, target: str
) -> None:
    types = {"float32", "float64", "int32", "uint64"} - ({"float64"} if target == "metal" else set())
    for dtype in (dtype for own, dtype in CASES if own is function and dtype in types):
        given, y = computation(function, dtype)
        s = te.create_schedule(y)
        s[y].bind(y.op.axis[0], te.thread_axis("threadIdx.x"))
        arrays = operands(function, dtype)
        result = np.zeros(arrays[0].shape, dtype)
        launch_on(target)(lower(s, [*given, y], "f"), *arrays, result)
        check(function, dtype, result)


@cases
def test_opencl_has_words_for_it(function: MathFunction, dtype: str) -> None:
    given, y = computation(function, dtype)
    s = te.create_schedule(y)
    s[y].bind(y.op.axis[0], te.thread_axis("threadIdx.x"))
    assert LIBRARY not in build_functions([lower(s, [*given, y], "f")], "opencl").source


@cases
def test_webgpu_agrees_with_the_reference(
    launch_webgpu: Callable[..., object], function: MathFunction, dtype: str
) -> None:
    given, y = computation(function, dtype)
    s = te.create_schedule(y)
    s[y].bind(y.op.axis[0], te.thread_axis("threadIdx.x"))
    kernel, arrays = lower(s, [*given, y], "f"), operands(function, dtype)
    result = np.zeros(arrays[0].shape, dtype)
    if dtype == "float64":
        with pytest.raises(CodegenError, match="WGSL has no type float64"):
            launch_webgpu(kernel, *arrays, result)
        return
    launch_webgpu(kernel, *arrays, result)
    check(function, dtype, result)


@pytest.mark.parametrize("function", differentiable, ids=lambda f: f.name)
def test_derivatives_are_those_of_the_reference(function: MathFunction) -> None:
    given, y = computation(function, "float64")
    arrays = operands(function, "float64")
    assert function.derivative is not None
    for position, x in enumerate(given[: function.operands.count]):
        partial = te.compute(x.shape, lambda i, p=position: function.derivative(*(t[i] for t in given))[p], name="dy")
        (found,) = evaluate([partial], dict(zip(given, arrays, strict=True)))
        step = 1e-6
        ends = []
        for sign in (1, -1):
            moved = list(arrays)
            moved[position] = arrays[position] + sign * step
            ends.append(evaluate([y], dict(zip(given, moved, strict=True)))[0])
        np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-8)


def test_a_derivative_is_given_for_every_function_of_floating_point() -> None:
    of_floats = {f.name for f in FUNCTIONS.values() if f.operands.kind is NumberKind.FLOAT}
    assert {f.name for f in differentiable} == of_floats


@pytest.mark.parametrize("value", [20.0, -20.0])
def test_derivatives_keep_their_accuracy_where_the_function_saturates(value: float) -> None:
    x = te.placeholder((1,), "float64", name="x")
    for function in (te.tanh, te.sigmoid):
        (found,) = evaluate(
            [te.compute((1,), lambda i, f=function: f.derivative(x[i])[0], name="d")], {x: np.array([value])}
        )
        decay = np.exp(-abs(value) * (2 if function is te.tanh else 1))
        expected = (4 if function is te.tanh else 1) * decay / (1 + decay) ** 2
        np.testing.assert_allclose(found, [expected], rtol=1e-14)


def test_the_derivative_of_a_power_of_zero_is_finite_by_its_exponent() -> None:
    x = te.placeholder((1,), "float64", name="x")
    slope = te.compute((1,), lambda i: te.power.derivative(x[i], te.const(2.0, "float64"))[1], name="d")
    assert evaluate([slope], {x: np.zeros(1)})[0].tolist() == [0.0]


def test_functions_of_te_are_those_of_the_table_and_say_what_they_are() -> None:
    for function in (te.exp, te.power, te.left_shift, te.round, te.popcount, te.fma):
        assert FUNCTIONS[function.name] is function
    assert te.erf.__doc__ == "The error function 2/√π ∫₀ˣ e^(-t²) dt."
    assert repr(te.power) == "MathFunction(pow)"


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("exp expects floating-point operands of one type, found int64", lambda x, n: te.exp(n)),
        (
            "pow expects floating-point operands of one type, found float32, float64",
            lambda x, n: te.power(x, x.astype("float64")),
        ),
        ("popcount expects integers of one type, found float32", lambda x, n: te.popcount(x)),
        ("fma expects 3 operands, found 2", lambda x, n: te.fma(x, x)),
        ("exp expects 1 operand, found 2", lambda x, n: te.exp(x, x)),
        ("exp expects 1 operand, found 0", lambda x, n: te.exp()),
        (
            "ldexp expects floating-point operands of one type, then int32, found float32, float32",
            lambda x, n: FUNCTIONS["ldexp"](x, x),
        ),
    ],
)
def test_operands_of_other_types_are_refused(message: str, call: Any) -> None:
    x, n = te.placeholder((), "float32", name="x")(), te.placeholder((), "int64", name="n")()
    with pytest.raises(ExpressionError, match=re.escape(message)):
        call(x, n)


def test_numbers_take_the_type_of_the_other_operands() -> None:
    x = te.placeholder((), "float64", name="x")()
    assert {a.dtype for a in te.fma(2, x, 0.5).args} == {DType.of("float64")}
    ldexp = FUNCTIONS["ldexp"](x, 3)
    assert [str(a.dtype) for a in ldexp.args] == ["float64", "int32"]
    assert ldexp.dtype == DType.of("float64")


def test_calls_of_the_c_library_name_functions_of_the_table() -> None:
    assert library_function("libm.exp") == "exp"
    assert function_of("libm.exp") is te.exp
    assert library_function("libm.sqrt") == library_function("exp") == ""
    assert function_of("libm.sqrt") is None
    assert function_of("mish") is None


def test_fma_without_an_instruction_rounds_once() -> None:
    """By the formula for it, on this machine; among the operands are sums that float64 would round a second time."""
    rng = np.random.default_rng(5)
    x, y, z = (rng.integers(0, 2**32, 4096, dtype=np.uint32).view(np.float32) for _ in range(3))
    x[:1024], y[:1024] = rng.integers(1, 2**24, (2, 1024)) * 2.0**-30
    z[:1024] = x[:1024] * y[:1024] * 2.0 ** rng.integers(0, 30, 1024)
    x[0], y[0], z[0] = 2.0**-12 * (1 + 2.0**-18), 2.0**-12 * (1 - 2.0**-18), 1 + 2.0**-23
    given = [te.placeholder(x.shape, name=name) for name in "xyz"]
    r = te.compute(x.shape, lambda i: te.fma(*(a[i] for a in given)), name="r")
    found, exact = np.zeros_like(x), FUNCTIONS["fma"].exact
    assert exact is not None
    build(te.create_schedule(r), [*given, r], rules=DEFAULT_RULES.without({Lack.FMA}))(x, y, z, found)
    with np.errstate(all="ignore"):
        expected = [exact(DType.of("float32"))(*numbers) for numbers in zip(x, y, z, strict=True)]
    np.testing.assert_array_equal(found, np.array(expected))


def test_webassembly_has_fma_of_float32_and_refuses_that_of_float64() -> None:
    for dtype in ("float16", "float32"):
        given, y = computation(FUNCTIONS["fma"], dtype)
        assert build(te.create_schedule(y), [*given, y], "wasm32").library()[:4] == b"\0asm"
    given, y = computation(FUNCTIONS["fma"], "float64")
    text = "^expected fma of float32 where there is neither an instruction or a library for fma nor a formula"
    with pytest.raises(CodegenError, match=text):
        build(te.create_schedule(y), [*given, y], "wasm32")


def test_webassembly_has_exp_of_float64_and_refuses_what_only_a_library_has() -> None:
    given, y = computation(FUNCTIONS["exp"], "float64")
    assert build(te.create_schedule(y), [*given, y], "wasm32").library()[:4] == b"\0asm"
    given, y = computation(FUNCTIONS["pow"], "float64")
    text = "^expected pow of float32 where there is neither a C library nor a formula of sateen for it, found float64"
    with pytest.raises(CodegenError, match=text):
        build(te.create_schedule(y), [*given, y], "wasm32")
