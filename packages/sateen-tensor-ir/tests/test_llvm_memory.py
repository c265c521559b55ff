"""Memory in generated code: masks, gathers, loads that must not run, symbolic shapes, scratch."""

import ctypes
import mmap
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir import build, build_functions, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.expr import DType
from sateen.tensor_ir.ir.parser import parse_function


def parsed(source):
    """A function whose parameters may begin anywhere."""
    signature, body = source.split("\n", 1)
    return parse_function(re.sub(r"\](?=[,)])", "] align 1", signature) + "\n" + body)


def compiled(source):
    return build_functions([parsed(source)])


def agree(source, *arrays):
    """Run by the oracle and natively, the last array being the output; gives the native module."""
    *inputs, output = arrays
    wanted, found = output.copy(), output.copy()
    run(parsed(source), [*inputs, wanted])
    module = compiled(source)
    module(*inputs, found)
    np.testing.assert_array_equal(found, wanted)
    return module


def before_nothing(values):
    """A copy that ends where memory ends: an access behind it ends the process."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + page), ctypes.c_size_t(page), 0) == 0
    copy = np.frombuffer(memory, values.dtype, values.size, page - values.nbytes)
    copy[:] = values
    return copy


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32", "float64", "bool"])
def test_masked_lanes_touch_no_memory(dtype):
    kind = DType.of(dtype).numpy
    a = before_nothing(np.arange(10).astype(kind))
    b = before_nothing(np.zeros(10, kind))
    module = compiled(f"""\
function f(a: {dtype}[10], b: out {dtype}[10])
  vectorized i in [0, 16):
    if i < 10:
      b[i] = a[i]
""")
    module(a, b)
    np.testing.assert_array_equal(a, b)
    assert module.report.masked > 0


@pytest.mark.parametrize("dtype", ["int8", "int16", "bfloat16", "float16"])
@pytest.mark.parametrize("size", [65, 66, 71, 79])
def test_a_masked_store_of_narrowed_values_leaves_the_next_elements(dtype, size):
    a = np.arange(size, dtype="float32")
    b = np.full(size + 1, 99, DType.of(dtype).numpy)
    compiled(f"""\
function f(a: float32[{size}], b: out {dtype}[{size + 1}])
  for io in [0, 5):
    vectorized ii in [0, 16):
      if io == 4:
        if ii < {size - 64}:
          b[ii + 64] = {dtype}(a[ii + 64] + 1.0f)
      else:
        b[io * 16 + ii] = {dtype}(a[io * 16 + ii] + 1.0f)
""")(a, b)
    np.testing.assert_array_equal(b.astype("float32"), [*(a + 1), 99])


@pytest.mark.parametrize("condition", ["i < index(n[0])", "i % 3 == 1", "i == 5", "i < 0"])
def test_what_all_lanes_read_under_a_mask_is_one_element(condition):
    """An address made of such a load is a scalar; no element is read where no lane is active."""
    source = f"""\
function f(n: int64[1], place: int64[4], table: float32[64], b: out float32[3, 16])
  for r in [0, 3):
    vectorized i in [0, 16):
      b[r, i] = select({condition}, table[index(place[index(n[0]) - 4 + r]) * 16 + i], -1.0f)
"""
    table = np.arange(64, dtype="float32")
    for n in (4, 5):
        agree(source, np.array([n]), np.array([1, 0, 2, 3]), table, np.zeros((3, 16), "float32"))


def test_a_symbolic_tail_is_masked():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B)
    _, inner = s[B].split(B.op.axis[0], 8)
    s[B].vectorize(inner)
    module = build(s, [A, B])
    for size in (0, 1, 7, 8, 9, 64, 65):
        a, b = before_nothing(np.arange(size, dtype="float32")), before_nothing(np.zeros(size, "float32"))
        module(a, b)
        np.testing.assert_array_equal(b, a + 1)


@pytest.mark.parametrize("loop", ["for", "vectorized", "unrolled"])
@pytest.mark.parametrize(
    "value",
    [
        "select(i < 4, a[i], 0.0f)",
        "select(i >= 4, 0.0f, a[i] + a[i + 1 - 1])",
        "select(i < 4 and a[i] > 1.0f, 1.0f, 2.0f)",
        "select(i >= 4 or a[i] > 1.0f, 1.0f, 2.0f)",
        "select(c[0] == int32(0), 3.0f, a[i + 9])",
        "select(i < 4, select(i < 2, a[i * 2], a[i]), 5.0f)",
    ],
)
def test_a_load_that_is_not_chosen_does_not_run(loop, value):
    source = f"""\
