"""Compiling on an executor of other processes or machines, such as that of dask.distributed."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from functools import partial
from importlib.metadata import version
from typing import Any

from sateen.runtime.errors import CodegenError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.compile_requests import answer_of, code_of, request_for
from sateen.tensor_ir.codegen.object_code import ObjectCode
from sateen.tensor_ir.ir.stmt import Function

PACKAGES = ("sateen-tensor-ir", "llvmlite")
"""The packages whose versions must be the same everywhere, since they determine the code."""


class ExecutorPool:
    """Object code from an executor, whose workers have this package; the interface of `CompilerPool`.

    Functions go there as text. Whoever made the executor ends it.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(
        self, function: Function, target: Target | str = "llvm", *, internal: bool = False
    ) -> Future[ObjectCode]:
        """As `CompilerPool.submit`. The future's result raises CodegenError also for a worker that is lost, or has
        other versions."""
        made: Future[ObjectCode] = Future()
        made.set_running_or_notify_cancel()  # it can't be cancelled
        request = request_for(function, target, internal=internal)
        asked = self._executor.submit(compiled, request, {name: version(name) for name in PACKAGES})
        asked.add_done_callback(partial(_hand_on, function.name, made))
        return made


def compiled(request: dict[str, Any], versions: dict[str, str]) -> dict[str, Any]:
    """What a worker does with a request; `versions` are those of who asks."""
    here = {name: version(name) for name in versions}
    if here != versions:
        expected, found = (", ".join(f"{name} {number}" for name, number in v.items()) for v in (versions, here))
        return {"error": f"expected a worker with {expected}, found one with {found}"}
    return answer_of(request)


def _hand_on(name: str, made: Future[ObjectCode], asked: Future[dict[str, Any]]) -> None:
    try:
        made.set_result(code_of(asked.result()))
    except CodegenError as error:
        made.set_exception(error)
    except BaseException as error:  # noqa: BLE001  # executors have errors of their own for workers that are lost
        made.set_exception(CodegenError(f"{name}: expected a worker to compile it: {type(error).__name__}: {error}"))
