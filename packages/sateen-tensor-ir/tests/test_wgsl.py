"""WGSL: its text, and kernels executed on the machine's WebGPU, compared with NumPy and with machine code."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir import CompiledModule, build, build_functions, te
from sateen.tensor_ir.codegen.wgsl.words import is_reserved
from sateen.tensor_ir.interpret.loop_oracle import run as interpret
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.lowering import lower
from sateen.tensor_ir.lowering.limit_data_indices import limit_data_indices

Array = np.ndarray[Any, Any]
INTEGERS = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")]
BLOCK, THREAD = map(te.thread_axis, ("blockIdx.x", "threadIdx.x"))


def elementwise(value: Callable[..., Any], dtypes: Sequence[str], count: int = 500) -> Function:
    """y[i] = value(x0[i], …), by a thread for each element."""
    given = [te.placeholder((count,), dtype, name=f"x{i}") for i, dtype in enumerate(dtypes)]
    y = te.compute((count,), lambda i: value(*(x[i] for x in given)), name="y")
    s = te.create_schedule(y)
    block, thread = s[y].split(y.op.axis[0], 32)
    s[y].bind(block, BLOCK)
    s[y].bind(thread, THREAD)
    return lower(s, [*given, y], "f")


def text_of(value: Callable[..., Any], *dtypes: str) -> str:
    return build_functions([elementwise(value, dtypes)], "webgpu").source


def integers(dtype: str, seed: int, count: int = 500) -> Array:
    """Numbers of all magnitudes."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 256, (count, np.dtype(dtype).itemsize)).astype(np.uint8).view(dtype).ravel()
    return bits >> rng.integers(0, 8 * np.dtype(dtype).itemsize, count).astype(dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "floordiv", "mod", "lt", "ge", "eq", "maximum", "minimum"])
def test_integers_of_all_widths_are_those_of_numpy(launch_webgpu: Callable[..., None], dtype: str, symbol: str) -> None:
    x, y = integers(dtype, 1), integers(dtype, 2)
    y[y == 0] = 3
    y[:20] = x[:20]
    here = getattr(np, symbol, None) or getattr(operator, symbol)
    there = {"eq": lambda a, b: a.equal(b), "maximum": te.maximum, "minimum": te.minimum}.get(symbol, here)
    is_test = symbol in ("lt", "ge", "eq")
    if here is np.mod:
        there = operator.mod
    if here in (np.add, getattr(np, "sub", None)):
        there = getattr(operator, symbol)
    with np.errstate(all="ignore"):
        expected = np.asarray(getattr(operator, symbol, here)(x, y))
    found = np.zeros(x.shape, "bool" if is_test else dtype)
    launch_webgpu(elementwise(there, (dtype, dtype)), x, y, found)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_and_floats_convert_as_the_semantics_say(launch_webgpu: Callable[..., None], dtype: str) -> None:
    x = integers(dtype, 3)
    rounded = np.zeros(x.shape, "float32")
    launch_webgpu(elementwise(lambda a: a.astype("float32"), (dtype,)), x, rounded)
    np.testing.assert_array_equal(rounded, x.astype("float32"))
    rng = np.random.default_rng(4)
    given = (rng.standard_normal(500) * 10.0 ** rng.integers(-3, 22, 500)).astype("float32")
    given[:4] = np.nan, np.inf, -np.inf, -0.9
    found, expected = np.zeros(500, dtype), np.zeros(500, dtype)
    function = elementwise(lambda a: a.astype(dtype), ("float32",))
    launch_webgpu(function, given, found)
    interpret(function, [given, expected])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_of_16_bits_round_and_widen_exactly(launch_webgpu: Callable[..., None], dtype: str) -> None:
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    rng = np.random.default_rng(5)
    x = (rng.standard_normal(500) * 10.0 ** rng.integers(-9, 6, 500)).astype("float32")
    x[:3] = np.inf, -np.inf, 65520.0
    function = elementwise(lambda a: a.astype(dtype), ("float32",))
    found, expected = (np.zeros(500, runtime.DType.of(dtype).numpy) for _ in range(2))
    launch_webgpu(function, x, found)
    interpret(function, [x, expected])
    np.testing.assert_array_equal(found.view("uint16"), expected.view("uint16"))
    wide = np.zeros(500, "float32")
    launch_webgpu(elementwise(lambda a: a.astype("float32"), (dtype,)), found, wide)
    np.testing.assert_array_equal(wide, expected.astype("float32"))


