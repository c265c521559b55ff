import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from sateen.runtime import ArgumentError, ArtifactError, HostPool
from sateen.runtime.abi import ABI_VERSION, SateenDevice, SateenHost

DefaultHost = ctypes.CFUNCTYPE(ctypes.c_void_p)


def offer(context: int, version: int = ABI_VERSION) -> tuple[int, object]:
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
    assert (first.table.context, first.table.threads) == (11, 0)
    assert (second.table.context, second.table.threads) == (11, 3)


def test_of_two_offers_at_once_one_is_taken_and_stays() -> None:
    pool, seen = HostPool(), []
    other, table = offer(context=22), SateenHost(ABI_VERSION, 0, 11)

    def offered_meanwhile() -> int:
        pool.offer(*other)
        seen.append(pool.host())
        return ctypes.addressof(table)

    function = DefaultHost(offered_meanwhile)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    pool.offer(address, (table, function))
    assert [host and host.table.context for host in (*seen, pool.host())] == [22, 22]


def test_before_the_first_offer_there_is_none() -> None:
    assert HostPool().host() is None


def test_a_table_of_another_abi_is_refused() -> None:
    with pytest.raises(ArtifactError, match="expected a host table of ABI 1 to 2, found ABI 3"):
        HostPool().offer(*offer(context=1, version=3))


@pytest.mark.parametrize("offered", [1, 2])
def test_code_of_either_version_is_given_a_table_of_its_own(offered: int) -> None:
    pool = HostPool()
    pool.offer(*offer(context=11, version=offered))
    tables = [host.table for host in (pool.host(abi_version=1), pool.host(abi_version=2)) if host is not None]
    assert [(table.abi_version, table.context, table.device_count) for table in tables] == [(1, 11, 0), (2, 11, 0)]


def test_devices_are_in_the_table() -> None:
    pool, device = HostPool(), SateenDevice()
    device.id.device_type = 4
    pool.offer(*offer(context=11))
    host = pool.host(devices=[device])
    assert host is not None
    assert host.table.device_count == 1
    first = ctypes.cast(host.table.devices, ctypes.POINTER(ctypes.POINTER(SateenDevice)))[0]
    assert first.contents.id.device_type == 4


@pytest.mark.parametrize("threads", [-1, 1.5, "2", None])
def test_what_is_no_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(ArgumentError, match=f"expected a number of threads, 0 for all, found {threads!r}"):
        HostPool().host(threads)
