"""What a function of Thumb takes of the stack, and what it calls, as its instructions say.

LLVM moves the stack pointer by constants where a function begins and around calls, rounds it down to a power of two for
storage of that alignment, and takes it back from a frame pointer at the end. All moves downwards are added, so that the
sum is the most that the function takes. Source: Armv7-M Architecture Reference Manual, chapters A5 and A7; data between
instructions is marked as in ELF for the Arm Architecture, "Mapping symbols".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from sateen.tensor_ir.link.object_file import Relocation, Section, Symbol

_STACK, _LINK, _PROGRAM = 13, 14, 15
_FRAME_POINTERS = (7, 11)
_WORD = 4


@dataclass(frozen=True, slots=True)
class Frame:
    """A function's own bytes of the stack, None where they can't be known, and what it calls: symbols, or places in its
    own section."""

    bytes: int | None
    calls: tuple[Symbol | int, ...]


def frame_of(function: Symbol, marks: Collection[tuple[int, bool]], relocations: Mapping[int, Relocation]) -> Frame:
    """The frame of a function in its section, whose `relocations` are by offset. `marks` are the offsets at which
    instructions (true) and data (false) begin."""
    assert function.section is not None
    reader = _Reader(function.section, function.value, function.value + function.size, relocations)
    data = _data_in(marks, function.value, reader.end)
    place = function.value
    while place < reader.end:
        place = data[place] if place in data else reader.read(place)
    return Frame(reader.bytes if reader.is_known else None, tuple(reader.calls))


def _data_in(marks: Collection[tuple[int, bool]], start: int, end: int) -> dict[int, int]:
    """The begin and the end of data between the instructions of a function."""
    return {
        max(place, start): min(until, end)
        for (place, is_code), (until, _) in pairwise([*sorted(marks), (end, True)])
        if not is_code and until > start and place < end
    }


@dataclass(slots=True)
class _Reader:
    """The instructions of a function, read in their order."""

    section: Section
    start: int
    end: int
    relocations: Mapping[int, Relocation]
    bytes: int = 0
    is_known: bool = True
    calls: list[Symbol | int] = field(default_factory=list)
    slack: dict[int, int] = field(default_factory=dict)
    """By register: how far below the stack pointer it is at most, of those from which the stack pointer is taken."""

    def read(self, place: int) -> int:
        """Read the instruction at a place; the place of the next one."""
        first = self._half(place)
        if first >> 11 in (0b11101, 0b11110, 0b11111):
            self._wide(place, first, self._half(place + 2))
            return place + 4
        self._narrow(place, first)
        return place + 2

    def _half(self, place: int) -> int:
        return int.from_bytes(self.section.data[place : place + 2], "little")

    def _narrow(self, place: int, code: int) -> None:
        """An instruction of 16 bits."""
        target, source = code & 7 | code >> 4 & 8, code >> 3 & 15
        if code & 0xFE00 == 0xB400:  # push
            self.bytes += _WORD * (code & 0x1FF).bit_count()
        elif code & 0xFF80 == 0xB080:  # sub sp, #
            self.bytes += _WORD * (code & 0x7F)
        elif code & 0xFF00 == 0x4600:  # mov
            self._move(target, source)
        elif code & 0xFF00 == 0x4400:  # add of high registers
            self.is_known &= target not in (_STACK, _PROGRAM)
        elif code & 0xFF00 == 0x4700:  # bx, blx
            self.is_known &= code & 0x80 == 0 and source == _LINK
        elif code & 0xFE00 == 0x1E00:  # subs, #
            self._subtract(code & 7, source & 7, code >> 6 & 7)
        elif code & 0xFE00 == 0x1A00:  # subs
            self.slack.pop(code & 7, None)
        elif code & 0xF800 == 0xE000:  # b
            self._branch(place, place + 4 + _signed(code & 0x7FF, 11) * 2)

    def _wide(self, place: int, first: int, second: int) -> None:
        """An instruction of 32 bits."""
        base, target = first & 15, second >> 8 & 15
        if first & 0xF800 == 0xF000 and second & 0x8000:
            is_direct = second & 0x5000 != 0 and second & 0xD000 != 0xC000  # bl, and b without a condition
            if is_direct or place in self.relocations:
                self._branch(place, place + 4 + _branch_offset(first, second))
        elif first & 0xFBE0 in (0xF1A0, 0xF2A0):  # sub, # of 12 bits, or of 8 that are moved
            constant = first << 1 & 0x800 | second >> 4 & 0x700 | second & 0xFF
            self._subtract(target, base, constant if first & 0x200 else _expanded(constant))
        elif first == 0xF36F:  # bfc
            if second & 0x70C0 == 0:
                self.slack[target] = max(0, (2 << (second & 31)) - _WORD)
        elif first & 0xFE00 in (0xEA00, 0xF000, 0xF200):  # other arithmetic
            self.slack.pop(target, None)
            is_up = first & 0xFBE0 in (0xF100, 0xF200) and base == _STACK
            self.is_known &= target != _STACK or is_up
        elif base == _STACK:
            self.bytes += _pushed(first, second)
        elif first & 0xFE50 == 0xF850 and second >> 12 in (_STACK, _PROGRAM):  # ldr to sp or pc
            self.is_known = False

    def _move(self, target: int, source: int) -> None:
        if target == _STACK:
            if source in _FRAME_POINTERS:
                return
            if source not in self.slack:
                self.is_known = False
                return
            self.bytes += self.slack.pop(source)
        elif target == _PROGRAM:
            self.is_known &= source == _LINK
        else:
            self.slack.pop(target, None)

    def _subtract(self, target: int, source: int, constant: int) -> None:
        self.slack.pop(target, None)
        if target == _STACK:
            if source == _STACK:
                self.bytes += constant
            else:
                self.is_known &= source in _FRAME_POINTERS
        elif source in _FRAME_POINTERS:
            self.slack[target] = 0  # where the frame ends: the stack pointer goes up to it

    def _branch(self, place: int, target: int) -> None:
        if place in self.relocations:
            self.calls.append(self.relocations[place].symbol)
        elif not self.start <= target < self.end:
            self.calls.append(target)


def _pushed(first: int, second: int) -> int:
    """The bytes by which a store through the stack pointer moves it down."""
    is_down = first & 0x80 == 0
    if first & 0xFE60 == 0xE820 and first & 0x180 == 0x100:  # stmdb sp!
        return _WORD * second.bit_count()
    if first & 0xFE60 == 0xE860 and is_down:  # strd, ldrd with a new sp
        return _WORD * (second & 0xFF)
    if first & 0xFE20 == 0xEC20 and is_down:  # vpush
        return _WORD * (second & 0xFF)
    if first & 0xFE80 == 0xF800 and second & 0xB00 == 0x900:  # str with a new sp
        return second & 0xFF
    return 0


def _branch_offset(first: int, second: int) -> int:
    """The distance in bl and b, encodings T1 and T4."""
    sign, low, high = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    bits = sign << 24 | (low ^ sign ^ 1) << 23 | (high ^ sign ^ 1) << 22 | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
    return _signed(bits, 25)


def _expanded(constant: int) -> int:
    """The number that a constant of 12 bits stands for (A5.3.2)."""
    low = constant & 0xFF
    if constant >> 10:
        value, turns = 0x80 | constant & 0x7F, constant >> 7
        return value << 32 - turns
    return (low, low << 16 | low, low << 24 | low << 8, low * 0x1010101)[constant >> 8]


def _signed(bits: int, count: int) -> int:
    return bits - (1 << count) if bits >> count - 1 else bits
