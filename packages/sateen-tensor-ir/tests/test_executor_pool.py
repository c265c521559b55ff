"""Compiling on an executor: what comes back, and what is told when it doesn't."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from sateen.runtime import CodegenError
from sateen.tensor_ir import lower, te
from sateen.tensor_ir.codegen import ExecutorPool, compile_functions, executor_pool
from sateen.tensor_ir.ir import Function


@pytest.fixture
def increment() -> Function:
    a = te.placeholder((16,), name="a")
    b = te.compute((16,), lambda i: a[i] + 1.0, name="b")
    return lower(te.create_schedule(b), [a, b], "increment")


def test_code_is_that_of_this_process(increment: Function) -> None:
    with ThreadPoolExecutor(1) as executor:
        made = ExecutorPool(executor).submit(increment).result(60)
    assert made == compile_functions([increment], executor_pool.Target.host())


def test_what_can_not_be_compiled_is_told(increment: Function) -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(CodegenError, match="kind llvm"):
        ExecutorPool(executor).submit(increment, "c").result(60)


def test_workers_of_other_versions_are_refused(increment: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    request = executor_pool.request_for(increment, "llvm", internal=False)
    answer = executor_pool.compiled(request, {"llvmlite": "0.1"})
    assert answer["error"].startswith("expected a worker with llvmlite 0.1, found one with llvmlite 0.")
    monkeypatch.setattr(executor_pool, "compiled", lambda *_: answer)
    with ThreadPoolExecutor(1) as executor, pytest.raises(CodegenError, match=r"expected a worker with llvmlite 0\.1"):
        ExecutorPool(executor).submit(increment).result(60)


def test_a_lost_worker_is_told_with_the_name_of_the_function(increment: Function) -> None:
    class Losing(Executor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:  # type: ignore[override]
            lost: Future[Any] = Future()
            lost.set_exception(RuntimeError("the worker is gone"))
            return lost

    message = "increment: expected a worker to compile it: RuntimeError: the worker is gone"
    with pytest.raises(CodegenError, match=message):
        ExecutorPool(Losing()).submit(increment).result(60)
