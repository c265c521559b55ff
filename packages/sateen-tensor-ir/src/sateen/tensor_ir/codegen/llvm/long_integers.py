"""Arithmetic of integers on ARM of 32 bits: the functions that LLVM calls where processors have no instruction, by
LLVM's names.

They divide, and convert between int64 and floats, with shifts, sums and comparisons alone. Names, and registers of the
results, are those of the Run-time ABI for the Arm Architecture (RTABI32), sections 4.1.2 and 4.3. A library of ours
does not need the compiler's own (libgcc, compiler-rt).
"""

from __future__ import annotations

from string import Template

from sateen.runtime.target import Target
from sateen.tensor_ir.targets import architecture_of

_DIVIDE = Template("""\
define internal { i$n, i$n } @sateen.divide.i$n(i$n %a, i$n %b) nounwind {
entry:
  %nothing = icmp eq i$n %b, 0
  %less = icmp ult i$n %a, %b
  %trivial = or i1 %nothing, %less
  br i1 %trivial, label %done, label %align
align:
  %a.zeros = call i$n @llvm.ctlz.i$n(i$n %a, i1 false)
  %b.zeros = call i$n @llvm.ctlz.i$n(i$n %b, i1 false)
  %shift = sub i$n %b.zeros, %a.zeros
  %aligned = shl i$n %b, %shift
  %first = shl i$n 1, %shift
  br label %next
next:
  %bit = phi i$n [ %first, %align ], [ %next.bit, %next ]
  %divisor = phi i$n [ %aligned, %align ], [ %next.divisor, %next ]
  %rest = phi i$n [ %a, %align ], [ %next.rest, %next ]
  %quotient = phi i$n [ 0, %align ], [ %next.quotient, %next ]
  %fits = icmp uge i$n %rest, %divisor
  %less.divisor = sub i$n %rest, %divisor
  %with.bit = or i$n %quotient, %bit
  %next.rest = select i1 %fits, i$n %less.divisor, i$n %rest
  %next.quotient = select i1 %fits, i$n %with.bit, i$n %quotient
  %next.divisor = lshr i$n %divisor, 1
  %next.bit = lshr i$n %bit, 1
  %more = icmp ne i$n %next.bit, 0
  br i1 %more, label %next, label %done
done:
  %q = phi i$n [ 0, %entry ], [ %next.quotient, %next ]
  %r = phi i$n [ %a, %entry ], [ %next.rest, %next ]
  %one = insertvalue { i$n, i$n } poison, i$n %q, 0
  %both = insertvalue { i$n, i$n } %one, i$n %r, 1
  ret { i$n, i$n } %both
}
define internal { i$n, i$n } @sateen.divide.signed.i$n(i$n %a, i$n %b) nounwind {
  %a.sign = ashr i$n %a, $last
  %b.sign = ashr i$n %b, $last
  %a.flipped = xor i$n %a, %a.sign
  %b.flipped = xor i$n %b, %b.sign
  %a.size = sub i$n %a.flipped, %a.sign
  %b.size = sub i$n %b.flipped, %b.sign
  %sizes = call { i$n, i$n } @sateen.divide.i$n(i$n %a.size, i$n %b.size)
  %q.size = extractvalue { i$n, i$n } %sizes, 0
  %r.size = extractvalue { i$n, i$n } %sizes, 1
  %q.sign = xor i$n %a.sign, %b.sign
  %q.flipped = xor i$n %q.size, %q.sign
  %r.flipped = xor i$n %r.size, %a.sign
  %q = sub i$n %q.flipped, %q.sign
  %r = sub i$n %r.flipped, %a.sign
  %one = insertvalue { i$n, i$n } poison, i$n %q, 0
  %both = insertvalue { i$n, i$n } %one, i$n %r, 1
  ret { i$n, i$n } %both
}
declare i$n @llvm.ctlz.i$n(i$n, i1)
""")
"""Long division: the divisor is aligned with the dividend, then taken from it where it fits, bit by bit. A division by
0 gives 0, which no code of ours uses."""

_DIVISIONS = """\
define hidden $convention { i64, i64 } @__aeabi_uldivmod(i64 %a, i64 %b) nounwind {
  %both = call { i64, i64 } @sateen.divide.i64(i64 %a, i64 %b)
  ret { i64, i64 } %both
}
define hidden $convention { i64, i64 } @__aeabi_ldivmod(i64 %a, i64 %b) nounwind {
  %both = call { i64, i64 } @sateen.divide.signed.i64(i64 %a, i64 %b)
  ret { i64, i64 } %both
}
define hidden $convention { i32, i32 } @__aeabi_uidivmod(i32 %a, i32 %b) nounwind {
  %both = call { i32, i32 } @sateen.divide.i32(i32 %a, i32 %b)
  ret { i32, i32 } %both
}
define hidden $convention { i32, i32 } @__aeabi_idivmod(i32 %a, i32 %b) nounwind {
  %both = call { i32, i32 } @sateen.divide.signed.i32(i32 %a, i32 %b)
  ret { i32, i32 } %both
}
define hidden $convention i32 @__aeabi_uidiv(i32 %a, i32 %b) nounwind {
  %both = call { i32, i32 } @sateen.divide.i32(i32 %a, i32 %b)
  %q = extractvalue { i32, i32 } %both, 0
  ret i32 %q
}
define hidden $convention i32 @__aeabi_idiv(i32 %a, i32 %b) nounwind {
  %both = call { i32, i32 } @sateen.divide.signed.i32(i32 %a, i32 %b)
  %q = extractvalue { i32, i32 } %both, 0
  ret i32 %q
}
"""

