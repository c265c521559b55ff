"""Merges several relocatable objects: a symbol that one leaves undefined and another defines is bound."""

from collections.abc import Sequence
from dataclasses import replace

from sateen.runtime.errors import LinkError
from sateen.tensor_ir.link.object_file import STB_LOCAL, ObjectFile, Symbol


def merge_objects(objects: Sequence[ObjectFile]) -> ObjectFile:
    """The union of the objects. Raises LinkError for different machines or flags of these, or a global symbol that
    two of them define."""
    if len(objects) == 1:
        return objects[0]
    defined: dict[str, Symbol] = {}
    for number, source in enumerate(objects):
        if source.machine != objects[0].machine:
            raise LinkError(f"object {number} is for ELF machine {source.machine}, object 0 for {objects[0].machine}")
        if source.word != objects[0].word:
            raise LinkError(f"object {number} has addresses of {source.word} bytes, object 0 of {objects[0].word}")
        if source.flags != objects[0].flags:
            raise LinkError(f"object {number} has ELF flags {source.flags:#x}, object 0 has {objects[0].flags:#x}")
        for symbol in source.symbols:
            if symbol.binding == STB_LOCAL or symbol.section is None:
                continue
            if symbol.name in defined:
                raise LinkError(f"symbol {symbol.name!r} is defined by two objects")
            defined[symbol.name] = symbol
    relocations = {
        section: tuple(
            replace(r, symbol=defined[r.symbol.name]) if r.symbol.section is None and r.symbol.name in defined else r
            for r in entries
        )
        for source in objects
        for section, entries in source.relocations.items()
    }
    return ObjectFile(
        objects[0].machine,
        objects[0].word,
        objects[0].flags,
        relocations,
        tuple(s for source in objects for s in source.symbols),
    )
