"""LLVM's state that exists once per process, and that others in the process may use, too: its lock, targets and
options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import TypeVar

import llvmlite.binding as llvm
from llvmlite.binding import ffi

LLVM_LOCK = ffi.lib._lock
"""llvmlite's own reentrant lock, which each of its calls takes: its holder has exclusive use of LLVM."""

Made = TypeVar("Made")

_NO_HOISTING = "-disable-machine-licm"
_LOOP = """
define void @multiply_often(ptr %place, i64 %a, i64 %b) {
entry:
  br label %next
next:
  %product = mul i64 %a, %b
  store volatile i64 %product, ptr %place
  br label %next
}
"""


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """A function that calls `make` once for the process, with exclusive use of LLVM; concurrent threads get the same
    result."""
    made = cache(make)

    @wraps(make)
    def call() -> Made:
        with LLVM_LOCK:
            return made()

    return call


@once
def initialise() -> None:
    """Initialise LLVM's targets. From then on a fork waits until no thread is inside LLVM, so that the child can use
    it."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=LLVM_LOCK.__enter__, after_in_parent=_leave, after_in_child=_leave)


def _leave() -> None:
    LLVM_LOCK.__exit__(None, None, None)


@contextmanager
def without_hoisting() -> Iterator[None]:
    """A block during which LLVM moves no code out of loops, and no other thread is inside LLVM.

    That is an option of the process. LLVM does not report its previous value, but code for a loop shows it.
    """
    with LLVM_LOCK:
        found = _loop_code()
        try:
            llvm.set_option("sateen", f"{_NO_HOISTING}=true")
            yield
        finally:
            llvm.set_option("sateen", f"{_NO_HOISTING}=false")
            if _loop_code() != found:
                llvm.set_option("sateen", f"{_NO_HOISTING}=true")


def _loop_code() -> bytes:
    """Machine code of a loop with the present options of the process."""
    machine, module = _loop()
    return bytes(machine.emit_object(module))


@cache
def _loop() -> tuple[llvm.TargetMachine, llvm.ModuleRef]:
    return llvm.Target.from_default_triple().create_target_machine(opt=1), llvm.parse_assembly(_LOOP)
