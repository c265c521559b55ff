"""What a session gives to hold: arrays, libraries and files that stay where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any
from weakref import finalize

import numpy as np

from sateen.runtime import framing
from sateen.runtime.display import named
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.runtime.framing import Header
from sateen.runtime.module import arrays_of, function_named
from sateen.runtime.ndarray import AnyArray, NDArray, empty
from sateen.runtime.sessions.protocol import SessionArgument
from sateen.runtime.sessions.requests import Requests
from sateen.runtime.signature import Signature
from sateen.runtime.timing import TimeResult

MOST_FILE_BYTES = 1 << 36
"""The most bytes of a file that a session gives."""


class ConnectedArray:
    """An array in a session. It is freed there some time after the last reference to it here has gone."""

    def __init__(self, session: Requests, number: int, dtype: DType, shape: tuple[int, ...]) -> None:
        self.session, self.number, self.dtype, self.shape = session, number, dtype, shape
        finalize(self, session.forget, number).atexit = False

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.bytes

    def numpy(self) -> np.ndarray[Any, Any]:
        _, payload = self.session.request("an array", {"op": "read", "array": self.number}, most_bytes=self.nbytes)
        return framing.rebuild([[str(self.dtype), list(self.shape)]], payload)[0].numpy()

    def copy_from(self, values: AnyArray) -> None:
        value = NDArray.of(values)
        header = {"op": "write", "array": self.number, "arrays": framing.describe([value])}
        self.session.request("an array", header, [framing.raw(value)])

    def copy(self) -> ConnectedArray:
        header, _ = self.session.request("an array", {"op": "copy", "array": self.number})
        return ConnectedArray(self.session, header["array"], self.dtype, self.shape)

    def __repr__(self) -> str:
        return f"ConnectedArray({self.dtype}[{', '.join(map(str, self.shape))}])"


def argument_of(value: SessionArgument) -> NDArray | ConnectedArray:
    """An array of a session, or one of this process. Raises ArgumentError for anything else."""
    return value if isinstance(value, ConnectedArray) else NDArray.of(value)  # type: ignore[arg-type]


class Arguments:
    """Arguments of a call: arrays of this process, which are sent, and arrays of the session."""

    def __init__(self, session: Requests, arrays: Sequence[NDArray | ConnectedArray]) -> None:
        for array in arrays:
            if isinstance(array, ConnectedArray) and array.session is not session:
                raise ArgumentError(f"expected an array of {session}, found one of {array.session}")
        self._arrays = arrays

    @staticmethod
    def of(session: Requests, signature: Signature, arguments: Sequence[SessionArgument]) -> Arguments:
        """Raises ArgumentError for a wrong count, values that are no arrays or of another session, and a read-only
        output."""
        stand_in = empty((0,))
        here = tuple(stand_in if isinstance(a, ConnectedArray) else a for a in arguments)
        taken = arrays_of(signature, here)  # type: ignore[arg-type]
        return Arguments(
            session, [a if isinstance(a, ConnectedArray) else b for a, b in zip(arguments, taken, strict=True)]
        )

    @property
    def described(self) -> list[Any]:
        return [a.number if isinstance(a, ConnectedArray) else framing.describe([a])[0] for a in self._arrays]

    @property
    def payload(self) -> list[memoryview]:
        return [framing.raw(a) for a in self._sent()]

    def outputs(self, signature: Signature) -> list[NDArray]:
        """The arrays of this process that a call fills."""
        filled = zip(self._arrays, signature.parameters, strict=True)
        return [a for a, parameter in filled if parameter.is_output and isinstance(a, NDArray)]

    def _sent(self) -> Iterator[NDArray]:
        return (a for a in self._arrays if isinstance(a, NDArray))


class ConnectedFunction:
    """A function of a library in a session. Arguments are checked there, by the compiled code."""

    def __init__(self, session: Requests, module: int, signature: Signature) -> None:
        self.signature = signature
        self.session, self.module = session, module

    def __call__(self, *arguments: SessionArgument) -> None:
        given = Arguments.of(self.session, self.signature, arguments)
        outputs = given.outputs(self.signature)
        _, payload = self._request("call", given, {}, sum(output.nbytes for output in outputs))
        for array, result in zip(outputs, framing.rebuild(framing.describe(outputs), payload), strict=True):
            array.numpy()[...] = result.numpy()

    def time(
        self, *arguments: SessionArgument, number: int = 1, repeat: int = 10, min_seconds: float = 0.0
    ) -> TimeResult:
        options = {"number": number, "repeat": repeat, "min_seconds": min_seconds}
        header, _ = self._request("time", Arguments.of(self.session, self.signature, arguments), options)
        return TimeResult(tuple(header["samples"]), header["number"])

    def __repr__(self) -> str:
        return f"ConnectedFunction({self.signature.summary})"

    def _request(self, op: str, given: Arguments, more: Header, most_bytes: int = 0) -> tuple[Header, memoryview]:
        header = {"op": op, "module": self.module, "function": self.signature.name, "arrays": given.described, **more}
        return self.session.request(self.signature.name, header, given.payload, most_bytes)


class ConnectedModule:
    """A library in a session."""

    def __init__(self, session: Requests, number: int, signatures: Sequence[Signature]) -> None:
        self._session = session
        self._number = number
        self.functions: Mapping[str, ConnectedFunction] = MappingProxyType(
            {signature.name: ConnectedFunction(session, number, signature) for signature in signatures}
        )

    def __getitem__(self, name: str) -> ConnectedFunction:
        return function_named(name, self.functions)

    def __repr__(self) -> str:
        return f"ConnectedModule({named([function.signature.summary for function in self.functions.values()])})"

    def unload(self) -> None:
        """Frees the library in the session."""
        self._session.request("the unloading of a library", {"op": "unload", "module": self._number})


class ConnectedFiles:
    """The scratch folder of a session."""

    def __init__(self, session: Requests) -> None:
        self._session = session

    def put(self, name: str, content: bytes | memoryview) -> None:
        if not isinstance(name, str) or not isinstance(content, (bytes, bytearray, memoryview)):
            found = f"{type(name).__name__} and {type(content).__name__}"
            raise ArgumentError(f"expected the name of a file and its bytes, found {found}")
        self._session.request("a file", {"op": "put", "name": name}, [content])

    def get(self, name: str) -> bytes:
        return bytes(self._session.request("a file", {"op": "get", "name": name}, most_bytes=MOST_FILE_BYTES)[1])

    def remove(self, name: str) -> None:
        self._session.request("a file", {"op": "remove", "name": name})

    def names(self) -> Sequence[str]:
        return list(self._session.request("files", {"op": "names"})[0]["names"])
