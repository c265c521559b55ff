"""Calls of functions that sateen does not define. The name of a call tells their kinds apart.

extern.NAME   a C function: numbers and addresses as arguments, a number as result
packed.NAME   a function of the ABI (docs/design/abi.md): buffers and numbers as arguments, for its effect; in an
              expression it is a trace, whose value is that of its last argument
llvm.NAME     an intrinsic of LLVM
"""

from __future__ import annotations

import re

from sateen.runtime.dtype import DType
from sateen.tensor_ir.ir.stmt import For, Function
from sateen.tensor_ir.ir.visit import walk

EXTERN, PACKED, LLVM = "extern.", "packed.", "llvm."
INT = DType.of("int32")
"""C's int, which packed functions return."""
IMPORT = "import_llvm"
"""The pragma of a loop that brings LLVM text, which defines functions."""
_DEFINITION = re.compile(r'^define\b[^@\n]*@(?:"([^"\n]+)"|([-\w.$]+))\s*\(', re.MULTILINE)


def imported_texts(function: Function) -> tuple[str, ...]:
    """The LLVM texts that the loops of a function bring, each once."""
    loops = (n for n in walk(function.body) if isinstance(n, For))
    return tuple(dict.fromkeys(str(value) for loop in loops for key, value in loop.pragmas if key == IMPORT))


def defined_symbols(text: str) -> tuple[str, ...]:
    """The functions that LLVM text defines."""
    return tuple(quoted or plain for quoted, plain in _DEFINITION.findall(text))


def is_external(name: str) -> bool:
    """Whether a call of this name is one of a function that sateen does not define."""
    return name.startswith((EXTERN, PACKED, LLVM))


def function_name(name: str) -> str:
    """The function's own name in the name of a call."""
    return name.removeprefix(EXTERN).removeprefix(PACKED)


def symbol_of(name: str) -> str:
    """The symbol that a call refers to: for C a dot is an underscore."""
    return name if name.startswith(LLVM) else function_name(name).replace(".", "_")
