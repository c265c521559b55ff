"""The tile registers of x86-64 (AMX) under Linux: whether the system gives them to processes that ask.

/proc/cpuinfo names what the processor has. Older kernels, and some that run in containers of their own, don't keep the
state of tile registers, so that their first use would end the process (Linux, "Using XSTATE features in user space
applications").
"""

from __future__ import annotations

import ctypes

_ARCH_PRCTL = 158  # the number of the system call
_GET_SUPPORTED = 0x1021  # ARCH_GET_XCOMP_SUPP
_TILE_DATA = 1 << 18  # XFEATURE_XTILEDATA


def features_with_tiles(features: frozenset[str], states: int) -> frozenset[str]:
    """The features that /proc/cpuinfo names, without AMX where the system keeps other states of processes only."""
    return features if states & _TILE_DATA else frozenset(f for f in features if not f.startswith("amx-"))


def kept_states() -> int:
    """The states of registers that the system keeps for processes, a bit for each; 0 if it does not tell."""
    states = ctypes.c_uint64(0)
    failed = ctypes.CDLL(None).syscall(ctypes.c_long(_ARCH_PRCTL), ctypes.c_long(_GET_SUPPORTED), ctypes.byref(states))
    return 0 if failed else states.value
