"""What the scripts of one call share, and what they may call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sateen.tensor_ir.hybrid.definition import Definition
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.span import Span
from sateen.tensor_ir.te.ir_builder import BufferPointer, IRBuilder
from sateen.tensor_ir.te.tensor import Tensor


@dataclass(slots=True, eq=False)
class Program:
    """The statements so far, the tensors that they read, and their memory."""

    inputs: dict[Tensor, BufferPointer] = field(default_factory=dict)
    memory: set[Buffer] = field(default_factory=set)
    results: set[Buffer] = field(default_factory=set)
    """The memory among it that may be returned."""
    constants: dict[int, tuple[np.ndarray[Any, Any], Tensor]] = field(default_factory=dict)
    place: Span | None = None
    builder: IRBuilder = field(init=False)

    def __post_init__(self) -> None:
        self.builder = IRBuilder(lambda: self.place)

    def read(self, tensor: Tensor) -> BufferPointer:
        """The elements of a tensor, as an input."""
        if tensor not in self.inputs:
            self.inputs[tensor] = self.builder.buffer_ptr(Buffer(tensor.name, tensor.shape, tensor.dtype))
        return self.inputs[tensor]


class Callee:
    """What a script calls in its place: anything with a definition."""

    __slots__ = ("definition",)

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
