"""Conversions of float16 for WebAssembly, x86-64 without F16C, RISC-V without Zfh and ARM without VFPv4: the functions
that LLVM calls, by LLVM's names.

They work on the bits, to nearest even, and treat subnormals only as integers or sums, so that flushing these to zero
changes nothing. The names are those of compiler-rt and libgcc, which a library of ours does not need.
"""

from __future__ import annotations

from sateen.runtime.target import Target
from sateen.tensor_ir.targets import System, architecture_of, features_of

_NAMES = ("__extendhfsf2", "__truncsfhf2")
_ARM_NAMES = {System.LINUX: ("__gnu_h2f_ieee", "__gnu_f2h_ieee"), System.NONE: ("__aeabi_h2f", "__aeabi_f2h")}

_BITS = """\
define internal float @sateen.widen.half(i16 %raw) nounwind {
  %bits = zext i16 %raw to i32
  %magnitude = and i32 %bits, 32767
  %signed = and i32 %bits, 32768
  %sign = shl i32 %signed, 16
  %moved = shl i32 %magnitude, 13
  %rebased = add i32 %moved, 939524096
  %largest = or i32 %moved, 2139095040
  %is_nan = icmp ugt i32 %magnitude, 31744
  %quiet = select i1 %is_nan, i32 4194304, i32 0
  %special = or i32 %largest, %quiet
  %is_special = icmp uge i32 %magnitude, 31744
  %usual = select i1 %is_special, i32 %special, i32 %rebased
  %count = uitofp i32 %magnitude to float
  %small = fmul float %count, 0x3E70000000000000
  %small_bits = bitcast float %small to i32
  %is_small = icmp ult i32 %magnitude, 1024
  %positive = select i1 %is_small, i32 %small_bits, i32 %usual
  %result_bits = or i32 %positive, %sign
  %result = bitcast i32 %result_bits to float
  ret float %result
}
define internal i16 @sateen.narrow.float(float %x) nounwind {
  %bits = bitcast float %x to i32
  %magnitude = and i32 %bits, 2147483647
  %high = lshr i32 %bits, 16
  %sign = and i32 %high, 32768
  %rebased = sub i32 %magnitude, 939524096
  %shifted = lshr i32 %rebased, 13
  %odd = and i32 %shifted, 1
  %bias = add i32 %odd, 4095
  %rounded = add i32 %rebased, %bias
  %normal = lshr i32 %rounded, 13
  %absolute = bitcast i32 %magnitude to float
  %sum = fadd float %absolute, 5.0e-01
  %sum_bits = bitcast float %sum to i32
  %small = sub i32 %sum_bits, 1056964608
  %is_small = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %is_small, i32 %small, i32 %normal
  %is_large = icmp uge i32 %magnitude, 1199570944
  %bounded = select i1 %is_large, i32 31744, i32 %finite
  %payload = lshr i32 %magnitude, 13
  %kept = and i32 %payload, 1023
  %nan = or i32 %kept, 32256
  %is_nan = icmp ugt i32 %magnitude, 2139095040
  %positive = select i1 %is_nan, i32 %nan, i32 %bounded
  %all = or i32 %positive, %sign
  %raw = trunc i32 %all to i16
  ret i16 %raw
}
"""

_FUNCTIONS = """\
define hidden float @{widen}(half %x) nounwind {{
  %raw = bitcast half %x to i16
  %result = call float @sateen.widen.half(i16 %raw)
  ret float %result
}}
define hidden half @{narrow}(float %x) nounwind {{
  %raw = call i16 @sateen.narrow.float(float %x)
  %result = bitcast i16 %raw to half
  ret half %result
}}
"""
_ARM_FUNCTIONS = """\
define hidden arm_aapcscc float @{widen}(i16 %raw) nounwind {{
  %result = call float @sateen.widen.half(i16 %raw)
  ret float %result
}}
define hidden arm_aapcscc zeroext i16 @{narrow}(float %x) nounwind {{
  %raw = call i16 @sateen.narrow.float(float %x)
  ret i16 %raw
}}
"""
"""On ARM a float16 is passed as an integer, and floats of these functions in registers of integers."""


def needs_half(target: Target) -> bool:
    """Whether LLVM calls these functions in code for a target."""
    feature = architecture_of(target).half_feature
    return bool(feature) and feature not in features_of(target)


def half_symbols(target: Target) -> tuple[str, ...]:
    """The functions that LLVM calls in code for a target."""
    if not needs_half(target):
        return ()
    is_arm = architecture_of(target).name == "arm"
    return _ARM_NAMES.get(System.of(target.triple), _NAMES) if is_arm else _NAMES


def half_text(target: Target) -> str:
    """LLVM text that defines `half_symbols`."""
    if not needs_half(target):
        return ""
    widen, narrow = half_symbols(target)
    functions = _ARM_FUNCTIONS if architecture_of(target).name == "arm" else _FUNCTIONS
    return _BITS + functions.format(widen=widen, narrow=narrow)
