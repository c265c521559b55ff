"""Buffers of WGSL that are larger than a binding may be: several bindings, between which each access chooses.

A loader writes this into a kernel where a device needs it, so that others lose nothing. In the text of a kernel a
buffer stands in these forms alone, where `place` is an i32:

    X[place]    X[place] = word;    atomicLoad(&X[place])    atomicStore(&X[place], word);
    atomicCompareExchangeWeak(&X[place], old, next)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = 4
_VERBS = {"atomicLoad": "load", "atomicStore": "store", "atomicCompareExchangeWeak": "swap"}
_SWAPPED = "struct sateen_swapped { old_value: u32, exchanged: bool }\n"


def through_windows(text: str, name: str, numbers: Sequence[int], window: int) -> str:
    """The text of a kernel, in which the buffer `name` has more bindings of these numbers: each of `window` bytes, the
    last of what is left."""
    declaration = re.search(rf"^@group.+ var<storage, (\w+)> {name}: (.+);\n", text, re.MULTILINE)
    assert declaration is not None
    access, type_ = declaration.groups()
    windows = [name, *(f"sateen_window{i}_{name}" for i in range(1, 1 + len(numbers)))]
    bindings = [
        f"@group(0) @binding({number}) var<storage, {access}> {one}: {type_};\n"
        for number, one in zip(numbers, windows[1:], strict=True)
    ]
    begin, end = declaration.span()
    body = _by_functions(text[end:], name)
    functions = _functions(
        name, windows, window // _WORD, is_written=access == "read_write", is_atomic="atomic" in type_
    )
    swapped = _SWAPPED if "atomic" in type_ and _SWAPPED not in text else ""
    return f"{text[:begin]}{declaration[0]}{''.join(bindings)}{swapped}{functions}{body}"


def _by_functions(text: str, name: str) -> str:
    """The text with calls of functions in place of accesses; what is innermost comes last and is replaced first."""
    for match in reversed([*re.finditer(rf"(?:(atomic\w+)\(&)?\b{name}\[", text)]):
        end = _closing(text, match.end())
        head, place, rest = text[: match.start()], text[match.end() : end], text[end + 1 :]
        if match[1] is not None:
            text = f"{head}sateen_{_VERBS[match[1]]}_{name}({place}{rest}"
        elif rest.startswith(" = "):
            word, _, rest = rest[3:].partition(";\n")
            text = f"{head}sateen_store_{name}({place}, {word});\n{rest}"
        else:
            text = f"{head}sateen_load_{name}({place}){rest}"
    return text


def _closing(text: str, place: int) -> int:
    """Where the bracket is closed that stands open at a place."""
    depth = 1
    while depth:
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        place += 1
    return place - 1


def _functions(name: str, windows: Sequence[str], words: int, *, is_written: bool, is_atomic: bool) -> str:
    def chosen(verb: str, parameters: str, result: str, work: str) -> str:
        """A function that does some work on the word X of the window that has it."""
        lines = []
        for i, one in enumerate(windows):
            condition = f"if (place < {(i + 1) * words}) " if one != windows[-1] else ""
            at = f"place - {i * words}" if i else "place"
            lines.append(f"  {condition}{{ {work.replace('X', f'{one}[{at}]')} }}\n")
        return f"fn sateen_{verb}_{name}(place: i32{parameters}){result} {{\n{''.join(lines)}}}\n"

    made = [chosen("load", "", " -> u32", "return atomicLoad(&X);" if is_atomic else "return X;")]
    if is_written:
        work = "atomicStore(&X, word); return;" if is_atomic else "X = word; return;"
        made.append(chosen("store", ", word: u32", "", work))
    if is_atomic:
        seen = "let seen = atomicCompareExchangeWeak(&X, old, next);"
        work = f"{seen} return sateen_swapped(seen.old_value, seen.exchanged);"
        made.append(chosen("swap", ", old: u32, next: u32", " -> sateen_swapped", work))
    return "".join(made)
