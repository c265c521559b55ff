"""The LLVM text of the default host."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.targets import ARCHITECTURES, System, architecture_named

_SERIAL = "serial"


def has_pool(triple: str) -> bool:
    """Whether the default host of a triple is a thread pool: for some architectures, on Linux."""
    return architecture_named(triple).host is not None and System.of(triple).has_threads


def has_host(triple: str) -> bool:
    """Whether there is a default host for a triple: a thread pool, or the serial host on systems other than Linux."""
    return has_pool(triple) or not System.of(triple).has_threads


def pool_symbols(triple: str, features: frozenset[str]) -> tuple[str, ...]:
    """The functions by which the loader of a library gives threads to its pool; none where the pool starts its own."""
    return ("sateen_pool_join",) if _has_threads_of_a_page(triple, features) else ()


def _has_threads_of_a_page(triple: str, features: frozenset[str]) -> bool:
    return System.of(triple) is System.WEBASSEMBLY and "atomics" in features


def host_text(triple: str, features: frozenset[str] = frozenset()) -> str:
    """LLVM text that defines `sateen_abi_version` and `sateen_default_host`, with a pool `sateen_pool_stop` or
    `pool_symbols` too, the rest internal.

    Loaders run `sateen_pool_stop` as a destructor; a JIT, which maps code in another way, calls it before unmapping.
    WebAssembly has a pool if `features` has atomics. Raises CodegenError for a triple without a host.
    """
    if has_pool(triple) or _has_threads_of_a_page(triple, features):
        return _text_of(architecture_named(triple).name)
    if not has_host(triple):
        known = [a.name for a in ARCHITECTURES.values() if a.host is not None]
        raise CodegenError(f"the thread pool is for {', '.join(known)} on Linux, not for {triple!r}")
    return _text_of(_SERIAL)


@cache
def _text_of(name: str) -> str:
    return files("sateen.tensor_ir.host").joinpath(f"{name}.ll").read_text(encoding="utf-8")
