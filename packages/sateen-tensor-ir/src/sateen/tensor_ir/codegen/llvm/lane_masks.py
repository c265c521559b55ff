"""Masks of lanes: which lanes of a vectorized loop take part."""

from __future__ import annotations

from sateen.tensor_ir.arith import Linear
from sateen.tensor_ir.codegen.llvm.addresses import Addresses
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, like, literal, vector_literal
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.visit import walk


class LaneMasks:
    """Masks from comparisons with the lane, and from other masks."""

    def __init__(self, writer: FunctionWriter, environment: Environment, addresses: Addresses) -> None:
        self.writer = writer
        self.environment = environment
        self.addresses = addresses

    def where(self, e: ex.Compare) -> LlvmValue | None:
        """A linear comparison with the lane as 32-bit lane numbers against one limit; None for other conditions."""
        difference = self.environment.analyzer.slack(e)
        stride = None if difference is None else self.addresses.lane_stride(difference)
        if difference is None or stride is None or stride == 0 or self._may_be_huge(difference):
            return None
        constant, terms = self.addresses.evaluate(difference)
        if not terms:
            return vector_literal([literal(constant + stride * i >= 0, "i1") for i in range(self.environment.width)])
        if abs(stride) != 1:
            return None
        index = self.writer.index
        total: LlvmValue = literal(constant if stride == -1 else -constant, index)
        for value, coefficient in terms:
            total = self.writer.sum(self.writer.product(value, coefficient if stride == -1 else -coefficient), total)
        bottom = self.writer.emit(self.writer.intrinsic("smax", index, total, literal(-1, index)), index)
        limit = self.writer.emit(
            self.writer.intrinsic("smin", index, bottom, literal(self.environment.width, index)), index
        )
        narrow = self.writer.splat(self.writer.resized(limit, "i32"), self.environment.width)
        numbers = f"<{', '.join(f'i32 {i}' for i in range(self.environment.width))}>"
        return self.writer.emit(
            f"icmp {'sle' if stride == -1 else 'sge'} <{self.environment.width} x i32> {numbers}, {narrow.text}",
            "i1",
            self.environment.width,
        )

    def _may_be_huge(self, form: Linear) -> bool:
        """Whether data in a form may be so large that the form overflows, although nothing in the program does."""
        for atom in form.terms:
            if any(isinstance(n, ex.Cast) for n in walk(atom)):
                low, high = self.environment.analyzer.atom_interval(atom)
                if low is None or high is None or max(-low, high) >> 62:
                    return True
        return False

    def both(self, one: LlvmValue | None, other: LlvmValue) -> LlvmValue:
        """A mask narrowed by another; None is all lanes."""
        if one is None:
            return other
        if one.elements is not None and other.elements is not None:
            return vector_literal([literal(a and b, "i1") for a, b in zip(one.elements, other.elements, strict=True)])
        return self.writer.binary("and", one, other)

    def inverted(self, mask: LlvmValue) -> LlvmValue:
        """The lanes that a mask leaves out."""
        if mask.elements is not None:
            return vector_literal([literal(not lane, "i1") for lane in mask.elements])
        return self.writer.emit(f"xor {mask.typed}, {like(mask, True).text}", "i1", mask.lanes)
