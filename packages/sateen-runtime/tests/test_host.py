import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from sateen.runtime import ArgumentError, ArtifactError, DeviceFunctions, Hosting, HostPool, opencl
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
    first, second = Hosting(pool).host(), Hosting(pool, threads=3).host()
    assert first is not None
    assert second is not None
    assert (first.table.context, first.table.threads) == (11, 0)
    assert (second.table.context, second.table.threads) == (11, 3)


def test_of_two_offers_at_once_one_is_taken_and_stays() -> None:
    pool, seen = HostPool(), []
    other, table = offer(context=22), SateenHost(ABI_VERSION, 0, 11)

    def offered_meanwhile() -> int:
        pool.offer(*other)
        seen.append(pool.table())
        return ctypes.addressof(table)

    function = DefaultHost(offered_meanwhile)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    pool.offer(address, (table, function))
    assert [table and table.context for table in (*seen, pool.table())] == [22, 22]


def test_before_the_first_offer_there_is_none() -> None:
    assert HostPool().table() is None
    assert Hosting(HostPool()).host() is None


def test_a_table_of_another_abi_is_refused() -> None:
    with pytest.raises(ArtifactError, match="expected a host table of ABI 1 to 2, found ABI 3"):
        HostPool().offer(*offer(context=1, version=3))


@pytest.mark.parametrize("offered", [1, 2])
def test_code_of_either_version_is_given_a_table_of_its_own(offered: int) -> None:
    pool = HostPool()
    pool.offer(*offer(context=11, version=offered))
    hosts = [Hosting(pool, abi_version=version).host() for version in (1, 2)]
    tables = [host.table for host in hosts if host is not None]
    assert [(table.abi_version, table.context, table.device_count) for table in tables] == [(1, 11, 0), (2, 11, 0)]


def test_devices_are_in_the_table() -> None:
    pool = HostPool()
    pool.offer(*offer(context=11))
    devices = tuple(DeviceFunctions(opencl(i), *[lambda *_: 0] * 6) for i in range(2))  # type: ignore[arg-type]
    host = Hosting(pool, devices=devices).host()
    assert host is not None
    tables = ctypes.cast(host.table.devices, ctypes.POINTER(ctypes.POINTER(SateenDevice)))
    found = [tables[i].contents.id for i in range(host.table.device_count)]
    assert [(id_.device_type, id_.device_id) for id_ in found] == [(4, 0), (4, 1)]
    assert host.devices == devices


@pytest.mark.parametrize("threads", [-1, 1.5, "2", None])
def test_what_is_no_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(ArgumentError, match=f"expected a number of threads, 0 for all, found {threads!r}"):
        Hosting(threads=threads)
