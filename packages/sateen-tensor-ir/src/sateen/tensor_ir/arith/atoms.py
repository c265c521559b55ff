"""Atoms of linear forms: one expression for equal ones, and what quotients, remainders and products consist of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sateen.tensor_ir.arith.linear import Linear, constant, term
from sateen.tensor_ir.arith.structure import StructuralKeys
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.types import INDEX, wrap


class Atoms:
    """Interns atoms, and writes linear forms over them as expressions."""

    def __init__(self) -> None:
        self._atoms: dict[object, Expr] = {}
        self.divisions: dict[Expr, tuple[Linear, int]] = {}
        """Atoms that are `form // k`."""
        self.remainders: dict[Expr, tuple[Linear, int]] = {}
        """Atoms that are `form % k`."""
        self.symbolic_divisions: dict[Expr, tuple[Linear, Linear]] = {}
        """Atoms that are quotients of a form by another one."""
        self.symbolic_remainders: dict[Expr, tuple[Linear, Linear]] = {}
        """Atoms that are remainders of a form by another one."""
        self.products: dict[Expr, tuple[Expr, Expr]] = {}
        """Atoms that are products of two."""
        self.keys = StructuralKeys()

    def intern(self, key: object, build: Callable[[], Expr]) -> Expr:
        """The atom of this key, built at first use."""
        atom = self._atoms.get(key)
        if atom is None:
            atom = self._atoms[key] = build()
        return atom

    def quotient(self, form: Linear, divisor: int) -> Linear:
        """The atom `form // divisor`, without applying rules."""
        atom = self.intern(("//", form.key, divisor), lambda: ex.FloorDiv(self.expr(form), ex.const(divisor)))
        self.divisions[atom] = (form, divisor)
        return term(atom)

    def remainder(self, form: Linear, divisor: int) -> Linear:
        """The atom `form % divisor`, without applying rules."""
        atom = self.intern(("%", form.key, divisor), lambda: ex.FloorMod(self.expr(form), ex.const(divisor)))
        self.remainders[atom] = (form, divisor)
        return term(atom)

    def product(self, a: Linear, b: Linear) -> Linear:
        """Multiply out, so that (n + 1)·m and n·m + m have the same form; factors of an atom are kept in creation
        order."""
        result = constant(a.constant * b.constant)
        result = result + Linear(0, {x: c * b.constant for x, c in a.terms.items() if b.constant})
        result = result + Linear(0, {x: c * a.constant for x, c in b.terms.items() if a.constant})
        for x, cx in a.terms.items():
            for y, cy in b.terms.items():
                atom = self.intern(("*", frozenset((x, y))), partial(ex.Mul, x, y))
                self.products[atom] = (x, y)
                result = result + term(atom, cx * cy)
        return result

    def expr(self, form: Linear) -> Expr:
        """The form as an expression: positive terms first, the constant last."""
        result: Expr | None = None
        for atom, coefficient in sorted(form.terms.items(), key=lambda item: item[1] < 0):
            if result is None:
                result = ex.multiply(atom, wrap(coefficient, INDEX))
            elif coefficient < 0:
                result = ex.subtract(result, ex.multiply(atom, wrap(-coefficient, INDEX)))
            else:
                result = ex.add(result, ex.multiply(atom, wrap(coefficient, INDEX)))
        rest = wrap(form.constant, INDEX)
        if result is None:
            return ex.const(rest)
        return ex.subtract(result, wrap(-rest, INDEX)) if rest < 0 else ex.add(result, rest)
