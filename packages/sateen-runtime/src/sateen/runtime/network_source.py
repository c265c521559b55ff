"""A network as C99 text: that of the compiler, under names of its own, and its parameters (docs/c.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sateen.runtime.static_archive import symbol_of

SOURCE_MAGIC = b"#include <"
"""What the compiler's text begins with."""
_PUBLIC = (
    "run",
    "sateen_abi_version",
    "sateen_default_host",
    "sateen_metadata",
    "sateen_parameters",
    "sateen_status_message",
)
"""The names of the compiler's text that other files see."""
_WORD = 8
_WORDS_IN_A_LINE = 6
_LITTLE_ENDIAN = """\
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the parameters are in little-endian order"
#endif
"""


def network_source(text: bytes, parameters: bytes | memoryview, name: str) -> bytes:
    """The text with its parameters, whose public names begin with `name`.

    The parameters are words of 64 bits, so that they are aligned to 8 bytes without words that C99 lacks.
    """
    renamed = "".join(f"#define {symbol} {symbol_of(name, symbol)}\n" for symbol in _PUBLIC)
    lines = list(_lines(parameters or bytes(64)))
    head = (
        f"{_LITTLE_ENDIAN}\nstatic const uint64_t sateen_parameter_data[] = {{\n"
        f"{chr(10).join(lines)}\n}};\n\n"
        "const void *sateen_parameters(void);\n\n"
        "const void *sateen_parameters(void) {\n  return sateen_parameter_data;\n}\n"
    )
    return b"".join([renamed.encode(), b"\n", text, b"\n", head.encode()])


def _lines(parameters: bytes | memoryview) -> Iterator[str]:
    whole = bytes(parameters) + bytes(-len(parameters) % _WORD)
    line = struct.Struct(f"<{_WORDS_IN_A_LINE}Q")
    full = len(whole) - len(whole) % line.size
    for words in line.iter_unpack(whole[:full]):
        yield f"  {', '.join(map(hex, words))},"
    rest = struct.unpack(f"<{(len(whole) - full) // _WORD}Q", whole[full:])
    if rest:
        yield f"  {', '.join(map(hex, rest))},"
