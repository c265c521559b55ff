"""C and the languages like it: one emitter, and what is different in each dialect."""

from sateen.tensor_ir.codegen.c_family.c99 import emit_c
from sateen.tensor_ir.codegen.c_family.opencl import emit_opencl

__all__ = ["emit_c", "emit_opencl"]
