"""Numbers as unevaluated sums of two float32, for processors without float64: about 48 bits.

Sums and products are exact, the second part being what rounding took off the first (Knuth, The Art of Computer
Programming, volume 2, 4.2.2; Dekker, A floating-point technique for extending the available precision, 1971).
"""

from __future__ import annotations

import numpy as np

from sateen.tensor_ir.functions.arithmetic import fma
from sateen.tensor_ir.ir.expr import Expr, const
from sateen.tensor_ir.ir.types import FLOAT32

Parts = tuple[Expr, Expr]


def parts_of(number: float) -> tuple[float, float]:
    """A float64 as a sum of two float32."""
    high = float(np.float32(number))
    return high, float(np.float32(number - high))


def exact_sum(a: Expr, b: Expr) -> Parts:
    """a + b of any sizes."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def exact_sum_in_order(a: Expr, b: Expr) -> Parts:
    """a + b for |a| ≥ |b|."""
    total = a + b
    return total, b - (total - a)


def exact_product(a: Expr, b: Expr) -> Parts:
    """a·b. The first part is an fma, too: a code generator may leave a plain product unrounded where it is added."""
    product = fma(a, b, const(0.0, FLOAT32))
    return product, fma(a, b, -product)
