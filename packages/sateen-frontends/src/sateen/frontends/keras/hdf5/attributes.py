"""The attributes of a group that are text, by name (sections IV.A.2.m and IV.A.2.v)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes
from sateen.frontends.keras.hdf5.fractal_heap import FractalHeap
from sateen.frontends.keras.hdf5.headers import ATTRIBUTE, ATTRIBUTE_INFO, Message
from sateen.frontends.keras.hdf5.links import name_of
from sateen.frontends.keras.hdf5.trees import records_of_new_tree
from sateen.frontends.keras.hdf5.values import element_type, extents, texts

_IDENTIFIER_BYTES = 8
"""Those of an attribute in a heap."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute as its file has it."""

    name: str
    kind: memoryview
    shape: memoryview
    data: memoryview

    def texts(self, file: FileBytes, what: str) -> list[str]:
        """Its elements. Raises FrontendError if they are no text."""
        shape = extents(Fields(file, self.shape)).now
        return texts(file, self.data, element_type(Fields(file, self.kind)), shape, what)


def attributes_of(file: FileBytes, messages: Iterable[Message]) -> dict[str, Attribute]:
    found = []
    for message in messages:
        if message.type == ATTRIBUTE:
            found.append(_attribute(message.fields(file)))
        elif message.type == ATTRIBUTE_INFO:
            found += _of_heap(file, message.fields(file))
    return {attribute.name: attribute for attribute in found}


def _of_heap(file: FileBytes, fields: Fields) -> Iterator[Attribute]:
    """The attributes of a group that has many, or large ones."""
    _, flags = fields.number(1), fields.number(1)
    fields.take(2 * bool(flags & 1))
    heap, names = fields.address(), fields.address()
    if heap == file.undefined:
        return
    held = FractalHeap.at(file, heap)
    for record in records_of_new_tree(file, names):
        yield _attribute(held.object(Fields(file, record.take(_IDENTIFIER_BYTES))))


def _attribute(fields: Fields) -> Attribute:
    """Version 1 aligns its parts to 8 bytes; version 3 says the encoding of the name."""
    version, flags = fields.number(1), fields.number(1)
    if version not in {1, 2, 3} or (version > 1 and flags):
        raise fields.file.unusual(f"attributes of version {version}")
    sizes = [fields.number(2) for _ in range(3)]
    fields.take(1 if version == 3 else 0)
    parts = []
    for size in sizes:
        parts.append(fields.take(size))
        if version == 1:
            fields.take(min(-size % 8, fields.left))
    name, kind, shape = parts
    return Attribute(name_of(fields.file, name), kind, shape, fields.take(fields.left))
