"""The default host of a library: a fork-join pool with the C library's services, a pool whose threads a page starts, or
the serial host of machines without threads.

The sources of pools are C, host.c and wasm_pool.c. Libraries use the LLVM text next to them, which clang made of host.c
for each architecture, and of wasm_pool.c for WebAssembly. The serial host is one LLVM text for all architectures.
"""

from sateen.tensor_ir.host.text import has_host, has_pool, host_text, pool_symbols

__all__ = ["has_host", "has_pool", "host_text", "pool_symbols"]
