"""What lowering and the oracle offer to an operation, which says by them what it becomes and what its values are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.stmt import Stmt

if TYPE_CHECKING:
    from sateen.tensor_ir.te.tensor import Operation, Tensor

Array = np.ndarray[Any, Any]


class NestBuilder(Protocol):
    """Lowering of one stage."""

    def loops(self) -> Stmt:
        """The stage's loops around its `body`, with the stages that are computed in them."""

    def program(self, statement: Stmt, buffers: Mapping[Buffer, Tensor]) -> Stmt:
        """A statement once, where its buffers are the storage of tensors."""


class Oracle(Protocol):
    """Evaluation of one operation, whose inputs have values."""

    def elements(self, op: Operation) -> list[Array]:
        """The outputs by `body`, for every point of `axis`."""

    def program(
        self, name: str, statement: Stmt, inputs: Sequence[tuple[Buffer, Tensor]], outputs: Sequence[Buffer]
    ) -> list[Array]:
        """What a statement writes to the buffers of outputs; errors call it by its name."""
