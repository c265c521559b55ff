"""Object code into this process, through LLVM's own linker (ORC)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import llvmlite.binding as llvm

from weft.runtime.errors import CodegenError

_names = count()


class LoadedObject:
    """Object code linked into this process; `address(symbol)`. It is unloaded when the last reference goes."""

    def __init__(self, jit: llvm.LLJIT, objects: Sequence[bytes], symbols: Sequence[str]) -> None:
        builder = llvm.JITLibraryBuilder()
        for code in objects:
            builder.add_object_img(code)
        builder.add_current_process()
        for symbol in symbols:
            builder.export_symbol(symbol)
        try:
            self._tracker = builder.link(jit, f"weft{next(_names)}")
        except RuntimeError as error:
            raise CodegenError(f"generated code can't be linked into this process: {error}") from error

    def address(self, symbol: str) -> int:
        return int(self._tracker[symbol])
