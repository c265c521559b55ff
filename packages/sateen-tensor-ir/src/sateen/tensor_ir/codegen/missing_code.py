"""The error of code generators for instructions that they can't spell."""

from __future__ import annotations

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir.stmt import Intrinsic


def no_code(s: Intrinsic[TensorIntrinsic], function: str, target: str, needed: str = "") -> CodegenError:
    """The error of an emitter for an instruction without code, or whose code needs features that are `needed`."""
    remedy = f", only for processors with {needed}" if needed else ""
    return CodegenError(f"{function}: {target} has no code for intrinsic {s.instruction.name!r}{remedy}")
