"""OpenCL C, CUDA C and Metal: the text of kernels, and what they compute, compared with NumPy.

OpenCL is the machine's. Threads of this process run the other two (devices/text_devices.py).
"""

import re

import numpy as np
import pytest
from device_workloads import BLOCK_X, BLOCK_Y, X, Y, everything, product

from sateen import runtime
from sateen.runtime.errors import ArgumentError, CodegenError, ScheduleError
from sateen.tensor_ir import build, build_functions, te
from sateen.tensor_ir.interpret.loop_oracle import run
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering import lower

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


@pytest.mark.parametrize("tail", ["guard", "partition", "shift"])
@pytest.mark.parametrize("shape", [(32, 64, 24), (37, 50, 19)])
def test_gemm_with_tiles_in_shared_memory(launch_any, shape, tail):
    m, n, k = shape
    a, b, c = floats(m, k), floats(k, n), np.zeros((m, n), "float32")
    compiled = launch_any(product(m, n, k, tail), a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    assert all(kernel.block == (8, 4, 1) for kernel in compiled.program.kernels)


def test_threads_without_a_result_help_to_load_tiles(launch_any):
    """One result per thread, of a matrix that does not fill its blocks: the idle threads must reach the barriers."""
    a, b = te.placeholder((13, 19), name="A"), te.placeholder((19, 21), name="B")
    r = te.reduce_axis(19, "r")
    c = te.compute((13, 21), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c)
    result = s.cache_write(c, "register")
    tiles = [s.cache_read(t, "shared", [result]) for t in (a, b)]
    block_y, y = s[c].split(c.op.axis[0], 8)
    block_x, x = s[c].split(c.op.axis[1], 8)
    s[c].reorder(block_y, block_x, y, x)
    for axis, thread in ((block_y, BLOCK_Y), (block_x, BLOCK_X), (y, Y), (x, X)):
        s[c].bind(axis, thread)
    s[result].compute_at(s[c], x)
    outer, _ = s[result].split(s[result].op.reduce_axis[0], 8)
    for tile in tiles:
        s[tile].compute_at(s[result], outer)
        s[tile].bind(tile.op.axis[0], Y)
        s[tile].bind(tile.op.axis[1], X)
    p, q, found = floats(13, 19), floats(19, 21), np.zeros((13, 21), "float32")
    compiled = launch_any(lower(s, [a, b, c], "gemm"), p, q, found)
    np.testing.assert_allclose(found, p @ q, rtol=1e-4, atol=1e-4)
    assert len(re.findall(r"barrier\(|__syncthreads", compiled.source)) == 2


def test_a_tile_is_loaded_by_all_threads_between_two_barriers():
    compiled = build_functions([product(64, 64, 64)], "opencl")
    (kernel,) = compiled.program.kernels
    assert kernel.shared_bytes == 4 * (16 * 8 + 8 * 32)
    assert [str(extent) for extent in kernel.grid] == ["2", "4", "1"]
    marks = re.findall(r"__local float \w+\[\d+\]|barrier|for \(\w+ \w+|\w+\[[^=]*\](?= =)", compiled.source)
    assert [re.sub(r"\[.*", "", mark) for mark in marks] == [
        "__local float A_shared", "__local float B_shared",
        "for (int i", "for (int j", "C_register",
        "for (int ro", "barrier", "for (int ax0_ax1oo", "A_shared", "for (int ax0_ax1oo_1", "B_shared", "barrier",
        "for (int ri", "for (int i_1", "for (int j_1", "C_register",
        "for (int iii", "for (int jii", "C",
    ]  # fmt: skip


def threads_of(value, *inputs, extent=32):
    """C[i] = value(i) by a thread for each element."""
    c = te.compute((extent,), value, name="C")
    s = te.create_schedule(c)
    block, thread = s[c].split(c.op.axis[0], 8)
    s[c].bind(block, BLOCK_X)
    s[c].bind(thread, X)
    return lower(s, [*inputs, c], "run")


def index_types(function):
    return set(re.findall(r"const (\w+) (?:blockIdx|threadIdx)", build_functions([function], "opencl").source))


def test_an_index_has_32_bits_where_that_is_known_to_suffice():
    n, size = te.var("n"), 1 << 17
    small, open_, large = (te.placeholder((m, m), name="A") for m in (64, n, size))
    assert index_types(threads_of(lambda i: small[i, i] + small[i, 3], small)) == {"int"}
    assert index_types(threads_of(lambda i: open_[i, i], open_, extent=n)) == {"long"}
    assert index_types(threads_of(lambda i: large[i, 0], large, extent=1 << 13)) == {"int"}
    assert index_types(threads_of(lambda i: large[i, 0], large, extent=size)) == {"long"}
    place = te.placeholder((32,), "int64", name="place")
    assert index_types(threads_of(lambda i: small[place[i], i], small, place)) == {"long"}
    inside = te.minimum(te.maximum(place[0], 0), 63)
    assert index_types(threads_of(lambda i: small[inside, i], small, place)) == {"int"}


def test_data_has_64_bits_beside_an_index_of_32(launch_any):
    place, a = te.placeholder((32,), "int64", name="place"), te.placeholder((32,), "int64", name="A")
    index = te.minimum(te.maximum(place[0] - 7, 0), 31)

    def value(i):
        return a[index] + i.astype("int64") * (1 << 40) + (i % 5).astype("int64") * -(1 << 63)

    function = threads_of(value, place, a)
    assert index_types(function) == {"int"}
    places = RNG.integers(-(2**62), 2**62, 32)
    places[0], i = 19, np.arange(32)
    values, found = RNG.integers(-(2**62), 2**62, 32), np.zeros(32, "int64")
    launch_any(function, places, values, found)
    np.testing.assert_array_equal(found, values[12] + (i << 40) + (i % 5 << 63))


def row_sums():
    """Sums of rows by the threads of a block, then scaled; the sums are in shared memory."""
    a, k = te.placeholder((5, 32), name="A"), te.reduce_axis(32, "k")
    b = te.compute((5,), lambda i: te.sum(a[i, k], axis=k), name="B")
    c = te.compute((5, 32), lambda i, j: a[i, j] * b[i], name="C")
    s = te.create_schedule(c)
    s[c].bind(c.op.axis[0], BLOCK_X)
    s[c].bind(c.op.axis[1], X)
    return s, a, b, c, k


def test_the_first_thread_stores_what_all_compute(launch_any):
    for across in (True, False):
        s, a, b, c, k = row_sums()
        s[b].set_scope("shared")
        s[b].compute_at(s[c], c.op.axis[0] if across else c.op.axis[1])
        if across:
            s[b].bind(k, X)
        s[b].set_store_predicate(X.var.equal(0))
        x, found = floats(5, 32), np.zeros((5, 32), "float32")
        launch_any(lower(s, [a, c]), x, found)
        np.testing.assert_allclose(found, x * x.sum(1, keepdims=True), rtol=1e-4)


def test_the_threads_of_a_sum_inside_compute_the_same_around_it(launch_any):
    a, k = te.placeholder((5, 32), name="A"), te.reduce_axis(32, "k")
    b = te.compute((5,), lambda i: te.sum(a[i, k], axis=k), name="B")
    c = te.compute((5,), lambda i: b[i] + 2.0, name="C")
    s = te.create_schedule(c)
    s[c].bind(c.op.axis[0], Y)
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].bind(k, X)
    assert "allocate B: local float32[1]" in str(lower(s, [a, c]))  # each row of threads has its own sum
    s[c].set_store_predicate(X.var.equal(0))
    x, found = floats(5, 32), np.zeros(5, "float32")
    launch_any(lower(s, [a, c]), x, found)
    np.testing.assert_allclose(found, x.sum(1) + 2, rtol=1e-4, atol=1e-4)
    s[c].set_store_predicate(X.var.equal(1))
    with pytest.raises(ScheduleError, match="set_store_predicate of 'C': expects a condition that the first thread"):
        lower(s, [a, c])


