"""Languages without words for the mode of floating point refuse functions that want another one."""

from __future__ import annotations

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.ir.stmt import Function


def refuse_flushing(function: Function) -> Function:
    """The function as it is. Raises CodegenError for denormals to be flushed, which C and OpenCL C can't ask for."""
    if function.denormals == "flush":
        raise CodegenError(
            f"{function.name}: expected denormals to be kept, found denormals flush, which targets of kind llvm can do"
        )
    return function
