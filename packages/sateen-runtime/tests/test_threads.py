"""Work in threads, in fewer than asked for, and in none."""

from collections.abc import Callable
from concurrent.futures import CancelledError
from threading import Barrier, Event, Thread, current_thread, main_thread

import pytest

from sateen.runtime.threads import Threads

Limit = Callable[[int], None]


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Limit:
    """Lets the system start so many threads and no more."""
    start = Thread.start

    def limit(most: int) -> None:
        started = iter(range(most))

        def limited(thread: Thread) -> None:
            if next(started, None) is None:
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(Thread, "start", limited)

    return limit


@pytest.mark.parametrize("most", [0, 1, 2, 8])
def test_work_is_done_by_as_many_threads_as_there_are(limit: Limit, most: int) -> None:
    limit(most)
    with Threads(4) as threads:
        assert list(threads.map(lambda x: x * x, range(100))) == [x * x for x in range(100)]


def test_threads_work_beside_each_other() -> None:
    together = Barrier(3)
    with Threads(3) as threads:
        assert sorted(threads.map(lambda _: together.wait(), range(3))) == [0, 1, 2]


def test_without_threads_the_caller_works(limit: Limit) -> None:
    limit(0)
    with Threads(4) as threads:
        assert threads.submit(current_thread).result() is main_thread()


@pytest.mark.parametrize("most", [0, 1])
def test_an_error_is_raised_where_the_result_is_asked_for(limit: Limit, most: int) -> None:
    limit(most)
    with Threads(4) as threads:
        wrong, right = threads.submit(int, "x"), threads.submit(int, "7")
        with pytest.raises(ValueError, match="invalid literal"):
            wrong.result()
        assert right.result() == 7


def test_an_interrupt_of_a_caller_that_works_itself_is_raised_at_once(limit: Limit) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    limit(0)
    with Threads(4) as threads, pytest.raises(KeyboardInterrupt):
        threads.submit(interrupted)


def test_work_that_has_not_begun_may_be_cancelled() -> None:
    begun, may_end = Event(), Event()

    def slow() -> str:
        begun.set()
        may_end.wait()
        return "done"

    threads = Threads(1)
    first, second = threads.submit(slow), threads.submit(slow)
    begun.wait()
    threads.shutdown(wait=False, cancel_futures=True)
    may_end.set()
    threads.shutdown()
    assert first.result() == "done"
    with pytest.raises(CancelledError):
        second.result()