@pytest.mark.parametrize("inlined", [False, True])
def test_a_sum_that_its_threads_read_is_shared(launch_any, inlined):
    a, k = te.placeholder((5, 32), name="A"), te.reduce_axis(32, "k")
    b = te.compute((5,), lambda i: te.sum(a[i, k], axis=k), name="B")
    d = te.compute((5,), lambda i: b[i] + 2.0, name="D")
    c = te.compute((5, 32), lambda i, j: a[i, j] * d[i], name="C")
    s = te.create_schedule(c)
    s[c].bind(c.op.axis[0], Y)
    s[c].bind(c.op.axis[1], X)
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].bind(k, X)
    if inlined:
        s[d].compute_inline()
    else:
        s[d].compute_at(s[c], c.op.axis[1])
    x, found = floats(5, 32), np.zeros((5, 32), "float32")
    launch_any(lower(s, [a, c]), x, found)
    np.testing.assert_allclose(found, x * (x.sum(1, keepdims=True) + 2), rtol=1e-4, atol=1e-4)


def own(s, b, c, _):
    s[b].compute_at(s[c], c.op.axis[1])


def shared(s, b, c, k):
    own(s, b, c, k)
    s[b].set_scope("shared")


@pytest.mark.parametrize(
    ("message", "place", "predicate"),
    [
        ("depends on 'threadIdx.x', along which threads don't compute the same", own, lambda _: X.var.equal(0)),
        ("depends on 'k', along which threads don't compute the same element", shared, lambda k: k.equal(0)),
        ("expects a condition that the first thread fulfils, found ", shared, lambda _: X.var.equal(1)),
        ("depends on 'threadIdx.x'", lambda s, b, *_: s[b].bind(b.op.axis[0], X), lambda _: X.var.equal(0)),
    ],
)
def test_a_predicate_that_would_leave_elements_out_is_refused(message, place, predicate):
    s, a, b, c, k = row_sums()
    place(s, b, c, k)
    s[b].set_store_predicate(predicate(k))
    with pytest.raises(ScheduleError, match=re.escape(message)):
        lower(s, [a, c])


