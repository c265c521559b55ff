"""Einsum against NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import FrontendError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bhij,bhjd->bihd", [(2, 3, 4, 6), (2, 3, 6, 5)]),
        ("ij,jk", [(3, 4), (4, 5)]),
        ("ba,cb", [(3, 4), (5, 3)]),
        ("ij->j", [(3, 4)]),
        ("ii", [(4, 4)]),
        ("ijji->ij", [(3, 4, 4, 3)]),
        ("i,j->ji", [(3,), (4,)]),
        ("i,i->i", [(3,), (3,)]),
        (",ij->ij", [(), (3, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 6)]),
        ("b...,b...->...", [(3, 2, 1), (3, 1, 4)]),
        ("ab,bc,cd,a->d", [(2, 3), (3, 4), (4, 5), (2,)]),
        ("ab,ab,ab->", [(2, 3), (2, 3), (2, 3)]),
        ("...->...", [(2, 3)]),
        ("abc,c->ba", [(2, 3, 4), (1,)]),
    ],
)
def test_sums_of_products(run_node: Callable[..., list[Array]], equation: str, shapes: list[tuple[int, ...]]) -> None:
    inputs = {f"x{i}": RANDOM.standard_normal(shape).astype("float32") for i, shape in enumerate(shapes)}
    (found,) = run_node("Einsum", inputs, equation=equation)
    given = list(inputs.values())
    if equation == "abc,c->ba":
        given[1] = np.broadcast_to(given[1], (4,))
    np.testing.assert_allclose(found, np.einsum(equation, *given), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "text"),
    [
        ("ij,jk->ik", "expected an equation of 1 operands, found 'ij,jk->ik'"),
        ("ijk->i", "'ijk' names 3 axes, input 0 has 2"),
        ("i->i", "'i' names 1 axes, input 0 has 2"),
        ("ij->k", "expected each letter of the result once and in an operand, found 'ij->k'"),
        ("ii->i", "label 'i' stands for extents 3 and 4"),
    ],
)
def test_equations_that_do_not_fit_are_refused(run_node: Callable[..., list[Array]], equation: str, text: str) -> None:
    with pytest.raises(FrontendError) as caught:
        run_node("Einsum", {"x": np.zeros((3, 4), np.float32)}, equation=equation)
    assert text in str(caught.value)
