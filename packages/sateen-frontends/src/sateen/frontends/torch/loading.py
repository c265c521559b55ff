"""Reads the file of an exported program: its JSON and the raw bytes of its tensors, which are all that is needed.

Files of torch before 2.9 hold the tensors as pickles, which are never read: safetensors take their place.
Sources: torch/export/pt2_archive/_package.py, and torch/export/__init__.py of torch 2.6 for the older archive.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from sateen.frontends.core.archive import Archive, open_archive
from sateen.frontends.core.json_text import MOST_BYTES, parse_object
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.torch.element_types import dtype_of, require_size
from sateen.frontends.torch.parsing import parse_program, value_type
from sateen.frontends.torch.program import Program, ValueType
from sateen.frontends.torch.safetensors import elements_of, read_safetensors
from sateen.graph_ir.ir import Array
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_OLD = "serialized_exported_program.json"
"""The file of the program in archives of torch 2.6 and before."""
_MODEL = re.compile(r"(?P<root>(?:[^/]+/)?)models/(?P<name>[^/]+)\.json")
_EXPANDED = 1 << 20
"""The most elements of a tensor that has more than its storage."""
_REMEDY = "give the tensors as safetensors (weights=, or --weights FILE), or save the program with torch 2.9 or later"


def load_torch(source: Source, limits: Limits) -> Program:
    """The program in a file, with its tensors. Raises FrontendError if the file is damaged, holds another number of
    programs than one, or tensors that are pickled where there are no others."""
    archive = open_archive(source.data, source.place)
    root, name = _program_in(archive)
    path = _OLD if name is None else f"{root}models/{name}.json"
    program = parse_program(
        parse_object(archive.read(path, MOST_BYTES), f"{source.place}: {path!r}"), source.place, limits
    )
    wanted = {target: program.graph.declared.get(given) for given, target in program.parameters.items()}
    data: dict[str, Array] = {}
    if source.weights is not None:
        data = _checked(read_safetensors(source.weights, limits), wanted, source.weights.place)
    missing = wanted.keys() - data.keys()
    if missing and name is not None:
        data |= _tensors(archive, root, name, missing, limits)
    for target in wanted:
        if target not in data:
            raise FrontendError(f"{source.place}: the file has no tensor {target!r}, or only a pickle of it; {_REMEDY}")
    return replace(program, data=_checked(data, wanted, source.place))


def _program_in(archive: Archive) -> tuple[str, str | None]:
    """The folder of the archive and the name of its program; the name is None in older archives."""
    if _OLD in archive.names:
        return "", None
    found = [match for name in archive.names if (match := _MODEL.fullmatch(name))]
    if not found and any("aotinductor/" in name for name in archive.names):
        raise FrontendError(
            f"{archive.place}: expected an exported program, found one that is compiled already; save it by "
            "torch.export.save"
        )
    if len(found) != 1:
        names = ", ".join(repr(match["name"]) for match in found) or "none"
        raise FrontendError(f"{archive.place}: expected one program, found {names}; save each to a file of its own")
    return found[0]["root"], found[0]["name"]


def _tensors(archive: Archive, root: str, name: str, missing: Collection[str], limits: Limits) -> dict[str, Array]:
    """Those of the missing tensors that are stored as bytes."""
    found: dict[str, Array] = {}
    room = limits.tensor_bytes
    for kind in ("weights", "constants"):
        folder = f"{root}data/{kind}/"
        path = f"{folder}{name}_{kind}_config.json"
        if path not in archive.names:
            continue
        storages = _Storages(archive, folder, room)
        config = parse_object(archive.read(path, MOST_BYTES), f"{archive.place}: {path!r}")
        for target, meta in _payloads(config, path, missing):
            found[target] = _tensor(storages, meta, f"{archive.place}: tensor {target!r}")
        room = storages.room
    return found


def _payloads(config: Mapping[str, Any], path: str, missing: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The descriptions of missing tensors that are not pickled, by their names."""
    entries = config.get("config")
    if not isinstance(entries, dict) or not all(isinstance(meta, dict) for meta in entries.values()):
        raise FrontendError(f"{path!r}: expected an object with descriptions of tensors")
    return ((name, meta) for name, meta in entries.items() if name in missing and meta.get("use_pickle") is False)


