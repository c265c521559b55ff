"""The LLVM code generator: loop IR to LLVM text to object code.

The text of a function is written by parts, each in a file: `writer` has lines, names and scopes, `environment` the
facts at a place, `addresses` turns indices into pointers, `registers` and `memory` load and store, `conversions`,
`expressions`, `instructions` and `statements` follow the nodes, `frame` has storage and the exit, `tasks` the captures
of a parallel loop's task. `module` puts functions together, `checks` writes the public ones, `kernels` those that the
threads of a device run, `machine_code` lets LLVM make object code.
"""

from sateen.tensor_ir.codegen.llvm.jit import LoadedObject, process_jit
from sateen.tensor_ir.codegen.llvm.kernels import GCN, PTX, KernelLanguage, emit_kernels
from sateen.tensor_ir.codegen.llvm.machine_code import (
    ParsedModule,
    compile_text,
    lacks,
    processors_of,
    target_machine,
)
from sateen.tensor_ir.codegen.llvm.module import ModuleText, companion_text, emit_module, metadata_text
from sateen.tensor_ir.codegen.llvm.module_state import CodeReport
from sateen.tensor_ir.codegen.llvm.process import initialise, once

__all__ = [
    "GCN",
    "PTX",
    "CodeReport",
    "KernelLanguage",
    "LoadedObject",
    "ModuleText",
    "ParsedModule",
    "companion_text",
    "compile_text",
    "emit_kernels",
    "emit_module",
    "initialise",
    "lacks",
    "metadata_text",
    "once",
    "process_jit",
    "processors_of",
    "target_machine",
]
