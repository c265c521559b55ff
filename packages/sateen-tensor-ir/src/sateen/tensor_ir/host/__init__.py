"""The default host of a library: a fork-join pool, the C library's allocator, and a log to standard error.

Its source is C, host.c. Libraries use the LLVM text next to it, which clang made of that for each architecture.
"""

from sateen.tensor_ir.host.text import has_host, host_text

__all__ = ["has_host", "host_text"]
