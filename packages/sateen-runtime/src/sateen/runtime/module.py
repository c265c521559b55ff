"""Compiled functions that Python can call, and the libraries that hold them."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from sateen.runtime.abi import ABI_VERSION, OLDEST_ABI_VERSION, Failure, PublicFunction, Status
from sateen.runtime.device_functions import DeviceFailure, DeviceFunctions
from sateen.runtime.diagnosis import failure_of, failure_of_device, failure_of_function, wrong_argument, wrong_count
from sateen.runtime.display import did_you_mean, named
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, ArtifactError, TargetError
from sateen.runtime.files import read_regular
from sateen.runtime.host import HOSTED_BY_PROCESS, PROCESS_POOL, Hosting, HostPool
from sateen.runtime.host_function import HostFunction
from sateen.runtime.library import Library
from sateen.runtime.ndarray import AnyArray, NDArray, array
from sateen.runtime.signature import Metadata, Parameter, Signature
from sateen.runtime.target import Target

Argument = AnyArray | bool | int | float | np.generic
"""The arguments of a compiled function: arrays, none of which is copied, and numbers for parameters without
dimensions."""

MOST_LIBRARY_BYTES = 1 << 36
"""The most bytes of a library file, which may hold the parameters of a network."""

AnyFunction = TypeVar("AnyFunction")


class CompiledFunction:
    """A compiled function. It writes its outputs into the arrays passed for them and returns nothing.

    It takes an array as it is or refuses it: count, element type, shape, strides, alignment and device are checked by
    the compiled code against `signature`, and an ArgumentError says what was expected and what was found.
    """

    __slots__ = (
        "_call", "_called", "_devices", "_host", "_host_address", "_owner", "_pointers", "hosting", "signature",
    )  # fmt: skip

    def __init__(
        self,
        signature: Signature,
        address: int,
        *,
        owner: object,
        hosting: Hosting = HOSTED_BY_PROCESS,
        called: Sequence[HostFunction] = (),
    ) -> None:
        """The function at `address`, whose code lives as long as `owner` and calls the functions in `called`."""
        self.signature = signature
        self._called = tuple(called)
        self.hosting = hosting
        self._owner = owner
        self._call = PublicFunction(address)
        self._host = hosting.host()
        self._host_address = None if self._host is None else self._host.address
        self._devices = hosting.devices
        self._pointers = ctypes.c_void_p * len(signature.parameters)

    def __call__(self, *arguments: Argument) -> None:
        """Runs the function. Raises ArgumentError for arguments that do not fit, ExecutionError if it fails."""
        self.call_arrays(arrays_of(self.signature, arguments))

    def call_arrays(self, arrays: Sequence[NDArray]) -> None:
        """As a call, with an array for each parameter, of which those for outputs can be written to: only the compiled
        code checks them."""
        pointers = self._pointers(*[array.handle for array in arrays])
        status = self._call(self._host_address, pointers, len(arrays))
        if status or self._devices:
            self._check(arrays, status)

    def bind(self, *arguments: Argument) -> Callable[[], None]:
        """The call with these arguments as a function without arguments, prepared once, to measure or repeat it."""
        arrays = arrays_of(self.signature, arguments)
        pointers = self._pointers(*[array.handle for array in arrays])
        call, host, count, devices = self._call, self._host_address, len(arrays), self._devices

        def run() -> None:
            if (status := call(host, pointers, count)) or devices:
                self._check(arrays, status)

        return run

    def call_pointers(self, *tensors: int) -> int:
        """Runs the function on DLTensors at these addresses, as C would, and returns its status, which
        `abi.Failure.of` takes apart. The caller keeps the tensors alive.

        Raises ExecutionError if a function of a device raised an exception.
        """
        pointers = (ctypes.c_void_p * len(tensors))(*tensors)
        status: int = self._call(self._host_address, pointers, len(tensors))
        if (failure := self._failure_of_device(status)) and failure.error is not None:
            raise failure_of_device(self.signature.name, failure)
        self._check_called(status)
        return status

    def _check(self, arrays: Sequence[NDArray], status: int) -> None:
        """Raises the error of a call that failed, also where only a device knows it, since `free` has no status."""
        if failure := self._failure_of_device(status):
            raise failure_of_device(self.signature.name, failure)
        self._check_called(status)
        if status:
            raise failure_of(self.signature, arrays, Failure.of(status, self.hosting.abi_version))

    def _check_called(self, status: int) -> None:
        """Raises the error of a function in Python that ended the call. An interrupt is raised as it is."""
        for function in self._called if status == Status.FUNCTION else ():
            if (error := function.take_failure()) is not None:
                if not isinstance(error, Exception):
                    raise error
                raise failure_of_function(self.signature.name, function.name, error)

    def _failure_of_device(self, status: int) -> DeviceFailure | None:
        """Of the failures of devices in the call that has ended on this thread, the one with the status of the call: a
        second device may have failed while the call gave memory back. An interrupt is raised as it is.
        """
        failures = [failure for device in self._devices if (failure := device.take_failure())]
        for failure in failures:
            if failure.error is not None and not isinstance(failure.error, Exception):
                raise failure.error
        return next((failure for failure in failures if failure.status == status), failures[0] if failures else None)

    def __repr__(self) -> str:
        return f"CompiledFunction({self.signature.summary})"


class Module:
    """The functions of one library by name, as in `module["matmul"](a, b, c)`. A module of one function is callable
    itself."""

    def __init__(
        self,
        signatures: Iterable[Signature],
        addresses: Mapping[str, int],
        *,
        owner: object,
        default_host: int | None = None,
        hosting: Hosting = HOSTED_BY_PROCESS,
        called: Sequence[HostFunction] = (),
    ) -> None:
        """Functions at addresses in memory, alive as long as `owner`, which call the functions in `called`.

        `default_host` is the address of `sateen_default_host` there, None if the code has no pool; `hosting` takes its
        table if it has none yet.
        """
        if default_host is not None:
            hosting.pool.offer(default_host, owner)
        self._owner = owner
        self._addresses = dict(addresses)
        self._called = tuple(called)
        self.hosting = hosting
        self.functions: Mapping[str, CompiledFunction] = MappingProxyType(
            {
                signature.name: CompiledFunction(
                    signature, addresses[signature.name], owner=owner, hosting=hosting, called=self._called
                )
                for signature in signatures
            }
        )

    def __getitem__(self, name: str) -> CompiledFunction:
        return function_named(name, self.functions)

    def __call__(self, *arguments: Argument) -> None:
        """Runs the only function of the module. Raises ArgumentError if there are several."""
        if len(self.functions) != 1:
            raise ArgumentError(
                f"expected a module of one function to call, found one of {', '.join(self.functions) or 'none'}"
            )
        next(iter(self.functions.values()))(*arguments)

    def with_threads(self, threads: int) -> Module:
        """The same code, run by at most `threads` threads at once, 0 for all."""
        return self._hosted(replace(self.hosting, threads=threads))

    def with_devices(self, devices: Sequence[DeviceFunctions]) -> Module:
        """The same code, which launches its kernels on these devices: code for opencl(1) on the second one of OpenCL.

        Raises ArgumentError if the code can't have devices (docs/design/abi.md).
        """
        return self._hosted(replace(self.hosting, devices=tuple(devices)))

    def _hosted(self, hosting: Hosting) -> Module:
        signatures = [function.signature for function in self.functions.values()]
        return Module(signatures, self._addresses, owner=self._owner, hosting=hosting, called=self._called)

    def __repr__(self) -> str:
        return f"Module({named([function.signature.summary for function in self.functions.values()])})"


def arrays_of(signature: Signature, arguments: tuple[Argument, ...]) -> list[NDArray]:
    """The arguments of a call as arrays, not copied; numbers for inputs without dimensions become such arrays.

    Raises ArgumentError for a wrong count, values that are not arrays, numbers that are not of the parameter's type,
    and a read-only output, DeviceError for memory that is gone; the compiled code checks the rest.
    """
    parameters = signature.parameters
    if len(arguments) != len(parameters):
        raise wrong_count(signature, len(arguments))
    arrays: list[NDArray] = []
    for index, value in enumerate(arguments):
        try:
            array = _array_of(parameters[index], value)
        except ArgumentError as error:
            raise wrong_argument(signature, index, str(error)) from None
        if array.is_read_only and parameters[index].is_output:
            raise wrong_argument(signature, index, "expected memory to write the output to, found a read-only array")
        array.require_usable()
        arrays.append(array)
    return arrays


def _array_of(parameter: Parameter, value: Argument) -> NDArray:
    """An argument as an array. Raises ArgumentError for a value that is none, and no number of the parameter's type."""
    if not isinstance(value, (bool, int, float, np.generic)) or parameter.shape or parameter.is_output:
        return NDArray.of(value)  # type: ignore[arg-type]
    number = None
    if _is_kind_of(parameter.dtype, value):
        with np.errstate(over="ignore"), suppress(OverflowError):
            number = array(value, parameter.dtype)
    if number is None or not _is_close(number.numpy().item(), value):
        raise ArgumentError(f"expected a number of {parameter.dtype}, found {value!r}")
    return number


