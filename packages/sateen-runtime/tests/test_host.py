import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from sateen.runtime import ArgumentError, ArtifactError, HostPool
from sateen.runtime.abi import SateenHost

DefaultHost = ctypes.CFUNCTYPE(ctypes.c_void_p)


def offer(context: int, version: int = 1) -> tuple[int, object]:
    """The address of a function that returns a table, and what keeps both alive."""
    table = SateenHost(version, 0, context)
    function: Callable[[], int] = DefaultHost(lambda: ctypes.addressof(table))
    address = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
    assert address is not None
    return address, (table, function)


def test_the_first_table_is_handed_to_all() -> None:
    pool = HostPool()
    pool.offer(*offer(context=11))
    pool.offer(*offer(context=22))
    first, second = pool.host(), pool.host(threads=3)
    assert first is not None
    assert second is not None
    assert (first.context, first.threads) == (11, 0)
    assert (second.context, second.threads) == (11, 3)


def test_of_two_offers_at_once_one_is_taken_and_stays() -> None:
    pool, seen = HostPool(), []
    other, table = offer(context=22), SateenHost(1, 0, 11)

    def offered_meanwhile() -> int:
        pool.offer(*other)
        seen.append(pool.host())
        return ctypes.addressof(table)

    function = DefaultHost(offered_meanwhile)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    pool.offer(address, (table, function))
    assert [host and host.context for host in (*seen, pool.host())] == [22, 22]


def test_before_the_first_offer_there_is_none() -> None:
    assert HostPool().host() is None


def test_a_table_of_another_abi_is_refused() -> None:
    with pytest.raises(ArtifactError, match="expected a host table of ABI 1, found ABI 2"):
        HostPool().offer(*offer(context=1, version=2))


@pytest.mark.parametrize("threads", [-1, 1.5, "2", None])
def test_what_is_no_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(ArgumentError, match=f"expected a number of threads, 0 for all, found {threads!r}"):
        HostPool().host(threads)