_CONVERSIONS = Template("""\
define internal i64 @sateen.truncate.$float(i$n %bits) nounwind {
  %exponent.moved = lshr i$n %bits, $fraction
  %exponent.masked = and i$n %exponent.moved, $exponents
  %fraction = and i$n %bits, $fractions
  %with.one = or i$n %fraction, $one
  $widen_mantissa
  $widen_exponent
  %left = sub i64 %exponent, $unit
  %right = sub i64 $unit, %exponent
  %left.fits = icmp ult i64 %left, 64
  %right.fits = icmp ult i64 %right, 64
  %left.small = select i1 %left.fits, i64 %left, i64 63
  %right.small = select i1 %right.fits, i64 %right, i64 63
  %large = shl i64 %mantissa, %left.small
  %small = lshr i64 %mantissa, %right.small
  %is.large = icmp uge i64 %exponent, $unit
  %size = select i1 %is.large, i64 %large, i64 %small
  ret i64 %size
}
define hidden $convention i64 @__aeabi_${letter}2ulz($float %x) nounwind {
  %bits = bitcast $float %x to i$n
  %size = call i64 @sateen.truncate.$float(i$n %bits)
  ret i64 %size
}
define hidden $convention i64 @__aeabi_${letter}2lz($float %x) nounwind {
  %bits = bitcast $float %x to i$n
  %size = call i64 @sateen.truncate.$float(i$n %bits)
  %negative = icmp slt i$n %bits, 0
  %opposite = sub i64 0, %size
  %result = select i1 %negative, i64 %opposite, i64 %size
  ret i64 %result
}
define internal i$n @sateen.round.$float(i64 %size) nounwind {
  %zeros = call i64 @llvm.ctlz.i64(i64 %size, i1 false)
  %shift = and i64 %zeros, 63
  %normal = shl i64 %size, %shift
  %mantissa = lshr i64 %normal, $dropped
  %lost = shl i64 %normal, $precision
  %odd = and i64 %mantissa, 1
  %more.than.half = icmp ugt i64 %lost, -9223372036854775808
  %half = icmp eq i64 %lost, -9223372036854775808
  %is.odd = icmp ne i64 %odd, 0
  %half.and.odd = and i1 %half, %is.odd
  %up = or i1 %more.than.half, %half.and.odd
  %step = zext i1 %up to i64
  %exponent = sub i64 $below, %shift
  %place = shl i64 %exponent, $fraction
  %magnitude = add i64 %place, %mantissa
  %rounded = add i64 %magnitude, %step
  %is.zero = icmp eq i64 %size, 0
  %result = select i1 %is.zero, i64 0, i64 %rounded
  $narrow
  ret i$n %bits
}
define hidden $convention $float @__aeabi_ul2$letter(i64 %x) nounwind {
  %bits = call i$n @sateen.round.$float(i64 %x)
  %result = bitcast i$n %bits to $float
  ret $float %result
}
define hidden $convention $float @__aeabi_l2$letter(i64 %x) nounwind {
  %sign = ashr i64 %x, 63
  %flipped = xor i64 %x, %sign
  %size = sub i64 %flipped, %sign
  %bits = call i$n @sateen.round.$float(i64 %size)
  %is.negative = icmp slt i64 %x, 0
  %sign.bit = select i1 %is.negative, i$n $minus, i$n 0
  %with.sign = or i$n %bits, %sign.bit
  %result = bitcast i$n %with.sign to $float
  ret $float %result
}
""")
"""The bits of a float as an integer towards 0, and an integer rounded to nearest even. A float that int64 does not hold
gives any integer, as LLVM's instructions do. The exponent that is added is one less, since the mantissa has its 1."""


def _divisions(bits: int) -> str:
    return _DIVIDE.substitute(n=bits, last=bits - 1)


def _conversions(bits: int, fraction: int, letter: str, convention: str) -> str:
    """Conversions of the float whose exponent has what `bits` leave beside sign and fraction."""
    exponents = (1 << (bits - 1 - fraction)) - 1
    bias, float_ = exponents >> 1, {32: "float", 64: "double"}[bits]
    same = bits == 64
    return _CONVERSIONS.substitute(
        n=bits,
        float=float_,
        letter=letter,
        convention=convention,
        fraction=fraction,
        exponents=exponents,
        fractions=(1 << fraction) - 1,
        one=1 << fraction,
        unit=bias + fraction,
        precision=fraction + 1,
        dropped=63 - fraction,
        below=bias + 62,
        minus=-(1 << (bits - 1)),
        widen_mantissa=f"%mantissa = {'or i64 %with.one, 0' if same else 'zext i32 %with.one to i64'}",
        widen_exponent=f"%exponent = {'or i64 %exponent.masked, 0' if same else 'zext i32 %exponent.masked to i64'}",
        narrow=f"%bits = {'or i64 %result, 0' if same else 'trunc i64 %result to i32'}",
    )


def long_integers_text(target: Target) -> str:
    """LLVM text that defines the functions where code for a target may call them."""
    return functions_text("arm_aapcscc") if architecture_of(target).name == "arm" else ""


def functions_text(convention: str) -> str:
    """The functions in a calling convention of LLVM: on ARM floats are passed in registers of integers (4.1.1)."""
    shared = Template(_DIVISIONS).substitute(convention=convention)
    floats = (_conversions(32, 23, "f", convention), _conversions(64, 52, "d", convention))
    return "".join([_divisions(32), _divisions(64), shared, *floats])
