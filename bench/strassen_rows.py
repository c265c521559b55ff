"""Whether Strassen's method can keep rows apart: `nox -s bench -- strassen_rows`.

A model of it in float32, with rows of the left operand and columns of the right one scaled by powers of two, so that
the largest element of each is between 1 and 2; the result is scaled back, rows of zeros by 0. Losses are the largest of
an element over Σ|w| of its column times the largest element of its row, against float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from page import table, write_part

from sateen.graph_ir.ir import Array
from sateen.topi.computations.products.strassen import LEFT, RESULT, RIGHT

ROWS, DEPTH, COLUMNS = 128, 768, 768


def strassen(a: Array, b: Array) -> Array:
    """The product by seven products of quarters."""
    blocks = [
        [quarter for half in np.split(x, 2, axis=0) for quarter in np.split(half, 2, axis=1)] for x in (a, b)
    ]  # fmt: skip
    products = [_sum(left, blocks[0]) @ _sum(right, blocks[1]) for left, right in zip(LEFT, RIGHT, strict=True)]
    quarters = [_sum(factors, products) for factors in RESULT]
    return np.block([quarters[:2], quarters[2:]])


def _sum(factors: tuple[int, ...], parts: list[Array]) -> Array:
    total = np.zeros_like(parts[0])
    for factor, part in zip(factors, parts, strict=True):
        if factor:
            total = total + np.float32(factor) * part
    return total


def scaled(a: Array, b: Array) -> Array:
    """The same, with rows of a and columns of b scaled by powers of two."""
    (up, down), (left, right) = _powers(a, 1), _powers(b, 0)
    return strassen(a * up, b * left) * down * right


def _powers(x: Array, axis: int) -> tuple[Array, Array]:
    """The powers of two that bring the largest element along an axis to [1, 2), and their inverses, 0 for zeros."""
    largest = np.abs(x).max(axis=axis, keepdims=True)
    exponents = np.floor(np.log2(np.where((largest > 0) & np.isfinite(largest), largest, 1))).astype(np.int32)
    one = np.float32(1)
    return np.ldexp(one, -exponents), np.where(largest == 0, np.float32(0), np.ldexp(one, exponents))


def cells(name: str, a: Array, b: Array) -> list[str]:
    """The losses of rows of finite numbers, and the others that are not finite any more, for three ways to multiply."""
    is_finite = np.isfinite(a).all(axis=1)
    exact = a[is_finite].astype(np.float64) @ b.astype(np.float64)
    bound = np.abs(a[is_finite]).max(axis=1, keepdims=True) * np.abs(b.astype(np.float64)).sum(axis=0)
    found = []
    ways: tuple[Callable[[Array, Array], Array], ...] = (np.matmul, strassen, scaled)
    for way in ways:
        result = way(a, b)[is_finite]
        reached = int((~np.isfinite(result)).any(axis=1).sum())
        errors = np.abs(result - exact)
        loss = (errors[bound > 0] / bound[bound > 0]).max() if not reached else np.inf
        wrong = np.abs(result[(bound == 0).all(axis=1)]).max(initial=0.0)
        noise = f", rows of zeros {wrong:.0e}" if wrong else ""
        found.append(f"{reached} rows are not finite" if reached else f"{loss:.1e}{noise}")
    return [name, *found]


def main() -> None:
    """Compare, and write the part of the page."""
    random = np.random.default_rng(0)
    a = random.standard_normal((ROWS, DEPTH), np.float32)
    b = random.standard_normal((DEPTH, COLUMNS), np.float32) / np.float32(DEPTH**0.5)
    token, feature, zeros, column, nan, infinite = (x.copy() for x in (a, a, a, b, a, a))
    token[0] *= 1e5
    feature[:, 7] *= 1e3
    zeros[ROWS // 2 :] = 0
    column[:, 0] *= 1e3
    nan[0, 0], infinite[0, 0] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        rows = [
            cells("normal", a, b),
            cells("a row 1e5 times as large", token, b),
            cells("a feature 1000 times as large", feature, b),
            cells("a column of weights 1000 times as large", a, column),
            cells("half of the rows zero", zeros, b),
            cells("a NaN in one row", nan, b),
            cells("an infinity in one row", infinite, b),
        ]
    for row in rows:
        print(" | ".join(row))
    write_part("strassen rows", table(["data", "plain", "Strassen", "Strassen, scaled"], rows))


if __name__ == "__main__":
    main()
