"""The artifact: one file that holds a compiled network (docs/artifact.md).

    header    64 bytes: magic, format version, where sections begin, place, size and SHA-256 of the manifest
    manifest  JSON: producer, target, inputs, outputs, workspace sizes, options, place and digests of each section
    sections  native library, packing, parameters, kernels of a device; each at a multiple of 4096 bytes

`artifact_reader` reads it and trusts nothing that it has not checked.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from enum import Enum
from functools import partial
from io import BytesIO
from itertools import accumulate, islice
from math import prod
from pathlib import Path
from typing import BinaryIO

from sateen.runtime.actions import Action, Block, DeviceBlocks, action_to_json, launches_in
from sateen.runtime.content import Content, whole
from sateen.runtime.device import Device
from sateen.runtime.display import html_table, named, size
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArtifactError
from sateen.runtime.exported_network import with_parameters
from sateen.runtime.files import replacing, write_in_pieces
from sateen.runtime.launches import NetworkLaunch
from sateen.runtime.library_files import write_library
from sateen.runtime.network_header import header_of
from sateen.runtime.network_module import description_of, network_module
from sateen.runtime.network_source import SOURCE_MAGIC, network_source
from sateen.runtime.packing import LEAST_BLOCK_BYTES, Packing
from sateen.runtime.signature import ENTRY, PACK, Parameter, Signature
from sateen.runtime.static_archive import ARCHIVE_MAGIC, Footprint, code_sizes, network_archive, symbol_of
from sateen.runtime.steps import Step
from sateen.runtime.target import Target
from sateen.runtime.threads import MOST_THREADS, Threads
from sateen.runtime.wasm_records import WASM_HEADER

ARTIFACT_MAGIC = b"\x89SATN\r\n\x1a"
FORMAT_VERSION = 1
LEAF_BYTES = 4 << 20
HEADER = struct.Struct("<8sIIQQ32s")
PAGE = 4096
SECTIONS = ("library", "parameters")
"""The sections that every artifact has."""
DEVICE_SECTION = "kernels"
"""The section that artifacts for devices have."""
PACKING_SECTION = "packing"
"""The section of artifacts whose library packs the parameters."""

_NO_DIGEST = "0" * 64


class CodeForm(Enum):
    """What the code of an artifact is: a library, which is loaded, or what programs are built with."""

    LIBRARY = "a library"
    MODULE = "a module of WebAssembly"
    ARCHIVE = "a static archive"
    SOURCE = "C text"
    KERNELS = "kernels of a device"

    @property
    def option(self) -> str:
        """The word for it on the command line."""
        return {
            CodeForm.LIBRARY: "shared",
            CodeForm.MODULE: "wasm",
            CodeForm.ARCHIVE: "static",
            CodeForm.SOURCE: "c",
            CodeForm.KERNELS: "kernels",
        }[self]

    @property
    def is_loaded(self) -> bool:
        """Whether something loads it as it is; programs are built with other code."""
        return self in (CodeForm.LIBRARY, CodeForm.MODULE, CodeForm.KERNELS)


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled network: its manifest's fields, native library and parameter block."""

    producer: str
    target: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    workspace_bytes: int
    library: bytes
    parameters: bytes | memoryview | Content
    """Content from a compiler is generated while the file is written, or as a whole when a model is loaded. Artifacts
    with such content compare by `to_bytes`."""
    source_digest: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    """The outputs that may use the memory of an input, by name."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the elements along the last axis of an output are called, by its name; of an output of int64, what its
    values 0, 1, ... stand for."""
    steps: tuple[Step, ...] = ()
    """What `run` does, in order; of a network for a processor empty, unless it writes a clock after each."""
    stack_bytes: int | None = None
    """The most that a run takes of its caller's stack, in bytes; None where the compiler doesn't know."""
    kernels: bytes = b""
    """The code of devices, text or what their driver loads; then the library has the functions of the host."""
    actions: tuple[Action, ...] = ()
    """What a run does on devices."""
    placed: tuple[DeviceBlocks, ...] = ()
    """What each device has, the host among them; empty for a network that is on one device as a whole."""
    packing: Packing | None = None
    """How the library packs the parameters when they are first loaded; None if they are in the form that it reads."""
    manifest: InitVar[bytes] = field(default=b"", kw_only=True)
    """That of the file from which it is read; a changed copy has none."""
    digest: str = field(init=False, compare=False, repr=False)
    """The digest of its manifest, which holds those of all sections; empty if it has none."""

    def __post_init__(self, manifest: bytes) -> None:
        object.__setattr__(self, "digest", hashlib.sha256(manifest).hexdigest() if manifest else "")

    def __repr__(self) -> str:
        return (
            f"Artifact({self.types}; {_machine(self.target)}, code {size(len(self.code))}, "
            f"parameters {self.parameter_text}, workspace {size(self.workspace_bytes)})"
        )

    def _repr_html_(self) -> str:
        facts = {
            "target": self.target,
            "made by": self.producer,
            "code": size(len(self.code)),
            "parameters": self.parameter_text,
            "workspace": size(self.workspace_bytes),
            **{f"option {name}": value for name, value in self.options.items()},
        }
        return html_table("artifact", facts, *parameter_rows(self.inputs, self.outputs))

    @property
    def types(self) -> str:
        """The types of inputs and outputs; of many, the first ones."""
        return f"{named(self.inputs)} -> {named([replace(p, is_output=False) for p in self.outputs])}"

    @property
    def packed_bytes(self) -> int:
        """The bytes of parameters that its first load packs."""
        return 0 if self.packing is None else self.packing.packed

    @property
    def parameter_text(self) -> str:
        """The bytes of its parameters in words: those in the file and their form, and those that a process packs of
        them."""
        if self.packing is None:
            return f"{size(len(self.parameters))} as kernels read them"
        return f"{size(len(self.parameters))} as trained, {size(self.packed_bytes)} packed when loaded"

    @property
    def has_clock(self) -> bool:
        """Whether the library writes a clock after each step."""
        return bool(self.steps) and not self.kernels

    @property
    def signature(self) -> Signature:
        """The signature of the library's function: inputs, outputs, a clock if steps are timed, parameters, packed
        parameters if there are any, workspace."""
        clock = [_block("clock", "int64", len(self.steps) + 1, 8, True)] if self.has_clock else []
        packed = [] if self.packing is None else [self._bytes("packed", self.packing.packed, False)]
        workspace = self._bytes("workspace", self.workspace_bytes, True)
        return Signature(ENTRY, (*self.inputs, *self.outputs, *clock, self._stored, *packed, workspace))

    @property
    def pack_signature(self) -> Signature | None:
        """The signature of the library's function that packs parameters, if there is one."""
        if self.packing is None:
            return None
        packed = self._bytes("packed", self.packing.packed, True)
        return Signature(PACK, (self._stored, packed, self._bytes("workspace", self.packing.workspace, True)))

    @property
    def _stored(self) -> Parameter:
        return self._bytes("parameters", len(self.parameters), False)

    def _bytes(self, name: str, count: int, is_output: bool) -> Parameter:
        alignment = Target.parse(self.target).block_alignment
        return _block(name, "uint8", max(count, LEAST_BLOCK_BYTES), alignment, is_output)

    @property
    def launches(self) -> list[NetworkLaunch]:
        """The kernels that a run may launch on devices, each launch once."""
        return list(launches_in(self.actions))

    @property
    def memory(self) -> tuple[DeviceBlocks, ...]:
        """What each device has: inputs and outputs, bytes of parameters, bytes of workspace."""
        arrays = tuple(range(len(self.inputs) + len(self.outputs)))
        device = Device(Target.parse(self.target).device_kind)
        return self.placed or (DeviceBlocks(device, arrays, len(self.parameters), self.workspace_bytes),)

    @property
    def blocks(self) -> list[Block]:
        """The blocks that actions refer to: each input and output, then parameters and workspace of each device."""
        sizes = [prod(map(int, p.shape)) * p.dtype.bytes for p in (*self.inputs, *self.outputs)]
        devices = {position: memory.device for memory in self.memory for position in memory.arrays}
        blocks = [Block(devices[i], size) for i, size in enumerate(sizes)]
        for memory in self.memory:
            blocks += [Block(memory.device, max(size, 64)) for size in (memory.parameters, memory.workspace)]
        return blocks

    def to_bytes(self) -> bytes:
        """The file: equal artifacts give equal bytes. Raises ArtifactError for names that a reader would refuse."""
        return packed(self.fields(), self._sections())

    def fields(self) -> dict[str, object]:
        """The manifest, without the places of the sections.

        Raises ArtifactError for names that a reader would refuse.
        """
        for p in (*self.inputs, *self.outputs):
            Parameter.from_json(p.to_json())
        return {
            "producer": self.producer,
            "target": self.target,
            "inputs": [p.to_json() for p in self.inputs],
            "outputs": [p.to_json() for p in self.outputs],
            "variants": [{"dims": {}, "entry": ENTRY, "workspace": {"cpu": self.workspace_bytes}}],
            "source": self.source_digest,
            "options": dict(self.options),
            "aliases": dict(self.aliases),
            **({"labels": {name: list(labels) for name, labels in self.labels.items()}} if self.labels else {}),
            **({"steps": [s.to_json() for s in self.steps]} if self.steps else {}),
            **({} if self.stack_bytes is None else {"stack": self.stack_bytes}),
            **({"launches": list(map(action_to_json, self.actions))} if self.kernels else {}),
            **({"placed": [memory.to_json() for memory in self.placed]} if self.placed else {}),
        }

    def _sections(self) -> dict[str, bytes | memoryview | Content]:
        of_device = {DEVICE_SECTION: self.kernels} if self.kernels else {}
        packing = {PACKING_SECTION: self.packing.to_json()} if self.packing is not None else {}
        return {"library": self.library, **packing, "parameters": self.parameters, **of_device}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file. A concurrent reader of the path sees either the whole old file or the whole new one.

        Raises ArtifactError if it can't be written, and for names that a reader would refuse.
        """
        place, fields = Path(path), self.fields()
        try:
            with replacing(place) as file:
                _write(file, fields, self._sections())
        except OSError as error:
            raise ArtifactError(f"{place}: expected a place to write the artifact to: {error.strerror}") from None

    def export_library(self, path: str | os.PathLike[str], name: str = "network") -> None:
        """Write a shared library that holds the network with its parameters, and a C header beside it (ending in .h).

        Parameters that are packed when they are loaded are packed by the program: the header has a function for it.
        Existing files are replaced, both or neither, as by `save`. All names of its symbols, and those that the header
        declares, begin with `name`, so that a program links any number of networks (docs/c.md). Raises
        ArgumentError for a name that is no C identifier, ArtifactError for a library that is no ELF file and where it
        can't be written, TargetError for a target that this version does not know.
        """
        place = Path(path)
        self._require(CodeForm.LIBRARY)
        header = header_of(self.signature, self.target, name, self.aliases, self.pack_signature)
        library = with_parameters(self.library, whole(self.parameters), place.name, partial(symbol_of, name))
        write_library(place, library, header)

    @property
    def code(self) -> bytes:
        """The library of the host, or the kernels of a device."""
        return self.kernels or self.library

    @property
    def form(self) -> CodeForm:
        """The form of the code, which decides what it can be exported to."""
        if self.kernels:
            return CodeForm.KERNELS
        if self.library.startswith(ARCHIVE_MAGIC):
            return CodeForm.ARCHIVE
        if self.library.startswith(WASM_HEADER):
            return CodeForm.MODULE
        return CodeForm.SOURCE if self.library.startswith(SOURCE_MAGIC) else CodeForm.LIBRARY

    def export_archive(self, path: str | os.PathLike[str], name: str = "network") -> None:
        """Write a static archive that holds the network with its parameters, and a C header beside it (ending in .h).

        Names are those of `export_library`. Files are replaced as by it, and its errors are these, too; ArtifactError
        for an artifact whose code is no static archive.
        """
        place = Path(path)
        self._require(CodeForm.ARCHIVE)
        header = header_of(self.signature, self.target, name, self.aliases)
        write_library(place, network_archive(self.library, whole(self.parameters), name), header)

    @property
    def footprint(self) -> Footprint:
        """The bytes that the network takes in a program. Raises ArtifactError for code that is no static archive."""
        self._require(CodeForm.ARCHIVE)
        code, data = code_sizes(self.library)
        arrays = sum(prod(map(int, p.shape)) * p.dtype.bytes for p in (*self.inputs, *self.outputs))
        workspace = int(self.signature.parameters[-1].shape[0])
        return Footprint(code, len(self.parameters), data, workspace, arrays, self.stack_bytes)

    def export_source(self, path: str | os.PathLike[str], name: str = "network") -> None:
        """Write C99 text that holds the network with its parameters, and a C header beside it (ending in .h).

        All names that other files see begin with `name`. Files are replaced as by `export_library`, whose errors these
        are too; ArtifactError for an artifact whose code is not C.
        """
        place = Path(path)
        self._require(CodeForm.SOURCE)
        header = header_of(self.signature, self.target, name, self.aliases)
        write_library(place, network_source(self.library, whole(self.parameters), name), header)

    def export_module(self, path: str | os.PathLike[str], name: str = "network") -> None:
        """Write a module of WebAssembly that holds the network with its parameters, needs nothing of its host, and has
        memory of its own; and beside it a JSON text (ending in .json) that says where inputs and outputs lie in that
        memory (docs/c.md). Parameters must be packed.

        Files are replaced as by `export_library`. Raises ArtifactError for an artifact whose code is no module, for one
        whose threads share memory, for what doesn't fit into 4 GiB, and where files can't be written.
        """
        place = Path(path)
        self._require(CodeForm.MODULE)
        if self.packing is not None:
            raise ArtifactError(
                "expected parameters as the module reads them, found some that it is to pack first; compile the model "
                "again: sateen export MODEL --as wasm, or build(…, parameters='packed')"
            )
        made = network_module(self.library, whole(self.parameters), self.signature)
        write_library(place, made.content, description_of(made, name, self.target, self.signature), ".json")

    def _require(self, form: CodeForm) -> None:
        found = self.form
        if found is form:
            return
        if "linux" in self.target and {found, form} == {CodeForm.LIBRARY, CodeForm.ARCHIVE}:
            advice = f"compile the model again: sateen export MODEL --as {form.option}"
        else:
            advice = f"--as {found.option} exports it; for --as {form.option} compile the model for another target"
        raise ArtifactError(
            f"expected code that is {form.value}, found {found.value} for {_machine(self.target)}; {advice}"
        )


def parameter_rows(
    inputs: Sequence[Parameter], outputs: Sequence[Parameter]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A header and rows with the names and types of inputs and outputs."""
    rows = [("output" if p.is_output else "input", p.name, p.type) for p in (*inputs, *outputs)]
    return ("", "name", "type"), [*rows]


