"""An instruction on blocks of memory as one value: operands, its meaning in te, and its code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.interpret.elements import ElementOracle
from sateen.tensor_ir.intrinsics.call import body_of_call
from sateen.tensor_ir.intrinsics.code import FunctionText, StatementText, TileCall, VectorCall, WarpCall
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import Const
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.te.blocks import BlockBody
from sateen.tensor_ir.te.tensor import Operation, Tensor

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class TensorIntrinsic:
    """An instruction that reads `inputs`, placeholders of te, and writes `outputs`, which te computes from them.

    `llvm` lists its code for processors; the first whose features the processor has is used. `c99` and `opencl` are its
    code there. A target without any runs `body`, a statement over `buffers`, if there is one. All operands have
    constant shapes. `buffers` say how operands lie in memory, outputs first; without them all are compact. An input
    that is `in_place` is an output before it is written: both are one region and one buffer.

    A reduction that starts from nothing may also be done in steps: `reset` stores its identity, `update` combines what
    the outputs hold with more terms. Raises ExpressionError for a definition that is not made of te.compute, reads a
    tensor that is no input, or has a shape with a symbol, and for buffers of another number than operands.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    llvm: tuple[VectorCall | TileCall | FunctionText | WarpCall, ...] = ()
    c99: StatementText | None = None
    opencl: StatementText | None = None
    buffers: tuple[Buffer, ...] = ()
    body: Stmt | None = None
    in_place: tuple[Tensor, ...] = ()
    reset: TensorIntrinsic | None = None
    update: TensorIntrinsic | None = None

    def __post_init__(self) -> None:
        for tensor in self.operands:
            if not all(isinstance(extent, Const) for extent in tensor.shape):
                raise ExpressionError(
                    f"intrinsic {self.name!r} expects constant shapes, found {tensor.name}: {tensor.type}"
                )
        if len(self.buffers) != len(self.operands) and (self.buffers or self.body is not None):
            found = f"{len(self.buffers)} for {len(self.operands)} operands"
            raise ExpressionError(f"intrinsic {self.name!r} expects a buffer for each operand, found {found}")
        for op in self._operations():
            if not op.body and op.data is None and not set(op.outputs) <= set(self.inputs):
                raise ExpressionError(
                    f"intrinsic {self.name!r} expects a definition by te.compute from its inputs, found {op.name!r}"
                )

    def __repr__(self) -> str:
        return f"TensorIntrinsic({self.name})"

    def __call__(self, *operands: Any, reduce_axis: Any = None) -> BlockBody:
        """The body of a `te.compute` of which each block of the outputs is computed by this instruction.

        `operands` are blocks such as `A[i, 0:16]` for the inputs, without those that are states; `reduce_axis` are axes
        over which the blocks are combined. The function of the compute takes the indices of the block; the last
        dimensions of the shape are those of the block. The schedule begins with the instruction in the place of the
        loops over the block. Raises ExpressionError for operands that don't fit.
        """
        return body_of_call(self, operands, reduce_axis)

    @staticmethod
    def shape_of(operand: Tensor) -> tuple[int, ...]:
        """The shape of an operand."""
        return tuple(int(extent.value) for extent in operand.shape if isinstance(extent, Const))

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """The outputs, then the inputs."""
        return (*self.outputs, *self.inputs)

    @property
    def storage(self) -> tuple[Buffer, ...]:
        """`buffers`, or compact ones."""
        return self.buffers or tuple(Buffer(t.name, t.shape, t.dtype, alignment=t.dtype.bytes) for t in self.operands)

    @property
    def has_code(self) -> bool:
        """Whether any target has code for it."""
        return bool(self.llvm) or not (self.c99 is None and self.opencl is None and self.body is None)

    @property
    def by_warp(self) -> bool:
        """Whether the threads of a warp execute it together."""
        return any(isinstance(code, WarpCall) for code in self.llvm)

    def is_fragment(self, operand: Tensor) -> bool:
        """Whether the threads of a warp hold the operand in registers, each a part of it."""
        declared = dict(zip(self.operands, self.storage, strict=True))
        return self.by_warp and declared[operand].scope is Scope.WARP

    def code_for(self, features: frozenset[str]) -> VectorCall | TileCall | FunctionText | WarpCall | None:
        """The code for a processor with these features, by LLVM's names; None if it has too few for any."""
        return next((code for code in self.llvm if features.issuperset(code.features)), None)

    def evaluate(self, arrays: Mapping[Tensor, Array]) -> list[Array]:
        """The outputs of these inputs by definition, in the types of the outputs."""
        results = ElementOracle(arrays, {}, {}).values(self.outputs)
        return [result.astype(t.dtype.numpy) for result, t in zip(results, self.outputs, strict=True)]

    def _operations(self) -> list[Operation]:
        """All operations from which the outputs are computed."""
        found: dict[Operation, None] = {}
        waiting = [t.op for t in self.outputs]
        while waiting:
            op = waiting.pop()
            if op not in found:
                found[op] = None
                waiting += [t.op for t in op.inputs]
        return list(found)
