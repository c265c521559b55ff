"""The default host of a library: a fork-join pool with the C library's services, or the serial host of machines without
threads.

The source of the pool is C, host.c. Libraries use the LLVM text next to it, which clang made of that for each
architecture. The serial host is one LLVM text for all architectures.
"""

from sateen.tensor_ir.host.text import has_host, has_pool, host_text

__all__ = ["has_host", "has_pool", "host_text"]
