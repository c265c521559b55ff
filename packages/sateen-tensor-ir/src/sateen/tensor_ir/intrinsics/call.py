"""Calls of instructions as bodies of te.compute: each computes a block of the outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.intrinsics.element import element_of
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar, Var
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.visit import SharingRewriter, substitute
from sateen.tensor_ir.te.blocks import Block, BlockBody, block_of
from sateen.tensor_ir.te.tensor import Tensor


def body_of_call(instruction: Instruction, operands: Sequence[Any], reduce_axis: Any) -> BlockBody:
    """The body of a compute that has each block of its outputs from one instruction, by its definition.

    Raises ExpressionError for operands that don't fit the inputs, and for reduce axes of what is no reduction.
    """
    where = f"a call of {instruction.name!r}"
    element = element_of(instruction)
    inputs = [t for t in instruction.inputs if t not in element.states]
    blocks = [block_of(where, operand) for operand in operands]
    if len(blocks) != len(inputs):
        names = ", ".join(t.name for t in inputs)
        raise ExpressionError(f"{where} expects {len(inputs)} blocks ({names}), found {len(blocks)}")
    for t, block in zip(inputs, blocks, strict=True):
        expected = instruction.shape_of(t)
        if block.shape != expected or block.tensor.dtype != t.dtype:
            found = f"{block.tensor.dtype}{list(block.shape)} of {block.tensor.name!r}"
            raise ExpressionError(f"{where} expects {t.name!r} to be {t.dtype}{list(expected)}, found {found}")
    outer = () if reduce_axis is None else reduce_axis if isinstance(reduce_axis, (list, tuple)) else (reduce_axis,)
    for axis in outer:
        if not isinstance(axis, IterVar) or axis.kind is not AxisKind.REDUCE:
            raise ExpressionError(f"{where} expects axes made by te.reduce_axis, found {axis!r:.80}")
    if not element.axes and not element.reduce_axes:
        raise ExpressionError(f"{where} expects an instruction on blocks of more than one element")
    if outer and element.combiner is None:
        raise ExpressionError(f"{where} expects no reduce_axis, since it computes element by element")
    reads = _Elements(dict(zip(inputs, blocks, strict=True)))

    def elements(axes: Sequence[IterVar]) -> tuple[Expr, ...]:
        inner = tuple(IterVar(a.name, extent=a.extent, kind=a.kind) for a in element.reduce_axes)
        values: dict[Var, Expr] = dict(zip((*element.axes, *element.reduce_axes), (*axes, *inner), strict=True))
        *terms, condition = (reads.rewrite(substitute(e, values)) for e in (*element.terms, element.where))
        combiner = element.combiner
        if combiner is None:
            return tuple(terms)
        over = (*outer, *inner)
        return tuple(Reduce(combiner, tuple(terms), over, condition, i, e.dtype) for i, e in enumerate(terms))

    return BlockBody(instruction, element.axes, len(element.reduce_axes), elements)


class _Elements(SharingRewriter):
    """Elements of blocks in the place of those of inputs."""

    def __init__(self, blocks: Mapping[Tensor, Block]) -> None:
        super().__init__()
        self.blocks = blocks

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        return self.blocks[e.tensor].element([self.rewrite(i) for i in e.indices])
