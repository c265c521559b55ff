"""What the process of a session does: it answers requests about libraries, models, arrays and files until its client
is gone.

Requests come from whoever opened the session. Their fields are checked, since a mistake in them must end in an error
and not in another answer; the code that they bring is run.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from io import BufferedReader
from itertools import count, cycle
from pathlib import Path
from typing import Any

from sateen.runtime import framing
from sateen.runtime.cache_folder import ENTRY_NAME
from sateen.runtime.device import Device
from sateen.runtime.devices import open_device
from sateen.runtime.errors import (
    ArgumentError,
    ArtifactError,
    OutOfMemoryError,
    SateenError,
    SessionLostError,
    SessionOutOfMemoryError,
    SessionProtocolError,
    SessionRefusedError,
)
from sateen.runtime.files import open_regular, read_regular, replacing, write_in_pieces
from sateen.runtime.framing import Header
from sateen.runtime.model import Model, load
from sateen.runtime.module import CompiledFunction, Module, load_module
from sateen.runtime.ndarray import NDArray, array, empty
from sateen.runtime.sessions.protocol import Connection
from sateen.runtime.step_timing import steps_by_run, time_networks
from sateen.runtime.target import Target
from sateen.runtime.timing import time_evaluator, time_in_turns

GRACE_SECONDS = 5.0
"""Seconds after the limit at which the process ends itself, if nobody else has ended it."""
MOST_LOG_BYTES = 1 << 16
MOST_HELD = 1 << 16
"""The most arrays, modules and models that a session holds."""
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DISTRIBUTIONS = ("sateen-runtime", "sateen-rpc", "numpy")

Answer = tuple[Header, Sequence[bytes | memoryview]]
_Schema = dict[str, type | tuple[type, ...]]
_MISSING: Answer = ({"missing": True}, ())
"""The answer to a request about content that is not in the store; the client sends it and asks again."""
_TIMED: _Schema = {"number": int, "repeat": int, "min_seconds": (int, float)}


class SessionService:
    """Answers the requests of one client.

    `store` holds what was uploaded, by digest; `scratch` belongs to this session alone. A request takes at most
    `seconds`, and a message at most `message_bytes`.
    """

    LOG = "log"
    """The file of the scratch folder that has the output of the process."""

    def __init__(self, connection: Connection, store: Path, scratch: Path, seconds: float, message_bytes: int) -> None:
        self._connection = connection
        self._store, self._scratch = store, scratch
        self._seconds, self._message_bytes = seconds, message_bytes
        self._numbers = count()
        self._described: Header = {}
        self._modules: dict[int, Module] = {}
        self._models: dict[int, Model] = {}
        self._arrays: dict[int, NDArray] = {}
        self._requests: Mapping[str, tuple[_Schema, Callable[..., Answer]]] = {
            "info": ({}, self._info),
            "log": ({}, self._log),
            "device": ({"device": str}, self._device),
            "load": ({"digest": str, "threads": int}, self._load),
            "unload": ({"module": int}, self._unload),
            "load_model": ({"digest": str, "threads": int}, self._load_model),
            "load_model_on": ({"digest": str, "threads": int, "device": str}, self._load_model),
            "unload_model": ({"model": int}, self._unload_model),
            "empty": ({"dtype": str, "shape": list}, self._empty),
            "read": ({"array": int}, self._read),
            "get": ({"name": str}, self._get),
            "remove": ({"name": str}, self._remove),
            "names": ({}, self._names),
            "copy": ({"array": int}, self._copy),
            "time_in_turns": ({"calls": list, "repeat": int, "min_seconds": (int, float)}, self._time_in_turns),
            "time_networks": ({"runs": list, "repeat": int, "min_seconds": (int, float)}, self._time_networks),
        }
        self._deliveries: Mapping[str, tuple[_Schema, Callable[..., Answer]]] = {
            "store": ({"digest": str}, self._keep),
            "call": ({"module": int, "function": str, "arrays": list}, self._call),
            "time": ({"module": int, "function": str, "arrays": list, **_TIMED}, self._time),
            "run": ({"model": int, "arrays": list, "kept": list}, self._run),
            "time_steps": ({"model": int, "arrays": list, "samples": int}, self._time_steps),
            "time_model": ({"model": int, "arrays": list, **_TIMED}, self._time_model),
            "array": ({"arrays": list}, self._array),
            "write": ({"array": int, "arrays": list}, self._write),
            "put": ({"name": str}, self._put),
        }
        """The requests that come with bytes."""

    def serve(self) -> None:
        """Answers until the client closes, memory runs out, or what comes is too large or no message. Unless the
        client closes, the rest of the request is lost."""
        try:
            while (message := self._connection.receive(most_bytes=self._message_bytes)) is not None:
                signal.setitimer(signal.ITIMER_REAL, self._seconds + GRACE_SECONDS)
                self._send(self._reply(*message))
                signal.setitimer(signal.ITIMER_REAL, 0)
        except (MemoryError, OutOfMemoryError):
            words = "expected the work to fit the session's limit of memory, it needed more"
            self._connection.send({"error": SessionOutOfMemoryError.__name__, "message": words})
        except SessionProtocolError as error:
            told = {"error": SessionRefusedError.__name__, "message": f"{error}; the session has ended", "ends": True}
            with suppress(SessionLostError):  # whose other side has gone, too
                self._connection.send(told)

    def _send(self, answer: Answer) -> None:
        try:
            self._connection.send(*answer)
        except SessionProtocolError as error:  # nothing was sent of a header that is too large
            words = f"the answer can't be sent: {error}"
            self._connection.send({"error": SessionRefusedError.__name__, "message": words})

    def _reply(self, header: Header, payload: memoryview) -> Answer:
        try:
            return self._answer(header, payload)
        except OutOfMemoryError:
            raise
        except SateenError as error:
            return {"error": type(error).__name__, "message": str(error)}, ()
        except OSError as error:
            reason = "its disk is full" if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} else error.strerror
            return {"error": SessionRefusedError.__name__, "message": f"the session can't keep a file: {reason}"}, ()

    def _answer(self, header: Header, payload: memoryview) -> Answer:
        name = header.pop("op", None)
        known = {**self._requests, **self._deliveries}
        if not isinstance(name, str) or name not in known:
            raise ArgumentError(f"expected a request of {', '.join(known)}, found {name!r:.80}")
        schema, answer = known[name]
        framing.require_fields(header, {"unused": list, **schema}, name)
        unused = header.pop("unused")
        if not all(isinstance(number, int) for number in unused):
            raise ArgumentError(f"{name}: expected numbers of unused arrays, found {unused!r:.80}")
        for number in unused:
            self._arrays.pop(number, None)
        if name in self._deliveries:
            return answer(payload, **header)
        if payload:
            raise ArgumentError(f"{name}: expected no bytes besides the request, found {len(payload)}")
        return answer(**header)

    def _info(self) -> Answer:
        if not self._described:  # versions are read from files
            self._described = {
                "target": str(Target.host()),
                "machine": platform.machine(),
                "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
                "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
                "versions": {name: found for name in _DISTRIBUTIONS if (found := _version(name))},
            }
        return self._described, ()

    def _device(self, device: str) -> Answer:
        described = asdict(open_device(Device.of(device)).description)
        return {**described, "device": str(described["device"])}, ()

    def _log(self) -> Answer:
        with (self._scratch / self.LOG).open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - MOST_LOG_BYTES, 0))
            return {}, (file.read(MOST_LOG_BYTES),)

    def _keep(self, payload: memoryview, digest: str) -> Answer:
        if hashlib.sha256(payload).hexdigest() != digest:
            raise ArgumentError(f"expected content of digest {digest}, found other content")
        place = self._stored(digest)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # somebody may have cleared it away
        with replacing(place, is_kept=False) as file:  # its digest says if it is whole
            write_in_pieces(file, payload)
        return {}, ()

    def _stored(self, digest: str) -> Path:
        if not ENTRY_NAME.fullmatch(digest):
            raise ArgumentError(f"expected a digest of 64 digits, found {digest!r:.80}")
        return self._store / digest

    def _content(self, digest: str) -> BufferedReader | None:
        """What was uploaded under a digest, as an open file; None if it never was, or has made room for others since.
        It is compared with its digest part by part: a network may have more bytes than there is memory."""
        try:
            os.utime(self._stored(digest))  # what was not used for longest is removed first
            file = open_regular(self._stored(digest))
        except FileNotFoundError:
            return None
        if hashlib.file_digest(file, hashlib.sha256).hexdigest() != digest:
            file.close()
            raise SessionRefusedError(f"expected content of digest {digest} in the store, found other; send it again")
        file.seek(0)
        return file

    def _load(self, digest: str, threads: int) -> Answer:
        if (file := self._content(digest)) is None:
            return _MISSING
        with file:
            content = file.read()
        number, module = self._new(), load_module(content, threads=threads)
        self._modules[number] = module
        return {"module": number, "functions": [f.signature.to_json() for f in module.functions.values()]}, ()

    def _unload(self, module: int) -> Answer:
        del self._modules[self._known(module, self._modules)]
        return {}, ()

    def _call(self, payload: memoryview, module: int, function: str, arrays: list[Any]) -> Answer:
        called, given = self._function(module, function), self._given(arrays, payload)
        called(*given)
        filled = zip(given, called.signature.parameters, arrays, strict=True)
        return {}, [framing.raw(a) for a, parameter, item in filled if parameter.is_output and _is_sent(item)]

    def _time(self, payload: memoryview, module: int, function: str, arrays: list[Any], **options: Any) -> Answer:
        result = time_evaluator(self._function(module, function).bind(*self._given(arrays, payload)), **options)
        return {"samples": list(result.samples), "number": result.number}, ()

    def _time_in_turns(self, calls: list[Any], repeat: int, min_seconds: float) -> Answer:
        times = time_in_turns(list(map(self._cycling, calls)), repeat=repeat, min_seconds=min_seconds)
        return {"times": [[list(t.samples), t.number] for t in times]}, ()

    def _cycling(self, call: Any) -> Callable[[], None]:
        """A call that takes the given arguments in turn."""
        match call:
            case [int() as module, str() as name, [_, *_] as given] if all(isinstance(a, list) for a in given):
                pass
            case _:
                raise ArgumentError(f"expected a module, a function and lists of arguments, found {call!r:.80}")
        function = self._function(module, name)
        arguments = ([self._arrays[self._known(number, self._arrays)] for number in taken] for taken in given)
        bound = cycle([function.bind(*arrays) for arrays in arguments])

        def run() -> None:
            next(bound)()

        return run

    def _time_steps(self, payload: memoryview, model: int, arrays: list[Any], samples: int) -> Answer:
        network = self._models[self._known(model, self._models)]
        seconds = steps_by_run(network, self._inputs(network, arrays, payload), samples)
        return {"shape": list(seconds.shape)}, [framing.raw(array(seconds))]

    def _time_networks(self, runs: list[Any], repeat: int, min_seconds: float) -> Answer:
        times = time_networks(list(map(self._networked, runs)), repeat=repeat, min_seconds=min_seconds)
        return {"times": [[list(t.samples), t.number] for t in times]}, ()

    def _networked(self, run: Any) -> tuple[Model, dict[str, NDArray]]:
        """A network, and arrays of this session as its inputs."""
        match run:
            case [int() as model, [*numbers]] if not any(map(_is_sent, numbers)):
                network = self._models[self._known(model, self._models)]
                return network, self._inputs(network, numbers, memoryview(b""))
        raise ArgumentError(f"expected a network and arrays that are here, found {run!r:.80}")

    def _load_model(self, digest: str, threads: int, device: str | None = None) -> Answer:
        if (file := self._content(digest)) is None:
            return _MISSING
        file.close()
        number, place = self._new(), self._stored(digest)
        try:
            self._models[number] = load(place, device, threads=threads)
        except ArtifactError as error:
            if not place.exists():
                return _MISSING
            raise ArtifactError(str(error).removeprefix(f"{place}: ")) from None  # the client knows it by another name
        return {"model": number}, ()

    def _unload_model(self, model: int) -> Answer:
        self._models.pop(self._known(model, self._models)).close()
        return {}, ()

    def _run(self, payload: memoryview, model: int, arrays: list[Any], kept: list[Any]) -> Answer:
        network = self._models[self._known(model, self._models)]
        outputs = network.run(self._inputs(network, arrays, payload), out=self._kept(network, kept))
        return {}, [framing.raw(a) for a, number in zip(outputs.values(), kept, strict=True) if number is None]

    def _time_model(self, payload: memoryview, model: int, arrays: list[Any], **options: Any) -> Answer:
        network = self._models[self._known(model, self._models)]
        inputs = self._inputs(network, arrays, payload)
        outputs = network.run(inputs)
        result = time_evaluator(lambda: network.run(inputs, out=outputs), **options)
        return {"samples": list(result.samples), "number": result.number}, ()

    def _inputs(self, network: Model, arrays: list[Any], payload: memoryview) -> dict[str, NDArray]:
        given = self._given(arrays, payload)
        if len(given) != len(network.inputs):
            raise ArgumentError(f"expected {len(network.inputs)} inputs, found {len(given)}")
        return {p.name: a for p, a in zip(network.inputs, given, strict=True)}

    def _kept(self, network: Model, kept: list[Any]) -> dict[str, NDArray]:
        if len(kept) != len(network.outputs):
            raise ArgumentError(f"expected {len(network.outputs)} outputs, found {len(kept)}")
        places = zip(network.outputs, kept, strict=True)
        return {p.name: self._arrays[self._known(number, self._arrays)] for p, number in places if number is not None}

    def _array(self, payload: memoryview, arrays: list[Any]) -> Answer:
        return {"array": self._held(_one(arrays, payload))}, ()

    def _empty(self, dtype: str, shape: list[Any]) -> Answer:
        return {"array": self._held(empty(tuple(shape), dtype))}, ()

    def _copy(self, array: int) -> Answer:
        held = self._arrays[self._known(array, self._arrays)]
        copied = empty(held.shape, held.dtype)
        copied.numpy()[...] = held.numpy()
        return {"array": self._held(copied)}, ()

    def _read(self, array: int) -> Answer:
        return {}, [framing.raw(self._arrays[self._known(array, self._arrays)])]

    def _write(self, payload: memoryview, array: int, arrays: list[Any]) -> Answer:
        held, value = self._arrays[self._known(array, self._arrays)], _one(arrays, payload)
        if (held.dtype, held.shape) != (value.dtype, value.shape):
            raise ArgumentError(f"expected {held.type}, found {value.type}")
        held.numpy()[...] = value.numpy()
        return {}, ()

    def _put(self, payload: memoryview, name: str) -> Answer:
        with replacing(self._file(name), is_kept=False) as file:
            write_in_pieces(file, payload)
        return {}, ()

    def _get(self, name: str) -> Answer:
        return {}, [read_regular(self._existing(name), self._message_bytes)]

    def _remove(self, name: str) -> Answer:
        self._existing(name).unlink()
        return {}, ()

    def _names(self) -> Answer:
        return {"names": sorted(path.name for path in self._files().iterdir())}, ()

    def _files(self) -> Path:
        folder = self._scratch / "files"
        folder.mkdir(exist_ok=True)
        return folder

    def _file(self, name: str) -> Path:
        if not _FILE.fullmatch(name):
            raise ArgumentError(f"expected the plain name of a file, found {name!r:.80}")
        return self._files() / name

    def _existing(self, name: str) -> Path:
        path = self._file(name)
        if not path.is_file():
            raise ArgumentError(f"expected a file of this session, found no {name!r}")
        return path

    def _function(self, module: int, function: str) -> CompiledFunction:
        return self._modules[self._known(module, self._modules)][function]

    def _given(self, described: list[Any], payload: memoryview) -> list[NDArray]:
        """The arguments of a call: sent ones as [dtype, shape], others by the number of an array that is here."""
        sent = iter(framing.rebuild([item for item in described if _is_sent(item)], payload))
        return [next(sent) if _is_sent(item) else self._arrays[self._known(item, self._arrays)] for item in described]

    def _held(self, value: NDArray) -> int:
        number = self._new()
        self._arrays[number] = value
        return number

    def _new(self) -> int:
        """The number of what is held from now on."""
        if len(self._arrays) + len(self._modules) + len(self._models) >= MOST_HELD:
            raise SessionRefusedError(f"expected at most {MOST_HELD} arrays, modules and models, found more")
        return next(self._numbers)

    @staticmethod
    def _known(number: Any, held: Mapping[int, object]) -> int:
        if not isinstance(number, int) or number not in held:
            raise ArgumentError(f"expected what this session holds, found number {number!r:.80}")
        return number


def _one(described: list[Any], payload: memoryview) -> NDArray:
    if len(described) != 1:
        raise ArgumentError(f"expected one array, found {len(described)}")
    return framing.rebuild(described, payload)[0]


def _is_sent(described: object) -> bool:
    return isinstance(described, list)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
