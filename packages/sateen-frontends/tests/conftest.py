"""What tests of several formats use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from sateen.tensor_ir import te
from sateen.topi import Computation, Operator, View, compute


@dataclass(frozen=True, slots=True)
class _Scaled(Operator):
    """x · factor + offset, the offset along the last axis; limited if asked."""

    factor: float
    limited: bool = False
    sizes: tuple[int, ...] = ()
    word: str = ""

    def infer(self, x: object, offset: object) -> tuple[object]:  # noqa: ARG002  # an input nonetheless
        return (x,)

    def compute(self, x: View, offset: View, *, outputs: object) -> Computation:  # noqa: ARG002
        def element(*index: te.Expr) -> te.Expr:
            value = x(*index) * self.factor + offset(index[-1])
            return te.minimum(value, 1.0) if self.limited else value

        return Computation((compute(x.shape, element, "scaled"),))


@pytest.fixture
def users_operator() -> Callable[[str], type[Operator]]:
    """An operator as users bring them, by the name that it has: the same for layers of all formats."""
    return lambda name: type("Scaled", (_Scaled,), {"name": name, "__slots__": ()})
