"""Addresses: flat offsets as linear forms, evaluated with unrolled loops constant and hoisted by depth."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.arith import Linear
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, literal, pointer_type, scalar_type, storage_type
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import Const, Expr, Var
from sateen.tensor_ir.ir.stmt import Prefetch, Store

Terms = tuple[tuple[LlvmValue, int], ...]


class Addresses:
    """Turns accesses of buffers into pointers.

    `value` gives the operand of an expression, `outside` the address of a buffer from outside the function.
    """

    def __init__(
        self,
        writer: FunctionWriter,
        environment: Environment,
        value: Callable[[Expr], LlvmValue],
        outside: Callable[[Buffer], LlvmValue],
    ) -> None:
        self.writer = writer
        self.environment = environment
        self.value = value
        self.outside = outside
        self.base: dict[Buffer, LlvmValue] = {}
        """The addresses of first elements."""
        self._offsets: dict[int, tuple[Any, Linear]] = {}
        self._divisors: dict[str, int] = {}
        """Numbers that divide values of terms, by their names."""

    def offset_form(self, access: Load | Store | Prefetch) -> Linear:
        """The flat offset of an access, in elements, over loop variables."""
        known = self._offsets.get(id(access))
        if known is None:
            form = self.environment.analyzer.form(access.buffer.offset(access.indices))
            known = self._offsets[id(access)] = (access, form)
        return known[1]

    def lane_stride(self, form: Linear) -> int | None:
        """The distance of the offset from lane to lane; None if that is not one number."""
        if self.environment.lane is None:
            return 0
        for atom in form.terms:
            if atom is not self.environment.lane and self.environment.depends_on_lane(atom):
                return None
        return form.terms.get(self.environment.lane, 0)

    def evaluate(self, form: Linear) -> tuple[int, Terms]:
        """The form with known variables substituted: a constant and the remaining terms, without that of the lane."""
        constant = form.constant
        terms: dict[str, tuple[LlvmValue, int]] = {}
        for atom, coefficient in form.terms.items():
            if atom is self.environment.lane:
                continue
            value = (
                self.environment.variables[atom]
                if isinstance(atom, Var) and atom in self.environment.variables
                else self.value(atom)
            )
            if value.literal is not None:
                constant += int(value.literal) * coefficient
            else:
                self._divisors[value.text] = self.environment.analyzer.divisor(Linear(0, {atom: 1}))
                known = terms.get(value.text, (value, 0))
                terms[value.text] = (value, known[1] + coefficient)
        return constant, tuple(sorted(terms.values(), key=lambda t: (self.writer.depth_of(t[0]), t[0].text)))

    def pointer(self, buffer: Buffer, constant: int, terms: Terms) -> LlvmValue:
        """Address of the element at constant + Σ terms; each term is added where its variable is defined, after the
        memory is there.

        A loop's values from outside are frozen, so that LLVM's strength reduction takes them as given: its search over
        all ways to write the sums of a whole nest took most of a convolution's compile time.
        """
        base = self._elements(buffer)
        first = self.writer.depth_of(base)
        kind = storage_type(buffer.dtype)
        place = base
        key: tuple[Any, ...] = (base.text,)
        position = 0
        while position < len(terms):
            scope = max(self.writer.depth_of(terms[position][0]), first)
            group: list[tuple[LlvmValue, int]] = []
            while position < len(terms) and max(self.writer.depth_of(terms[position][0]), first) == scope:
                group.append(terms[position])
                position += 1
            key = (*key, *((v.text, c) for v, c in group))
            cache = self.writer.scopes[min(scope, len(self.writer.scopes) - 1)].pointers
            if key not in cache:
                total = self.writer.product(*group[0])
                for value, coefficient in group[1:]:
                    total = self.writer.sum(total, self.writer.product(value, coefficient))
                address = self.writer.emit_at(scope, f"getelementptr {kind}, {place.typed}, {total.typed}", base.kind)
                if scope < len(self.writer.scopes) - 1 and self.writer.module.freezes_addresses:
                    address = self.writer.emit_at(scope, f"freeze {address.typed}", base.kind)
                cache[key] = address
            place = cache[key]
        if constant == 0:
            return place
        last = self.writer.scopes[-1].pointers
        if (key, constant) not in last:
            step = f"getelementptr {kind}, {place.typed}, i64 {constant}"
            last[(key, constant)] = self.writer.emit(step, base.kind)
        return last[(key, constant)]

    def alignment(self, buffer: Buffer, constant: int, terms: Terms) -> int:
        """The number of bytes of which the address is known to be a multiple."""
        size = buffer.dtype.bytes
        steps = gcd(buffer.alignment, constant * size, *(c * size * self._divisors.get(v.text, 1) for v, c in terms))
        return steps & -steps

    def _elements(self, buffer: Buffer) -> LlvmValue:
        """The address of the first element. Raises CodegenError for memory of a device, which has none here."""
        if buffer.on_device is not None:
            raise CodegenError(f"an element of {buffer.name!r} is accessed, which is in memory of {buffer.on_device}")
        return self.base_pointer(buffer)

    def base_pointer(self, buffer: Buffer) -> LlvmValue:
        """The address of the buffer's first element."""
        known = self.base.get(buffer)
        if known is None:
            known = self.outside(buffer) if buffer.data is None else self.constant_data(buffer)
            self.base[buffer] = known
        return known

    def constant_data(self, buffer: Buffer) -> LlvmValue:
        """The address of the module's constant that holds the buffer's data."""
        module = self.writer.module
        return LlvmValue(module.constant(buffer), pointer_type(module.constant_space), is_global=True)

    def literal_element(self, access: Load) -> LlvmValue | None:
        """The element of constant data at literal indices."""
        data = access.buffer.data
        form = self.offset_form(access)
        if data is None or (self.environment.lane is not None and self.lane_stride(form) != 0):
            return None
        constant, terms = self.evaluate(form)
        if terms:
            return None
        return literal(data.reshape(-1)[constant].item(), scalar_type(access.dtype))

    def lane_pointers(self, access: Load | Store) -> LlvmValue:
        """One address per lane."""
        offsets = self.writer.splat(
            self.value(self.environment.analyzer.expr(self.offset_form(access))), self.environment.width
        )
        base = self._elements(access.buffer)
        kind = storage_type(access.buffer.dtype)
        return self.writer.emit(
            f"getelementptr {kind}, {base.typed}, {offsets.typed}", base.kind, self.environment.width
        )

    def is_in_bounds(self, access: Load) -> bool:
        """Whether the access is within its buffer for all values of the loops, so that it may run unconditionally."""
        for index, extent in zip(access.indices, access.buffer.shape, strict=True):
            low, high = self.environment.analyzer.interval(self.environment.analyzer.form(index))
            if low is None or high is None or low < 0 or not isinstance(extent, Const) or high >= extent.value:
                return False
        return True
