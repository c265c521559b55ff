"""Loop nests for the bodies of te.extern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from sateen.tensor_ir.targets import SERIAL_ELEMENTS, WIDEST_VECTOR
from sateen.tensor_ir.te import Expr
from sateen.tensor_ir.te.ir_builder import IRBuilder
from sateen.topi.types import View


def vector_of(x: View) -> int:
    """The number of elements that a vector loop of an extern body moves at once; code generators divide them among
    registers."""
    return WIDEST_VECTOR // x.dtype.bytes


def loop_kind(work: int) -> str:
    """The kind of a loop of independent iterations in an extern body, by the number of elements that it processes."""
    return "parallel" if work >= SERIAL_ELEMENTS else "serial"


@contextmanager
def loops(ib: IRBuilder, shape: Sequence[int], lanes: int = 1, kind: str = "serial") -> Iterator[list[Expr]]:
    """A loop per extent around the block; the last in vectors of `lanes`, with its rest masked.

    `kind` is that of the outermost loop. Yields the indices.
    """
    index: list[Expr] = []
    with ExitStack() as stack:
        for d, extent in enumerate(shape):
            if d < len(shape) - 1 or lanes == 1 or extent < 2:
                index.append(stack.enter_context(ib.for_range(0, extent, f"i{d}", kind if d == 0 else "serial")))
                continue
            width = min(lanes, extent)
            outer = stack.enter_context(ib.for_range(0, -(-extent // width), f"i{d}o"))
            lane = stack.enter_context(ib.for_range(0, width, f"i{d}i", "vectorized"))
            index.append(outer * width + lane)
            if extent % width:
                stack.enter_context(ib.if_scope(index[-1] < extent))
        yield index
