"""Instructions of users: a computation of te with code of their own, as statements, LLVM text and C text."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen.runtime import Target, array, load_module
from sateen.runtime.errors import CodegenError, ExpressionError, ScheduleError
from sateen.tensor_ir import build, save_json, te
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.intrinsics import FunctionText, StatementText, TensorIntrinsic, VectorCall, VectorType
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering import lower

Body = Callable[[list[Buffer], list[Buffer]], Any]
ROWS, DEPTH = 4, 8


def gemv(code: Body | None, otherwise: str = "refuse", name: str = "gemv") -> TensorIntrinsic:
    """z[i] = Σ x[k]·y[i, k] over 8 terms, where the rows of y may be apart."""
    x, y = te.placeholder((DEPTH,), name="x"), te.placeholder((ROWS, DEPTH), name="y")
    k = te.reduce_axis(DEPTH, "k")
    z = te.compute((ROWS,), lambda i: te.sum(x[k] * y[i, k], axis=k), name="z")
    apart = te.decl_buffer(y.shape, y.dtype, "y", strides=[te.var("step"), 1], offset_factor=1)
    return te.decl_tensor_intrin(z.op, code, name, {y: apart}, otherwise)


def product(instruction: TensorIntrinsic, depth: int = 16) -> tuple[te.Schedule, list[te.Tensor]]:
    """C[i, j] = Σ A[i, k]·B[j, k] by tiles of 4 columns and 8 terms."""
    a, b = te.placeholder((3, depth), name="A"), te.placeholder((12, depth), name="B")
    k = te.reduce_axis(depth, "k")
    c = te.compute((3, 12), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    s = te.create_schedule(c)
    i, j = c.op.axis
    jo, ji = s[c].split(j, factor=ROWS)
    ko, ki = s[c].split(k, factor=DEPTH)
    s[c].reorder(i, jo, ko, ji, ki)
    s[c].tensorize(ji, instruction)
    return s, [a, b, c]


def computed(instruction: TensorIntrinsic, depth: int = 16, **options: Any) -> None:
    """Check machine code and the interpreter against NumPy."""
    s, arguments = product(instruction, depth)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (n, depth)).astype(np.float32) for n in (3, 12))
    for execute in (build(s, arguments, **options), lambda *arrays: run(lower(s, arguments), list(arrays))):
        result = np.full((3, 12), np.nan, np.float32)
        execute(a, b, result)
        np.testing.assert_array_equal(result, a @ b.T)


def loops(ins: list[Buffer], outs: list[Buffer]) -> Any:
    """The three parts as loops."""

    def filled() -> te.Stmt:
        ib = te.ir_builder.create()
        z = ib.buffer_ptr(outs[0])
        with ib.for_range(0, ROWS, "i", "vectorized") as i:
            z[i] = te.const(0.0, "float32")
        return ib.get()

    def added() -> te.Stmt:
        ib = te.ir_builder.create()
        x, y, z = (ib.buffer_ptr(b) for b in (*ins, *outs))
        with ib.for_range(0, ROWS, "i", "unrolled") as i, ib.for_range(0, DEPTH, "k") as k:
            z[i] = z[i] + x[k] * y[i, k]
        return ib.get()

    ib = te.ir_builder.create()
    ib.emit(filled())
    ib.emit(added())
    return ib.get(), filled(), added()


@pytest.mark.parametrize("depth", [8, 16], ids=["whole", "in steps"])
@pytest.mark.parametrize("code", [loops, None], ids=["loops", "definition"])
def test_statements_run_on_all_targets(code: Body | None, depth: int) -> None:
    instruction = gemv(code, "refuse" if code else "definition")
    computed(instruction, depth)
    s, arguments = product(instruction, depth)
    assert "for (" in build(s, arguments, "c").source


def test_a_reduction_in_steps_resets_before_its_outer_loops_and_updates_inside() -> None:
    s, arguments = product(gemv(loops))
    assert (
        str(lower(s, arguments).body)
        == """\
