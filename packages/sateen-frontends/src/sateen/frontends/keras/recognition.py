"""Recognises the files of Keras by their content: an HDF5 file, a zip archive with a configuration, an architecture."""

from __future__ import annotations

import re

from sateen.frontends.core.source import Source

WEIGHTS = "a file of weights of Keras (.h5), or the architecture that belongs to it (JSON)"

HDF5 = b"\x89HDF\r\n\x1a\n"
ZIP = b"PK\x03\x04"
_HEAD_BYTES = 4096
_MEMBERS = (b"config.json", b"metadata.json", b"model.weights.h5")
"""The files of a .keras archive; any of them may be the first."""
_ARCHITECTURE = re.compile(rb'\s*\{\s*"(module|class_name|config|keras_version|backend|registered_name|build_config)"')
"""The beginning of an architecture: a JSON object with the keys of a serialised layer."""


def is_hdf5(source: Source) -> bool:
    return source.data.startswith(HDF5)


def is_archive(source: Source) -> bool:
    """Whether data is a .keras archive, by the name of its first file (APPNOTE: at byte 30, its length at byte 26)."""
    head = source.data[:_HEAD_BYTES]
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    return head.startswith(ZIP) and name in _MEMBERS


def is_architecture(source: Source) -> bool:
    """Whether data is JSON as Model.to_json writes it."""
    return _ARCHITECTURE.match(source.data[:_HEAD_BYTES]) is not None and b'"class_name"' in source.data


def is_keras(source: Source) -> bool:
    return is_hdf5(source) or is_archive(source) or is_architecture(source)
