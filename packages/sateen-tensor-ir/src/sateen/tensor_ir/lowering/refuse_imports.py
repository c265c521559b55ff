"""Refuse LLVM text where another compiler than LLVM makes the code."""

from __future__ import annotations

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.ir.external import imported_texts
from sateen.tensor_ir.ir.stmt import Function


def refuse_imports(function: Function) -> Function:
    """The same function. Raises CodegenError if a loop has the pragma `import_llvm`."""
    if imported_texts(function):
        raise CodegenError(
            f"{function.name}: expected a target of kind llvm for the LLVM text of the pragma import_llvm; give "
            "another compiler a function of C, by te.call_extern alone"
        )
    return function
