"""Puts relocatable objects into a static archive, which needs no linker of ours."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from sateen.runtime.elf_object import symbols_of
from sateen.runtime.errors import ArtifactError, LinkError
from sateen.runtime.static_archive import pack_archive
from sateen.tensor_ir.link.c_libraries import BIONIC, C_LIBRARY
from sateen.tensor_ir.targets import System

FREESTANDING = frozenset({"memcpy", "memset"})
"""The functions that code for a machine without a system may call; compilers expect them of every program."""

_OF_FLOAT64 = re.compile(
    r"__aeabi_c?d[a-z]\w*|__aeabi_\w+2d|__\w+df\w*"
    r"|sqrt|cbrt|pow|exp2?|expm1|log(2|10|1p)?|a?(sin|cos|tan)h?|atan2|erfc?|f(mod|ma|min|max)|floor|ceil|trunc|rint"
    r"|nearbyint|round(even)?"
)
"""Functions on float64 of a compiler's library (RTABI32, section 4.1.2, and that of GCC) and of math.h."""


class UndefinedSymbolError(LinkError):
    """A symbol that the object with this number leaves undefined, and that nobody gives."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


def link_static(
    object_code: Sequence[bytes], triple: str, exports: Sequence[str], given: Collection[str] = frozenset()
) -> bytes:
    """The static archive of some ELF objects, which defines `exports`.

    It needs `given`, and on Linux the C library, elsewhere `memcpy` and `memset`. LinkError if an object is
    malformed or for a system without ELF, an export is missing, a symbol is defined twice; UndefinedSymbolError if
    another one is undefined.
    """
    system = System.of(triple)
    if system not in (System.LINUX, System.ANDROID, System.NONE):
        raise LinkError(f"expected a triple whose objects are ELF files for a static archive, found {triple!r}")
    members = {f"code{number}.o": content for number, content in enumerate(object_code)}
    try:
        symbols = {name: symbols_of(content) for name, content in members.items()}
        archive = pack_archive(members)
    except ArtifactError as error:
        raise LinkError(str(error)) from error
    defined: dict[str, str] = {}
    for member, own in symbols.items():
        for name in own.defined:
            if name in defined:
                raise LinkError(f"symbol {name!r} is defined by {defined[name]} and {member}")
            defined[name] = member
    for name in exports:
        if name not in defined:
            raise LinkError(f"export {name!r} is not among the symbols of the objects")
    known = _known(system)
    for number, own in enumerate(symbols.values()):
        for name in own.undefined:
            if name not in defined and name not in known and name not in given:
                raise UndefinedSymbolError(_undefined(name, triple, known), number)
    return archive


def _known(system: System) -> Collection[str]:
    """The functions that code for a system may leave to others."""
    match system:
        case System.NONE:
            return FREESTANDING
        case System.ANDROID:
            return BIONIC
        case _:
            return C_LIBRARY


def _undefined(name: str, triple: str, known: Collection[str]) -> str:
    if _OF_FLOAT64.fullmatch(name):
        return (
            f"expected code that needs only {_some(known)} on {triple}, found arithmetic of float64 that the processor "
            f"leaves to a library ({name}); convert the model to float32"
        )
    return f"undefined symbol {name!r}: for {triple} only {_some(known)} may be"


def _some(names: Collection[str]) -> str:
    return ", ".join(sorted(names)[:8]) + (", …" if len(names) > 8 else "")
