"""The stack that a network takes: the deepest path of calls from its entry, over the frames of all functions."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.tensor_ir.link.merge import merge_objects
from sateen.tensor_ir.link.object_file import STT_FUNC, ObjectFile, Section, Symbol, read_object
from sateen.tensor_ir.link.thumb_frames import frame_of

_INSTRUCTIONS, _DATA = "$t", "$d"


def stack_depth(object_code: Sequence[bytes], triple: str, entry: str) -> int | None:
    """The most bytes of the stack that the function `entry` takes with all that it calls, beside those of functions
    that the objects leave to others.

    None where that can't be known: for other code than Thumb, recursion, and calls and storage that a register decides.
    LinkError for malformed objects.
    """
    if not triple.startswith("thumb"):
        return None
    return depth_from(entry, merge_objects([read_object(content, thumb=True) for content in object_code]))


def depth_from(entry: str, linked: ObjectFile) -> int | None:
    """As `stack_depth`, of linked code of Thumb."""
    code = _Code(linked)
    return code.depth(next(symbol for symbol in code.functions.values() if symbol.name == entry))


class _Code:
    """The functions of linked objects, and how deep the stack is in each."""

    def __init__(self, linked: ObjectFile) -> None:
        self.functions: dict[tuple[Section | None, int], Symbol] = {}
        self._marks: dict[Section, set[tuple[int, bool]]] = {}
        for symbol in linked.symbols:
            if symbol.section is None:
                continue
            if symbol.type == STT_FUNC:
                self.functions[symbol.section, symbol.value] = symbol
            elif (mark := symbol.name.partition(".")[0]) in (_INSTRUCTIONS, _DATA):
                self._marks.setdefault(symbol.section, set()).add((symbol.value, mark == _INSTRUCTIONS))
        self._relocations = {
            section: {relocation.offset: relocation for relocation in entries}
            for section, entries in linked.relocations.items()
        }
        self._depths: dict[Symbol, int | None] = {}

    def depth(self, function: Symbol) -> int | None:
        """The bytes that a function and its calls take; None if they can't be known."""
        if function not in self._depths:
            self._depths[function] = None  # until its calls are known: what calls itself has no bound
            self._depths[function] = self._measured(function)
        return self._depths[function]

    def _measured(self, function: Symbol) -> int | None:
        section = function.section
        assert section is not None
        frame = frame_of(function, self._marks.get(section, set()), self._relocations.get(section, {}))
        deepest = 0
        for call in frame.calls:
            if isinstance(call, Symbol) and call.section is None:
                continue  # of others
            place = (section, call) if isinstance(call, int) else (call.section, call.value)
            below = self.depth(self.functions[place]) if place in self.functions else None
            if below is None:
                return None
            deepest = max(deepest, below)
        return None if frame.bytes is None else frame.bytes + deepest
