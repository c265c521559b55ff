"""What an instruction becomes in the code of a target: a small value for each way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VectorType:
    """LLVM's type of `lanes` elements of a kind such as i32."""

    kind: str
    lanes: int

    def __str__(self) -> str:
        return f"<{self.lanes} x {self.kind}>"


@dataclass(frozen=True, slots=True)
class VectorCall:
    """A call of `llvm.NAME` on the inputs, each as one vector; the result is the output.

    `operands` are the types that the call takes, `result` the one that it gives: of as many bits as the operands of the
    instruction. The processor needs all `features`.
    """

    name: str
    operands: tuple[VectorType, ...]
    result: VectorType
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatementText:
    """Statements of C, OpenCL C included, in a block of their own.

    In the text `$out` and the names of the inputs point to the first elements, `$int32` and the like are the dialect's
    types. Variables of its own begin with sateen_, which no name of a program does. As outputs may lie where inputs do,
    all of these are read before any of those is written.
    """

    text: str
