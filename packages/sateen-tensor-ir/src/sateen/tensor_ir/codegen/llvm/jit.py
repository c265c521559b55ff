"""Object code into this process, through LLVM's own linker (ORC)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

import llvmlite.binding as llvm

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.machine_code import target_machine
from sateen.tensor_ir.codegen.llvm.process import once

_names = count()


@once
def process_jit() -> llvm.LLJIT:
    """The linker of this process; it lives as long as the process does."""
    machine = target_machine(llvm.get_process_triple(), "", "", jit=True)
    return llvm.create_lljit_compiler(machine, use_jit_link=True)


class LoadedObject:
    """Object code linked into this process; it is unloaded when the last reference goes."""

    def __init__(self, code: bytes, symbols: Sequence[str], imports: Mapping[str, int] | None = None) -> None:
        """Link `code`, which defines `symbols`; undefined symbols are in `imports` or in the process."""
        builder = llvm.JITLibraryBuilder()
        builder.add_object_img(code)
        for symbol, address in (imports or {}).items():
            builder.import_symbol(symbol, address)
        builder.add_current_process()
        for symbol in symbols:
            builder.export_symbol(symbol)
        try:
            self._tracker = builder.link(process_jit(), f"sateen{next(_names)}")
        except RuntimeError as error:
            raise CodegenError(f"generated code can't be linked into this process: {error}") from error
        self.addresses = {symbol: int(self._tracker[symbol]) for symbol in symbols}
