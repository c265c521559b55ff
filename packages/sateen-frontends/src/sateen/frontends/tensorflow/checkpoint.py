"""Checkpoints: variables in files NAME.data-00000-of-00001, which a sorted table, NAME.index, finds by name.

Source: tensorflow/core/util/tensor_bundle and its protobuf.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from sateen.frontends.core.beside import FilesBeside, read_beside
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.tensorflow.crc32c import masked_crc32c
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import BundleEntryProto, BundleHeaderProto
from sateen.frontends.tensorflow.sorted_table import entries_of
from sateen.frontends.tensorflow.tensors import dtype_of, extents_of, from_bytes
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError, printable

_MOST_SHARDS = 100_000


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The index of a checkpoint, whose files are `beside` it and begin with `prefix`, a plain relative path. `sums` are
    the checksums of regions, each computed once, however many variables name it."""

    beside: FilesBeside
    prefix: str
    shards: int
    entries: Mapping[str, BundleEntryProto]
    sums: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def read(self, name: str, most_bytes: int) -> Array:
        """The data of a variable. Raises FrontendError if it is damaged, or of an element type that sateen lacks."""
        what = f"variable {printable(name)!r} of checkpoint {printable(self.prefix)!r}"
        entry = self.entries[name]
        dtype = dtype_of(entry.dtype, what)
        extents = extents_of(entry.shape, what)
        size = prod(extents) * dtype.numpy.itemsize
        if entry.slices:
            raise FrontendError(f"{what} is stored in slices; freeze the graph, or save the variable whole")
        if entry.size != size or entry.offset < 0 or size > most_bytes:
            raise FrontendError(f"{what}: expected {size} bytes of {dtype}{list(extents)}, found {entry.size}")
        if not 0 <= entry.shard_id < self.shards:
            raise FrontendError(f"{what}: expected a shard of {self.shards}, found {entry.shard_id}")
        data = self.beside.read(self._file(entry.shard_id), entry.offset, size, what)
        region = (entry.shard_id, entry.offset, size)
        if region not in self.sums:
            self.sums[region] = masked_crc32c(data)
        if self.sums[region] != entry.crc32c:
            raise FrontendError(f"{what}: its checksum differs; copy the files of the checkpoint again")
        return from_bytes(data, dtype, extents, what)

    def _file(self, shard: int) -> str:
        return f"{self.prefix}.data-{shard:05d}-of-{self.shards:05d}"

    def files(self) -> Iterator[Path]:
        yield self.beside.folder / f"{self.prefix}.index"
        for shard in sorted({entry.shard_id for entry in self.entries.values()}):
            yield self.beside.folder / self._file(shard)


def checkpoint_in(folder: Path, prefix: str, limits: Limits) -> Checkpoint:
    """The checkpoint of a folder. Raises FrontendError if it is missing or damaged."""
    index = f"{prefix}.index"
    try:
        size = (folder / index).stat().st_size
    except OSError as error:
        raise FrontendError(f"can't open the checkpoint {printable(str(folder / index))!r}: {error.strerror}") from None
    if size > limits.model_bytes:
        raise FrontendError(f"expected an index of at most {limits.model_bytes} bytes, {index!r} has {size}")
    return _parsed(read_beside(folder, index, 0, size, f"checkpoint {prefix!r}"), folder, prefix)


def checkpoint_of(source: Source) -> Checkpoint:
    """The checkpoint of an index. Raises FrontendError if it is damaged, or given as bytes."""
    if source.path is None:
        raise FrontendError("expected the path of a checkpoint's index, found bytes; its data is in files beside it")
    return _parsed(source.data, source.path.parent, re.sub(r"\.index$", "", source.path.name))


def _parsed(data: bytes, folder: Path, prefix: str) -> Checkpoint:
    what = f"index of checkpoint {printable(prefix)!r}"
    header, entries = BundleHeaderProto(), {}
    try:
        for key, value in entries_of(data, what):
            if key:
                entries[key.decode()] = BundleEntryProto.FromString(value)
            else:
                header.ParseFromString(value)
    except (DecodeError, UnicodeDecodeError):
        raise FrontendError(f"{what}: expected descriptions of variables, found other data") from None
    if header.endianness:
        raise FrontendError(f"{what}: the variables are in big-endian order, which is not supported")
    if not 0 < header.num_shards <= _MOST_SHARDS:
        raise FrontendError(f"{what}: expected 1 to {_MOST_SHARDS} shards, found {header.num_shards}")
    return Checkpoint(FilesBeside(folder), prefix, header.num_shards, entries)
