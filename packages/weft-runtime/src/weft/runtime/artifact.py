"""The artifact: one file that holds a compiled network.

    header    64 bytes: magic, format version, place, size and SHA-256 of the manifest
    manifest  JSON: producer, target, inputs, outputs, workspace sizes, options, digests, and the place of each section
    sections  native library, parameters; each at a multiple of 4096 bytes

Nothing in it is ever unpickled or run before it is checked. Manifest and library are verified by digest before the
library is mapped, parameters by a tree of SHA-256 over leaves of 4 MiB. Unknown sections are ignored unless they are
marked as required.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.runtime.errors import ArtifactError
from weft.runtime.signature import Parameter
from weft.runtime.verified import VerifiedFiles

MAGIC = b"\x89WEFT\r\n\x1a"
FORMAT_VERSION = 1
LEAF_BYTES = 4 << 20
_HEADER = struct.Struct("<8sIIQQ32s")
_PAGE = 4096
_MOST_MANIFEST_BYTES = 64 << 20
_REQUIRED = ("library", "parameters")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled network: its manifest's fields, native library and parameter block."""

    producer: str
    target: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    workspace_bytes: int
    library: bytes
    parameters: bytes | memoryview
    source_digest: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The file: equal artifacts give equal bytes."""
        return b"".join(self._parts())

    def _parts(self) -> Iterator[bytes | memoryview]:
        """The file, piece by piece; the sections are not copied."""
        sections = {"library": self.library, "parameters": self.parameters}
        places, end = {}, 0
        for name, data in sections.items():
            places[name] = {"offset": end, "size": len(data), "required": True, "leaves": leaf_digests(data)}
            end += -(-len(data) // _PAGE) * _PAGE
        manifest = json.dumps(
            {
                "producer": self.producer,
                "target": self.target,
                "inputs": [p.to_json() for p in self.inputs],
                "outputs": [p.to_json() for p in self.outputs],
                "variants": [{"dims": {}, "entry": "run", "workspace": {"cpu": self.workspace_bytes}}],
                "source": self.source_digest,
                "options": dict(self.options),
                "aliases": dict(self.aliases),
                "sections": places,
            },
            separators=(",", ":"),
            sort_keys=True,
        ).encode()
        first = -(-(_HEADER.size + len(manifest)) // _PAGE) * _PAGE
        header = _HEADER.pack(
            MAGIC, FORMAT_VERSION, first, _HEADER.size, len(manifest), hashlib.sha256(manifest).digest()
        )
        yield from (header, manifest, bytes(first - _HEADER.size - len(manifest)))
        for data in sections.values():
            yield from (data, bytes(-len(data) % _PAGE))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file; whoever reads the path at that time sees the old file or the new one, whole."""
        place = Path(path)
        temporary = place.with_name(f".{place.name}.{os.getpid()}")
        with temporary.open("wb") as file:
            file.writelines(self._parts())
        temporary.replace(place)


def leaf_digests(data: bytes | memoryview) -> list[str]:
    """SHA-256 of each leaf of 4 MiB, in parallel."""
    view = memoryview(data)
    leaves = [view[i : i + LEAF_BYTES] for i in range(0, len(view), LEAF_BYTES)]
    if len(leaves) < 2:
        return [hashlib.sha256(leaf).hexdigest() for leaf in leaves]
    with ThreadPoolExecutor(min(len(leaves), 8)) as pool:
        return list(pool.map(lambda leaf: hashlib.sha256(leaf).hexdigest(), leaves))


def read_artifact(source: bytes | str | os.PathLike[str], *, verified: VerifiedFiles | None = None) -> Artifact:
    """The artifact in a file (mapped, not copied) or in bytes, verified.

    `verified` remembers files whose parameters were verified before. Raises ArtifactError for a file that is cut short,
    altered, of another version or not an artifact; it tells what to do.
    """
    if isinstance(source, bytes):
        return _read(memoryview(source), "artifact", None)
    path = Path(source)
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ArtifactError(f"{path}: expected an artifact, found an empty file")
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        known = None if verified is None else verified.of(file.fileno())
        return _read(view, str(path), known)


