"""The calls of the C library that a linked library may make, and the library of a system that has each."""

from collections.abc import Mapping
from types import MappingProxyType

_LIBC = (
    "aligned_alloc close free madvise malloc memcpy memmove memset mmap munmap open posix_memalign "
    "pthread_sigmask read sched_getaffinity sched_getcpu snprintf strcspn strlen strncmp strtol syscall write writev"
)
_LIBM = (
    "acos asin atan atan2 ceil cos erf exp exp2 fabs floor fma fmod log log10 log2 pow rint round sin sqrt tan tanh "
    "trunc"
)

C_LIBRARY: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(_LIBC.split(), "libc.so.6")
    | dict.fromkeys(("pthread_create", "pthread_join", "pthread_setaffinity_np"), "libpthread.so.0")
    | dict.fromkeys((name + suffix for name in _LIBM.split() for suffix in ("", "f")), "libm.so.6")
)
"""The symbols that a library may import, with their libraries: calls of the C library on Linux. glibc had a separate
library for threads until 2.34."""

MUSL: Mapping[str, str] = MappingProxyType(dict.fromkeys(C_LIBRARY, "libc.so"))
"""The same for musl, which is one library."""
BIONIC: Mapping[str, str] = MappingProxyType(
    {name: "libm.so" if library == "libm.so.6" else "libc.so" for name, library in C_LIBRARY.items()}
)
"""The same for Android, whose library of C has the threads."""
