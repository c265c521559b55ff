"""The LLVM text of the default host."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.targets import ARCHITECTURES, Architecture, System, architecture_named


def has_host(triple: str) -> bool:
    """Whether there is a default host for a triple: for some architectures, on Linux."""
    return architecture_named(triple).host is not None and System.of(triple) is System.LINUX


def host_text(triple: str) -> str:
    """LLVM text that defines `sateen_abi_version`, `sateen_default_host` and `sateen_pool_stop`, the rest internal.

    Loaders run `sateen_pool_stop` as a destructor; a JIT, which maps code in another way, calls it before unmapping.
    Raises CodegenError for a triple without one.
    """
    if not has_host(triple):
        known = [a.name for a in ARCHITECTURES.values() if a.host is not None]
        raise CodegenError(f"the thread pool is for {', '.join(known)} on Linux, not for {triple!r}")
    return _text_of(architecture_named(triple))


@cache
def _text_of(architecture: Architecture) -> str:
    return files("sateen.tensor_ir.host").joinpath(f"{architecture.name}.ll").read_text(encoding="utf-8")
