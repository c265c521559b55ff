"""Functions that others define: packed ones of the ABI, C functions, intrinsics of LLVM."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen.runtime import load_module
from sateen.runtime.errors import CodegenError, ExecutionError, ExpressionError, LinkError, LoweringError
from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import evaluate, run

Array = np.ndarray[Any, Any]
X = np.array([[3, 1, 2], [9, 7, 8]], "float32")


def sorted_rows(name: str = "my.sort", alpha: float = 10.0) -> tuple[te.Tensor, te.Tensor]:
    """x, and its rows sorted by a packed function, scaled."""
    n, m = te.var("n"), te.var("m")
    x = te.placeholder((n, m), name="x")
    ordered = te.extern(
        (n, m), [x], lambda ins, outs: te.call_packed(name, ins[0], outs[0], alpha, 3, n), name="ordered"
    )
    return x, te.compute((n, m), lambda i, j: ordered[i, j] + 1.0, name="y")


def sort(source: Any, result: Any, alpha: Any, three: Any, n: Any) -> None:
    """Of NDArrays where compiled code calls it, of NumPy arrays and numbers where the interpreter does."""
    given, numbers = np.asarray(source), [np.asarray(a)[()] for a in (alpha, three, n)]
    assert (given.dtype, given.shape, numbers[1:]) == (np.dtype("float32"), (2, 3), [3, 2])
    np.asarray(result)[...] = np.sort(given, axis=1) * numbers[0]


def test_a_function_in_python_works_on_arrays_without_copies() -> None:
    x, y = sorted_rows()
    s = te.create_schedule(y)
    expected = np.sort(X, axis=1) * 10 + 1
    function = lower(s, [x, y])
    assert "my.sort" in str(function)
    interpreted, compiled = np.zeros((2, 3), "float32"), np.zeros((2, 3), "float32")
    run(function, [X, interpreted], functions={"my.sort": sort})
    build(s, [x, y], externals={"my.sort": sort})(X, compiled)
    for found in (interpreted, compiled, evaluate([y], {x: X}, functions={"my.sort": sort})[0]):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda *_: {}[1], "run: function 'my.sort' failed: KeyError: 1"),
        (lambda *_: 7, "run: function 'my.sort' failed: TypeError: expected None as the result, found int"),
        (lambda _: None, "run: function 'my.sort' failed: TypeError: "),
    ],
)
def test_what_a_function_raises_reaches_the_caller(function: Callable[..., object], message: str) -> None:
    x, y = sorted_rows()
    compiled = build(te.create_schedule(y), [x, y], externals={"my.sort": function})
    for call in (compiled, compiled.module.with_threads(1)):
        with pytest.raises(ExecutionError, match=re.escape(message)) as raised:
            call(X, np.zeros((2, 3), "float32"))
        assert raised.value.__cause__ is not None


C_FUNCTIONS = """
#include <stdint.h>
#include <stddef.h>
typedef struct { int32_t type, id; } Device;
typedef struct { uint8_t code, bits; uint16_t lanes; } Type;
typedef struct {
  void *data; Device device; int32_t ndim; Type dtype; int64_t *shape, *strides; uint64_t offset;
} Tensor;
int32_t my_sort(const void *host, Tensor *const *args, int32_t n) {
  if (host == NULL || n != 5 || args[0]->ndim != 2 || args[2]->ndim != 0) return 1;
  const float *x = args[0]->data; float *y = args[1]->data; const float alpha = *(float *)args[2]->data;
  for (int64_t i = 0; i < args[0]->shape[0] * args[0]->strides[0]; ++i) y[i] = alpha * x[i] + *(int32_t *)args[3]->data;
  return alpha < 0;
}
float mix(float a, int8_t b, _Bool c) { return a * b + c; }
int32_t total(const float *x, float *sums, int n, int64_t stride) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i * stride];
  sums[0] = sum;
  return n;
}
"""


@pytest.fixture(scope="module")
def c_functions(gcc: str, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("c")
    (folder / "f.c").write_text(C_FUNCTIONS)
    subprocess.run([gcc, "-shared", "-fPIC", "-O1", "-o", folder / "f.so", folder / "f.c"], check=True)
    return ctypes.CDLL(str(folder / "f.so"))


def test_a_packed_function_may_be_one_of_c(c_functions: ctypes.CDLL) -> None:
    x, y = sorted_rows()
    found = np.zeros((2, 3), "float32")
    build(te.create_schedule(y), [x, y], externals={"my.sort": c_functions.my_sort})(X, found)
    np.testing.assert_array_equal(found, X * 10 + 4)
    x, y = sorted_rows(alpha=-1.0)
    compiled = build(te.create_schedule(y), [x, y], externals={"my.sort": c_functions.my_sort})
    with pytest.raises(ExecutionError, match="run: a function that it calls failed"):
        compiled(X, found)


def columns(name: str = "total") -> tuple[te.Tensor, te.Tensor]:
    """x, and the sums of its columns, each by a function of C on addresses."""
    n, m = te.var("n"), te.var("m")
    x = te.placeholder((n, m), name="x")

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        source, result = map(ib.buffer_ptr, (ins[0], outs[0]))
        with ib.for_range(0, m, "j") as j:
            counted = te.call_extern(
                "int32", name, source.access_ptr("r", offset=j), result.access_ptr("w", offset=j), 2, m
            )
            ib.emit(counted)
        return ib.get()

    return x, te.extern((m,), [x], body, name="sums")


def total(x: Array, sums: Array, n: int, stride: int) -> int:
    sums[0] = x[: n * stride : stride].sum()
    return n


def test_functions_of_c_get_addresses(c_functions: ctypes.CDLL) -> None:
    x, sums = columns()
    s = te.create_schedule(sums)
    function, found = lower(s, [x, sums]), np.zeros(3, "float32")
    assert "extern.total:int32(address:r(x, j), address:w(sums, j), int32(2), int64(m))" in str(function)
    build(s, [x, sums], externals={"total": c_functions.total})(X, found)
    assert found.tolist() == [12, 8, 10]
    run(function, [X, found := np.zeros(3, "float32")], functions={"total": total})
    assert found.tolist() == [12, 8, 10]


def test_what_a_function_writes_is_loaded_again() -> None:
    a = te.placeholder((4,), name="a")

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        source, result = map(ib.buffer_ptr, (ins[0], outs[0]))
        result[0] = source[0]
        before = ib.let("before", result[0])
        ib.emit(te.call_packed("negate", outs[0]))
        result[2] = result[0] * 10.0 + before
        return ib.get()

    def negate(values: Any) -> None:
        np.asarray(values)[0] *= -1

    b = te.extern((4,), [a], body, name="b")
    found = np.zeros(4, "float32")
    build(te.create_schedule(b), [a, b], externals={"negate": negate})(np.full(4, 3, "float32"), found)
    assert found.tolist() == [-3, 0, -27, 0]


def test_functions_of_c_compute_elements(c_functions: ctypes.CDLL) -> None:
    x = te.placeholder((8,), name="x")
    y = te.compute(
        (8,), lambda i: te.call_extern("float32", "mix", x[i], te.const(-3, "int8"), x[i] > 3.5) + 1.0, name="y"
    )
    s = te.create_schedule(y)
    s[y].vectorize(y.op.axis[0])
    a, found = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    expected = -3 * a + (a > 3.5) + 1
    compiled = build(s, [x, y], externals={"mix": c_functions.mix})
    compiled(a, found)
    np.testing.assert_array_equal(found, expected)
    assert compiled.report.scalarised == 1
    meaning = {"mix": lambda a, b, c: a * b + c}
    np.testing.assert_array_equal(evaluate([y], {x: a}, functions=meaning)[0], expected)
    run(lower(s, [x, y]), [a, found := np.zeros(8, "float32")], functions=meaning)
    np.testing.assert_array_equal(found, expected)


def test_c_text_declares_what_the_linker_finds(gcc: str, tmp_path: Path) -> None:
    """Both kinds, from a C program of the text and the functions."""
    (x, y), (a, sums) = sorted_rows(), columns()
    units = []
    for name, (given, result) in {"order": (x, y), "add": (a, sums)}.items():
        units.append(tmp_path / f"{name}.c")
        build(te.create_schedule(result), [given, result], target="c", name=name).export_source(units[-1])
    (tmp_path / "functions.c").write_text(C_FUNCTIONS)
    flags = ["-shared", "-fPIC", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    for unit in units:
        library = unit.with_suffix(".so")
        subprocess.run([gcc, *flags, "-o", library, unit, tmp_path / "functions.c", "-lm"], check=True)
    found = np.zeros((2, 3), "float32")
    load_module(units[0].with_suffix(".so"))(X, found)
    np.testing.assert_array_equal(found, X * 10 + 4)
    load_module(units[1].with_suffix(".so"))(X, found[0])
    assert found[0].tolist() == [12, 8, 10]


def test_intrinsics_of_llvm() -> None:
    x = te.placeholder((4,), "int32", name="x")
    y = te.compute((4,), lambda i: te.call_llvm_intrin("int32", "llvm.ctlz.i32", x[i], te.const(False)), name="y")
    s, found = te.create_schedule(y), np.zeros(4, "int32")
    build(s, [x, y])(np.array([1, 2, 255, -1], "int32"), found)
    assert found.tolist() == [31, 30, 24, 0]
    wrong = te.compute((4,), lambda i: te.call_llvm_intrin("int32", "llvm.no.such.i32", x[i]), name="y")
    with pytest.raises(CodegenError, match=r"llvm\.no\.such\.i32"):
        build(te.create_schedule(wrong), [x, wrong])
    three = te.compute((4,), lambda i: te.call_llvm_intrin("int32", "llvm.ctlz.i32", x[i], x[i], x[i]), name="y")
    with pytest.raises(CodegenError) as caught:
        build(te.create_schedule(three), [x, three])
    begin = "generated LLVM text is not valid; it calls llvm.ctlz.i32, whose operands may be at fault: "
    assert str(caught.value).startswith(begin)
    assert len(set(lines := str(caught.value).splitlines())) == len(lines)
    mistyped = te.compute((4,), lambda i: te.call_llvm_intrin("int32", "llvm.ctlz.i64", x[i]), name="y")
    with pytest.raises(CodegenError, match="ctlz"):
        build(te.create_schedule(mistyped), [x, mistyped])
    with pytest.raises(CodegenError, match=r"C99 has no intrinsics of LLVM, found 'llvm\.ctlz\.i32'"):
        build(s, [x, y], target="c")


def test_functions_that_nobody_gives_are_named() -> None:
    x, y = sorted_rows("my.missing_function")
    s = te.create_schedule(y)
    with pytest.raises(CodegenError, match=r"expected 'my\.missing_function' in this process, or among the externals"):
        build(s, [x, y]).module  # noqa: B018
    with pytest.raises(LinkError, match="my_missing_function"):
        build(s, [x, y]).library()
    with pytest.raises(ExecutionError, match=r"call of 'my\.missing_function', which is no native function"):
        run(lower(s, [x, y]), [X, X.copy()])
    for externals, message in (
        (
            {"my.sort": sort},
            "expected externals that the functions call, found 'my.sort': those are my.missing_function",
        ),
        ({"my.missing_function": 3}, "external 'my.missing_function': expected a function, found int"),
    ):
        with pytest.raises(CodegenError, match=re.escape(message)):
            build(s, [x, y], externals=externals)
    a, sums = columns()
    with pytest.raises(CodegenError, match="external 'total': expected a function of ctypes, as C code calls it"):
        build(te.create_schedule(sums), [a, sums], externals={"total": total})


def test_wrong_calls_are_refused() -> None:
    x = te.placeholder((4,), name="x")

    def refused(message: str, use: Callable[[], object]) -> None:
        with pytest.raises((ExpressionError, LoweringError, CodegenError), match=re.escape(message)):
            use()

    def body(call: Callable[[te.Buffer, te.Buffer], Any]) -> Callable[[], object]:
        return lambda: te.extern((4,), [x], lambda ins, outs: call(ins[0], outs[0]), name="y")

    refused(
        "call_packed expects a name such as my.function, found 'my function'", lambda: te.call_packed("my function")
    )
    refused("call_extern expects an identifier of C, found 'a.b'", lambda: te.call_extern("int32", "a.b"))
    refused("expects a name such as llvm.ctlz.i32, found 'ctlz'", lambda: te.call_llvm_intrin("int32", "ctlz"))
    refused("'f' expects and gives integers, bool, float32 and float64, found float16",
            lambda: te.call_extern("float16", "f"))  # fmt: skip
    refused("call_packed of 'f' expects numbers and buffers, found a text", lambda: te.call_packed("f", "axis"))
    refused(
        "call_extern of 'f' expects numbers and addresses, found Buffer",
        body(lambda a, _: te.call_extern("int32", "f", a)),
    )
    refused(
        "call_packed of 'f' expects buffers, found an address",
        body(lambda a, _: te.call_packed("f", a.access_ptr("r"))),
    )
    refused("access_ptr of 'x' expects a mask of r, w, rw, found 'x'", body(lambda a, _: a.access_ptr("x")))
    refused("extern 'y': the body stores to input 'x'",
            body(lambda a, _: te.call_extern("int32", "f", a.access_ptr("rw"))))  # fmt: skip

    def parallel(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        with ib.for_range(0, 4, "i", "parallel"):
            ib.emit(te.call_packed("f", ins[0], outs[0]))
        return ib.get()

    y = te.extern((4,), [x], parallel, name="y")
    refused("packed function 'f' is called inside of the parallel loop 'i'; expected serial loops around it",
            lambda: lower(te.create_schedule(y), [x, y]))  # fmt: skip


def traced(expression: Callable[..., te.Expr]) -> tuple[te.Schedule, list[te.Tensor]]:
    x = te.placeholder((3,), name="x")
    y = te.compute((3,), lambda i: expression(x, i), name="y")
    return te.create_schedule(y), [x, y]


def test_a_trace_gives_values_to_a_function_in_python() -> None:
    seen: list[list[float]] = []

    def show(*values: Any) -> None:
        seen.append([float(np.asarray(v)[()]) for v in values])

    s, arguments = traced(lambda x, i: te.trace([i, x[i] * 2.0], "show") + te.trace([x[i]], "show"))
    x, y = arguments
    function, values = lower(s, arguments), np.array([3, 1, 2], "float32")
    interpreted, compiled = np.zeros(3, "float32"), np.zeros(3, "float32")
    run(function, [values, interpreted], functions={"show": show})
    build(s, arguments, externals={"show": show})(values, compiled)
    assert seen == [[0, 6], [3], [1, 2], [1], [2, 4], [2]] * 2
    for found in (interpreted, compiled, evaluate([y], {x: values})[0]):
        assert found.tolist() == [9, 3, 6]
    assert str(function.body).splitlines()[1:4] == [
        "  let traced = x[i] * 2.0f",
        "  packed.show:int32(int64(i), traced)",
        "  let traced_1 = x[i]",
    ]


def test_terms_of_a_sum_are_traced_one_by_one() -> None:
    seen: list[int] = []
    k = te.reduce_axis(3, "k")
    s, arguments = traced(lambda x, i: te.sum(te.trace([k, x[k]], "show"), axis=k, where=k != i))
    found = np.zeros(3, "float32")
    compiled = build(s, arguments, externals={"show": lambda at, _: seen.append(int(np.asarray(at)[()]))})
    compiled(np.array([3, 1, 2], "float32"), found)
    assert (found.tolist(), seen) == ([3, 5, 4], [1, 2, 0, 2, 0, 1])


def test_a_trace_is_refused_where_it_is_not_computed_once() -> None:
    s, arguments = traced(lambda x, i: te.select(i > 0, te.trace([x[i]], "show"), 0.0))
    with pytest.raises(LoweringError, match="trace by 'show' expects values that are always computed, found a choice"):
        lower(s, arguments)
    s, arguments = traced(lambda x, i: te.trace([x[i]], "show"))
    s[arguments[1]].vectorize(arguments[1].op.axis[0])
    with pytest.raises(LoweringError, match="packed function 'show' is called inside of the vectorized loop 'i'"):
        lower(s, arguments)
    for values, message in (
        ([], "found none"),
        (3, "found int"),
        (["x"], "expects numbers, found a text"),
    ):
        with pytest.raises(ExpressionError, match=message):
            te.trace(values, "show")
