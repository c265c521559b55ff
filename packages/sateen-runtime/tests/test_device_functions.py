"""Functions of a device in Python, called by compiled code."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from sateen.runtime import (
    ArgumentError,
    DeviceFunctions,
    DevicePlace,
    DType,
    ExecutionError,
    Hosting,
    HostPool,
    KernelLaunch,
    Metadata,
    Module,
    OutOfMemoryError,
    Parameter,
    Signature,
    Target,
    array,
    cpu,
    load_module,
    opencl,
)
from sateen.runtime.abi import SateenDevice, Status

ASK = Signature("ask", (Parameter("request", DType.of("int64"), (1,)),))
SOURCE = r"""
typedef struct { int32_t type, index; } id;
typedef struct { void *memory; uint64_t offset; id device; } place;
typedef struct { const char *kernel; int64_t grid[3], block[3]; const place *places; const int64_t *scalars;
                 int32_t place_count, scalar_count, queue; } launch;
typedef struct device device;
struct device {
  id id; void *context;
  void *(*alloc)(const device *, uint64_t);
  void (*free)(const device *, void *);
  int32_t (*copy)(const device *, int32_t, const place *, const place *, uint64_t);
  int32_t (*launch)(const device *, const launch *);
  int32_t (*wait)(const device *, int32_t, int32_t);
  int32_t (*sync)(const device *, int32_t);
};
/* Ask the first device for what the argument says, as the host of a kernel would. */
int32_t ask(const host *h, tensor *const *args, int32_t n) {
  if (n != 1) return 1;
  if (!h || !*(int32_t *)&h->functions[5]) return 13;
  const device *d = ((const device *const *)h->functions[4])[0];
  place there = {(void *)4096, 8, d->id}, here = {(void *)64, 0, {1, 0}};
  int64_t sizes[2] = {5, -1};
  launch l = {"f_0", {5, 2, 1}, {8, 1, 1}, &there, sizes, 1, 2, 3};
  int32_t status;
  switch (*(int64_t *)args[0]->data) {
    case 0: return d->alloc(d, 1ull << 40) ? 0 : 9;
    case 1: d->free(d, (void *)4096); return 0;
    case 2: return d->copy(d, 1, &there, &here, 16);
    case 3: return d->launch(d, &l);
    case 4: return d->wait(d, 1, 2);
    case 5: return d->sync(d, 2);
    default: status = d->launch(d, &l); d->sync(d, 0); d->free(d, (void *)4096); return status;
  }
}
"""
ALLOC, FREE, COPY, LAUNCH, WAIT, SYNC, ALL = range(7)


@pytest.fixture(scope="session")
def asking(compile_library: Callable[..., bytes]) -> bytes:
    """A library of one function, `ask`, which asks the first device of its host for one thing."""
    return compile_library(Metadata("tests", str(Target.of("c")), (ASK,)).to_json(), more=SOURCE)


@pytest.fixture
def module(asking: bytes) -> Module:
    return load_module(asking, pool=HostPool())


def device(**functions: Any) -> DeviceFunctions:
    """A device that does nothing but what `functions` do."""
    idle: dict[str, Any] = {name: lambda *_: None for name in ("free", "copy", "launch", "wait", "sync")}
    return DeviceFunctions(opencl(2), **{"alloc": lambda _: 4096, **idle, **functions})


def raising(error: BaseException) -> Callable[..., Any]:
    def function(*_: object) -> None:
        raise error

    return function


def test_functions_get_plain_arguments(module: Module) -> None:
    found: list[Any] = []

    def asked(*arguments: Any) -> None:
        found.append(arguments)

    def alloc(size: int) -> int:
        found.append((size,))
        return 1 << 47

    given = device(alloc=alloc, free=asked, copy=asked, launch=asked, wait=asked, sync=asked)
    ask = module.with_devices([given])["ask"]
    for request in range(6):
        ask(array([request]))
    there, here = DevicePlace(4096, 8, opencl(2)), DevicePlace(64, 0, cpu())
    launch = KernelLaunch("f_0", (5, 2, 1), (8, 1, 1), (there,), (5, -1), 3)
    assert found == [(1 << 40,), (4096,), (1, there, here, 16), (launch,), (1, 2), (2,)]


def test_callbacks_live_as_long_as_what_launches_on_them(module: Module) -> None:
    found: list[int] = []
    ask = module.with_devices([device(sync=found.append)])["ask"]
    gc.collect()
    ask.bind(array([SYNC]))()
    assert found == [2]


@pytest.mark.parametrize(
    ("name", "request_", "kind", "text"),
    [
        ("alloc", ALLOC, OutOfMemoryError, "ask: opencl(2) has no memory left"),
        ("free", FREE, ExecutionError, "ask: opencl(2) failed at free"),
        ("copy", COPY, ExecutionError, "ask: opencl(2) failed at copy, or at work that it had queued"),
        ("launch", LAUNCH, ExecutionError, "ask: opencl(2) refused a kernel"),
        ("wait", WAIT, ExecutionError, "ask: opencl(2) failed at wait, or at work that it had queued"),
        ("sync", SYNC, ExecutionError, "ask: opencl(2) failed at sync, or at work that it had queued"),
    ],
)
def test_an_exception_of_a_device_is_the_cause_of_the_error(
    module: Module, name: str, request_: int, kind: type[Exception], text: str
) -> None:
    error = ValueError("the driver is gone")
    ask, request = module.with_devices([device(**{name: raising(error)})])["ask"], array([request_])
    for call in (lambda: ask(request), ask.bind(request), lambda: ask.call_pointers(request.handle)):
        with pytest.raises(ExecutionError) as caught:
            call()
        assert (type(caught.value), str(caught.value)) == (kind, text)
        assert caught.value.__cause__ is error


def test_the_first_of_several_exceptions_is_the_cause(module: Module) -> None:
    first = ValueError("no such kernel")
    gone = raising(ValueError("gone"))
    ask = module.with_devices([device(launch=raising(first), sync=gone, free=gone)])["ask"]
    with pytest.raises(ExecutionError, match="refused a kernel") as caught:
        ask(array([ALL]))
    assert caught.value.__cause__ is first
    ask(array([ALLOC]))  # what has been told is not told again


def test_a_lack_of_memory_is_told_apart_from_a_refusal(module: Module) -> None:
    ask = module.with_devices([device(launch=raising(MemoryError()))])["ask"]
    with pytest.raises(OutOfMemoryError, match=r"^ask: opencl\(2\) has no memory left$"):
        ask(array([LAUNCH]))


def test_an_interrupt_reaches_the_caller(module: Module) -> None:
    ask = module.with_devices([device(sync=raising(KeyboardInterrupt()))])["ask"]
    with pytest.raises(KeyboardInterrupt):
        ask(array([SYNC]))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (Status.OUT_OF_MEMORY, "ask: opencl(2) has no memory left"),
        (Status.LAUNCH, "ask: opencl(2) refused a kernel"),
        (Status.QUEUE, "ask: opencl(2) failed at launch, or at work that it had queued"),
        (
            Status.DTYPE,
            "ask: opencl(2) failed at launch with status 4, which this sateen-runtime does not know of a device",
        ),
        (
            Status.SHAPE.at(1),
            "ask: opencl(2) failed at launch with status 262, which this sateen-runtime does not know of a device",
        ),
    ],
)
def test_a_status_of_a_device_says_nothing_of_arguments(module: Module, status: int, text: str) -> None:
    ask, request = module.with_devices([device(launch=lambda _: status)])["ask"], array([LAUNCH])
    with pytest.raises(ExecutionError) as caught:
        ask(request)
    assert str(caught.value) == text
    assert caught.value.__cause__ is None
    assert ask.call_pointers(request.handle) == status


@pytest.mark.parametrize(
    ("name", "request_", "value", "cause"),
    [
        ("launch", LAUNCH, 1 << 32, "expected a status of 31 bits, found 4294967296"),
        ("sync", SYNC, -1, "expected a status of 31 bits, found -1"),
        ("copy", COPY, "done", "'str' object cannot be interpreted as an integer"),
        ("alloc", ALLOC, None, "'NoneType' object cannot be interpreted as an integer"),
        ("alloc", ALLOC, 1 << 64, "expected memory as a number of the size of a pointer, found 18446744073709551616"),
    ],
)
def test_what_is_no_status_and_no_memory_is_refused(
    module: Module, name: str, request_: int, value: object, cause: str
) -> None:
    ask = module.with_devices([device(**{name: lambda *_: value})])["ask"]
    with pytest.raises(ExecutionError) as caught:
        ask(array([request_]))
    assert str(caught.value.__cause__) == cause


def test_no_memory_is_told_without_a_cause(module: Module) -> None:
    ask = module.with_devices([device(alloc=lambda _: 0)])["ask"]
    with pytest.raises(OutOfMemoryError, match=r"^ask: opencl\(2\) has no memory left$") as caught:
        ask(array([ALLOC]))
    assert caught.value.__cause__ is None


def test_wrong_arguments_are_told_of_a_function_with_devices(module: Module) -> None:
    assert module.with_devices([device()])["ask"].call_pointers() == Status.ARGUMENT_COUNT
    with pytest.raises(ExecutionError, match="ask: expected a device for its kernels, found a host without it"):
        module["ask"](array([SYNC]))


def test_devices_stay_with_another_number_of_threads(module: Module) -> None:
    found: list[int] = []
    given = device(sync=found.append)
    for changed in (module.with_devices([given]).with_threads(2), module.with_threads(2).with_devices([given])):
        assert (changed.hosting.threads, changed.hosting.devices) == (2, (given,))
        changed(array([SYNC]))
    assert found == [2, 2]


def test_what_is_no_device_is_refused(module: Module) -> None:
    structure: Any = SateenDevice()
    with pytest.raises(ArgumentError, match="expected devices as DeviceFunctions, found <sateen"):
        module.with_devices([structure])


def test_code_of_an_abi_without_devices_is_refused(compile_library: Callable[..., bytes]) -> None:
    old = load_module(compile_library(version=1), pool=HostPool())
    with pytest.raises(
        ArgumentError, match="expected code of ABI 2 for devices, found ABI 1, which has none; compile it again"
    ):
        old.with_devices([device()])


@pytest.mark.parametrize(
    ("given", "words"), [({"devices": (device(),)}, "devices"), ({"threads": 2}, "a number of th")]
)
def test_what_no_table_can_hold_is_refused(module: Module, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=f"expected code with a host table to put {words}.* into, found none"):
        Module([ASK], module._addresses, owner=module, hosting=Hosting(HostPool(), **given))