def test_threads_that_store_parts_of_one_word_keep_those_of_others(launch_webgpu: Callable[..., None]) -> None:
    text = text_of(lambda a: a + a, "int8")
    assert "array<atomic<u32>>" in text
    assert "atomicCompareExchangeWeak" in text
    x, found = np.arange(500).astype("int8"), np.zeros(500, "int8")
    launch_webgpu(elementwise(lambda a: a + a, ("int8",)), x, found)
    np.testing.assert_array_equal(found, x + x)


def test_nan_and_infinity_are_found_and_made(launch_webgpu: Callable[..., None]) -> None:
    x = np.array([1.0, np.nan, -np.inf, np.inf, -0.0] * 100, "float32")

    def value(a: Any) -> Any:
        largest = te.maximum(a, te.const(0.5, "float32"))
        return te.select(a.equal(a), te.minimum(largest, te.const(np.inf, "float32")), te.const(np.nan, "float32"))

    found = np.zeros(500, "float32")
    launch_webgpu(elementwise(value, ("float32",)), x, found)
    np.testing.assert_array_equal(found, np.maximum(x, 0.5))


def test_what_is_rounded_is_not_cancelled(launch_webgpu: Callable[..., None]) -> None:
    """Mesa makes x of (x + c) - c where it may."""
    x = np.random.default_rng(6).standard_normal(500).astype("float32")
    big, found = np.float32(1.5 * 2**23), np.zeros(500, "float32")
    launch_webgpu(elementwise(lambda a: (a + float(big)) - float(big), ("float32",)), x, found)
    np.testing.assert_array_equal(found, (x + big) - big)
    text = text_of(lambda a: (a + 2.0) - 2.0, "float32")
    assert "^ sateen_0.sateen_zero" in text
    assert "sateen_zero)" not in text_of(lambda a: (a + 2.0) - 3.0, "float32")


def test_only_the_chosen_operand_loads() -> None:
    """`select` would evaluate both: an element of a thread's own array may not be asked for out of its bounds."""
    assert "select(" in text_of(lambda a: te.select(a > 0.0, a, 0.0 - a), "float32").split("// kernel")[1]
    x, y = te.placeholder((64,), name="x"), te.placeholder((64,), name="y")
    z = te.compute((64,), lambda i: te.select(i < 32, x[i], y[i]), name="z")
    s = te.create_schedule(z)
    s[z].bind(z.op.axis[0], THREAD)
    body = build(s, [x, y, z], "webgpu").source.split("// kernel")[1]
    assert "select(" not in body
    assert re.search(r"if \(\w+ < 32\) \{", body)


def test_comparisons_in_arguments_are_in_parentheses() -> None:
    """`f(a < b, c > d)` would begin a list of types."""
    text = text_of(lambda a: te.select(a < 1.0, te.select(a > 0.5, a, 2.0), 3.0), "float32")
    assert re.search(r"select\([^<>]*\(\w+ > 0\.5f\)\)", text)
    assert not re.search(r"select\((?:[^()]|\([^()]*\))* < ", text)


def test_constant_arrays_are_part_of_the_text(launch_webgpu: Callable[..., None]) -> None:
    for data in (np.arange(32, dtype="float32"), np.array([np.inf, np.nan] * 16, "float32"), np.arange(32) << 33):
        table = te.constant(data, name="table")
        y = te.compute((32,), lambda i: table[31 - i], name="y")  # noqa: B023 - called before the next one
        s = te.create_schedule(y)
        s[y].bind(y.op.axis[0], THREAD)
        found = np.zeros(32, data.dtype)
        launch_webgpu(lower(s, [y], "f"), found)
        np.testing.assert_array_equal(found, data[::-1])


def test_barriers_shared_memory_and_scalars(launch_webgpu: Callable[..., None]) -> None:
    text = """\
function f(A: float32[4, 8], B: out float32[4, 8])
  thread blockIdx.x b in [0, 4):
    allocate T: shared float32[8]
      thread threadIdx.x t in [0, 8):
        T[t] = A[b, t]
      thread threadIdx.x t in [0, 8):
        B[b, t] = T[7 - t] * 2.0f"""
    function = parse_function(text)
    a, b = np.random.default_rng(7).random((4, 8)).astype("float32"), np.zeros((4, 8), "float32")
    launch_webgpu(function, a, b)
    np.testing.assert_array_equal(b, 2 * a[:, ::-1])
    source = build_functions([function], "webgpu").source
    assert "var<workgroup> sateen_0_T: array<f32, 8>;" in source
    assert source.count("workgroupBarrier();") == 1
    assert "@workgroup_size(8, 1, 1)" in source