def _is_kind_of(dtype: DType, number: bool | float | np.generic) -> bool:
    """Whether a number may become one of `dtype`: a truth value a bool, an integer an integer, both kinds a float."""
    if isinstance(number, (bool, np.bool_)) or dtype.is_bool:
        return isinstance(number, (bool, np.bool_)) and dtype.is_bool
    is_real = not isinstance(number, np.complexfloating)
    return is_real if dtype.is_float else isinstance(number, (int, np.integer))


def _is_close(found: float, number: float | np.generic) -> bool:
    """Whether the value that a parameter gets is the given number, rounded if it is a float."""
    if not isinstance(found, float):
        return bool(found == number)
    return not math.isinf(found) or bool(number == found)


def function_named(name: str, functions: Mapping[str, AnyFunction]) -> AnyFunction:
    """The function of that name. Otherwise raises ArgumentError, which lists all functions."""
    try:
        return functions[name]
    except KeyError:
        raise ArgumentError(
            f"expected a function of this module, one of {', '.join(functions)}; found {name!r}"
            f"{did_you_mean(str(name), functions)}"
        ) from None


def load_module(source: bytes | str | os.PathLike[str], *, threads: int = 0, pool: HostPool = PROCESS_POOL) -> Module:
    """Loads a self-contained shared library, a file or its bytes, that sateen compiled.

    Raises ArtifactError for a file that can't be read and for a library that is corrupt, of another version of the ABI,
    or for another processor.
    """
    image, name = (source, "library") if isinstance(source, bytes) else (library_content(Path(source)), str(source))
    library = Library(image, name)
    version = _abi_version(library)
    metadata = _metadata(library)
    addresses = {function.name: library.address(function.name) for function in metadata.functions}
    found = {function: address for function, address in addresses.items() if address is not None}
    if absent := sorted(addresses.keys() - found.keys()):
        raise ArtifactError(f"{name}: expected the functions that its metadata names, found no {', '.join(absent)}")
    return Module(
        metadata.functions,
        found,
        owner=library,
        default_host=library.address("sateen_default_host"),
        hosting=Hosting(pool, threads, abi_version=version),
    )