def test_a_store_predicate_is_a_condition_on_what_is_computed():
    s, a, b, _, _ = row_sums()
    with pytest.raises(ScheduleError, match="set_store_predicate of 'B': expects a condition, found 1"):
        s[b].set_store_predicate(1)
    with pytest.raises(ScheduleError, match="set_store_predicate: 'A' is not computed, it is given"):
        s[a].set_store_predicate(X.var.equal(0))


@pytest.mark.parametrize("factored", [False, True])
def test_a_reduction_across_threads(launch_any, factored):
    n = te.var("n")
    a = te.placeholder((n, 1000), name="A")
    k = te.reduce_axis(1000, "k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b)
    last = s[b].split(k, 48)[1]
    if factored:
        partial = s.rfactor(b, last)
        (last,) = s[b].op.reduce_axis
        s[partial].set_scope("local")
        s[partial].compute_at(s[b], last)
    s[b].bind(b.op.axis[0], BLOCK_X)
    s[b].bind(last, X)
    x, y = floats(7, 1000), np.zeros(7, "float32")
    compiled = launch_any(lower(s, [a, b], "row_sum"), x, y)
    np.testing.assert_allclose(y, x.sum(1), rtol=1e-4, atol=1e-4)
    (kernel,) = compiled.program.kernels
    assert (kernel.block, [v.name for v in kernel.scalars], str(kernel.grid[0])) == ((48, 1, 1), ["n"], "n")


def test_softmax_in_one_kernel(launch_any):
    a = te.placeholder((5, 100), name="A")
    k, r = te.reduce_axis(100, "k"), te.reduce_axis(100, "r")
    top = te.compute((5,), lambda i: te.max(a[i, k], axis=k), name="top")
    e = te.compute((5, 100), lambda i, j: te.exp(a[i, j] - top[i]), name="e")
    total = te.compute((5,), lambda i: te.sum(e[i, r], axis=r), name="total")
    b = te.compute((5, 100), lambda i, j: e[i, j] / total[i], name="B")
    s = te.create_schedule(b)
    row, column = b.op.axis
    s[b].bind(row, BLOCK_X)
    s[b].bind(s[b].split(column, 32)[1], X)
    s[e].set_scope("shared")
    s[e].compute_at(s[b], row)
    s[e].bind(s[e].split(e.op.axis[1], 32)[1], X)
    for t, axis in ((top, k), (total, r)):
        s[t].set_scope("shared")
        s[t].compute_at(s[b], row)
        s[t].bind(s[t].split(axis, 32)[1], X)
    x, y = floats(5, 100), np.zeros((5, 100), "float32")
    launch_any(lower(s, [a, b], "softmax"), x, y)
    expected = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, expected / expected.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


def test_stages_in_global_memory_are_kernels_of_their_own(launch_any):
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((n,), lambda i: b[n - 1 - i] + 1.0, name="C")
    s = te.create_schedule(c)
    for t in (b, c):
        outer, inner = s[t].split(t.op.axis[0], 16)
        s[t].bind(outer, BLOCK_X)
        s[t].bind(inner, X)
    function = lower(s, [a, c], "f")
    compiled = build_functions([function], "opencl")
    assert [[b.name for b in k.buffers] for k in compiled.program.kernels] == [["A", "B"], ["C", "B"]]
    assert [str(k.grid[0]) for k in compiled.program.kernels] == ["(n + 15) // 16"] * 2
    x, y = floats(50), np.zeros(50, "float32")
    launch_any(function, x, y)
    np.testing.assert_array_equal(y, x[::-1] * 2 + 1)


def test_every_type_and_operation_as_the_interpreter(launch_any):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    float64 = launch_any.target != "metal"
    function = everything(float64=float64)
    n = 64
    floats = ["float32", "float16", ml_dtypes.bfloat16, *["float64"] * float64]
    kinds = [*floats, "int32", "uint8", "bool"]
    inputs = [(RNG.standard_normal(n) * 3).astype(kind) for kind in floats]
    inputs += [RNG.integers(-(1 << 31), 1 << 31, n, "int32"), RNG.integers(0, 256, n, "uint8"), RNG.random(n) < 0.5]
    found = [np.zeros(n, kind) for kind in kinds]
    expected = [np.zeros(n, kind) for kind in kinds]
    launch_any(function, *inputs, *found)
    run(function, [*inputs, *expected])
    for a, b, kind in zip(found, expected, kinds, strict=True):
        if kind in ("float32", "float64"):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        else:
            np.testing.assert_array_equal(a, b)


def converted(source, target, n):
    a = te.placeholder((n,), source, name="A")
    b = te.compute((n,), lambda i: a[i].astype(target), name="B")
    s = te.create_schedule(b)
    block, thread = s[b].split(b.op.axis[0], 64)
    s[b].bind(block, BLOCK_X)
    s[b].bind(thread, X)
    return lower(s, [a, b], "converted")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("opencl", ["vload_half(", "vstore_half_rte(", "as_uint("]),
        ("cuda-c", ["__half2float(", "__float2half_rn(", "__float_as_uint("]),
        ("metal", ["as_type<half>(", "half(x)", "as_type<uint>("]),
    ],
)
def test_each_language_has_its_own_words_for_bits_and_float16(target, words):
    source = build_functions([everything(float64=target != "metal")], target).source
    assert [word for word in words if word not in source] == []
    assert "union" not in source


