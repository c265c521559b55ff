"""The text of kernels in WGSL: its parts, and bindings that are merged, or in windows (docs/design/kernels.md).

WebGPU refuses a kernel that reads a buffer and writes it through two bindings, in other parts too, and one that binds
overlapping parts to be written. So all bindings of a buffer that is written are made to be written, and places that
overlap share one; the numbers of a launch tell where each begins. What is larger than a binding may be is bound in
windows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice

from sateen.runtime.devices.wgsl_loops import unroll
from sateen.runtime.devices.wgsl_windows import through_windows

_PART = re.compile(r"^// kernel (\w+)$", re.MULTILINE)
_ITERATIONS = re.compile(
    r"^// a thread has at most (\d+) iterations of loops, (\d+) with short ones unrolled$", re.MULTILINE
)
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
    """A binding of a launch, and the buffers that lie in it, by their positions. What it has no room for is in windows
    behind it, whose bindings are numbered `more`."""

    number: int
    is_written: bool
    positions: tuple[int, ...]
    more: tuple[int, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of all its windows, in the order of their bytes."""
        return (self.number, *self.more)


@dataclass(frozen=True, slots=True)
class KernelText:
    """One kernel with what it shares with others: a text that stands alone."""

    name: str
    text: str
    bindings: tuple[Binding, ...]
    iterations: int = 0
    """The most iterations of all loops of a thread together, where the text tells."""
    unrolled_iterations: int = 0
    """The same for `unrolled`."""

    def partition(self, places: Sequence[Place], most: int, window: int) -> tuple[SharedBinding, ...]:
        """The bindings for buffers in these places, of at most `window` bytes each.

        Those that overlap in a memory that the kernel writes share one; if there are more than `most`, so do all of
        one memory.
        """
        written = {p.memory for p, b in zip(places, self.bindings, strict=True) if b.is_written}
        shared = self._shared(_groups(_overlaps(places, written)), places, written, window)
        if sum(len(one.numbers) for one in shared) > most:
            shared = self._shared(_groups([place.memory for place in places]), places, written, window)
        return shared

    def _shared(
        self, groups: Sequence[tuple[int, ...]], places: Sequence[Place], written: Collection[int], window: int
    ) -> tuple[SharedBinding, ...]:
        free = count(1 + max((b.number for b in self.bindings), default=0))
        shared = []
        for group in groups:
            begin, end = span([places[i] for i in group])
            more = tuple(islice(free, -(-(end - begin) // window) - 1))
            number, is_written = self.bindings[group[0]].number, places[group[0]].memory in written
            shared.append(SharedBinding(number, is_written, group, more))
        return tuple(shared)

    @property
    def unrolled(self) -> KernelText:
        """The kernel with its short loops unrolled."""
        text = unroll(self.text)
        return replace(self, text=text, iterations=self.unrolled_iterations)

    def merged(self, shared: Sequence[SharedBinding], window: int) -> str:
        """The text with these bindings, of `window` bytes where there are several windows."""
        names: dict[str, str] = {}
        declared: dict[str, str] = {}
        for one in shared:
            first = self.bindings[one.positions[0]]
            access = "read_write" if one.is_written else "read"
            declared[first.name] = f"@group(0) @binding({first.number}) var<storage, {access}> {first.name}: "
            names |= {self.bindings[i].name: first.name for i in one.positions[1:]}
        text = _BINDING.sub(lambda m: f"{declared[m[3]]}{m[4]}\n" if m[3] in declared else "", self.text)
        if names:
            text = re.sub(rf"\b({'|'.join(map(re.escape, names))})\b", lambda m: names[m[0]], text)
        for one in shared:
            if one.more:
                text = through_windows(text, self.bindings[one.positions[0]].name, one.more, window)
        return text


def span(places: Sequence[Place]) -> tuple[int, int]:
    """Where places of one memory begin and end."""
    return min(place.begin for place in places), max(place.end for place in places)


def kernels_of(text: str) -> dict[str, KernelText]:
    """The kernels of a text, by name."""
    head, *parts = _PART.split(text)
    found = {}
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        bindings = tuple(Binding(int(m[1]), m[2] == "read_write", m[3]) for m in _BINDING.finditer(part))
        told = _ITERATIONS.search(part)
        iterations = map(int, told.groups()) if told is not None else ()
        found[name] = KernelText(name, f"{head}// kernel {name}{part}", bindings, *iterations)
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