def library_content(path: Path) -> bytes:
    """The bytes of a file with a library. Raises ArtifactError if it can't be read."""
    try:
        return read_regular(path, MOST_LIBRARY_BYTES)
    except OSError as error:
        raise ArtifactError(f"{path}: expected a library to read: {error.strerror}") from None


def _abi_version(library: Library) -> int:
    """The version of the ABI that a mapped library is of. Raises ArtifactError for one that this runtime lacks."""
    address = library.address("sateen_abi_version")
    if address is None:
        raise ArtifactError(
            f"{library.name}: expected a library that sateen compiled, found one without sateen_abi_version"
        )
    version = int(ctypes.CFUNCTYPE(ctypes.c_uint32)(address)())
    if not OLDEST_ABI_VERSION <= version <= ABI_VERSION:
        older = "library" if version < ABI_VERSION else "sateen-runtime"
        raise ArtifactError(
            f"{library.name}: expected ABI {OLDEST_ABI_VERSION} to {ABI_VERSION}, found ABI {version}: the {older} is "
            "older, renew it"
        )
    return version


def _metadata(library: Library) -> Metadata:
    """The metadata of a mapped library, after checking the features that it needs."""
    try:
        metadata = Metadata.from_json(library.text("sateen_metadata"))
        missing = Target.host().missing_features(Target.parse(metadata.target))
    except (ArtifactError, TargetError) as error:
        raise ArtifactError(f"{library.name}: {error}") from None
    if missing:
        raise ArtifactError(
            f"{library.name}: expected a library for this processor, found one that needs {', '.join(missing)}; "
            f"compile it for {Target.host()}"
        )
    return metadata