def test_several_kernels_of_one_function(launch_webgpu: Callable[..., None]) -> None:
    x = te.placeholder((40,), name="x")
    t = te.compute((40,), lambda i: te.exp(x[i]), name="t")
    y = te.compute((40,), lambda i: t[39 - i] + 1.0, name="y")
    s = te.create_schedule(y)
    for stage in (t, y):
        s[stage].bind(stage.op.axis[0], BLOCK)
    given, found = np.linspace(-2, 2, 40, dtype="float32"), np.zeros(40, "float32")
    function = lower(s, [x, y], "f")
    launch_webgpu(function, given, found)
    np.testing.assert_allclose(found, np.exp(given)[::-1] + 1, rtol=1e-6)
    assert re.findall(r"^// kernel (\w+)$", build_functions([function], "webgpu").source, re.MULTILINE) == [
        "f_0",
        "f_1",
    ]


def test_indices_of_data_are_limited_to_what_fits(launch_webgpu: Callable[..., None]) -> None:
    """What is clamped is as before; a gather of networks counts negative indices from the end."""
    rows = np.random.default_rng(8).random((7, 500)).astype("float32")
    places = np.array([0, -1, 6, -7, 3, 1 << 40, -(1 << 62), (1 << 63) - 1, 1 << 31, -(1 << 31)] * 50)

    def value(place: Any, x: te.Tensor) -> Any:
        index = te.select(place.astype("int64") < 0, place + 7, place)
        return x[te.minimum(te.maximum(index, 0), 6), 2]

    given, x = te.placeholder((500,), "int64", name="place"), te.placeholder((7, 500), name="x")
    y = te.compute((500,), lambda i: value(given[i], x), name="y")
    s = te.create_schedule(y)
    s[y].bind(y.op.axis[0], BLOCK)
    found = np.zeros(500, "float32")
    launch_webgpu(lower(s, [given, x, y], "f"), places, rows, found)
    wrapped = places.astype(object)
    expected = [rows[min(max(p + 7 if p < 0 else p, 0), 6), 2] for p in wrapped]
    np.testing.assert_array_equal(found, np.array(expected, "float32"))


def test_more_blocks_than_an_axis_has_are_folded(launch_webgpu: Callable[..., None]) -> None:
    x = te.placeholder((200_000,), name="x")
    y = te.compute((200_000,), lambda i: x[i] + 1.0, name="y")
    s = te.create_schedule(y)
    s[y].bind(y.op.axis[0], BLOCK)
    function = lower(s, [x, y], "f")
    (kernel,) = build_functions([function], "webgpu").program.kernels
    assert [str(extent) for extent in kernel.grid] == ["50000", "4", "1"]
    given, found = np.arange(200_000, dtype="float32"), np.zeros(200_000, "float32")
    launch_webgpu(function, given, found)
    np.testing.assert_array_equal(found, given + 1)
    text = str(kernel.function)
    assert "if blockIdx.y * 50000 + blockIdx.x < 200000" in text or "blockIdx.x + blockIdx.y * 50000 < 200000" in text
    assert str(build_functions([function], "opencl").program.kernels[0].grid[0]) == "200000"


LOOPS = """\
function f(p: int64[9], B: out int8[4], C: out int64[4])
  thread blockIdx.x b in [0, 4):
    for i in [0, b + 2):
      for j in [0, 10):
        C[b] = p[j] % p[i]
    if p[b] < 3:
      B[b] = 1"""


def test_a_kernel_tells_how_often_its_loops_go_on() -> None:
    """Each division of 64 bits takes 64 iterations, the store of a byte up to four."""
    text = build_functions([parse_function(LOOPS)], "webgpu").source
    most = 5 * (1 + 10 * (1 + 64)) + 4
    assert f"a thread has at most {most} iterations of loops, {most} with short ones unrolled\n" in text
    text = build_functions([parse_function(LOOPS.replace("[0, 10)", "[0, 8)"))], "webgpu").source
    assert f"{5 * (1 + 8 * 65) + 4} iterations of loops, {5 * (1 + 8 * 64) + 4} with short ones unrolled\n" in text
    open_ended = LOOPS.replace("[0, 10)", "[0, index(p[0]))")
    assert "iterations of loops" not in build_functions([parse_function(open_ended)], "webgpu").source


