"""Languages that can't set the floating-point mode refuse functions that need another mode."""

from __future__ import annotations

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.ir.stmt import Function


def refuse_flushing(function: Function) -> Function:
    """The function as it is. Raises CodegenError for denormals to flush, which C and OpenCL C can't express."""
    if function.denormals == "flush":
        raise CodegenError(
            f"{function.name}: expected denormals to be kept, found denormals flush, which targets of kind llvm can do"
        )
    return function