def _read(view: memoryview, name: str, known: Any) -> Artifact:
    manifest, first, digest = _manifest(view, name)
    sections = _sections(view, manifest, first, name)
    library = sections["library"]
    _check(name, "library", library[0], library[1])
    parameters, leaves = sections["parameters"]
    if known is None or not known.is_verified(digest):
        _check(name, "parameters", parameters, leaves)
        if known is not None:
            known.remember(digest)
    try:
        (variant,) = manifest["variants"]
        return Artifact(
            _text(manifest["producer"]),
            _text(manifest["target"]),
            tuple(Parameter.from_json(p) for p in manifest["inputs"]),
            tuple(Parameter.from_json(p) for p in manifest["outputs"]),
            _size(variant["workspace"]["cpu"]),
            bytes(library[0]),
            parameters,
            _text(manifest["source"]),
            {_text(k): _text(v) for k, v in manifest["options"].items()},
            {_text(k): _text(v) for k, v in manifest["aliases"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(f"{name}: expected a complete manifest, found {type(error).__name__}: {error}") from None


def _manifest(view: memoryview, name: str) -> tuple[dict[str, Any], int, str]:
    if len(view) < _HEADER.size or bytes(view[:8]) != MAGIC:
        raise ArtifactError(f"{name}: expected an artifact that weft compiled, found another kind of file")
    _, version, first, start, size, digest = _HEADER.unpack(view[: _HEADER.size])
    if version != FORMAT_VERSION:
        advice = "renew weft-runtime" if version > FORMAT_VERSION else "compile the model again"
        older = "weft-runtime" if version > FORMAT_VERSION else "the artifact"
        raise ArtifactError(
            f"{name}: expected format {FORMAT_VERSION}, found format {version}: {older} is older; {advice}"
        )
    if size > _MOST_MANIFEST_BYTES or start + size > len(view):
        raise ArtifactError(
            f"{name}: expected a manifest of {size} bytes at {start}, found {len(view)} bytes in all: "
            "the file is cut short"
        )
    raw = view[start : start + size]
    if hashlib.sha256(raw).digest() != digest:
        raise ArtifactError(
            f"{name}: the manifest does not have its digest: the file was altered or damaged; copy it again"
        )
    try:
        manifest = json.loads(bytes(raw))
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{name}: expected a manifest of JSON: {error}") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("sections"), dict):
        raise ArtifactError(f"{name}: expected a manifest with sections")
    return manifest, first, digest.hex()


def _sections(
    view: memoryview, manifest: dict[str, Any], first: int, name: str
) -> dict[str, tuple[memoryview, Sequence[str]]]:
    found: dict[str, tuple[memoryview, Sequence[str]]] = {}
    for key, place in manifest["sections"].items():
        try:
            offset, size, required, leaves = (
                _size(place["offset"]),
                _size(place["size"]),
                place["required"],
                place["leaves"],
            )
        except (KeyError, TypeError, ValueError):
            raise ArtifactError(f"{name}: section {key!r} has no valid place") from None
        if key not in _REQUIRED:
            if required:
                raise ArtifactError(
                    f"{name}: section {key!r} is required, but this weft-runtime does not know it; renew weft-runtime"
                )
            continue
        if first + offset + size > len(view):
            raise ArtifactError(
                f"{name}: section {key!r} ends at byte {first + offset + size}, but the file has {len(view)}: "
                "it is cut short; copy it again"
            )
        found[key] = view[first + offset : first + offset + size], leaves
    for key in _REQUIRED:
        if key not in found:
            raise ArtifactError(f"{name}: expected a section {key!r}, found {', '.join(found) or 'none'}")
    return found


def _check(name: str, section: str, data: memoryview, leaves: Sequence[str]) -> None:
    actual = leaf_digests(data)
    if actual != list(leaves):
        wrong = next(
            (i for i, (a, b) in enumerate(zip(actual, leaves, strict=False)) if a != b), min(len(actual), len(leaves))
        )
        raise ArtifactError(
            f"{name}: section {section!r} does not have its digest in leaf {wrong} of {LEAF_BYTES >> 20} MiB: "
            "the file was altered or damaged; copy it again"
        )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, found {type(value).__name__}")
    return value


def _size(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 48:
        raise ValueError(f"expected a size, found {value!r}")
    return value
