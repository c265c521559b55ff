"""WGSL: kernels as text for WebGPU, in browsers and in programs."""

from sateen.tensor_ir.codegen.wgsl.kernels import emit_wgsl
from sateen.tensor_ir.codegen.wgsl.values import WGSL

__all__ = ["WGSL", "emit_wgsl"]
