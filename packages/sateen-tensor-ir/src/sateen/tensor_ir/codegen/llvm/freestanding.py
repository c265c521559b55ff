"""The functions that LLVM calls in code for ARM without a system, so that programs need memcpy and memset alone.

Memory is moved by functions of the run-time ABI (RTABI32, section 4.3.4), which take the arguments of memset in another
order. Rounding is that of the C library where the processor has no instruction for it, which only float32 has here.
"""

from __future__ import annotations

from sateen.runtime.target import Target
from sateen.tensor_ir.targets import System, architecture_of

_ALIGNMENTS = ("", "4", "8")
_MEMORY = """\
define hidden void @__aeabi_memcpy{alignment}(ptr %to, ptr %from, i32 %bytes) nounwind {{
  %moved = call ptr @memcpy(ptr %to, ptr %from, i32 %bytes) nobuiltin
  ret void
}}
define hidden void @__aeabi_memset{alignment}(ptr %to, i32 %bytes, i32 %value) nounwind {{
  %set = call ptr @memset(ptr %to, i32 %value, i32 %bytes) nobuiltin
  ret void
}}
define hidden void @__aeabi_memclr{alignment}(ptr %to, i32 %bytes) nounwind {{
  %set = call ptr @memset(ptr %to, i32 0, i32 %bytes) nobuiltin
  ret void
}}
"""
_DECLARATIONS = """\
declare ptr @memcpy(ptr, ptr, i32)
declare ptr @memset(ptr, i32, i32)
declare float @llvm.fabs.f32(float)
declare float @llvm.copysign.f32(float, float)
"""
_WHOLE = "0x4160000000000000"
"""2^23, from which on every float32 is an integer."""

_ROUNDING = """\
define hidden float @{name}(float %x) nounwind {{
  %magnitude = call float @llvm.fabs.f32(float %x)
  %has.fraction = fcmp olt float %magnitude, {whole}
  br i1 %has.fraction, label %fraction, label %integer
integer:
  ret float %x
fraction:
{body}
  %result = call float @llvm.copysign.f32(float %rounded, float %x)
  ret float %result
}}
"""
_TRUNCATED = """\
  %number = fptosi float %x to i32
  %truncated = sitofp i32 %number to float"""
_BODIES = {
    "truncf": f"""\
{_TRUNCATED}
  %rounded = fadd float %truncated, -0.0""",
    "floorf": f"""\
{_TRUNCATED}
  %is.above = fcmp ogt float %truncated, %x
  %step = select i1 %is.above, float -1.0, float -0.0
  %rounded = fadd float %truncated, %step""",
    "ceilf": f"""\
{_TRUNCATED}
  %is.below = fcmp olt float %truncated, %x
  %step = select i1 %is.below, float 1.0, float -0.0
  %rounded = fadd float %truncated, %step""",
    "roundevenf": f"""\
  %sum = fadd float %magnitude, {_WHOLE}
  %rounded = fsub float %sum, {_WHOLE}""",
}
"""The sum of roundevenf has no bits for a fraction; rounding to nearest is the mode of all code of ours."""


def freestanding_text(target: Target) -> str:
    """LLVM text of the functions; '' for a target that needs none."""
    if architecture_of(target).name != "arm" or System.of(target.triple) is not System.NONE:
        return ""
    memory = (_MEMORY.format(alignment=alignment) for alignment in _ALIGNMENTS)
    rounding = (_ROUNDING.format(name=name, whole=_WHOLE, body=body) for name, body in _BODIES.items())
    return "".join([_DECLARATIONS, *memory, *rounding])
