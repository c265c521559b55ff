"""The LLVM code generator: loop IR to LLVM text to object code."""

from sateen.tensor_ir.codegen.llvm.jit import LoadedObject, process_jit
from sateen.tensor_ir.codegen.llvm.machine_code import ParsedModule, compile_text, target_machine
from sateen.tensor_ir.codegen.llvm.module import ModuleText, companion_text, emit_module
from sateen.tensor_ir.codegen.llvm.process import once
from sateen.tensor_ir.codegen.llvm.state import Report

__all__ = [
    "LoadedObject",
    "ModuleText",
    "ParsedModule",
    "Report",
    "companion_text",
    "compile_text",
    "emit_module",
    "once",
    "process_jit",
    "target_machine",
]