def test_loops_that_lavapipe_would_end_are_refused(launch_webgpu: Callable[..., None]) -> None:
    if "llvmpipe" not in runtime.open_device("webgpu").description.name:
        pytest.skip("the first device of WebGPU is not lavapipe")
    text = """\
function f(A: float32[70000], B: out float32[1])
  thread blockIdx.x b in [0, 1):
    for i in [0, 70000):
      B[0] = B[0] + A[i]"""
    short = text.replace("70000)", "20000)") + " + A[i + 3 * 10000]"  # not refused
    found = np.zeros(1, "float32")
    launch_webgpu(parse_function(short), np.ones(70000, "float32"), found)
    assert found == 40000
    nested = """\
function f(A: float32[70000], B: out float32[1])
  thread blockIdx.x b in [0, 1):
    for i in [0, 10000):
      for j in [0, 7):
        B[0] = B[0] + A[i * 7 + j]"""
    found = np.zeros(1, "float32")
    launch_webgpu(parse_function(nested), np.ones(70000, "float32"), found)
    assert found == 70000
    with pytest.raises(runtime.ExecutionError, match=r"webgpu\(0\) refused a kernel") as raised:
        launch_webgpu(parse_function(text), np.ones(70000, "float32"), np.zeros(1, "float32"))
    assert "kernel f_0 expects up to 70000 iterations of loops in a thread" in str(raised.value.__cause__)


@pytest.mark.parametrize(
    ("index", "is_limited"),
    [
        ("min(max(index(p[i]) + 3, 0), 9)", True),
        ("min(max(select(index(p[i]) < 0, index(p[i]) + 10, index(p[i])), 0), 9)", True),
        ("index(p[i]) % 10", False),
        ("index(p[i]) - index(p[i + 1])", False),
        ("index(p[i]) - 1099511627776", False),
        ("select(index(p[i]) < 1099511627776, 3, 4)", False),
    ],
)
def test_an_index_of_data_that_is_more_than_a_subscript_is_not_limited(index: str, is_limited: bool) -> None:
    text = f"""\
function f(p: int64[5], A: float32[10], B: out float32[4])
  for i in [0, 4):
    B[i] = A[{index}]"""
    function = parse_function(text)
    assert ("1073741824" in str(limit_data_indices(function))) == is_limited
    assert (limit_data_indices(function) is function) != is_limited


def test_an_index_of_data_that_becomes_data_again_is_not_limited() -> None:
    function = parse_function("function f(p: int64[5], B: out int64[1])\n  B[0] = int64(index(p[0]))")
    assert limit_data_indices(function) is function


@pytest.mark.parametrize("name", ["select", "target", "sateen_x", "__x", "bitcast", "fn"])
def test_words_of_wgsl_are_names_of_nothing_else(name: str) -> None:
    assert is_reserved(name)


def compiled(x: te.Tensor, y: te.Tensor, name: str = "f") -> CompiledModule:
    s = te.create_schedule(y)
    s[y].bind(y.op.axis[0], BLOCK)
    return build(s, [x, y], "webgpu", name=name)


def test_words_of_wgsl_in_names_of_users_are_changed() -> None:
    x = te.placeholder((8,), name="select")
    text = compiled(x, te.compute((8,), lambda fn: x[fn] + 1.0, name="loop")).source
    assert "sateen_0_select_: array<u32>" in text
    assert "sateen_0_loop_: array<u32>" in text


def test_what_wgsl_lacks_is_refused() -> None:
    x = te.placeholder((8,), "float64", name="x")
    with pytest.raises(CodegenError, match=r"f_0: WGSL has no type float64; it has int8"):
        compiled(x, te.compute((8,), lambda i: x[i], name="y"))


def test_indices_that_may_not_fit_into_32_bits_are_two_words(launch_webgpu: Callable[..., None]) -> None:
    n = te.var("n")
    x = te.placeholder((n, n), name="x")
    k = te.reduce_axis(n, "k")
    y = te.compute((n,), lambda i: te.sum(te.select(k < i, x[i, k], x[n - 1 - i, k // 3 * 2]), axis=k), name="y")
    s = te.create_schedule(y)
    block, thread = s[y].split(y.op.axis[0], 8)
    s[y].bind(block, BLOCK)
    s[y].bind(thread, THREAD)
    function = lower(s, [x, y], "f")
    given = np.random.default_rng(9).random((13, 13)).astype("float32")
    found, expected = np.zeros(13, "float32"), np.zeros(13, "float32")
    launch_webgpu(function, given, found)
    interpret(function, [given, expected])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert "let blockIdx_x: vec2<u32> =" in build_functions([function], "webgpu").source
