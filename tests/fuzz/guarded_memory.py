"""Memory that nothing may touch directly before or behind an array."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

PROT_NONE = 0


def guarded(array: np.ndarray, at_end: bool) -> np.ndarray:
    """A copy that ends directly before a page without access, or begins directly behind one."""
    page = mmap.PAGESIZE
    size = -(-max(array.nbytes, 1) // page) * page
    memory = mmap.mmap(-1, size + 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for start in (address, address + page + size):
        if protect(ctypes.c_void_p(start), ctypes.c_size_t(page), PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = page + (size - array.nbytes if at_end else 0)
    copy = np.frombuffer(memory, array.dtype, array.size, offset).reshape(array.shape)
    copy[...] = array
    return copy
