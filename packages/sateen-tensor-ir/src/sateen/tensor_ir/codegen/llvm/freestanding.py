"""The functions that LLVM calls in code for ARM without a system, so that programs need memcpy and memset alone.

Memory is moved by functions of the run-time ABI (RTABI32, section 4.3.4), which take the arguments of memset in another
order.
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
"""


def freestanding_text(target: Target) -> str:
    """LLVM text of the functions; '' for a target that needs none."""
    if architecture_of(target).name != "arm" or System.of(target.triple) is not System.NONE:
        return ""
    memory = (_MEMORY.format(alignment=alignment) for alignment in _ALIGNMENTS)
    return "".join([_DECLARATIONS, *memory])
