"""Who compiles candidates: processes of this machine, or the workers of a dask scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sateen.frontends.command.artifacts import WORKERS
from sateen.frontends.core.packages import imported
from sateen.runtime import ArgumentError
from sateen.tensor_ir.codegen import CompilerPool, Compilers, ExecutorPool

MISSING = "expected dask.distributed, which is not installed; extra dask of sateen-frontends brings it"
CONNECT_SECONDS = 10


@contextmanager
def compilers(scheduler: str | None) -> Iterator[Compilers]:
    """Processes of this machine, or the workers of the scheduler at HOST:PORT. Raises ArgumentError if there is none,
    or dask is missing."""
    with ExitStack() as stack:
        if scheduler is None:
            yield stack.enter_context(CompilerPool(WORKERS))
        else:
            distributed = imported("distributed", MISSING)
            try:
                client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
            except (OSError, ValueError) as error:
                raise ArgumentError(f"{scheduler}: expected a scheduler of dask: {error}") from None
            stack.enter_context(client)
            yield ExecutorPool(stack.enter_context(client.get_executor(pure=False)))
