"""The code of an instruction for a target: a small value for each way to write it."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class StatementText:
    """Statements of C, OpenCL C included, in a block of their own.

    In the text `$out` and the names of the inputs point to the first elements, `$int32` and the like are the dialect's
    types. Its variables begin with sateen_, as no name of a program does. Since outputs may overlap inputs, all inputs
    are read before any output is written.
    """

    text: str
