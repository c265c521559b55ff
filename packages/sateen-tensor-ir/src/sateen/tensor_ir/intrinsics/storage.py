"""Whether a region of a buffer lies in memory as an operand of an instruction is declared, and with which strides."""

from __future__ import annotations

from collections.abc import MutableMapping
from math import gcd

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Const, Expr, Var
from sateen.tensor_ir.ir.stmt import Intrinsic, Region
from sateen.tensor_ir.ir.visit import substitute


def strides_of(s: Intrinsic[TensorIntrinsic], analyzer: Analyzer) -> dict[Var, Expr]:
    """The values of the variables among the declared strides of the operands.

    Raises CodegenError, which names the operand, for a region that lies in memory in another way than is declared, and
    for an input that is to be in place and is not the region of its output.
    """
    instruction, strides = s.instruction, dict[Var, Expr]()
    for declared, operand, region in zip(instruction.storage, instruction.operands, s.regions, strict=True):
        if reason := misfit(declared, region, strides, analyzer):
            raise CodegenError(f"intrinsic {instruction.name!r}, operand {operand.name!r}: expected {reason}")
    given = dict(zip(instruction.operands, s.regions, strict=True))
    for held, output in zip(instruction.in_place, instruction.outputs, strict=False):
        one, other = given[held], given[output]
        same = one.buffer is other.buffer and all(
            analyzer.form(i).same(analyzer.form(j)) for i, j in zip(one.indices, other.indices, strict=True)
        )
        if not same:
            raise CodegenError(
                f"intrinsic {instruction.name!r}, operand {held.name!r}: expected the region of output "
                f"{output.name!r}, which its code updates, found another one of {one.buffer.name!r}"
            )
    return strides


def misfit(declared: Buffer, region: Region, strides: MutableMapping[Var, Expr], analyzer: Analyzer) -> str:
    """What is expected of a region with the extents of `declared`, and what is found; '' if it fits.

    Adds the values of variables among the declared strides to `strides`.
    """
    held = [stride for stride, n in zip(region.buffer.stride_exprs(), region.extents, strict=True) if n != 1]
    wanted = [stride for stride, n in zip(declared.stride_exprs(), declared.shape, strict=True) if not _is_single(n)]
    for stride, actual in zip(wanted, held, strict=True):
        if isinstance(stride, Var):
            strides.setdefault(stride, actual)
        if not analyzer.form(substitute(stride, strides)).same(analyzer.form(actual)):
            return _other_strides(declared, region)
    for stride in declared.stride_exprs():  # of a single element, which is never multiplied
        if isinstance(stride, Var):
            strides.setdefault(stride, Const(0, stride.dtype))
    if declared.scope not in (Scope.GLOBAL, region.buffer.scope):
        found = f"{region.buffer.name!r} in {region.buffer.scope.value} memory"
        return f"{declared.scope.value} memory, found {found}; set_scope puts it there"
    alignment = _alignment(region, analyzer)
    if alignment % declared.alignment:
        return (
            f"a first element at a multiple of {declared.alignment} bytes, found one at a multiple of {alignment} of "
            f"{region.buffer.name!r}; declare its buffer with offset_factor=1, or the storage with a larger alignment"
        )
    return ""


def _is_single(extent: Expr) -> bool:
    return isinstance(extent, Const) and extent.value == 1


def _other_strides(declared: Buffer, region: Region) -> str:
    strides = ", ".join(map(str, region.buffer.stride_exprs()))
    found = f"found extents {list(region.extents)} of {region.buffer.name!r} with strides [{strides}]"
    if declared.strides is None:
        return f"elements one behind the other, {found}"
    return f"strides [{', '.join(map(str, declared.strides))}], {found}"


def _alignment(region: Region, analyzer: Analyzer) -> int:
    """The bytes of which the address of the first element is known to be a multiple."""
    common, rest = analyzer.modulus(analyzer.form(region.buffer.offset(region.indices)))
    return gcd(region.buffer.alignment, common * region.buffer.dtype.bytes, rest * region.buffer.dtype.bytes)
