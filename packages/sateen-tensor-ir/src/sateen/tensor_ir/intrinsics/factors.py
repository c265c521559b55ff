"""The elements that instructions multiply and add up: their types, and C for a sum of products."""

from __future__ import annotations

from dataclasses import dataclass

from sateen.tensor_ir import te
from sateen.tensor_ir.intrinsics.code import StatementText


@dataclass(frozen=True, slots=True)
class Factors:
    """Types of the two factors and of their sums; `count` products fill an element of a sum's size."""

    a: str
    b: str
    sum: str
    count: int

    def product(self, x: te.Expr, y: te.Expr) -> te.Expr:
        """One product in the type of sums."""
        return x.astype(self.sum) * y.astype(self.sum)


FACTORS = {
    "u8s8": Factors("uint8", "int8", "int32", 4),
    "s8u8": Factors("int8", "uint8", "int32", 4),
    "s8s8": Factors("int8", "int8", "int32", 4),
    "u8u8": Factors("uint8", "uint8", "int32", 4),
    "s16s16": Factors("int16", "int16", "int32", 2),
    "bf16": Factors("bfloat16", "bfloat16", "float32", 2),
}
"""By the word for them in names of instructions."""


def sums_of_products(
    factors: Factors, sums: int, depth: int, a: str, b: str, total: str = "sateen_i", out: str = "sateen_i"
) -> StatementText:
    """out[out] = sum[total] + Σ a[a]·b[b] over k in [0, depth), for each i in [0, sums).

    Places are C expressions of sateen_i, and of sateen_k for factors. Sums of integers wrap.
    """
    if factors.sum == "float32":
        return StatementText(f"""
union {{ $uint32 bits; $float32 value; }} sateen_a, sateen_b;
$float32 sateen_result[{sums}];
for ($int32 sateen_i = 0; sateen_i < {sums}; ++sateen_i) {{
  sateen_result[sateen_i] = $sum[{total}];
  for ($int32 sateen_k = 0; sateen_k < {depth}; ++sateen_k) {{
    sateen_a.bits = ($uint32)$a[{a}] << 16;
    sateen_b.bits = ($uint32)$b[{b}] << 16;
    sateen_result[sateen_i] += sateen_a.value * sateen_b.value;
  }}
}}
for ($int32 sateen_i = 0; sateen_i < {sums}; ++sateen_i) $out[{out}] = sateen_result[sateen_i];""")
    return StatementText(f"""
$int32 sateen_result[{sums}];
for ($int32 sateen_i = 0; sateen_i < {sums}; ++sateen_i) {{
  $uint32 sateen_dot = 0;
  for ($int32 sateen_k = 0; sateen_k < {depth}; ++sateen_k) {{
    sateen_dot += ($uint32)(($int32)$a[{a}] * $b[{b}]);
  }}
  sateen_result[sateen_i] = ($int32)(($uint32)$sum[{total}] + sateen_dot);
}}
for ($int32 sateen_i = 0; sateen_i < {sums}; ++sateen_i) $out[{out}] = sateen_result[sateen_i];""")