HALVES = np.arange(1 << 16, dtype="uint16").view("float16")


def test_every_float16_is_widened_exactly(launch_any):
    found = np.zeros(len(HALVES), "float32")
    launch_any(converted("float16", "float32", len(HALVES)), HALVES, found)
    np.testing.assert_array_equal(found, HALVES.astype("float32"))


def test_float32_is_rounded_to_the_nearest_float16_with_ties_to_even(launch_any):
    """All values between two neighbours, both beside them and the middle, and those beyond the largest."""
    finite = np.sort(HALVES[np.isfinite(HALVES)]).astype("float32")
    middles = (finite[1:] + finite[:-1]) / 2
    ends = np.array([65519.996, 65520.0, 1e30, np.inf, np.nan, 2.0**-25, 2.0**-26, 1e-30, 0.0], "float32")
    values = np.concatenate([finite, middles, np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf)])
    values = np.concatenate([values, ends, -ends]).astype("float32")
    found = np.zeros(len(values), "float16")
    launch_any(converted("float32", "float16", len(values)), values, found)
    with np.errstate(over="ignore"):
        expected = values.astype("float16")
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_sums_of_float16_are_float32_until_they_are_stored(launch_any):
    """A product of 70000 and a sum that a float16 would round are computed in float32 (docs/semantics.md, 1.2)."""
    text = """\
function f(A: float16[32], B: out float16[32])
  thread threadIdx.x t in [0, 32):
    B[t] = A[t] * float16(70000.0f) / float16(70000.0f) + float16(0.0001f) - float16(0.0001f)"""
    a, found, expected = floats(32).astype("float16"), *np.zeros((2, 32), "float16")
    function = parse_function(text)
    launch_any(function, a, found)
    run(function, [a, expected])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("B[0] = frobnicate(A[0])", "no rule serves the call of 'frobnicate' giving float32"),
        ("B[0] = float32(float8_e5m2(A[0]))", "f_0: OpenCL C has no type float8_e5m2; it has int8, int16,"),
    ],
)
def test_what_opencl_lacks_is_refused(statement, message):
    text = f"function f(A: float32[4], B: out float32[4])\n  thread threadIdx.x t in [0, 4):\n    {statement}"
    with pytest.raises(CodegenError, match=re.escape(message)):
        build_functions([parse_function(text)], "opencl")


