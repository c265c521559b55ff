"""Calls of functions that sateen does not define. The name of a call tells their kinds apart.

extern.NAME   a C function: numbers and addresses as arguments, a number as result
packed.NAME   a function of the ABI (docs/design/abi.md): buffers and numbers as arguments, for its effect
llvm.NAME     an intrinsic of LLVM
"""

from __future__ import annotations

EXTERN, PACKED, LLVM = "extern.", "packed.", "llvm."


def is_external(name: str) -> bool:
    """Whether a call of this name is one of a function that sateen does not define."""
    return name.startswith((EXTERN, PACKED, LLVM))


def function_name(name: str) -> str:
    """The function's own name in the name of a call."""
    return name.removeprefix(EXTERN).removeprefix(PACKED)


def symbol_of(name: str) -> str:
    """The symbol that a call refers to: for C a dot is an underscore."""
    return name if name.startswith(LLVM) else function_name(name).replace(".", "_")
