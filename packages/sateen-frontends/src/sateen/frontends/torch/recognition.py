"""Recognises an exported program by the first file of its zip archive, so that it is known even where it is cut
short."""

from __future__ import annotations

import re

from sateen.frontends.core.source import Source

_HEADER_BYTES = 30
"""The bytes in front of the name of a file in an archive."""
_FIRST_FILE = re.compile(
    rb"(?:[^/]+/)?(?:data/(?:weights|constants|sample_inputs|aotinductor)/|models/|archive_format|archive_version|extra/)"
    rb"|serialized_exported_program\.json"
)


def is_program(source: Source) -> bool:
    """Whether data is an archive that torch.export.save wrote, or the beginning of one."""
    data = source.data
    if not data.startswith(b"PK\x03\x04") or len(data) < _HEADER_BYTES:
        return False
    name_bytes = int.from_bytes(data[26:28], "little")
    return _FIRST_FILE.match(data[_HEADER_BYTES : _HEADER_BYTES + name_bytes]) is not None


def is_safetensors(data: bytes) -> bool:
    """Whether data begins as safetensors do: the length of a JSON object, and the object."""
    return len(data) > 8 and data[8:9] == b"{" and int.from_bytes(data[:8], "little") <= len(data)
