"""Storage of kernels that becomes a parameter."""

from __future__ import annotations

import pytest

from sateen.graph_ir.memory import hoist_scratch
from sateen.tensor_ir import lower, te
from sateen.tensor_ir.ir.stmt import Function


def kernel(extent: int, *, parallel: bool = False, inside: bool = False, scope: str = "global") -> Function:
    """A stage that is kept whole, or computed at each iteration of the output's loop."""
    x = te.placeholder((2, extent), "float32", "x")
    kept = te.compute((2, extent), lambda i, j: x(i, j) + 1.0, name="kept")
    y = te.compute((2, extent), lambda i, j: kept(i, extent - 1 - j), name="y")
    s = te.create_schedule(y)
    s[kept].set_scope(scope)
    if parallel:
        s[y].parallel(s[y].axes[0])
    if inside:
        s[kept].compute_at(s[y], s[y].axes[0])
    return lower(s, [x, y], "k")


@pytest.mark.parametrize("inside", [False, True])
def test_large_storage_becomes_the_last_parameter(inside: bool) -> None:
    before = kernel(2048, inside=inside)
    after, sizes = hoist_scratch(before)
    assert sizes == ((8192,) if inside else (16384,))
    assert [b.name for b in after.parameters] == ["x", "y", "kept"]
    assert {b.name for b in after.outputs} == {"y", "kept"}
    assert "allocate kept" in str(before)
    assert "allocate" not in str(after)


def test_what_fits_on_the_stack_stays() -> None:
    before = kernel(512)
    assert hoist_scratch(before) == (before, ())


def test_storage_of_each_thread_stays() -> None:
    before = kernel(2048, parallel=True, inside=True)
    assert hoist_scratch(before) == (before, ())


def test_storage_before_a_parallel_loop_is_hoisted() -> None:
    after, sizes = hoist_scratch(kernel(2048, parallel=True))
    assert sizes == (16384,)
    assert "allocate" not in str(after)
