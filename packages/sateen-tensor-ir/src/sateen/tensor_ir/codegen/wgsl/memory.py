"""Elements of memory in WGSL: words of storage that bindings give, and arrays of values.

A binding is an array of words of 32 bits, whatever the elements: places of one block of memory then may share a
binding, which WebGPU demands where one of them is written (docs/design/devices.md). Elements of 8 and 16 bits are parts
of words. A thread replaces its part in one step, so that threads which store to other parts of a word don't disturb it.
"""

from __future__ import annotations

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir.codegen.c_family.literals import ADD, MULTIPLY, NAME, Code
from sateen.tensor_ir.codegen.c_family.translation_unit import TranslationUnit
from sateen.tensor_ir.codegen.wgsl import routines
from sateen.tensor_ir.codegen.wgsl.routines import is_signed
from sateen.tensor_ir.codegen.wgsl.values import Values, literal
from sateen.tensor_ir.functions.spelling import Routine
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import Store


class Memory(Values):
    """Loads and stores of one kernel.

    `prefix` begins the names of its bindings; the variable of that name has the number of the first word of each
    buffer in its binding.
    """

    def __init__(self, unit: TranslationUnit, kernel: Kernel, prefix: str) -> None:
        super().__init__(unit, frozenset(), kernel.name)
        self.kernel = kernel
        self.prefix = prefix
        self.is_atomic = any(is_part_of_word(b.dtype) for b in kernel.outputs)
        """Whether all words are atomic: some are stored in parts, and places may share a binding."""

    def load(self, e: Load) -> Code:
        buffer = e.buffer
        if buffer.data is not None:
            return self._constant_element(e)
        if buffer not in self.kernel.buffers:
            return Code(self.element(buffer, e.indices))
        dtype, at = buffer.dtype, self._offset(buffer, e.indices)
        if dtype.bits == 64:
            first = self._fixed_place(buffer, 2, at)
            return Code(f"vec2<u32>({self._word(buffer, first.text)}, {self._word(buffer, f'{first.text} + 1')})")
        if dtype.bits == 32:
            word = self._word(buffer, self._place(buffer, 1, at).text)
            return Code(word if dtype == _UINT32 else f"bitcast<{self.value_type(dtype)}>({word})")
        return self._part(buffer, self._fixed_place(buffer, 0, at))

    def _part(self, buffer: Buffer, at: Code) -> Code:
        """The element of 8 or 16 bits at a place that counts these."""
        dtype, bits = buffer.dtype, _stored_bits(buffer.dtype)
        word = self._word(buffer, f"{at.text} >> {_SHIFT[bits]}u")
        begin = f"(u32({at.text}) & {32 // bits - 1}u) * {bits}u"
        if dtype.is_int and is_signed(dtype):
            return Code(f"extractBits(bitcast<i32>({word}), {begin}, {bits}u)")
        part = f"extractBits({word}, {begin}, {bits}u)"
        if dtype.is_bool:
            return Code(f"({part} != 0u)")
        return Code(f"{self.unit.require(routines.unpack(dtype))}({part})" if dtype.is_float else part)

    def _word(self, buffer: Buffer, place: str) -> str:
        word = f"{self.name(buffer)}[{place}]"
        return f"atomicLoad(&{word})" if self.is_atomic else word

    def _offset(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Code:
        self.value_type(buffer.dtype if not is_half(buffer.dtype) else _FLOAT32)
        return self._subscript(buffer, indices)

    def _subscript(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Code:
        """The number of an element as an i32: memory has fewer elements."""
        return self.converted(self.code(buffer.offset(indices)), self.index, _INT32)

    def _place(self, buffer: Buffer, words: int, at: Code) -> Code:
        """Where an element begins, in words; with 0 `words`, which are those of an element, in elements."""
        first = f"{self.prefix}.{self.identifiers.of(buffer)}"
        if words == 1:
            return Code(f"{first} + {at.within(ADD)}", ADD)
        if words == 2:
            return Code(f"{first} + 2 * {at.within(MULTIPLY + 1)}", ADD)
        return Code(f"{first} * {32 // _stored_bits(buffer.dtype)} + {at.within(ADD)}", ADD)

    def _fixed_place(self, buffer: Buffer, words: int, at: Code) -> Code:
        """The same as a constant, since it is used more than once."""
        return self.constant("at", "i32", self._place(buffer, words, at))

    def element(self, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
        """An element of an array of values."""
        self.array_type(buffer)
        return f"{self.name(buffer)}[{self._subscript(buffer, indices).text}]"

    def store(self, s: Store) -> None:
        buffer, dtype = s.buffer, s.buffer.dtype
        if buffer not in self.kernel.buffers:
            value = self._rounded(self.code(s.value), dtype) if is_half(dtype) else self.code(s.value)
            self.line(f"{self.element(buffer, s.indices)} = {value.text};")
            return
        value, at = self.code(s.value), self._offset(buffer, s.indices)
        if dtype.bits == 64:
            long = self.constant("t", self.value_type(dtype), value) if value.level != NAME else value
            first = self._fixed_place(buffer, 2, at)
            self._assign(buffer, first.text, f"{long.text}.x")
            self._assign(buffer, f"{first.text} + 1", f"{long.text}.y")
        elif dtype.bits == 32:
            word = value.text if dtype == _UINT32 else f"bitcast<u32>({value.within(ADD)})"
            self._assign(buffer, self._place(buffer, 1, at).text, word)
        else:
            self._replace(buffer, self._fixed_place(buffer, 0, at).text, self._stored(value, dtype))

    def _assign(self, buffer: Buffer, place: str, word: str) -> None:
        element = f"{self.name(buffer)}[{place}]"
        self.line(f"atomicStore(&{element}, {word});" if self.is_atomic else f"{element} = {word};")

    def _stored(self, value: Code, dtype: DType) -> str:
        """The bits of an element of 8 or 16 bits, in the low bits of a word."""
        if dtype.is_float:
            return f"{self.unit.require(routines.pack(dtype))}({value.within(ADD)})"
        return value.text if dtype.is_int and not is_signed(dtype) else f"u32({value.within(ADD)})"

    def _replace(self, buffer: Buffer, at: str, value: str) -> None:
        """Exchange a part of a word until no other thread has changed the word meanwhile."""
        bits = _stored_bits(buffer.dtype)
        word = f"{self.name(buffer)}[{at} >> {_SHIFT[bits]}u]"
        part, old, seen = (self.identifiers.fresh(wish) for wish in ("part", "old", "seen"))
        self.fixed("u32", part, value)
        self.variable("u32", old, f"atomicLoad(&{word})")
        with self.braces("loop"):
            new = f"insertBits({old}, {part}, (u32({at}) & {32 // bits - 1}u) * {bits}u, {bits}u)"
            self.line(f"let {seen} = atomicCompareExchangeWeak(&{word}, {old}, {new});")
            self.line(f"if ({seen}.exchanged) {{ break; }}")
            self.line(f"{old} = {seen}.old_value;")

    # Arrays of values.

    def array_type(self, buffer: Buffer) -> str:
        """The type of an array that holds a buffer's values."""
        value = self.value_type(_FLOAT32 if is_half(buffer.dtype) else buffer.dtype)
        return f"array<{value}, {self.constant_size(buffer)}>"

    def array(self, name: str, buffer: Buffer) -> None:
        self.line(f"var {name}: {self.array_type(buffer)};")

    def _constant_element(self, e: Load) -> Code:
        element = self.element(e.buffer, e.indices)
        return Code(f"bitcast<f32>({element})") if _is_by_bits(e.buffer) else Code(element)


def constant_array(name: str, buffer: Buffer) -> str:
    """The definition of a constant buffer. One with NaN or infinities, which no constant of WGSL may be, has the bits
    of its numbers."""
    assert buffer.data is not None
    values = np.ascontiguousarray(buffer.data).ravel()
    size = max(values.size, 1)
    if _is_by_bits(buffer):
        listed = [f"{bits:#x}u" for bits in values.astype(np.float32).view(np.uint32).tolist()]
        return _definition(f"var<private> {name}: array<u32, {size}>", f"array<u32, {size}>", listed)
    type_ = routines.TYPES[str(_FLOAT32 if is_half(buffer.dtype) else buffer.dtype)]
    listed = [literal(value, buffer.dtype, _refused).text for value in values.tolist()]
    return _definition(f"const {name}", f"array<{type_}, {size}>", listed)


def _definition(head: str, type_: str, values: list[str]) -> str:
    rows = ",\n".join(f"  {', '.join(values[i : i + 8])}" for i in range(0, len(values), 8))
    return f"{head} = {type_}(\n{rows}\n);" if values else f"{head} = {type_}();"


def _refused(routine: Routine) -> str:
    raise AssertionError(f"a constant array calls {routine.name}")


def _is_by_bits(buffer: Buffer) -> bool:
    assert buffer.data is not None
    return buffer.dtype.is_float and not np.isfinite(buffer.data.astype(np.float32)).all()


def is_half(dtype: DType) -> bool:
    """Whether a type is a float of 16 bits, which is computed as float32."""
    return dtype.is_float and dtype.bits == 16


def is_part_of_word(dtype: DType) -> bool:
    """Whether elements take less than a word of memory."""
    return dtype.bytes < 4


def _stored_bits(dtype: DType) -> int:
    return 8 * dtype.bytes


_FLOAT32, _UINT32, _INT32 = map(DType.of, ("float32", "uint32", "int32"))
_SHIFT = {8: 2, 16: 1}
"""By how many bits the number of an element is shifted to give that of its word."""
