"""The LLVM code generator: loop IR to LLVM text to object code."""

from weft.tensor_ir.codegen.llvm.machine_code import compile_text, target_machine
from weft.tensor_ir.codegen.llvm.module import emit_module

__all__ = ["compile_text", "emit_module", "target_machine"]
