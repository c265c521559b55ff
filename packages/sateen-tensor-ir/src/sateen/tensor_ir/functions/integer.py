"""Functions of the bits of integers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir.functions.function import Array, Domain, MathFunction, NumberKind, OperandTypes
from sateen.tensor_ir.functions.spelling import (
    InfixOperator,
    LibraryFunction,
    LlvmInstruction,
    LlvmIntrinsic,
    Routine,
    RoutineCall,
)
from sateen.tensor_ir.ir.types import wrap

_TWO_INTEGERS = OperandTypes(NumberKind.INTEGER, 2)
_AMOUNT = Domain(1, "an amount", lambda dtype: range(dtype.bits))


def _bitwise(
    name: str, meaning: str, function: np.ufunc, exact: Callable[..., int], word: str, symbol: str
) -> MathFunction:
    return MathFunction(
        name,
        meaning,
        _TWO_INTEGERS,
        function,
        exact=lambda dtype: exact,
        llvm=LlvmInstruction(word, word),
        c99=InfixOperator(symbol),
        opencl=InfixOperator(symbol),
        wgsl=InfixOperator(symbol),
    )


bitwise_and = _bitwise(
    "bitwise_and", "The bits that are set in both integers.", np.bitwise_and, operator.and_, "and", "&"
)
bitwise_or = _bitwise("bitwise_or", "The bits that are set in either integer.", np.bitwise_or, operator.or_, "or", "|")
bitwise_xor = _bitwise(
    "bitwise_xor", "The bits that are set in one integer alone.", np.bitwise_xor, operator.xor, "xor", "^"
)

shift_left = MathFunction(
    "shift_left",
    "x·2^y, wrapped; y in [0, bits).",
    _TWO_INTEGERS,
    np.left_shift,
    exact=lambda dtype: lambda x, y: wrap(x << y, dtype),
    domain=_AMOUNT,
    llvm=LlvmInstruction("shl", "shl"),
    c99=InfixOperator("<<", wraps=True),
    opencl=InfixOperator("<<", wraps=True),
    wgsl=InfixOperator("<<", wraps=True),
)

shift_right = MathFunction(
    "shift_right",
    "⌊x / 2^y⌋; y in [0, bits).",
    _TWO_INTEGERS,
    np.right_shift,
    exact=lambda dtype: operator.rshift,
    domain=_AMOUNT,
    llvm=LlvmInstruction("ashr", "lshr"),
    c99=InfixOperator(">>"),
    opencl=InfixOperator(">>"),
    wgsl=InfixOperator(">>"),
)


def _count_bits(x: Array) -> Array:
    x = np.asarray(x)
    return np.asarray(np.bitwise_count(x.view(f"uint{8 * x.itemsize}"))).astype(x.dtype)


def _count_bits_of_one(dtype: DType) -> Callable[[Any], int]:
    return lambda x: (x & ((1 << dtype.bits) - 1)).bit_count()


_POPCOUNT = Routine("sateen_popcount", """
$int32 sateen_popcount($uint64 x) {
  $int32 count = 0;
  for (; x != 0; x &= x - 1) ++count;
  return count;
}""")  # fmt: skip

popcount = MathFunction(
    "popcount",
    "The number of bits set in an integer.",
    OperandTypes(NumberKind.INTEGER),
    _count_bits,
    exact=_count_bits_of_one,
    llvm=LlvmIntrinsic("ctpop"),
    c99=RoutineCall(_POPCOUNT),
    opencl=RoutineCall(_POPCOUNT),
    wgsl=LibraryFunction("countOneBits"),
)
