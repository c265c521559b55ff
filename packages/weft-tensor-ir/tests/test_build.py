"""From a schedule to functions of this process."""

import re

import numpy as np
import pytest

from weft.runtime import CodegenError, ScheduleError, Target, TargetError
from weft.tensor_ir import build, build_functions, lower, te


def test_a_parallel_loop_has_storage_of_its_own_for_what_is_computed_inside() -> None:
    rows, columns = 4, 3000  # a row is too large for the stack of a task, so that it comes from the host
    A = te.placeholder((rows, columns), name="A")
    B = te.compute((rows, columns), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((rows, columns), lambda i, j: B[i, columns - 1 - j] + 1.0, name="C")
    s = te.create_schedule(C)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].parallel(C.op.axis[0])
    a = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    c = np.empty_like(a)
    build(s, [A, C])(a, c)
    assert np.array_equal(c, a[:, ::-1] * 2 + 1)


HERE = Target.host()
ELSEWHERE = [
    f"{'aarch64' if HERE.architecture == 'x86_64' else 'x86_64'}-unknown-linux-gnu",
    f"{HERE.architecture}-{'pc-windows-msvc' if 'linux' in HERE.triple else 'unknown-linux-gnu'}",
]


@pytest.mark.parametrize("triple", ELSEWHERE)
def test_code_for_another_architecture_or_system_is_not_loaded(triple: str) -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    f = build(te.create_schedule(B), [A, B], target=f"llvm -mtriple={triple}")
    expected = f"compiled for llvm -mtriple={triple}, but this machine is {HERE.triple}; use export_library"
    with pytest.raises(TargetError, match=re.escape(expected)):
        f(np.zeros(4, np.float32), np.zeros(4, np.float32))


def doubled() -> tuple[te.Tensor, te.Tensor, te.Schedule]:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    return A, B, te.create_schedule(B)


@pytest.mark.parametrize("name", ["", "a b", "2f", "weft_f"])
def test_a_name_that_is_no_symbol_is_refused(name: str) -> None:
    A, B, s = doubled()
    with pytest.raises(CodegenError, match=f"expected a C identifier without weft_ before it .*, found '{name}'"):
        build(s, [A, B], name=name)


def test_a_name_that_c_keeps_is_refused_for_a_library() -> None:
    A, B, s = doubled()
    with pytest.raises(CodegenError, match="expected a name that C leaves to its users for a function, found 'exp'"):
        build(s, [A, B], name="exp").library()


def test_storage_that_does_not_fit_its_tensor_is_refused() -> None:
    A, B, s = doubled()
    for buffer, found in (
        (te.decl_buffer((3,), name="A"), "float32[3]"),
        (te.decl_buffer((4, 1), name="A"), "float32[4, 1]"),
        (te.decl_buffer((4,), "int32", name="A"), "int32[4]"),
        (te.decl_buffer((4,), name="A", scope="shared"), "float32[4] in shared memory"),
    ):
        message = f"lower: the buffer of 'A' expects float32[4], found {found}"
        with pytest.raises(ScheduleError, match=re.escape(message)):
            lower(s, [A, B], buffers={A: buffer})
    other = te.placeholder((4,), name="other")
    with pytest.raises(ScheduleError, match="lower: 'other' has a buffer, but is not among the arguments"):
        lower(s, [A, B], buffers={other: te.decl_buffer((4,))})


def test_what_is_no_schedule_or_function_is_refused() -> None:
    A, B, s = doubled()
    with pytest.raises(ScheduleError, match="lower expects a schedule, found Tensor"):
        lower(B, [A, B])  # type: ignore[arg-type]
    with pytest.raises(CodegenError, match="build_functions expects functions of loop IR, found Schedule"):
        build_functions([s])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (f"llvm -mtriple={HERE.triple} -mattr=+sse9", "LLVM does not accept processor '' with features '+sse9'"),
        (f"llvm -mtriple={HERE.triple} -mtune=znver4", "expected no option -mtune, which LLVM is not told of"),
    ],
)
def test_a_target_that_would_not_be_honoured_is_refused(target: str, message: str) -> None:
    A, B, s = doubled()
    with pytest.raises(TargetError, match=re.escape(message)):
        build(s, [A, B], target=target)


def test_floats_of_8_bits_are_refused() -> None:
    A = te.placeholder((4,), dtype="float8_e5m2", name="A")
    B = te.compute((4,), lambda i: A[i] + A[i], name="B")
    with pytest.raises(CodegenError, match="expected elements of another type than float8_e5m2"):
        build(te.create_schedule(B), [A, B])


def test_an_extent_may_be_a_quotient_or_a_remainder() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n % 3 + (n - 8) // 4 + 3,), lambda i: A[0], name="B")
    f = build(te.create_schedule(B), [A, B])
    b = np.zeros(1 - 1 + 3, np.float32)  # 7 % 3 + floor(-1 / 4) + 3
    f(np.ones(7, np.float32), b)
    assert (b == 1).all()
