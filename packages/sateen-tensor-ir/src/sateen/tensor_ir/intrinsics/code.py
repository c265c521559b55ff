"""The code of an instruction for a target: a small value for each way to write it."""

from __future__ import annotations

from dataclasses import dataclass

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir.external import defined_symbols

_FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


@dataclass(frozen=True, slots=True)
class VectorType:
    """LLVM's type of `lanes` elements of a kind such as i32."""

    kind: str
    lanes: int

    @property
    def bits(self) -> int:
        """The size of an element."""
        return _FLOAT_BITS[self.kind] if self.kind in _FLOAT_BITS else int(self.kind[1:])

    def __str__(self) -> str:
        return f"<{self.lanes} x {self.kind}>"


@dataclass(frozen=True, slots=True)
class VectorCall:
    """A call of `llvm.NAME` on the inputs, each as one vector; the result is the output.

    `operands` are the types that the call takes, `result` the type that it gives; they have as many bits as the
    operands of the instruction. An operand with fewer bits is repeated until it fills its vector. The processor needs
    all `features`.
    """

    name: str
    operands: tuple[VectorType, ...]
    result: VectorType
    features: tuple[str, ...]


TILE_ROWS, TILE_ROW_BYTES = 16, 64
"""The size of a tile register of AMX."""


@dataclass(frozen=True, slots=True)
class TileCall:
    """A call of `llvm.x86.NAME.internal` on tile registers, for an instruction whose operands are whole tiles.

    They are the sums, the factors of their rows, and the factors of their columns. The processor needs all `features`.
    """

    name: str
    features: tuple[str, ...]


WARP_THREADS = 32
"""The threads of a warp of NVIDIA's processors."""


@dataclass(frozen=True, slots=True)
class WarpCall:
    """A step of a product of matrices that the 32 threads of a warp compute together: PTX's `wmma` (PTX ISA 9.7.15).

    `step` is "fill", "multiply" or "store". The sums are a *fragment*: each thread has a 32nd of its elements, in an
    order of the processor's own, so that nothing but such steps reads it. `factors` and `sums` are the processor's
    words for the types of elements, `layout` says whether elements of a row ("row") or of a column ("col") of the
    second factor are neighbours in memory. The processor needs all `features`.
    """

    step: str
    factors: str
    sums: str
    layout: str
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatementText:
    """Statements of C, OpenCL C included, in a block of their own.

    In the text `$out` and the names of the inputs point to the first elements, `$int32` and the like are the dialect's
    types. Its variables begin with sateen_, as no name of a program does. Since outputs may overlap inputs, all inputs
    are read before any output is written.
    """

    text: str


@dataclass(frozen=True, slots=True)
class FunctionText:
    """LLVM text that defines the function `name`, which is called with pointers to the first elements of the operands.

    Its parameters are a `ptr` for each output, one for each input that is no output before (`in_place`), and an `i64`
    for each stride of the operands that is a variable. Nothing else sees the functions that the text defines. The
    processor needs all `features`. Raises ExpressionError for a text that does not define the function.
    """

    name: str
    text: str
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        found = defined_symbols(self.text)
        if self.name not in found:
            raise ExpressionError(
                f"the LLVM text of function {self.name!r} expects 'define void @{self.name}(...)', found "
                f"{', '.join(found) or 'no definition'}"
            )