function f(a: float32[4], c: int32[1], b: out float32[8])
  {loop} i in [0, 8):
    b[i] = {value}
"""
    agree(source, before_nothing(np.arange(4, dtype="float32")), np.zeros(1, "int32"), np.zeros(8, "float32"))


def test_a_condition_on_loaded_data_guards_a_gather():
    source = """\
function f(a: int32[4], p: int32[8], b: out int32[8])
  vectorized i in [0, 8):
    b[i] = select(p[i] < int32(4), a[index(p[i])], int32(-1))
"""
    agree(source, np.arange(4, dtype="int32"), np.array([3, 9, 0, 1000000, 2, 1, 99, 3], "int32"), np.zeros(8, "int32"))


@pytest.mark.parametrize("guard", ["", "if i != 3:\n      "])
@pytest.mark.parametrize("index", ["i * 3", "23 - i", "(i * 5) % 24", "index(p[i])", "i // 2", "7"])
def test_gathers_and_scatters_by_lane(index, guard):
    positions = np.array([5, 3, 0, 1, 22, 23, 11, 8], "int32")
    values = np.arange(24, dtype="float32")
    lanes = f"vectorized i in [0, 8):\n    {guard}"
    load = f"function f(a: float32[24], p: int32[8], b: out float32[8])\n  {lanes}b[i] = a[{index}]\n"
    agree(load, values, positions, np.zeros(8, "float32"))
    if index not in ("i // 2", "7"):  # where lanes would store to one element
        store = f"function f(a: float32[24], p: int32[8], b: out float32[24])\n  {lanes}b[{index}] = a[i]\n"
        agree(store, values, positions, np.zeros(24, "float32"))


@pytest.mark.parametrize("active", [16, 11])
@pytest.mark.parametrize(
    ("index", "place"),
    [
        ("i * 2", lambda i: i * 2), ("1 + i * 3", lambda i: 1 + i * 3), ("15 - i", lambda i: 15 - i),
        ("i // 2", lambda i: i // 2), ("i % 4 * 16 + i // 4", lambda i: i % 4 * 16 + i // 4),
        ("max(8 - i, i - 8)", lambda i: abs(8 - i)), ("i % 2 + i // 2 * 20", lambda i: i % 2 + i // 2 * 20),
    ],
)  # fmt: skip
def test_places_that_are_known_while_compiling_need_no_gather_and_nothing_beyond_them(index, place, active):
    values = before_nothing(np.arange(max(map(place, range(active))) + 1, dtype="float32"))
    guard = f"if i < {active}:\n      " if active < 16 else ""
    head = f"function f(a: float32[{values.size}], b: out float32[16])\n  vectorized i in [0, 16):\n    "
    module = agree(f"{head}{guard}b[i] = a[{index}]\n", values, np.zeros(16, "float32"))
    assert module.report.gathers == 0


def test_places_in_a_constant_table_need_no_gather():
    table = te.constant(np.array([3, 3, 15, 1, 0, 2, 9, 8, 7, 4, 4, 4, 12]), name="table")
    A = te.placeholder((16,), name="A")
    B = te.compute((13,), lambda i: A[table[i]], name="B")
    s = te.create_schedule(B)
    _, lane = s[B].split(B.op.axis[0], 16)
    s[B].vectorize(lane)
    values, found = np.arange(16, dtype="float32"), np.zeros(13, "float32")
    module = build(s, [A, B])
    module(values, found)
    assert found.tolist() == [3, 3, 15, 1, 0, 2, 9, 8, 7, 4, 4, 4, 12]
    assert module.report.gathers == 0


def test_what_an_unrolled_loop_reads_across_memory_is_a_transposition():
    module = agree(
        """\
