"""Puts relocatable objects into a static archive, which needs no linker of ours."""

from collections.abc import Collection, Sequence

from sateen.runtime.elf_object import symbols_of
from sateen.runtime.errors import ArtifactError, LinkError
from sateen.runtime.static_archive import pack_archive
from sateen.tensor_ir.link.elf import BIONIC, C_LIBRARY
from sateen.tensor_ir.targets import System

FREESTANDING = frozenset({"memcpy", "memset"})
"""The functions that code for a machine without a system may call; compilers expect them of every program."""


def link_static(
    object_code: Sequence[bytes], triple: str, exports: Sequence[str], given: Collection[str] = frozenset()
) -> bytes:
    """The static archive of some ELF objects, which defines `exports`.

    It needs `given`, and on Linux the C library, elsewhere `memcpy` and `memset`. LinkError if an object is
    malformed or for a system without ELF, an export is missing, a symbol is defined twice, or another one is undefined.
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
    for member, own in symbols.items():
        for name in own.undefined:
            if name not in defined and name not in known and name not in given:
                raise LinkError(f"undefined symbol {name!r} in {member}: for {triple} only {_some(known)} may be")
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


def _some(names: Collection[str]) -> str:
    return ", ".join(sorted(names)[:8]) + (", …" if len(names) > 8 else "")