for i in [0, 3):
  for jo in [0, 3):
    intrinsic gemv.reset C[i, jo * 4:4]
    for ko in [0, 2):
      intrinsic gemv.update C[i, jo * 4:4] = C[i, jo * 4:4], A[i, ko * 8:8], B[jo * 4:4, ko * 8:8]"""
    )


@pytest.mark.parametrize("depth", [8, 16], ids=["whole", "in steps"])
@pytest.mark.parametrize("has_body", [True, False])
def test_a_reduction_without_a_reset_starts_by_plain_loops(has_body: bool, depth: int) -> None:
    def code(ins: list[Buffer], outs: list[Buffer]) -> Any:
        body, _, update = loops(ins, outs)
        return body if has_body else None, None, update

    instruction = gemv(code)
    computed(instruction, depth)
    is_whole = has_body and depth == DEPTH
    assert ("C[i, jo * 4 + ji] = 0.0f" in str(lower(*product(instruction, depth)).body)) is not is_whole
    with pytest.raises(ExpressionError, match="expects reduce_init and reduce_update of a reduction, found one"):
        gemv(lambda ins, outs: (*loops(ins, outs)[:2], None))


def test_all_of_a_reduction_needs_no_start() -> None:
    s, arguments = product(gemv(loops), DEPTH)
    body = "      for ko in [0, 1):\n        intrinsic gemv C[i, jo * 4:4] = A[i, 0:8], B[jo * 4:4, 0:8]"
    assert body in str(lower(s, arguments, passes=()))


def test_its_text_is_read_back_and_its_statements_count() -> None:
    one, other = gemv(loops), gemv(None, "definition")
    texts = [lower(*product(instruction)) for instruction in (one, other)]
    assert str(texts[0]) == str(texts[1])
    assert digest(texts[0]) != digest(texts[1])
    assert one.update is not None
    assert one.reset is not None
    again = parse_function(str(texts[0]), {i.name: i for i in (one.reset, one.update)})
    assert digest(again) == digest(texts[0])


# Code for some targets.

LLVM_TEXT = """
define void @add_rows(ptr %z, ptr %x, ptr %y, i64 %step) {
entry:
  br label %rows
rows:
  %i = phi i64 [0, %entry], [%next, %done]
  %start = mul i64 %i, %step
  %row = getelementptr float, ptr %y, i64 %start
  %place = getelementptr float, ptr %z, i64 %i
  %before = load float, ptr %place
  br label %terms
terms:
  %k = phi i64 [0, %rows], [%more, %terms]
  %sum = phi float [%before, %rows], [%total, %terms]
  %left = getelementptr float, ptr %x, i64 %k
  %right = getelementptr float, ptr %row, i64 %k
  %a = load float, ptr %left
  %b = load float, ptr %right
  %product = fmul float %a, %b
  %total = fadd float %sum, %product
  %more = add i64 %k, 1
  %ended = icmp eq i64 %more, 8
  br i1 %ended, label %done, label %terms
done:
  store float %total, ptr %place
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, 4
  br i1 %last, label %end, label %rows
end:
  ret void
}"""
C_TEXT = """
for (int sateen_i = 0; sateen_i < 4; ++sateen_i)
  for (int sateen_k = 0; sateen_k < 8; ++sateen_k)
    $z[sateen_i] += $x[sateen_k] * $y[sateen_i * $step + sateen_k];"""
C_FUNCTION = """
void add_rows(float *z, const float *x, const float *y, long long step) {
  for (int i = 0; i < 4; ++i) for (int k = 0; k < 8; ++k) z[i] += x[k] * y[i * step + k];
}"""


def in_steps(update: Any) -> Body:
    """Only the parts in steps, the first by loops."""
    return lambda ins, outs: (None, loops(ins, outs)[1], update)


def compiled(text: str, folder: Path, *options: str | Path) -> Path:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    (folder / "f.c").write_text(text)
    subprocess.run([gcc, "-O1", "-shared", "-fPIC", *options, folder / "f.c", "-o", folder / "f.so", "-lm"], check=True)
    return folder / "f.so"


@pytest.mark.parametrize("depth", [8, 16], ids=["without loops around", "with loops around"])
def test_llvm_text_is_called_with_pointers_and_strides(depth: int) -> None:
    instruction = gemv(in_steps(FunctionText("add_rows", LLVM_TEXT)))
    computed(instruction, depth)
    s, arguments = product(instruction, depth)
    assert "call void @add_rows(ptr" in build(s, arguments).llvm_text()
    with pytest.raises(CodegenError, match=re.escape("run: C99 has no code for intrinsic 'gemv.update'")):
        build(s, arguments, "c")


def test_c_text_knows_strides_by_name(tmp_path: Path) -> None:
    instruction = gemv(in_steps(StatementText(C_TEXT)))
    s, arguments = product(instruction)
    library = compiled(
        build(s, arguments, Target("c", triple=Target.host().triple)).source, tmp_path, "-Wall", "-Werror"
    )
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-9, 9, (n, 16)).astype(np.float32) for n in (3, 12))
    result = array(np.zeros((3, 12), np.float32))
    load_module(library)["run"](array(a), array(b), result)
    np.testing.assert_array_equal(result.numpy(), a @ b.T)
    with pytest.raises(CodegenError, match=r"x86_64-unknown-linux-gnu has no code for .*'gemv\.update'"):
        build(s, arguments, "llvm -mtriple=x86_64-unknown-linux-gnu")


def test_a_function_of_c_gets_addresses_and_strides(tmp_path: Path) -> None:
    def code(ins: list[Buffer], outs: list[Buffer]) -> Any:
        (x, y), (z,) = ins, outs
        assert y.strides is not None
        pointers = z.access_ptr("rw"), x.access_ptr("r"), y.access_ptr("r")
        return None, loops(ins, outs)[1], te.call_extern("int32", "add_rows", *pointers, y.strides[0])

    library = ctypes.CDLL(str(compiled(C_FUNCTION, tmp_path)))
    computed(gemv(code), externals={"add_rows": library.add_rows})


def multiply_add(code: Any) -> TensorIntrinsic:
    """z[i] = a[i]·b[i] + c[i] of four floats."""
    a, b, c = (te.placeholder((4,), name=name) for name in "abc")
    z = te.compute((4,), lambda i: a[i] * b[i] + c[i], name="z")
    return te.decl_tensor_intrin(z.op, lambda *_: code, "multiply_add", otherwise="definition")


def test_the_first_code_that_a_target_takes_is_used() -> None:
    vector = VectorType("float", 4)
    never = FunctionText("never", "define void @never(ptr %z, ptr %a, ptr %b, ptr %c) { ret void }", ("avx999",))
    instruction = multiply_add([never, VectorCall("fma.v4f32", (vector,) * 3, vector, ())])
    x = te.placeholder((3, 8), name="X")
    y = te.compute((2, 8), lambda i, j: x[i, j] * x[i + 1, j] + x[2, j], name="Y")
    s = te.create_schedule(y)
    s[y].tensorize(s[y].split(y.op.axis[1], factor=4)[1], instruction)
    module = build(s, [x, y])
    assert "@llvm.fma.v4f32(" in module.llvm_text()
    assert "@never" not in module.llvm_text()
    given, result = np.arange(24, dtype=np.float32).reshape(3, 8), np.zeros((2, 8), np.float32)
    module(given, result)
    np.testing.assert_array_equal(result, given[:2] * given[1:] + given[2])
    assert "X[" in build(s, [x, y], "c").source


# Calls in te.compute.


def blocks(m: int, n: int, depth: int) -> TensorIntrinsic:
    """z[i, j] = Σ x[i, k]·y[j, k]."""
    x, y, k = te.placeholder((m, depth), name="x"), te.placeholder((n, depth), name="y"), te.reduce_axis(depth, "k")
    z = te.compute((m, n), lambda i, j: te.sum(x[i, k] * y[j, k], axis=k), name="z")
    return te.decl_tensor_intrin(z.op, name="blocks", otherwise="definition")


def test_a_compute_may_call_it_for_each_block() -> None:
    a, b = te.placeholder((2, 3, 4, 8), name="A"), te.placeholder((5, 24), name="B")
    k, product_of = te.reduce_axis(3, "k"), blocks(4, 5, 8)
    c = te.compute((2, 4, 5), lambda i: product_of(a[i, k], b[:, 8 * k : 8 * k + 8], reduce_axis=k), name="C")
    rng = np.random.default_rng(0)
    given = [rng.integers(-9, 9, shape).astype(np.float32) for shape in ((2, 3, 4, 8), (5, 24))]
    expected = np.einsum("ikxl,ykl->ixy", given[0], given[1].reshape(5, 3, 8))
    np.testing.assert_array_equal(evaluate([c], dict(zip((a, b), given, strict=True)))[0], expected)
    s = te.create_schedule(c)
    message = (
        r"operand 'y': expected elements one behind the other, found extents \[5, 8\] of 'B' with strides \[24, 1\]"
    )
    with pytest.raises(ScheduleError, match=message):
        lower(s, [a, b, c])


def test_the_schedule_begins_with_the_instruction_and_caches_keep_it() -> None:
    a, b = te.placeholder((2, 3, 4, 8), name="A"), te.placeholder((3, 5, 8), name="B")
    k, product_of = te.reduce_axis(3, "k"), blocks(4, 5, 8)
    c = te.compute((2, 4, 5), lambda i: product_of(a[i, k], b[k, 0:5], reduce_axis=k), name="C")
    s = te.create_schedule(c)
    sums = s.cache_write(c, "local")
    s[sums].compute_at(s[c], c.op.axis[0])
    function = lower(s, [a, b, c])
    assert (
        "    intrinsic blocks.reset C.local[0, 0:4, 0:5]\n    for k in [0, 3):\n"
        "      intrinsic blocks.update C.local[0, 0:4, 0:5] = C.local[0, 0:4, 0:5], A[i, k, 0:4, 0:8], B[k, 0:5, 0:8]\n"
    ) in str(function)
    rng = np.random.default_rng(0)
    given = [rng.integers(-9, 9, shape).astype(np.float32) for shape in ((2, 3, 4, 8), (3, 5, 8))]
    for execute in (build(s, [a, b, c]), lambda *arrays: run(function, list(arrays))):
        result = np.zeros((2, 4, 5), np.float32)
        execute(*given, result)
        np.testing.assert_array_equal(result, np.einsum("ikxl,kyl->ixy", *given))
    with pytest.raises(ExpressionError, match="save_json expects 'C' to be computed by expressions, found instruction"):
        save_json(c)


def reversal(strides: Any = None, *, apart: bool = False) -> TensorIntrinsic:
    """y[i] = 2·x[7 - i], whose code overwrites what it reads later if both are one block."""

    def code(ins: list[Buffer], outs: list[Buffer]) -> Any:
        ib = te.ir_builder.create()
        x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, "i") as i:
            y[i] = x[7 - i] * 2.0
        return ib.get()

    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: x[7 - i] * 2.0, name="y")
    both = {t: te.decl_buffer((8,), name=t.name, strides=strides, offset_factor=1) for t in (x, y)}
    return te.decl_tensor_intrin(y.op, code, "reverse", both if apart else {x: both[x]})


@pytest.mark.parametrize("strides", [None, [1], [te.var("step")]], ids=["compact", "constant", "variable"])
@pytest.mark.parametrize("first", [0, 3])
def test_a_statement_reads_inputs_before_the_output_that_overlaps_them(first: int, strides: Any) -> None:
    def body(ins: list[Buffer], outs: list[Buffer]) -> Any:
        ib = te.ir_builder.create()
        a, r = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 16, "i") as i:
            r[i] = a[i]
        ib.intrinsic(reversal(strides), [r.region((first,), (8,))], [r.region((0,), (8,))])
        return ib.get()

    a = te.placeholder((16,), name="A")
    r = te.extern((16,), [a], body, name="R", dtype="float32")
    given = np.arange(16, dtype=np.float32)
    expected = given.copy()
    expected[first : first + 8] = given[7::-1] * 2
    function = lower(te.create_schedule(r), [a, r])
    for execute in (build(te.create_schedule(r), [a, r]), lambda *arrays: run(function, list(arrays))):
        result = np.zeros(16, np.float32)
        execute(given, result)
        np.testing.assert_array_equal(result, expected)


def test_a_statement_reads_inputs_before_an_argument_that_shares_their_memory() -> None:
    a = te.placeholder((8,), name="A")
    r = te.compute((8,), lambda i: a[7 - i] * 2.0, name="R")
    s = te.create_schedule(r)
    s[r].tensorize(r.op.axis[0], reversal())
    result = np.arange(8, dtype=np.float32)
    expected = result[::-1] * 2
    build(s, [a, r], aliased=[a, r])(result, result)
    np.testing.assert_array_equal(result, expected)
    assert "local" not in build(s, [a, r], "c").source


def test_an_input_that_cannot_be_copied_may_not_overlap_the_output() -> None:
    n = te.var("n")
    a = te.placeholder((8, n), name="A")
    r = te.compute((8, n), lambda i, j: a[7 - i, j] * 2.0, name="R")
    s = te.create_schedule(r)
    i, j = r.op.axis
    s[r].reorder(j, i)
    s[r].tensorize(i, reversal([te.var("step")], apart=True))
    build(s, [a, r])
    message = "operand 'x': an output may overlap it, and its strides [n] are not constant, so it can't be copied first"
    with pytest.raises(CodegenError, match=re.escape(message)):
        build(s, [a, r], aliased=[a, r])


# What is refused.

X, N = te.placeholder((8,), name="X"), te.var("n")
Y = te.compute((8,), lambda i: X[i] * 2.0, name="Y")
FOUR = te.placeholder((4,), name="four")
DOUBLE = te.decl_tensor_intrin(te.compute((4,), lambda i: FOUR[i] * 2.0).op, name="double", otherwise="definition")


def declared(code: Any = None, op: Any = Y.op, **options: Any) -> Callable[[], object]:
    return lambda: te.decl_tensor_intrin(op, None if code is None else lambda *_: code, "f", **options)


def called(*blocks: Any, shape: Any = (2, 4), **options: Any) -> Callable[[], object]:
    return lambda: te.compute(shape, lambda i: DOUBLE(*(b(i) for b in blocks), **options), name="C")


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (declared(op=Y), "expects the operation of a te.compute, found tensor 'Y'; its operation is .op"),
        (declared(op=X.op), "expects the operation of a te.compute, found the PlaceholderOp 'X'"),
        (declared(), "expects a function that gives code, or otherwise='definition', found neither"),
        (declared(otherwise="loops"), "expects otherwise to be refuse or definition, found 'loops'"),
        (declared(3), "a statement or a call, a StatementText, and VectorCall or FunctionText, found int"),
        (declared((None, None)), "expects code or (body, reduce_init, reduce_update), found 2 parts"),
        (declared((None, StatementText(""), StatementText(""))), "of a reduction, found 'Y', which is none"),
        (declared(VectorCall("sqrt", (), VectorType("i32", 8), ())), "on 1 operands (X), found 0 of 'sqrt'"),
        (declared(te.call_packed("f", 1)), "packed function 'f' takes whole buffers, and an operand is a part of one"),
        (declared(StatementText(""), binds={FOUR: te.decl_buffer(4)}), "expects binds of Y, X, found 'four'"),
        (declared(StatementText(""), binds={X: te.decl_buffer(4)}), "buffer of 'X' to be float32[8], found float32[4]"),
        (lambda: te.decl_tensor_intrin(te.compute((N,), lambda i: X[i]).op, otherwise="definition"), "constant shapes"),
        (lambda: te.decl_tensor_intrin(te.compute((4,), lambda i: te.const(1.0)).op), "from placeholders, found none"),
        (lambda: FunctionText("f", "define void @g() { ret void }"), "expects 'define void @f(...)', found g"),
        (lambda: FunctionText("f", "declare void @f()"), "found no definition"),
        (called(lambda i: X[4 * i : 4 * i + 3]), "expects 'four' to be float32[4], found float32[3] of 'X'"),
        (called(lambda i: X[0:8:2]), "blocks of constant extents of at least 1 without steps, found 0:8:2 of 'X'"),
        (called(lambda i: X[i:N]), "without steps, found i:n of 'X'"),
        (called(lambda i: X[i, 0:4]), "tensor 'X' has 1 dimensions, found 2 indices"),
        (called(lambda i: 3), "blocks of tensors such as A[i, 0:16], found int"),
        (called(), "expects 1 blocks (four), found 0"),
        (called(lambda i: X[0:4], reduce_axis=te.reduce_axis(2)), "since it computes element by element"),
        (called(lambda i: X[0:4], reduce_axis=3), "expects axes made by te.reduce_axis, found 3"),
        (called(lambda i: X[0:4], shape=(2, 5)), "block of 'double', [4], found 1 indices and blocks of [5]"),
    ],
)  # fmt: skip
def test_misuse_is_refused(attempt: Callable[[], object], message: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(message)):
        attempt()


def test_storage_that_is_not_as_declared_is_refused() -> None:
    s, arguments = product(gemv(loops))
    b = arguments[1]
    with pytest.raises(ScheduleError, match=re.escape("operand 'y': expected strides [step, 1], found extents [4, 8]")):
        lower(s, arguments, buffers={b: te.decl_buffer(b.shape, name="B", strides=[1, 12])})
    aligned = te.placeholder((4,), name="x")
    double = te.decl_tensor_intrin(
        te.compute((4,), lambda i: aligned[i] * 2.0).op, binds={aligned: te.decl_buffer(4)}, otherwise="definition"
    )
    y = te.compute((8,), lambda i: X[i] * 2.0, name="Y")
    s = te.create_schedule(y)
    s[y].tensorize(s[y].split(y.op.axis[0], factor=4)[1], double)
    message = "operand 'x': expected a first element at a multiple of 64 bytes, found one at a multiple of 4 of 'X'"
    with pytest.raises(ScheduleError, match=message):
        lower(s, [X, y])
    near = te.decl_tensor_intrin(
        te.compute((4,), lambda i: aligned[i] * 2.0).op,
        binds={aligned: te.decl_buffer(4, scope="local", offset_factor=1)},
        otherwise="definition",
    )
    s = te.create_schedule(y)
    s[y].tensorize(s[y].split(y.op.axis[0], factor=4)[1], near)
    with pytest.raises(
        ScheduleError, match="operand 'x': expected local memory, found 'X' in global memory; set_scope"
    ):
        lower(s, [X, y])
    s = te.create_schedule(y)
    io, ii = s[y].split(y.op.axis[0], factor=4)
    s[s.cache_read(X, "local", [y])].compute_at(s[y], io)
    s[y].tensorize(ii, near)
    lower(s, [X, y])


def test_a_reduction_without_steps_must_have_all_loops_inside() -> None:
    s, arguments = product(gemv(lambda ins, outs: loops(ins, outs)[0]))
    with pytest.raises(ScheduleError, match="since it starts from nothing and has no reduce_update, found ko outside"):
        lower(s, arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define void @add_rows(ptr %z, ptr %x, ptr %y, i64 %step) { ret i32 0 }", "LLVM refuses the text"),
        (
            "define void @add_rows(ptr %z, ptr %x, ptr %y) { ret void }",
            "the code calls 'add_rows' as void (p",
        ),
    ],
)
def test_text_that_llvm_refuses_or_of_another_type_is_an_error(text: str, message: str) -> None:
    s, arguments = product(gemv(in_steps(FunctionText("add_rows", text))))
    with pytest.raises(CodegenError, match=re.escape(f"intrinsic 'gemv.update': {message}")):
        build(s, arguments)
