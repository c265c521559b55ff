"""Reading an artifact: nothing in it is trusted or mapped as code before it is checked, and nothing is ever unpickled.

Manifest and library are copied out of the file and then compared with their digests, so that the checked bytes are the
used ones, even if somebody writes to the file meanwhile. Parameters stay in the file, mapped.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from pathlib import Path

from sateen.runtime.action_reader import actions_of
from sateen.runtime.actions import DeviceBlocks
from sateen.runtime.artifact import (
    ARTIFACT_MAGIC,
    DEVICE_SECTION,
    FORMAT_VERSION,
    HEADER,
    LEAF_BYTES,
    PACKING_SECTION,
    PAGE,
    SECTIONS,
    Artifact,
    leaf_digests,
)
from sateen.runtime.checked_json import boolean_of, fields_of, integer_of, list_of, object_of, parse, text_of, texts_of
from sateen.runtime.errors import ArgumentError, ArtifactError
from sateen.runtime.files import open_regular
from sateen.runtime.packing import Packing
from sateen.runtime.signature import ENTRY, Parameter
from sateen.runtime.steps import Step
from sateen.runtime.verified import VerifiedFiles

_MOST_MANIFEST_BYTES = 64 << 20
_MOST_BYTES = 1 << 48
_MOST_CODE_BYTES = 1 << 30
_MOST_PARAMETERS = 65_535
_MOST_LABELS = 1 << 20
_MOST_DEVICES = 64
_DIGEST_CHARACTERS = 64
_MOST_PACKING_BYTES = 4096
_KNOWN = (*SECTIONS, DEVICE_SECTION, PACKING_SECTION)
_FIELDS = ("producer", "target", "inputs", "outputs", "variants", "source", "options", "aliases", "sections")


def read_artifact(source: bytes | str | os.PathLike[str], *, verified: VerifiedFiles | None = None) -> Artifact:
    """The artifact in a file (mapped, not copied) or in bytes, verified.

    `verified` remembers files whose parameters were verified before. Raises ArtifactError for a file that can't be
    read, is cut short, altered, of another version or not an artifact; the message says what to do. Raises
    ArgumentError for a source that is neither a path nor bytes.
    """
    if isinstance(source, bytes):
        return _read(memoryview(source), "artifact")
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentError(f"expected an artifact, its bytes or the path of its file, found {type(source).__name__}")
    path = Path(source)
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise ArtifactError(f"{path}: expected an artifact, found an empty file")
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            return _read(view, str(path), verified, file.fileno())
    except OSError as error:
        raise ArtifactError(f"{path}: expected an artifact to read: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class _Section:
    """Where a section lies in the file, and the digests of its leaves."""

    name: str
    start: int
    end: int
    leaves: tuple[str, ...]

    def check(self, content: bytes | memoryview) -> None:
        """Raises ArtifactError unless the content has its digests."""
        for index, (found, expected) in enumerate(zip(leaf_digests(content), self.leaves, strict=True)):
            if found != expected:
                raise ArtifactError(
                    f"section {self.name!r} does not have its digest in leaf {index} of {LEAF_BYTES >> 20} MiB: "
                    "the file was altered or damaged; copy it again"
                )


def _read(
    view: memoryview, name: str, verified: VerifiedFiles | None = None, descriptor: int | None = None
) -> Artifact:
    try:
        first, raw = _manifest_bytes(view)
        fields = fields_of(parse(raw, "the manifest"), "the manifest", _FIELDS, more=True)
        sections = _sections(fields["sections"], first, len(view))
        library = _copy_of(view, sections["library"])
        kernels = _copy_of(view, sections[DEVICE_SECTION]) if DEVICE_SECTION in sections else b""
        parameters = view[sections["parameters"].start : sections["parameters"].end]
        packing = _packing(view, sections, len(parameters))
        artifact = replace(_artifact(fields, library, parameters, kernels), packing=packing, manifest=raw)
        known = None if verified is None or descriptor is None else verified.of(descriptor)
        if known is None or not known.is_verified(artifact.digest):
            sections["parameters"].check(parameters)
            if verified is not None and descriptor is not None and verified.of(descriptor) == known:
                known.remember(artifact.digest)
        return artifact
    except ArtifactError as error:
        raise ArtifactError(f"{name}: {error}") from None


def _packing(view: memoryview, sections: Mapping[str, _Section], parameter_bytes: int) -> Packing | None:
    """How parameters are packed, if they are. Raises ArtifactError for an artifact for devices that says so."""
    if PACKING_SECTION not in sections:
        return None
    if DEVICE_SECTION in sections:
        raise ArtifactError("expected parameters as kernels of devices read them, found some that are to be packed")
    return Packing.from_json(_copy_of(view, sections[PACKING_SECTION], _MOST_PACKING_BYTES), parameter_bytes)


def _copy_of(view: memoryview, section: _Section, most: int = _MOST_CODE_BYTES) -> bytes:
    """A copy of a section, checked."""
    if (size := section.end - section.start) > most:
        raise ArtifactError(f"expected a {section.name} of at most {most} bytes, found {size}")
    code = bytes(view[section.start : section.end])
    section.check(code)
    return code


def _manifest_bytes(view: memoryview) -> tuple[int, bytes]:
    """Where the sections begin, and the manifest, checked against its digest."""
    head = bytes(view[: HEADER.size])
    if not head.startswith(ARTIFACT_MAGIC):
        raise ArtifactError("expected an artifact that sateen compiled, found another kind of file")
    if len(head) < HEADER.size:
        raise _ends_early(len(head), f"at least {HEADER.size}")
    _, version, first, start, size, digest = HEADER.unpack(head)
    if version != FORMAT_VERSION:
        advice = "renew sateen-runtime" if version > FORMAT_VERSION else "compile the model again"
        older = "sateen-runtime" if version > FORMAT_VERSION else "the artifact"
        raise ArtifactError(f"expected format {FORMAT_VERSION}, found format {version}: {older} is older; {advice}")
    if size > _MOST_MANIFEST_BYTES or start < HEADER.size or start + size > first:
        raise ArtifactError(
            f"expected a manifest between the header and the sections at byte {first}, found {size} bytes at {start}: "
            "the file is damaged; copy it again"
        )
    if len(view) < first:
        raise _ends_early(len(view), f"at least {first}")
    raw = bytes(view[start : start + size])
    if hashlib.sha256(raw).digest() != digest:
        raise ArtifactError("the manifest does not have its digest: the file was altered or damaged; copy it again")
    return first, raw


def _ends_early(found: int, expected: str) -> ArtifactError:
    return ArtifactError(
        f"the artifact ends after {found} of {expected} bytes: it is cut short or damaged; copy it again"
    )


def _sections(value: object, first: int, file_size: int) -> Mapping[str, _Section]:
    """The sections that this version knows: each in the file, on a page, apart from the others."""
    places: list[_Section] = []
    for name, place in object_of(value, "the sections").items():
        what = f"section {name!r}"
        fields = fields_of(place, what, ("offset", "size", "required", "leaves"))
        start = first + integer_of(fields["offset"], f"the offset of {what}", 0, _MOST_BYTES)
        size = integer_of(fields["size"], f"the size of {what}", 0, _MOST_BYTES)
        leaves = list_of(fields["leaves"], f"the digests of {what}", -(-size // LEAF_BYTES))
        if boolean_of(fields["required"], f"whether {what} is required") and name not in _KNOWN:
            raise ArtifactError(f"{what} is required, but this sateen-runtime does not know it; renew sateen-runtime")
        if start % PAGE:
            raise ArtifactError(f"expected {what} at a multiple of {PAGE} bytes, found it at {start}")
        if len(leaves) * LEAF_BYTES < size:
            raise ArtifactError(f"expected {-(-size // LEAF_BYTES)} digests of {what}, found {len(leaves)}")
        texts = tuple(text_of(leaf, f"a digest of {what}", _DIGEST_CHARACTERS, _DIGEST_CHARACTERS) for leaf in leaves)
        places.append(_Section(name, start, start + size, texts))
    places.sort(key=lambda section: (section.start, section.end))
    whole = max((section.end for section in places), default=first)
    if whole > file_size:
        raise _ends_early(file_size, str(whole))
    for one, other in pairwise(places):
        if one.end > other.start:
            raise ArtifactError(f"expected sections that lie apart, found {one.name!r} over {other.name!r}")
    found = {section.name: section for section in places if section.name in _KNOWN}
    for name in SECTIONS:
        if name not in found:
            raise ArtifactError(f"expected a section {name!r}, found {', '.join(s.name for s in places) or 'none'}")
    return found


def _artifact(fields: Mapping[str, object], library: bytes, parameters: memoryview, kernels: bytes) -> Artifact:
    inputs, outputs = _parameters(fields["inputs"], "inputs"), _parameters(fields["outputs"], "outputs")
    aliases = texts_of(fields["aliases"], "the aliases", 512)
    for output, input_ in aliases.items():
        if output not in {p.name for p in outputs} or input_ not in {p.name for p in inputs}:
            raise ArtifactError(f"expected aliases from an output to an input, found {output!r} to {input_!r}")
    artifact = Artifact(
        text_of(fields["producer"], "the producer", 512),
        text_of(fields["target"], "the target", 65_536),
        inputs,
        outputs,
        _workspace_bytes(fields["variants"]),
        library,
        parameters,
        text_of(fields["source"], "the digest of the source", 512, 0),
        texts_of(fields["options"], "the options", 65_536),
        aliases,
        _labels(fields.get("labels", {}), outputs),
        _steps(fields.get("steps", [])),
        _stack_bytes(fields.get("stack")),
        kernels,
        placed=_placed(fields.get("placed", []), len(inputs) + len(outputs), len(parameters)),
    )
    if not kernels:
        return artifact
    return replace(artifact, actions=actions_of(fields.get("launches", []), artifact.blocks, len(artifact.steps)))


def _placed(value: object, arrays: int, parameter_bytes: int) -> tuple[DeviceBlocks, ...]:
    """What each device has: every input and output is on one, and the parameters are those of all."""
    placed = tuple(map(DeviceBlocks.from_json, list_of(value, "the devices of the network", _MOST_DEVICES)))
    if not placed:
        return ()
    if len({memory.device for memory in placed}) != len(placed):
        raise ArtifactError(f"expected each device once, found {', '.join(str(memory.device) for memory in placed)}")
    found = sorted(position for memory in placed for position in memory.arrays)
    if found != list(range(arrays)):
        raise ArtifactError(f"expected each of {arrays} inputs and outputs on one device, found those of {found!s:.64}")
    if sum(memory.parameters for memory in placed) > parameter_bytes:
        total = sum(memory.parameters for memory in placed)
        raise ArtifactError(f"expected parameters of all devices in {parameter_bytes} bytes, found {total}")
    return placed


def _labels(value: object, outputs: tuple[Parameter, ...]) -> dict[str, tuple[str, ...]]:
    """A label for each element along the last axis of an output, or any number for the values of one of int64."""
    extents = {p.name: p.shape[-1] for p in outputs if p.shape}
    indices = {p.name for p in outputs if str(p.dtype) == "int64"}
    labels: dict[str, tuple[str, ...]] = {}
    for name, listed in object_of(value, "the labels").items():
        found = list_of(listed, f"the labels of {name!r}", _MOST_LABELS)
        labels[name] = tuple(text_of(label, f"a label of {name!r}", 512, 0) for label in found)
        if len(found) != extents.get(name) and name not in indices:
            raise ArtifactError(f"expected {extents.get(name, 'no')} labels of {name!r}, found {len(found)}")
    return labels


def _parameters(value: object, what: str) -> tuple[Parameter, ...]:
    parameters = tuple(map(Parameter.from_json, list_of(value, f"the {what}", _MOST_PARAMETERS)))
    if len({p.name for p in parameters}) != len(parameters):
        raise ArtifactError(f"expected each of the {what} to have a name of its own")
    for p in parameters:
        extents = [extent for extent in p.shape if isinstance(extent, int)]
        if len(extents) != len(p.shape) or prod(extents) * p.dtype.bytes > _MOST_BYTES or p.strides is not None:
            raise ArtifactError(f"expected {what} of known extents that fit into memory and compact, found {p}")
        if p.is_output is not (what == "outputs"):
            raise ArtifactError(f"expected {p.name!r} to be among the {'outputs' if p.is_output else 'inputs'}")
    return parameters


def _workspace_bytes(value: object) -> int:
    variants = list_of(value, "the variants", 65_535)
    if len(variants) != 1:
        raise ArtifactError(f"expected one variant of the network, found {len(variants)}; renew sateen-runtime")
    variant = fields_of(variants[0], "a variant", ("dims", "entry", "workspace"))
    if object_of(variant["dims"], "the dims of a variant") or variant["entry"] != ENTRY:
        raise ArtifactError(f"expected a variant of fixed dimensions whose entry is {ENTRY!r}; renew sateen-runtime")
    workspace = fields_of(variant["workspace"], "the workspace", ("cpu",))
    return integer_of(workspace["cpu"], "the size of the workspace", 0, _MOST_BYTES)


def _stack_bytes(value: object) -> int | None:
    return None if value is None else integer_of(value, "the size of the stack", 0, _MOST_BYTES)


def _steps(value: object) -> tuple[Step, ...]:
    return tuple(map(Step.from_json, list_of(value, "the steps", 1 << 20)))
