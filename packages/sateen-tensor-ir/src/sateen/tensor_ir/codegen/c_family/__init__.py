"""C and similar languages: one writer, and the differences of each language as a value."""

from sateen.tensor_ir.codegen.c_family.c99 import emit_c
from sateen.tensor_ir.codegen.c_family.dialects import C99, Dialect
from sateen.tensor_ir.codegen.c_family.kernel_dialects import CUDA_C, METAL, OPENCL_C
from sateen.tensor_ir.codegen.c_family.kernels import emit_kernel_text

__all__ = ["C99", "CUDA_C", "METAL", "OPENCL_C", "Dialect", "emit_c", "emit_kernel_text"]