@dataclass(slots=True)
class _Storages:
    """The files of a folder of an archive, each read once, and the tensors made of them: several may share a storage,
    and those of the same place are one array. `room` is the bytes that other tensors may take."""

    archive: Archive
    folder: str
    room: int
    read: dict[tuple[str, DType], Array] = field(default_factory=dict)
    tensors: dict[str, Array] = field(default_factory=dict)

    def elements(self, path: str, dtype: DType, what: str) -> Array:
        """The elements of a storage. Raises FrontendError if they don't fill it."""
        if (path, dtype) not in self.read:
            content = self.archive.read(f"{self.folder}{path}")
            if len(content) % dtype.bytes:
                raise FrontendError(f"{what}: elements of {dtype} do not fill {len(content)} bytes")
            self.read[path, dtype] = elements_of(content, dtype.numpy)
        return self.read[path, dtype]


def _tensor(storages: _Storages, payload: dict[str, Any], what: str) -> Array:
    """A tensor by its extents, strides and offset in a storage."""
    meta, path = payload.get("tensor_meta"), payload.get("path_name")
    if not isinstance(path, str) or not isinstance(meta, dict):
        raise FrontendError(f"{what}: expected the name of a file and a type, found {path!r}")
    declared = value_type(meta, what)
    strides, offset = _numbers(meta, "strides", what), _numbers({"o": [meta.get("storage_offset")]}, "o", what)[0]
    dtype, shape = _dtype(declared, what), _static(declared, what)
    key = f"{path} {dtype} {shape} {strides} {offset}"
    if key not in storages.tensors:
        require_size(shape, dtype, storages.room, what)
        storages.room -= prod(shape) * dtype.bytes
        storages.tensors[key] = _view(storages.elements(path, dtype, what), dtype, shape, strides, offset, what)
    return storages.tensors[key]


def _view(
    elements: Array, dtype: DType, shape: tuple[int, ...], strides: Sequence[int], offset: int, what: str
) -> Array:
    """A tensor in the memory of its storage. Raises FrontendError if it reaches beyond that."""
    if len(strides) != len(shape):
        raise FrontendError(f"{what}: {dtype}{list(shape)} has other strides, {strides}")
    count = prod(shape)
    if not count:
        return np.empty(shape, dtype.numpy)
    reach = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if reach >= len(elements) or count > max(len(elements), _EXPANDED):
        raise FrontendError(
            f"{what}: {dtype}{list(shape)} of strides {strides} reaches element {reach} of {len(elements)}"
        )
    moves = tuple(stride * dtype.bytes if n > 1 else 0 for n, stride in zip(shape, strides, strict=True))
    return np.lib.stride_tricks.as_strided(elements[offset:], shape, moves, writeable=False)


def _numbers(meta: dict[str, Any], name: str, what: str) -> list[int]:
    found = [item.get("as_int") if isinstance(item, dict) else None for item in _listed(meta.get(name))]
    if not all(type(n) is int and 0 <= n < 1 << 48 for n in found):
        raise FrontendError(f"{what}: expected {name} of zero or more, found {found}")
    return [n for n in found if n is not None]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [None]


def _dtype(declared: ValueType, what: str) -> DType:
    try:
        return dtype_of(declared.element_type)
    except UnsupportedError as error:
        raise FrontendError(f"{what}: {error}") from None


def _static(declared: ValueType, what: str) -> tuple[int, ...]:
    if not all(isinstance(n, int) for n in declared.shape):
        raise FrontendError(f"{what}: expected a shape of numbers")
    return tuple(n for n in declared.shape if isinstance(n, int))


def _checked(data: Mapping[str, Array], wanted: Mapping[str, ValueType | None], place: str) -> dict[str, Array]:
    """The tensors that the program reads. Raises FrontendError if one has another type than the program declares."""
    found = {name: array for name, array in data.items() if name in wanted}
    if wanted and not found:
        known, given = sorted(wanted)[:3], sorted(data)[:3] or "none"
        raise FrontendError(f"{place}: expected tensors of the program's names, such as {known}, found {given}")
    for name, array in found.items():
        declared = wanted[name]
        if declared is None:
            raise FrontendError(f"{place}: tensor {name!r} has no declared type in the program")
        dtype, shape = _dtype(declared, name), _static(declared, name)
        if array.dtype != dtype.numpy or array.shape != shape:
            raise FrontendError(
                f"{place}: expected tensor {name!r} as {dtype}{list(shape)}, found {array.dtype}{list(array.shape)}"
            )
    return found
