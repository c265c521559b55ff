"""The artifact: one file that holds a compiled network (docs/artifact.md).

    header    64 bytes: magic, format version, where sections begin, place, size and SHA-256 of the manifest
    manifest  JSON: producer, target, inputs, outputs, workspace sizes, options, place and digests of each section
    sections  native library, parameters; each at a multiple of 4096 bytes

`artifact_reader` reads it and believes nothing that it has not checked.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from weft.runtime.dtype import DType
from weft.runtime.errors import ArtifactError
from weft.runtime.exported_network import with_parameters
from weft.runtime.network_header import network_header
from weft.runtime.signature import Parameter, Signature
from weft.runtime.steps import Step

MAGIC = b"\x89WEFT\r\n\x1a"
FORMAT_VERSION = 1
LEAF_BYTES = 4 << 20
HEADER = struct.Struct("<8sIIQQ32s")
PAGE = 4096
SECTIONS = ("library", "parameters")
"""What every artifact has and this version knows."""

ENTRY = "run"
"""The function of the library that runs the network."""


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
    """Outputs that may be given the memory of an input, by name."""
    steps: tuple[Step, ...] = ()
    """The kernels that `run` calls, in order, where it writes a clock after each; else none."""

    @property
    def signature(self) -> Signature:
        """Of the library's function: inputs, outputs, a clock where steps are timed, parameters, workspace."""
        clock = [_block("clock", "int64", len(self.steps) + 1, 8, True)] if self.steps else []
        parameters = _block("parameters", "uint8", max(len(self.parameters), 64), 64, False)
        workspace = _block("workspace", "uint8", max(self.workspace_bytes, 64), 64, True)
        return Signature(ENTRY, (*self.inputs, *self.outputs, *clock, parameters, workspace))

    def to_bytes(self) -> bytes:
        """The file: equal artifacts give equal bytes."""
        return b"".join(self._parts())

    def fields(self) -> dict[str, object]:
        """The manifest, without the places of the sections."""
        return {
            "producer": self.producer,
            "target": self.target,
            "inputs": [p.to_json() for p in self.inputs],
            "outputs": [p.to_json() for p in self.outputs],
            "variants": [{"dims": {}, "entry": ENTRY, "workspace": {"cpu": self.workspace_bytes}}],
            "source": self.source_digest,
            "options": dict(self.options),
            "aliases": dict(self.aliases),
            **({"steps": [s.to_json() for s in self.steps]} if self.steps else {}),
        }

    def _parts(self) -> Iterator[bytes | memoryview]:
        return packed(self.fields(), {"library": self.library, "parameters": self.parameters})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file; whoever reads the path at that time sees the old file or the new one, whole.

        Raises ArtifactError where it can't be written.
        """
        place = Path(path)
        temporary = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            with temporary.open("wb") as file:
                file.writelines(self._parts())
            temporary.replace(place)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise ArtifactError(f"{place}: expected a place to write the artifact to: {error.strerror}") from None

    def export_library(self, path: str | os.PathLike[str], name: str = "network") -> None:
        """Write a shared library that holds the network with its parameters, and a C header beside it (ending in .h).

        `name` begins what the header declares (docs/c.md). Raises ArgumentError for a name that is no C identifier,
        ArtifactError for a library that is no ELF file and where there is no folder to write to, TargetError for a
        target that this version does not know.
        """
        place = Path(path)
        header = network_header(self.signature, self.target, name)
        library = with_parameters(self.library, self.parameters, place.name)
        try:
            place.write_bytes(library)
            place.with_suffix(".h").write_text(header, encoding="utf-8")
        except OSError as error:
            raise ArtifactError(f"{place}: expected a place to write the library to: {error.strerror}") from None


def packed(
    fields: Mapping[str, object], sections: Mapping[str, bytes | memoryview], optional: tuple[str, ...] = ()
) -> Iterator[bytes | memoryview]:
    """The file of a manifest of these fields and these sections, piece by piece; the sections are not copied.

    A reader that does not know one of the `optional` sections ignores it.
    """
    places, end = {}, 0
    for name, data in sections.items():
        required = name not in optional
        places[name] = {"offset": end, "size": len(data), "required": required, "leaves": leaf_digests(data)}
        end += -(-len(data) // PAGE) * PAGE
    manifest = json.dumps({**fields, "sections": places}, separators=(",", ":"), sort_keys=True).encode()
    first = -(-(HEADER.size + len(manifest)) // PAGE) * PAGE
    digest = hashlib.sha256(manifest).digest()
    yield HEADER.pack(MAGIC, FORMAT_VERSION, first, HEADER.size, len(manifest), digest)
    yield manifest
    yield bytes(first - HEADER.size - len(manifest))
    for data in sections.values():
        yield data
        yield bytes(-len(data) % PAGE)


def leaf_digests(data: bytes | memoryview) -> list[str]:
    """SHA-256 of each leaf of 4 MiB, in parallel."""
    view = memoryview(data)
    leaves = [view[i : i + LEAF_BYTES] for i in range(0, len(view), LEAF_BYTES)]
    if len(leaves) < 2:
        return [hashlib.sha256(leaf).hexdigest() for leaf in leaves]
    with ThreadPoolExecutor(min(len(leaves), 8)) as pool:
        return list(pool.map(lambda leaf: hashlib.sha256(leaf).hexdigest(), leaves))


def _block(name: str, dtype: str, size: int, alignment: int, is_output: bool) -> Parameter:
    return Parameter(name, DType.of(dtype), (size,), None, alignment, is_output=is_output)