def _machine(target: str) -> str:
    """The triple and the processor of a target, without its features."""
    words = [word.partition("=") for word in target.split()]
    return " ".join(value for name, _, value in words if name in {"-mtriple", "-mcpu"}) or target


def packed(
    fields: Mapping[str, object], sections: Mapping[str, bytes | memoryview | Content], optional: tuple[str, ...] = ()
) -> bytes:
    """The file of a manifest of these fields and these sections.

    A reader that does not know one of the `optional` sections ignores it.
    """
    file = BytesIO()
    _write(file, fields, sections, optional)
    return file.getvalue()


def _write(
    file: BinaryIO,
    fields: Mapping[str, object],
    sections: Mapping[str, bytes | memoryview | Content],
    optional: tuple[str, ...] = (),
) -> None:
    """Write the sections, and then the part before them, which holds their digests."""
    leaves: dict[str, list[str]] = {name: [_NO_DIGEST] * -(-len(d) // LEAF_BYTES) for name, d in sections.items()}
    starts = list(accumulate((-(-len(d) // PAGE) * PAGE for d in sections.values()), initial=0))
    described = {
        name: {"offset": start, "size": len(data), "required": name not in optional, "leaves": leaves[name]}
        for (name, data), start in zip(sections.items(), starts, strict=False)
    }

    def manifest() -> bytes:
        return json.dumps({**fields, "sections": described}, separators=(",", ":"), sort_keys=True).encode()

    first = -(-(HEADER.size + len(manifest())) // PAGE) * PAGE
    for (name, data), start in zip(sections.items(), starts, strict=False):
        for index, (leaf, digest) in enumerate(_leaves(data)):
            leaves[name][index] = digest
            file.seek(first + start + index * LEAF_BYTES)
            write_in_pieces(file, leaf)
        file.seek(first + start + len(data))
        file.write(bytes(-len(data) % PAGE))
    text = manifest()
    head = HEADER.pack(ARTIFACT_MAGIC, FORMAT_VERSION, first, HEADER.size, len(text), hashlib.sha256(text).digest())
    file.seek(0)
    file.write((head + text).ljust(first, b"\0"))


def _leaves(data: bytes | memoryview | Content) -> Iterator[tuple[memoryview, str]]:
    """Each leaf and its SHA-256, computed ahead in threads; a leaf is valid until the next one is requested."""

    def made(start: int, buffer: bytearray) -> tuple[memoryview, str]:
        if isinstance(data, (bytes, memoryview)):
            leaf = memoryview(data)[start : start + LEAF_BYTES]
        else:
            leaf = memoryview(buffer)[: len(data) - start]
            data.read_into(start, leaf)
        return leaf, hashlib.sha256(leaf).hexdigest()

    places = range(0, len(data), LEAF_BYTES)
    starts = iter(places)
    size = 0 if isinstance(data, (bytes, memoryview)) else min(LEAF_BYTES, len(data))
    buffers = (bytearray(size) for _ in range(MOST_THREADS + 1))
    with Threads(min(MOST_THREADS, len(places))) as pool:
        coming = deque((pool.submit(made, start, b), b) for b, start in zip(buffers, starts, strict=False))
        while coming:
            leaf, buffer = coming.popleft()
            yield leaf.result()
            coming.extend((pool.submit(made, start, buffer), buffer) for start in islice(starts, 1))


def leaf_digests(data: bytes | memoryview) -> list[str]:
    """SHA-256 of each leaf of 4 MiB, in parallel."""
    return [digest for _, digest in _leaves(data)]


def _block(name: str, dtype: str, size: int, alignment: int, is_output: bool) -> Parameter:
    return Parameter(name, DType.of(dtype), (size,), None, alignment, is_output=is_output)
