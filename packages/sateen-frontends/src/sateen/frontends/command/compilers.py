"""Who compiles candidates: processes of this machine, or the workers of a dask scheduler. Their code is kept."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager

from sateen.frontends.command.caches import cache_folder
from sateen.frontends.core.packages import imported
from sateen.runtime import ArgumentError, CodegenError, Target
from sateen.tensor_ir import ObjectCache
from sateen.tensor_ir.codegen import CompilerPool, Compilers, ExecutorPool, ObjectCode, cache_key
from sateen.tensor_ir.ir import Function

MISSING = "expected dask.distributed, which is not installed; extra dask of sateen-frontends brings it"
CONNECT_SECONDS = 10
PROCESSES = 1
"""The processes that compile here: a measurer waits for one function at a time."""
MOST_BYTES = 256 << 20
"""The most bytes of candidates' code that are kept."""


class CachedCompilers:
    """Object code from a cache, or from others, whose code it keeps."""

    def __init__(self, cache: ObjectCache, others: Compilers) -> None:
        self._cache, self._others = cache, others

    def submit(
        self, function: Function, target: Target | str = "llvm", *, internal: bool = False
    ) -> Future[ObjectCode]:
        key = cache_key([function], Target.of(target), internal=internal)
        code = self._cache.read(key)
        if code is None:
            made = self._others.submit(function, target, internal=internal)
            made.add_done_callback(lambda done: self._keep(key, done))
            return made
        found: Future[ObjectCode] = Future()
        found.set_result(code)
        return found

    def _keep(self, key: str, done: Future[ObjectCode]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._cache.write(key, done.result())


@contextmanager
def compilers(scheduler: str | None, *, keeps: bool = True) -> Iterator[Compilers]:
    """Processes of this machine, or the workers of the scheduler at HOST:PORT, with a cache of candidates unless it
    `keeps` nothing, so that tuning that is stopped within a candidate need not compile it again. Raises ArgumentError
    if there is no scheduler, or dask is missing."""
    with ExitStack() as stack:
        given = stack.enter_context(_compilers(scheduler))
        cache = _cache() if keeps else None
        yield given if cache is None else CachedCompilers(cache, given)


@contextmanager
def _compilers(scheduler: str | None) -> Iterator[Compilers]:
    with ExitStack() as stack:
        if scheduler is None:
            yield stack.enter_context(CompilerPool(PROCESSES))
        else:
            distributed = imported("distributed", MISSING)
            try:
                client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
            except (OSError, ValueError) as error:
                raise ArgumentError(f"{scheduler}: expected a scheduler of dask: {error}") from None
            stack.enter_context(client)
            yield ExecutorPool(stack.enter_context(client.get_executor(pure=False)))


def _cache() -> ObjectCache | None:
    """None if the folder can't be used, which costs time."""
    try:
        return ObjectCache(cache_folder() / "candidates", MOST_BYTES)
    except CodegenError:
        return None
