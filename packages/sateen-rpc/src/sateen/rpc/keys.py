"""Keys that two machines share: 32 random bytes, in a file that only its owner reads."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from sateen.runtime.errors import ArgumentError
from sateen.runtime.files import replacing

KEY_BYTES = 32
ID_BYTES = 8
_TEXT = re.compile(r"sateen-key (?P<hex>[0-9a-f]{64})")
_MOST_TEXT = 1 << 16


@dataclass(frozen=True, slots=True)
class Key:
    """A shared secret. Its `id` names it without telling it."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise ArgumentError(f"expected a key of {KEY_BYTES} bytes, found {len(self.secret)}")

    @staticmethod
    def new() -> Key:
        return Key(secrets.token_bytes(KEY_BYTES))

    @property
    def id(self) -> bytes:
        return code_of(self.secret, b"sateen-rpc key id")[:ID_BYTES]

    def derived(self, salt: bytes, purpose: bytes) -> bytes:
        """A key of 32 bytes for one purpose (HKDF with SHA-256, RFC 5869, one block)."""
        return code_of(code_of(salt, self.secret), purpose + b"\x01")


def code_of(secret: bytes, *parts: bytes | memoryview) -> bytes:
    """The code of a message in parts by HMAC-SHA256 (RFC 2104)."""
    code = hmac.new(secret, digestmod=hashlib.sha256)
    for part in parts:
        code.update(part)
    return code.digest()


def add_key(key: Key, path: Path) -> None:
    """Writes a key to a file of mode 0600, behind those that it has. Raises ArgumentError if it can't be written."""
    known = read_keys(path) if path.exists() else []
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(path) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write("".join(f"sateen-key {k.secret.hex()}\n" for k in (*known, key)).encode())
    except OSError as error:
        raise ArgumentError(f"{path}: expected a place to write a key to: {error.strerror}") from None


def read_keys(path: Path) -> list[Key]:
    """The keys in a file, one a line. Raises ArgumentError if there is none, or if others may read the file."""
    try:
        with path.open("rb") as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read(_MOST_TEXT + 1)
    except OSError as error:
        raise ArgumentError(f"{path}: expected the file of a key: {error.strerror}") from None
    if os.name == "posix" and mode & 0o077:
        found = f"found mode {mode & 0o777:o}; chmod 600"
        raise ArgumentError(f"{path}: expected keys that only their owner may read, {found}")
    matches = [_TEXT.fullmatch(line) for line in text.decode("utf-8", "replace").splitlines()]
    if not matches or len(text) > _MOST_TEXT or not all(matches):
        raise ArgumentError(f"{path}: expected keys, as `sateen rpc pair` writes them, found other text")
    return [Key(bytes.fromhex(match["hex"])) for match in matches if match is not None]


def read_key(path: Path) -> Key:
    """The one key in a file. Raises ArgumentError as `read_keys`, and for several."""
    keys = read_keys(path)
    if len(keys) != 1:
        raise ArgumentError(
            f"{path}: expected one key, found {len(keys)}; keep the line of the one that is meant in a file of its own"
        )
    return keys[0]