function f(a: float32[8, 8], b: out float32[8, 8])
  unrolled j in [0, 8):
    vectorized i in [0, 8):
      b[j, i] = a[i, j]
""",
        np.arange(64, dtype="float32").reshape(8, 8),
        np.zeros((8, 8), "float32"),
    )
    assert module.report.gathers == 0
    assert module.llvm_text().count("load <8 x float>") == 8


def test_lanes_that_store_one_value_to_one_element_store_it_if_any_is_active():
    source = """\
function f(p: int32[8], b: out int32[4])
  vectorized i in [0, 8):
    if p[i] > int32(2):
      b[3] = int32(7)
"""
    agree(source, np.zeros(8, "int32"), np.zeros(4, "int32"))
    agree(source, np.arange(8, dtype="int32"), np.zeros(4, "int32"))


def test_contiguous_lanes_are_plain_vector_accesses():
    module = agree(
        "function f(a: float32[16], b: out float32[16])\n  vectorized i in [0, 16):\n    b[i] = a[15 - 15 + i]\n",
        np.arange(16, dtype="float32"),
        np.zeros(16, "float32"),
    )
    assert (module.report.gathers, module.report.masked) == (0, 0)
    assert "load <16 x float>" in module.llvm_text()


def test_strided_storage():
    source = """\
function f(a: int32[3, 4] strides [8, 2], b: out int32[4, 3])
  for i in [0, 4):
    vectorized j in [0, 3):
      b[i, j] = a[j, i]
