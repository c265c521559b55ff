"""A folder of object code, so that functions are not compiled again, and of facts, so that they are not made again.

The key of an entry covers everything that determines its bytes: for code the names and structure of the functions, the
target with its features, the version of LLVM, and the sources of this package and of the runtime, whose ABI it uses;
for facts all that their maker uses. Entries are checked by digest when read; damaged ones are removed. Only the user
may access the folder (mode 0700), since anyone who can write there can run code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from sateen.runtime.cache_folder import CacheFolder
from sateen.runtime.errors import CodegenError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.llvm import CodeReport
from sateen.tensor_ir.codegen.object_code import ObjectCode
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules

MOST_BYTES = 512 << 20
"""The most bytes of all entries; a network's kernels take some hundred KB."""
MOST_ENTRIES = 1 << 16

_OBJECT = b"sateen object 1\n"
_FACTS = b"sateen facts 1\n"
_SOURCES = ("sateen.tensor_ir", "sateen.runtime")
"""The packages whose sources determine code: this one, and the one whose ABI, element types and devices it is for."""


class ObjectCache:
    """Object code by key, in `folder`, which is created if it does not exist, and holds at most `most_bytes`.

    A folder that can't be read or written later, or is full, costs only time; `refusal` then says why nothing more is
    stored. Raises CodegenError if the folder can't be created, belongs to another user, or others may write to it.
    """

    def __init__(self, folder: str | Path, most_bytes: int = MOST_BYTES) -> None:
        self.folder = Path(folder)
        try:
            self._entries = CacheFolder(self.folder, most_bytes, MOST_ENTRIES)
        except OSError as error:
            raise CodegenError(f"cache folder {self.folder}: {error.strerror}") from None
        self.hits = 0
        self.misses = 0

    def get_or_make(
        self, functions: Sequence[Function], target: Target, rules: IntrinsicRules, make: Callable[[], ObjectCode]
    ) -> ObjectCode:
        """The object code of these functions, compiled if it is not cached. Functions with users' rules are not
        cached."""
        if rules is not DEFAULT_RULES:
            return make()
        key = cache_key(functions, target)
        found = self.read(key)
        if found is not None:
            self.hits += 1
            return found
        self.misses += 1
        code = make()
        self.write(key, code)
        return code

    @property
    def refusal(self) -> str:
        """Why nothing more is stored; '' if all is well."""
        return self._entries.refusal

    def read(self, key: str) -> ObjectCode | None:
        """The code of a key; None if there is none. A damaged entry is removed."""
        body = self._read(key, _OBJECT)
        if body is None:
            return None
        head, _, code = body.partition(b"\n")
        fields = json.loads(head)
        return ObjectCode(code, tuple(fields["symbols"]), CodeReport(**fields["report"]))

    def write(self, key: str, code: ObjectCode) -> None:
        """Add code; readers see all of it or nothing."""
        report = {"gathers": code.report.gathers, "masked": code.report.masked, "scalarised": code.report.scalarised}
        self._write(key, _OBJECT, json.dumps({"symbols": code.symbols, "report": report}).encode() + b"\n" + code.code)

    def read_facts(self, key: str) -> dict[str, Any] | None:
        """The facts of a key; None if there are none. A damaged entry is removed."""
        body = self._read(key, _FACTS)
        return None if body is None else dict(json.loads(body))

    def write_facts(self, key: str, facts: Mapping[str, Any]) -> None:
        """Add facts, plain values by name; readers see all of them or nothing."""
        self._write(key, _FACTS, json.dumps(facts).encode())

    def _read(self, key: str, magic: bytes) -> bytes | None:
        raw = self._entries.read(key)
        if raw is None:
            return None
        digest, body = raw[len(magic) : len(magic) + 32], raw[len(magic) + 32 :]
        if not raw.startswith(magic) or hashlib.sha256(body).digest() != digest:
            self._entries.discard(key)
            return None
        return body

    def _write(self, key: str, magic: bytes, body: bytes) -> None:
        self._entries.write(key, magic + hashlib.sha256(body).digest() + body)


def cache_key(functions: Sequence[Function], target: Target, *, internal: bool = False) -> str:
    """SHA-256, in hexadecimal, of functions with their names, whether they are internal (`compile_functions`), target,
    LLVM's version, and the sources of this package and of the runtime."""
    return code_key([(f.name, digest(f)) for f in functions], target, internal=internal)


def code_key(functions: Sequence[tuple[str, str]], target: Target, *, internal: bool = False) -> str:
    """As `cache_key`, for functions whose names and digests are known."""
    parts = [
        "internal" if internal else "public",
        *(f"{name} {structure}" for name, structure in functions),
        str(target),
        ".".join(map(str, llvm.llvm_version_info)),
        *map(source_digest, _SOURCES),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@cache
def source_digest(package: str) -> str:
    """A digest of the sources of a package, so that a changed compiler finds no entries of the old one."""
    digest = hashlib.sha256()
    folders = [files(package)]
    while folders:
        for item in sorted(folders.pop().iterdir(), key=lambda entry: entry.name):
            if item.name.endswith(".py"):
                digest.update(item.name.encode() + b"\0" + item.read_bytes())
            elif item.name != "__pycache__" and item.is_dir():
                folders.append(item)
    return digest.hexdigest()
