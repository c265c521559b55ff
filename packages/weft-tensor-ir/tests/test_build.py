"""From a schedule to functions of this process."""

import re

import numpy as np
import pytest

from weft.runtime import Target, TargetError
from weft.tensor_ir import build, te


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
