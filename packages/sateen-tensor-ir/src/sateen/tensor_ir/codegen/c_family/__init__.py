"""C and similar languages: one emitter, and the differences of each dialect."""

from sateen.tensor_ir.codegen.c_family.c99 import emit_c
from sateen.tensor_ir.codegen.c_family.opencl import emit_opencl

__all__ = ["emit_c", "emit_opencl"]
