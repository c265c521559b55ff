"""Devices, of this machine or elsewhere: the options that name one, and the session that they give."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from sateen.frontends.command.arguments import FILE
from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.output import say
from sateen.frontends.command.progress import step
from sateen.frontends.core.packages import imported
from sateen.runtime import ArgumentError, Device, DeviceKind, LocalSession, Session, Target
from sateen.runtime.framing import MOST_SECONDS

SECONDS = 600.0
"""How long a request to a device may take."""
WAIT_SECONDS = 600.0
"""How long to wait for a device that is free."""
MISSING = "expected sateen-rpc, which is not installed; extra rpc of sateen-frontends brings it"
HERE = "here"
"""The kind of the place that is this machine."""
_PLACE = re.compile(
    r"(?P<kind>rpc|tracker|proxy)://(?P<host>[^/:]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})(/(?P<name>[^/]+))?"
)
_MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class DevicePlace:
    """Where a network runs: a server, a name that a tracker knows, or one that waits at a proxy; and which `device` of
    that machine, or, of kind "here", of this one. None: as the network's target says."""

    text: str
    kind: str
    host: str = ""
    port: int = 0
    name: str = ""
    key_file: Path | None = None
    device: Device | None = None
    tls_ca: Path | None = None
    tracker_key_file: Path | None = None
    proxy_key_file: Path | None = None
    wait: float = WAIT_SECONDS

    def session(self, seconds: float = SECONDS) -> Session:
        """A session there, whose requests take at most `seconds`. Raises ArgumentError if sateen-rpc is missing, and
        the errors of a session."""
        if self.kind == HERE:
            return LocalSession(seconds=seconds)
        rpc = imported("sateen.rpc", MISSING)
        key = rpc.read_key(self.key_file)
        options = {"seconds": seconds, "tls": self._tls(), "proxy_key": self._key(self.proxy_key_file)}
        if self.kind == "tracker":
            options |= {"tracker_key": self._key(self.tracker_key_file), "wait": self.wait}
            session: Session = rpc.tracked_session(self.host, self.port, key, self.name, **options)
        else:
            session = rpc.RemoteSession(self.host, self.port, key, device=self.name, **options)
        return session

    def count(self) -> int:
        """How many devices are there; one, at least."""
        return max(self._known(), 1)

    @property
    def is_away(self) -> bool:
        """Whether nobody is there now: a tracker knows no device of the name."""
        return self._known() == 0

    def _known(self) -> int:
        if self.kind != "tracker":
            return 1
        rpc = imported("sateen.rpc", MISSING)
        told = rpc.query(self.host, self.port, rpc.read_key(self.tracker_key_file or self.key_file), tls=self._tls())
        return sum(device["name"] == self.name for device in told["devices"])

    def _key(self, file: Path | None) -> Any:
        return None if file is None else imported("sateen.rpc", MISSING).read_key(file)

    def _tls(self) -> Any:
        return None if self.tls_ca is None else imported("sateen.rpc", MISSING).trusting(self.tls_ca)


SERVERS = "rpc://HOST:PORT, tracker://HOST:PORT/NAME or proxy://HOST:PORT/NAME"
PLACES = f"{SERVERS}, a device of this machine such as opencl(0), or one there: opencl(0)@rpc://HOST:PORT"


@contextmanager
def opened(device: DevicePlace | None) -> Iterator[Session]:
    """A session of the device, by default of a child process of this machine."""
    with ExitStack() as stack:
        if device is None:
            yield stack.enter_context(LocalSession(seconds=SECONDS))
        else:
            if device.is_away:
                say(f"{device.text}: no device has this name now; waiting up to {device.wait:g} s", err=True)
            with step(f"connecting to {device.text}"):
                session = stack.enter_context(device.session())
            yield session


def compiled_for(session: Session, compilation: Compilation, device: Device | None) -> Compilation:
    """How to compile for a device of a session, or without one for its own processor, if no target is given; the host
    of a device is the session's."""
    if compilation.target == "llvm" and (device is None or device.kind is DeviceKind.CPU):
        return replace(compilation, target=session.info()["target"])
    target = str(device.kind) if compilation.target == "llvm" and device is not None else compilation.target
    if compilation.target_host != "llvm" or Target.of(target).device_kind is DeviceKind.CPU:
        return replace(compilation, target=target)
    return replace(compilation, target=target, target_host=session.info()["target"])


def device_of(place: DevicePlace | None) -> Device | None:
    """The device that a place names, if any."""
    return None if place is None else place.device


_OPTIONS = {
    "key_file": "The key that the device knows (`sateen rpc pair`).",
    "tls_ca": "Encrypt: the certificate to trust, or its authority's.",
    "tracker_key_file": "The tracker's key, if it is another.",
    "proxy_key_file": "The key of the proxy at which the device waits, if it is another.",
}
"""The options beside `--device`, all of which name files."""


def device_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--device`, `--wait` and the options of its keys to a verb, which gets a DevicePlace or None as `device`."""

    @functools.wraps(verb)
    def placed(place: str | None, wait: float | None, **others: Any) -> Any:
        files = {name: others.pop(name) for name in _OPTIONS}
        return verb(device=_device(place, wait, files), **others)

    for name, words in reversed(_OPTIONS.items()):
        placed = click.option(_flag(name), type=FILE, metavar="FILE", help=words)(placed)
    waiting = f"How long to wait for a free device of a tracker ({WAIT_SECONDS:g})."
    placed = click.option("--wait", type=click.FloatRange(0, MOST_SECONDS), metavar="SECONDS", help=waiting)(placed)
    return click.option("--device", "place", metavar="PLACE", help=f"Run it there: {PLACES}.")(placed)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _device(text: str | None, wait: float | None, files: dict[str, Path | None]) -> DevicePlace | None:
    given = [_flag(name) for name, value in {"wait": wait, **files}.items() if value is not None]
    if text is None:
        if given:
            raise click.UsageError(f"{given[0]} is for --device")
        return None
    named, at, server = text.rpartition("@")
    if not at and "://" not in text:
        named, server = text, ""
    device = None
    try:
        device = Device.of(named) if named or at else None
    except ArgumentError as error:
        raise click.UsageError(f"--device: expected {PLACES}, found {text!r}: {error}") from None
    if not server and not at:
        if given:
            raise click.UsageError(f"{given[0]} is for {SERVERS}")
        return DevicePlace(text, HERE, device=device)
    match = _PLACE.fullmatch(server)
    if match is None or (match["kind"] == "rpc") != (match["name"] is None) or int(match["port"]) > _MOST_PORT:
        raise click.UsageError(f"--device: expected {PLACES}, found {text!r}")
    if wait is not None and match["kind"] != "tracker":
        raise click.UsageError("--wait is for devices of a tracker")
    if (key_file := files.pop("key_file")) is None:
        raise click.UsageError("--device needs --key-file FILE, the key that the device knows")
    host = match["host"].removeprefix("[").removesuffix("]")
    seconds = WAIT_SECONDS if wait is None else wait
    name = match["name"] or ""
    return DevicePlace(text, match["kind"], host, int(match["port"]), name, key_file, device, wait=seconds, **files)