"""
    memory = np.arange(24, dtype="int32")
    a = np.lib.stride_tricks.as_strided(memory, (3, 4), (32, 8))
    agree(source, a, np.zeros((4, 3), "int32"))


def test_constant_data_folds_at_literal_indices_and_is_read_at_others():
    table = te.constant(np.array([1.5, -2.0, 4.0], "float32"), name="table")
    A = te.placeholder((3,), name="A")
    B = te.compute((3,), lambda i: A[i] * table[i] + table[1], name="B")
    s = te.create_schedule(B)
    s[B].pragma(B.op.axis[0], "keep")
    unrolled = te.create_schedule(B)
    unrolled[B].unroll(B.op.axis[0])
    for schedule, has_table in ((s, True), (unrolled, False)):
        module = build(schedule, [A, B])
        result = np.zeros(3, "float32")
        module(np.ones(3, "float32"), result)
        np.testing.assert_array_equal(result, [-0.5, -4.0, 2.0])
        assert ("@constant" in module.llvm_text()) is has_table


@pytest.mark.parametrize("size", [4, 5_000, 3_000_000])
@pytest.mark.parametrize("scope", ["global", "local"])
def test_scratch_of_any_size(size, scope):
    A = te.placeholder((size,), name="A")
    B = te.compute((size,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((size,), lambda i: B[size - 1 - i] + 1.0, name="C")
    s = te.create_schedule(C)
    s[B].set_scope(scope)
    a, c = np.arange(size, dtype="float32"), np.zeros(size, "float32")
    build(s, [A, C])(a, c)
    np.testing.assert_array_equal(c, a[::-1] * 2 + 1)


def test_scratch_of_a_symbolic_size_has_room_for_its_padding():
    n = te.var("n")
    A = te.placeholder((n, 3), "int32", name="A")
    B = te.compute((n, 3), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((n, 3), lambda i, j: B[n - 1 - i, j] + 1, name="C")
    s = te.create_schedule(C)
    s[B].storage_align(B.op.axis[0], 64, 5)
    module = build(s, [A, C])
    for rows in (0, 1, 50, 2000):
        a, c = np.arange(rows * 3, dtype="int32").reshape(rows, 3), np.zeros((rows, 3), "int32")
        module(a, c)
        np.testing.assert_array_equal(c, a[::-1] * 2 + 1)


def test_an_allocation_that_is_written_out_several_times_is_one_place():
    A = te.placeholder((64, 2000), name="A")
    B = te.compute((64, 2000), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((64, 2000), lambda i, j: B[i, 1999 - j] + 1.0, name="C")
    s = te.create_schedule(C)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].unroll(C.op.axis[0])
    module = build(s, [A, C])
    a, c = np.random.default_rng(0).random((64, 2000), "float32"), np.zeros((64, 2000), "float32")
    module(a, c)
    np.testing.assert_array_equal(c, a[:, ::-1] * 2 + 1)
    assert "i64 8000, i64 64)" in module.llvm_text()  # one row, as the arena


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_arrays_without_elements(shape):
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A(*i) * 2.0, name="B")
    C = te.compute(shape, lambda *i: B(*i) + 1.0, name="C")
    build(te.create_schedule(C), [A, C])(np.zeros(shape, "float32"), np.zeros(shape, "float32"))


def test_a_sum_of_no_terms_is_the_identity():
    n = te.var("n")
    A, k = te.placeholder((3, n), name="A"), te.reduce_axis(n, "k")
    for reduce, identity in ((te.sum, 0.0), (te.max, -np.inf), (te.prod, 1.0)):
        B = te.compute((3,), lambda i, reduce=reduce: reduce(A[i, k], axis=k), name="B")
        b = np.full(3, np.nan, "float32")
        build(te.create_schedule(B), [A, B])(np.zeros((3, 0), "float32"), b)
        np.testing.assert_array_equal(b, np.full(3, identity, "float32"))


def test_scalars_are_arrays_without_dimensions():
    A = te.placeholder((), name="A")
    B = te.compute((), lambda: A() * 2.0, name="B")
    b = np.zeros((), "float32")
    build(te.create_schedule(B), [A, B])(np.array(4.0, "float32"), b)
    assert b == 8


def test_a_prefetch_never_faults():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    for vectorized in (False, True):
        s = te.create_schedule(B)
        s[B].prefetch(A, B.op.axis[0], 1 << 40)
        if vectorized:
            s[B].vectorize(B.op.axis[0])
        b = np.zeros(4, "float32")
        build(s, [A, B])(np.ones(4, "float32"), b)
        assert (b == 2).all()


def test_a_loop_whose_range_differs_between_lanes_is_refused():
    source = """\
function f(a: int32[8], b: out int32[8])
  vectorized i in [0, 8):
    for k in [0, i):
      b[i] = a[k]
"""
    with pytest.raises(CodegenError, match="loop 'k': its range differs between the lanes of the vectorized loop 'i'"):
        compiled(source)


def test_a_while_loop_whose_condition_differs_between_lanes_is_refused():
    source = """\
function f(a: float32[8], b: out float32[8])
  vectorized i in [0, 8):
    while a[i] > 0.5f:
      b[i] = a[i]
"""
    message = "a while loop: its condition a[i] > 0.5f differs between the lanes of the vectorized loop 'i'"
    with pytest.raises(CodegenError, match=re.escape(message)):
        compiled(source)


def test_a_vectorized_loop_starts_at_0():
    with pytest.raises(CodegenError, match="vectorized loop 'i': expected to start at 0, found 2"):
        compiled("function f(b: out int32[8])\n  vectorized i in [2, 6):\n    b[i] = int32(1)\n")


def test_a_symbol_that_no_extent_gives_is_refused():
    n = te.var("n")
    A = te.placeholder((n * 2,), name="A")
    B = te.compute((8,), lambda i: A[i], name="B")
    with pytest.raises(CodegenError, match="run: no argument's shape gives the extent 'n'"):
        build_functions([lower(te.create_schedule(B), [A, B])])


def test_a_loop_takes_addresses_from_outside_as_given():
    module = compiled("""\
