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


def compile_text(text: str, machine: llvm.TargetMachine, *, assembly: bool = False) -> bytes | str:
    """Object code (or assembly text) of a module. Raises CodegenError if LLVM refuses the text: a fault of ours."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"generated LLVM text is not valid: {error}") from error
    module.triple = machine.triple
    if assembly:
        return machine.emit_assembly(module)  # type: ignore[no-any-return]
    return machine.emit_object(module)  # type: ignore[no-any-return]