def test_a_name_that_c_has_taken_is_refused():
    text = "function kernel(B: out float32[4])\n  thread threadIdx.x t in [0, 4):\n    B[t] = 1.0f"
    message = "expected an identifier that C leaves to its users for a function, found 'kernel'"
    with pytest.raises(CodegenError, match=message):
        build_functions([parse_function(text)], "opencl")


@pytest.mark.parametrize(("dtype", "name", "expected"), [("float64", "f", True), ("float32", "double_it", False)])
def test_kernels_with_float64_ask_for_the_extension_and_no_others(dtype, name, expected):
    text = f"""\
function {name}(A: {dtype}[8], B: out {dtype}[8])
  thread threadIdx.x t in [0, 8):
    B[t] = A[t]
"""
    source = build_functions([parse_function(text)], "opencl").source
    assert source.startswith("#pragma OPENCL EXTENSION cl_khr_fp64 : enable") is expected


@pytest.mark.usefixtures("launch")
def test_it_is_called_with_arrays_on_the_device() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: te.exp(a[i]) * 2.0, name="B")
    s = te.create_schedule(b)
    block, thread = s[b].split(b.op.axis[0], 64)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    f = build(s, [a, b], "opencl")
    values = np.linspace(0, 1, 1000, dtype=np.float32)
    x, y = runtime.array(values, device="opencl"), runtime.empty(1000, device="opencl")
    f(x, y)
    np.testing.assert_allclose(y.numpy(), np.exp(values) * 2, rtol=1e-6)
    with pytest.raises(ArgumentError, match=r"argument 0 \(A\): expected memory of device opencl, found cpu\(0\)"):
        f(values, y)