function f(a: float32[8, 64, 16], b: out float32[8, 64, 16])
  for i in [0, 8):
    for j in [0, 64):
      vectorized k in [0, 16):
        b[i, j, k] = a[i, j, k]
""")
    lines = module.llvm_text().splitlines()
    rows = [re.search(r"(%v\d+) = getelementptr float, ptr %a\d, i64 %v\d+$", line) for line in lines]
    names = [row[1] for row in rows if row is not None]
    assert len(names) == 2
    assert all(any(line.endswith(f"freeze ptr {name}") for line in lines) for name in names)


TERMS = """\
function f(a: float32[3, {0}], w: float32[{0}, 4], b: out float32[3, 4])
  for i in [0, 3) keep:
    unrolled k in [0, 4):
      vectorized j in [0, 4):
        b[i, j] = b[i, j] + a[i, {1}] * w[{1}, j]
"""


@pytest.mark.parametrize(
    ("target", "extent", "index", "together"),
    [
        ("aarch64-linux-gnu", 4, "k", True),
        ("armv7-linux-gnueabihf -mattr=+neon", 4, "k", True),
        ("armv7-linux-gnueabihf -mattr=-neon", 4, "k", False),
        ("x86_64-linux-gnu", 4, "k", False),  # multiplies by elements of memory instead
        ("aarch64-linux-gnu", 8, "k * 2", False),
        ("aarch64-linux-gnu", 7, "k + k // 2 * 2", False),
        ("aarch64-linux-gnu", 3, "k", False),  # the fourth is not there
    ],
)
def test_terms_of_unrolled_iterations_are_loaded_together_where_products_take_an_element(
    target: str, extent: int, index: str, together: bool
) -> None:
    text = build_functions([parse_function(TERMS.format(extent, index))], f"llvm -mtriple={target}").llvm_text()
    scalars, vectors = (len(re.findall(rf"load {kind}, ptr", text)) for kind in ("float", "<4 x float>"))
    assert scalars == (0 if together else 4)
    assert vectors == 5 + together  # those of w, that of b before the sum, and that of a


def test_terms_that_are_loaded_together_are_those_of_their_iterations(
    tmp_path: Path, run_on_arm: Callable[..., str]
) -> None:
    source = TERMS.format(4, "k").replace("b[i, j] =", "if k != 2:\n          b[i, j] =")
    build_functions([parse_function(source)], "llvm -mtriple=armv7-linux-gnueabihf -mattr=+neon").export_library(
        tmp_path / "f.so"
    )
    (tmp_path / "main.c").write_text(
        """#include <stdio.h>
        #include "f.h"
        int main(void) {
          _Alignas(64) static float a[12], w[16], b[12];
          int64_t of_a[] = {3, 4}, of_w[] = {4, 4};
          DLTensor A = {a, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, of_a, 0, 0}, W = A, B = A;
          DLTensor *args[] = {&A, &W, &B};
          W.data = w, W.shape = of_w, B.data = b;
          for (int i = 0; i < 12; ++i) a[i] = i;
          for (int i = 0; i < 16; ++i) w[i] = 100 * (i / 4) + i % 4;
          if (f(0, args, 3)) return 1;
          for (int i = 0; i < 12; ++i) printf("%g ", b[i]);
          return 0;
        }
        """
    )
    a, w = np.arange(12.0).reshape(3, 4), 100.0 * np.arange(4)[:, None] + np.arange(4)
    expected = np.delete(a, 2, axis=1) @ np.delete(w, 2, axis=0)
    found = run_on_arm(tmp_path, ["-std=c11", f"-I{files('sateen.runtime') / 'include'}", "./f.so", "-Wl,-rpath,."], [])
    np.testing.assert_array_equal([float(number) for number in found.split()], expected.ravel())
