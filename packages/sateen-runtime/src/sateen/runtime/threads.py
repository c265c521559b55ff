"""Threads for work that also runs without them, only slower."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

MOST_THREADS = min(os.cpu_count() or 1, 8)
"""The default number of threads."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Threads(Executor):
    """Up to `most` threads, as many as the system starts; if it starts none, `submit` itself does the work."""

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._threads: list[Thread] = []
        with suppress(RuntimeError):  # what Python says where the system has no more threads
            for _ in range(most):
                thread = Thread(target=self._serve, daemon=True)
                thread.start()
                self._threads.append(thread)

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        future: Future[Result] = Future()
        work = _Work(future, partial(fn, *args, **kwargs))
        if self._threads:
            self._work.put(work)
        else:
            work.do()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads when all work is done; with `cancel_futures`, when their current work is done."""
        if cancel_futures:
            with suppress(Empty):
                while True:
                    if work := self._work.get_nowait():
                        work.future.cancel()
        for _ in self._threads:
            self._work.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _serve(self) -> None:
        while work := self._work.get():
            work.do()


@dataclass(frozen=True, slots=True)
class _Work:
    future: Future[Any]
    function: Callable[[], Any]

    def do(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.function()
        except BaseException as error:
            self.future.set_exception(error)
            if not isinstance(error, Exception):  # an interrupt, where the caller itself does the work
                raise
        else:
            self.future.set_result(result)
