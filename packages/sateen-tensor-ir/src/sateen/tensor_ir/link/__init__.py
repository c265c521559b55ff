"""From object code to a library that a program can load."""

from collections.abc import Mapping as _Mapping
from collections.abc import Sequence as _Sequence

from sateen.runtime.processor import architecture_of as _architecture_of
from sateen.tensor_ir.link.archive import FREESTANDING, UndefinedSymbolError, link_static
from sateen.tensor_ir.link.c_libraries import BIONIC, C_LIBRARY, MUSL
from sateen.tensor_ir.link.call_graph import stack_depth
from sateen.tensor_ir.link.elf import link_shared
from sateen.tensor_ir.link.external import link_with_lld, linker_remedy
from sateen.tensor_ir.link.object_file import read_object
from sateen.tensor_ir.link.wasm import link_module
from sateen.tensor_ir.targets import ARCHITECTURES as _ARCHITECTURES
from sateen.tensor_ir.targets import System as _System

__all__ = [
    "BIONIC",
    "C_LIBRARY",
    "FREESTANDING",
    "MUSL",
    "UndefinedSymbolError",
    "link",
    "link_module",
    "link_shared",
    "link_static",
    "link_with_lld",
    "linker_remedy",
    "read_object",
    "stack_depth",
]

_ELF = (_System.LINUX, _System.ANDROID)


def link(
    object_code: bytes | _Sequence[bytes],
    triple: str,
    exports: _Sequence[str],
    soname: str = "libsateen.so",
    imports: _Mapping[str, str] | None = None,
) -> bytes:
    """The library that holds `object_code` and defines `exports`: by our own linkers where possible, otherwise by lld.

    `imports` maps symbols that may stay undefined to the libraries that define them; by default the triple's C library,
    and none for WebAssembly, where they are the modules that the page gives.
    LinkError if the object or triple is refused, an export is missing, or lld is needed and not installed.
    """
    if _System.of(triple) is _System.WEBASSEMBLY:
        return link_module(object_code, exports, {} if imports is None else imports)
    if imports is None:
        imports = _c_library(triple)
    if _is_ours(triple):
        return link_shared(object_code, exports, soname, imports)
    return link_with_lld(object_code, triple, exports, soname, imports)


def _c_library(triple: str) -> _Mapping[str, str]:
    if _System.of(triple) is _System.ANDROID:
        return BIONIC
    return MUSL if "musl" in triple else C_LIBRARY


def _is_ours(triple: str) -> bool:
    """Whether our linker knows the objects of a triple: for ARM, those of its own instruction set, in little-endian
    order, that pass numbers in registers of floating point."""
    architecture = _ARCHITECTURES.get(_architecture_of(triple))
    if architecture is None or architecture.linking is None or _System.of(triple) not in _ELF:
        return False
    if architecture.name == "arm":
        return not triple.startswith(("thumb", "armeb")) and triple.endswith("eabihf")
    return not triple.endswith(("x32", "ilp32"))
