"""Devices elsewhere: the options that name one, and the session that they give."""

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
from sateen.frontends.command.progress import step
from sateen.frontends.core.packages import imported
from sateen.runtime import LocalSession, Session

SECONDS = 600.0
"""How long a request to a device may take."""
MISSING = "expected sateen-rpc, which is not installed; extra rpc of sateen-frontends brings it"
_PLACE = re.compile(
    r"(?P<kind>rpc|tracker|proxy)://(?P<host>[^/:]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})(/(?P<name>[^/]+))?"
)


@dataclass(frozen=True, slots=True)
class DevicePlace:
    """Where a device is: a server, a name that a tracker knows, or one that waits at a proxy."""

    text: str
    kind: str
    host: str
    port: int
    name: str
    key_file: Path
    tls_ca: Path | None = None

    def session(self, seconds: float = SECONDS) -> Session:
        """A session there, whose requests take at most `seconds`. Raises ArgumentError if sateen-rpc is missing, and
        the errors of a session."""
        rpc = imported("sateen.rpc", MISSING)
        key = rpc.read_key(self.key_file)
        options = {"seconds": seconds, "tls": self._tls()}
        if self.kind == "tracker":
            session: Session = rpc.tracked_session(self.host, self.port, key, self.name, **options)
        else:
            session = rpc.RemoteSession(self.host, self.port, key, device=self.name, **options)
        return session

    def count(self) -> int:
        """How many devices are there; one, at least."""
        if self.kind != "tracker":
            return 1
        rpc = imported("sateen.rpc", MISSING)
        told = rpc.query(self.host, self.port, rpc.read_key(self.key_file), tls=self._tls())
        found = [device for device in told["devices"] if device["name"] == self.name]
        return max(len(found), 1)

    def _tls(self) -> Any:
        return None if self.tls_ca is None else imported("sateen.rpc", MISSING).trusting(self.tls_ca)


PLACES = "rpc://HOST:PORT, tracker://HOST:PORT/NAME or proxy://HOST:PORT/NAME"


@contextmanager
def opened(device: DevicePlace | None) -> Iterator[Session]:
    """A session of the device, by default of a child process of this machine."""
    with ExitStack() as stack:
        if device is None:
            yield stack.enter_context(LocalSession(seconds=SECONDS))
        else:
            with step(f"connecting to {device.text}"):
                session = stack.enter_context(device.session())
            yield session


def compiled_for(session: Session, compilation: Compilation) -> Compilation:
    """How to compile for the device of a session: for its own processor, if no target is given."""
    return replace(compilation, target=session.info()["target"]) if compilation.target == "llvm" else compilation


def device_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--device`, `--key-file` and `--tls-ca` to a verb, which gets a DevicePlace or None as `device`."""

    @click.option("--device", "place", metavar="PLACE", help=f"Run it there: {PLACES}.")
    @click.option("--key-file", type=FILE, metavar="FILE", help="The key that the device knows (`sateen rpc pair`).")
    @click.option("--tls-ca", type=FILE, metavar="FILE", help="Encrypt: the certificate to trust, or its authority's.")
    @functools.wraps(verb)
    def placed(place: str | None, key_file: Path | None, tls_ca: Path | None, **others: Any) -> Any:
        return verb(device=_device(place, key_file, tls_ca), **others)

    return placed


def _device(text: str | None, key_file: Path | None, tls_ca: Path | None) -> DevicePlace | None:
    if text is None:
        if key_file is not None or tls_ca is not None:
            raise click.UsageError(f"{'--tls-ca' if key_file is None else '--key-file'} is for --device")
        return None
    match = _PLACE.fullmatch(text)
    if match is None or (match["kind"] == "rpc") != (match["name"] is None):
        raise click.UsageError(f"--device: expected {PLACES}, found {text!r}")
    if key_file is None:
        raise click.UsageError("--device needs --key-file FILE, the key that the device knows")
    host = match["host"].removeprefix("[").removesuffix("]")
    return DevicePlace(text, match["kind"], host, int(match["port"]), match["name"] or "", key_file, tls_ca)
