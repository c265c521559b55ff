"""Operands of instructions for code generators: regions of consecutive elements."""

from __future__ import annotations

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir.stmt import Intrinsic, Region


def no_code(s: Intrinsic[TensorIntrinsic], function: str, target: str, needed: str = "") -> CodegenError:
    """The error of an emitter for an instruction without code, or whose code needs features that are `needed`."""
    remedy = f", only for processors with {needed}" if needed else ""
    return CodegenError(f"{function}: {target} has no code for intrinsic {s.instruction.name!r}{remedy}")


def require_contiguous(s: Intrinsic[TensorIntrinsic], analyzer: Analyzer) -> None:
    """Raise CodegenError, which names the operand, unless the elements of a region are consecutive."""
    for operand, region in zip(s.instruction.operands, s.regions, strict=True):
        if not _is_contiguous(region, analyzer):
            strides = ", ".join(map(str, region.buffer.stride_exprs()))
            raise CodegenError(
                f"intrinsic {s.instruction.name!r} expects the elements of operand {operand.name!r} one behind the "
                f"other, found extents {list(region.extents)} of {region.buffer.name!r} with strides [{strides}]"
            )


def _is_contiguous(region: Region, analyzer: Analyzer) -> bool:
    count = 1
    for extent, stride in zip(reversed(region.extents), reversed(region.buffer.stride_exprs()), strict=True):
        if extent != 1:
            if analyzer.constant(stride) != count:
                return False
            count *= extent
    return True
