"""The text of kernels in WGSL: its parts, and bindings that are merged (docs/design/devices.md).

WebGPU refuses a kernel that reads a buffer and writes it through two bindings, in other parts too, and one that binds
overlapping parts to be written. So all bindings of a buffer that is written are made to be written, and places that
overlap share one; the numbers of a launch tell where each begins.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

_PART = re.compile(r"^// kernel (\w+)$", re.MULTILINE)
_BINDING = re.compile(r"^@group\(0\) @binding\((\d+)\) var<storage, (read|read_write)> (\w+): (.+;)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Binding:
    """A buffer of a kernel: its number, whether it is bound to be written, and its name."""

    number: int
    is_written: bool
    name: str


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes of a memory, from `begin` to `end`."""

    memory: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class SharedBinding:
    """A binding of a launch, and the buffers that lie in it, by their positions."""

    number: int
    is_written: bool
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelText:
    """One kernel with what it shares with others: a text that stands alone."""

    name: str
    text: str
    bindings: tuple[Binding, ...]

    def partition(self, places: Sequence[Place], most: int) -> tuple[SharedBinding, ...]:
        """The bindings for buffers in these places.

        Those that overlap in a memory that the kernel writes share one; if there are more than `most`, so do all of
        one memory.
        """
        written = {p.memory for p, b in zip(places, self.bindings, strict=True) if b.is_written}
        shared = _groups(_overlaps(places, written))
        if len(shared) > most:
            shared = _groups([place.memory for place in places])
        return tuple(
            SharedBinding(self.bindings[group[0]].number, places[group[0]].memory in written, group) for group in shared
        )

    def merged(self, shared: Sequence[SharedBinding]) -> str:
        """The text with these bindings."""
        names: dict[str, str] = {}
        declared: dict[str, str] = {}
        for one in shared:
            first = self.bindings[one.positions[0]]
            access = "read_write" if one.is_written else "read"
            declared[first.name] = f"@group(0) @binding({first.number}) var<storage, {access}> {first.name}: "
            names |= {self.bindings[i].name: first.name for i in one.positions[1:]}
        text = _BINDING.sub(lambda m: f"{declared[m[3]]}{m[4]}\n" if m[3] in declared else "", self.text)
        if not names:
            return text
        return re.sub(rf"\b({'|'.join(map(re.escape, names))})\b", lambda m: names[m[0]], text)


def kernels_of(text: str) -> dict[str, KernelText]:
    """The kernels of a text, by name."""
    head, *parts = _PART.split(text)
    found = {}
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        bindings = tuple(Binding(int(m[1]), m[2] == "read_write", m[3]) for m in _BINDING.finditer(part))
        found[name] = KernelText(name, f"{head}// kernel {name}{part}", bindings)
    return found


def _overlaps(places: Sequence[Place], written: Collection[int]) -> list[tuple[int, int]]:
    """For each place its memory and the first position of those that it overlaps, directly or by others; in a memory
    that is only read that is its own."""
    first, reached = dict(enumerate(range(len(places)))), dict.fromkeys(written, (0, 0))
    for i in sorted(range(len(places)), key=lambda i: places[i].begin):
        place = places[i]
        if place.memory in written:
            end, other = reached[place.memory]
            first[i] = other if place.begin < end else i
            reached[place.memory] = max(end, place.end), first[i]
    return [(place.memory, first[i]) for i, place in enumerate(places)]


def _groups(keys: Sequence[object]) -> list[tuple[int, ...]]:
    """The positions of equal keys, in the order of their first ones."""
    found: dict[object, list[int]] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return [tuple(positions) for positions in found.values()]
