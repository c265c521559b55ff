"""LLVM text to object code, through llvmlite. No IR pass runs: the emitter writes what it means."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from weft.runtime.errors import CodegenError, TargetError


@cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


def target_machine(triple: str, cpu: str, features: str, *, jit: bool = False) -> llvm.TargetMachine:
    """LLVM's description of a machine. Raises TargetError for a triple that this LLVM does not know."""
    _initialise()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise TargetError(f"LLVM knows no target {triple!r}: {error}") from error
    return target.create_target_machine(
        cpu=cpu, features=features, opt=2, reloc="pic", codemodel="jitdefault" if jit else "default"
    )


class ParsedModule:
    """A verified LLVM module for one machine."""

    def __init__(self, module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
        self._module = module
        self._machine = machine

    def object_code(self) -> bytes:
        return bytes(self._machine.emit_object(self._module))

    def assembly(self) -> str:
        return str(self._machine.emit_assembly(self._module))


def compile_text(text: str, machine: llvm.TargetMachine) -> ParsedModule:
    """The module that the text describes. Raises CodegenError if LLVM refuses it: a fault of ours."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"generated LLVM text is not valid: {error}") from error
    module.triple = machine.triple
    return ParsedModule(module, machine)
