"""Compiled functions that Python can call, and the libraries that hold them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from sateen.runtime.abi import ABI_VERSION, OLDEST_ABI_VERSION, Failure, PublicFunction, SateenDevice
from sateen.runtime.diagnosis import failure_of, wrong_argument, wrong_count
from sateen.runtime.display import did_you_mean, named
from sateen.runtime.errors import ArgumentError, ArtifactError, SateenError, TargetError
from sateen.runtime.files import read_regular
from sateen.runtime.host import PROCESS_POOL, HostPool
from sateen.runtime.library import Library
from sateen.runtime.ndarray import NDArray, SupportsDLPack
from sateen.runtime.signature import Metadata, Signature
from sateen.runtime.target import Target

Argument = NDArray | np.ndarray[Any, Any] | SupportsDLPack
"""The arguments of a compiled function: an NDArray, a NumPy array or an array that supports DLPack. None is copied."""

MOST_LIBRARY_BYTES = 1 << 36
"""The most bytes of a library file, which may hold the parameters of a network."""

AnyFunction = TypeVar("AnyFunction")


class CompiledFunction:
    """A compiled function. It writes its outputs into the arrays passed for them and returns nothing.

    It takes an array as it is or refuses it: count, element type, shape, strides, alignment and device are checked by
    the compiled code against `signature`, and an ArgumentError says what was expected and what was found.
    """

    __slots__ = ("_abi_version", "_call", "_host", "_host_address", "_owner", "_pointers", "signature")

    def __init__(
        self,
        signature: Signature,
        address: int,
        *,
        owner: object,
        threads: int = 0,
        pool: HostPool = PROCESS_POOL,
        devices: Sequence[SateenDevice] = (),
        abi_version: int = ABI_VERSION,
    ) -> None:
        """The function at `address`, whose code lives as long as `owner`, compiled for an ABI of this version."""
        self.signature = signature
        self._owner = owner
        self._call = PublicFunction(address)
        self._abi_version = abi_version
        self._host = pool.host(threads, devices, abi_version)
        self._host_address = None if self._host is None else self._host.address
        self._pointers = ctypes.c_void_p * len(signature.parameters)

    def __call__(self, *arguments: Argument) -> None:
        """Runs the function. Raises ArgumentError for arguments that do not fit, ExecutionError if it fails."""
        arrays = arrays_of(self.signature, arguments)
        pointers = self._pointers(*[array.handle for array in arrays])
        status = self._call(self._host_address, pointers, len(arrays))
        if status:
            raise self._failure(arrays, status)

    def bind(self, *arguments: Argument) -> Callable[[], None]:
        """The call with these arguments as a function without arguments, prepared once, to measure or repeat it."""
        arrays = arrays_of(self.signature, arguments)
        pointers = self._pointers(*[array.handle for array in arrays])
        call, host, count = self._call, self._host_address, len(arrays)

        def run() -> None:
            if status := call(host, pointers, count):
                raise self._failure(arrays, status)

        return run

    def _failure(self, arrays: Sequence[NDArray], status: int) -> SateenError:
        return failure_of(self.signature, arrays, Failure.of(status, self._abi_version))

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
        threads: int = 0,
        pool: HostPool = PROCESS_POOL,
        devices: Sequence[SateenDevice] = (),
        abi_version: int = ABI_VERSION,
    ) -> None:
        """Functions at addresses in memory, alive as long as `owner`, compiled for an ABI of this version.

        `default_host` is the address of `sateen_default_host` there, None if the code has no pool. The
        functions run on the shared threads of `pool`, at most `threads` at once, 0 for all, and launch their kernels
        on `devices`.
        """
        if default_host is not None:
            pool.offer(default_host, owner)
        self._owner = owner
        self._addresses = dict(addresses)
        self._pool = pool
        self._devices = tuple(devices)
        self._abi_version = abi_version
        self.threads = threads
        self.functions: Mapping[str, CompiledFunction] = MappingProxyType(
            {
                signature.name: CompiledFunction(
                    signature,
                    addresses[signature.name],
                    owner=owner,
                    threads=threads,
                    pool=pool,
                    devices=devices,
                    abi_version=abi_version,
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
        return self._with(threads, self._devices)

    def with_devices(self, devices: Sequence[SateenDevice]) -> Module:
        """The same code, which launches its kernels on these devices (docs/design/abi.md)."""
        return self._with(self.threads, devices)

    def _with(self, threads: int, devices: Sequence[SateenDevice]) -> Module:
        return Module(
            [function.signature for function in self.functions.values()],
            self._addresses,
            owner=self._owner,
            threads=threads,
            pool=self._pool,
            devices=devices,
            abi_version=self._abi_version,
        )

    def __repr__(self) -> str:
        return f"Module({named([function.signature.summary for function in self.functions.values()])})"


def arrays_of(signature: Signature, arguments: tuple[Argument, ...]) -> list[NDArray]:
    """The arguments of a call as arrays, not copied.

    Raises ArgumentError for a wrong count, values that are not arrays, and a read-only output; the compiled code checks
    the rest.
    """
    parameters = signature.parameters
    if len(arguments) != len(parameters):
        raise wrong_count(signature, len(arguments))
    arrays: list[NDArray] = []
    for index, value in enumerate(arguments):
        try:
            array = NDArray.of(value)
        except ArgumentError as error:
            raise wrong_argument(signature, index, str(error)) from None
        if array.is_read_only and parameters[index].is_output:
            raise wrong_argument(signature, index, "expected memory to write the output to, found a read-only array")
        arrays.append(array)
    return arrays


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
        threads=threads,
        pool=pool,
        abi_version=version,
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
