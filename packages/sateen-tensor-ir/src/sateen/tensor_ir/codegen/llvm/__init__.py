"""The LLVM code generator: loop IR to LLVM text to object code.

The text of a function is written by parts, each in a file: `writer` has lines, names and scopes, `environment` the
facts at a place, `addresses` turns indices into pointers, `registers` and `memory` load and store, `conversions`,
`expressions`, `instructions` and `statements` follow the nodes, `frame` has storage and the exit, `tasks` the captures
of a parallel loop's task. `module` puts functions together, `checks` writes the public ones, `machine_code` lets LLVM
make object code.
"""

from sateen.tensor_ir.codegen.llvm.jit import LoadedObject, process_jit
from sateen.tensor_ir.codegen.llvm.machine_code import ParsedModule, compile_text, lacks, target_machine
from sateen.tensor_ir.codegen.llvm.module import ModuleText, companion_text, emit_module, metadata_text
from sateen.tensor_ir.codegen.llvm.module_state import CodeReport
from sateen.tensor_ir.codegen.llvm.process import once

__all__ = [
    "CodeReport",
    "LoadedObject",
    "ModuleText",
    "ParsedModule",
    "companion_text",
    "compile_text",
    "emit_module",
    "lacks",
    "metadata_text",
    "once",
    "process_jit",
    "target_machine",
]
