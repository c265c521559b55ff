"""The least and the greatest value that an index takes while loops run."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from sateen.tensor_ir.arith import Analyzer, Linear, constant
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.tensor_expr import Read
from sateen.tensor_ir.ir.visit import walk


class IndexBounds:
    """Bounds of an index over all loops but the `fixed` ones: linear forms of fixed variables, ends included.

    `loops` has the extent of each loop by its variable.
    """

    def __init__(self, analyzer: Analyzer, loops: Mapping[Var, Expr], fixed: set[IterVar]) -> None:
        self.analyzer = analyzer
        self.loops = loops
        self.fixed = fixed

    def __call__(self, index: Expr) -> tuple[Linear, Linear] | None:
        """None if the index depends on loaded data, so that any element may be read."""
        form = self.analyzer.form(index)
        low = high = constant(form.constant)
        for atom, coefficient in form.terms.items():
            ends = self._atom(atom)
            if ends is None:
                return None
            first, last = ends if coefficient > 0 else (ends[1], ends[0])
            low, high = low + first * coefficient, high + last * coefficient
        recombine = self.analyzer.recombine
        return recombine(low), recombine(high)

    def _atom(self, atom: Expr) -> tuple[Linear, Linear] | None:
        analyzer = self.analyzer
        if isinstance(atom, Var):
            if atom in self.fixed or atom not in self.loops:
                form = analyzer.form(atom)
                return form, form
            return constant(0), analyzer.form(self.loops[atom]) - 1
        if not any(v in self.loops and v not in self.fixed for v in walk(atom) if isinstance(v, IterVar)) and not any(
            isinstance(n, (Load, Read)) for n in walk(atom)
        ):
            form = analyzer.form(atom)
            return form, form
        if atom in analyzer.divisions:
            inner, k = analyzer.divisions[atom]
            ends = self(analyzer.expr(inner))
            return None if ends is None else self._divided(*ends, k)
        if atom in analyzer.remainders:
            inner, k = analyzer.remainders[atom]
            ends = self(analyzer.expr(inner))
            return (constant(0), constant(k - 1)) if ends is None else self._remainder(*ends, k)
        if atom in analyzer.symbolic_divisions and self._is_fixed(analyzer.symbolic_divisions[atom][1]):
            inner, by = analyzer.symbolic_divisions[atom]
            ends = self(analyzer.expr(inner))
            return None if ends is None else self._divided_by(*ends, by)
        if atom in analyzer.symbolic_remainders and self._is_fixed(analyzer.symbolic_remainders[atom][1]):
            inner, by = analyzer.symbolic_remainders[atom]
            ends = self(analyzer.expr(inner))
            return (constant(0), by - 1) if ends is None else self._remainder_by(*ends, by)
        if isinstance(atom, (ex.Min, ex.Max)):
            a, b = self(atom.a), self(atom.b)
            if a is None or b is None:
                return None
            return self._extremum(type(atom), a[0], b[0]), self._extremum(type(atom), a[1], b[1])
        if isinstance(atom, ex.Select):
            a, b = self(atom.then), self(atom.otherwise)
            if a is None or b is None:
                return None
            return self._extremum(ex.Min, a[0], b[0]), self._extremum(ex.Max, a[1], b[1])
        low, high = analyzer.atom_interval(atom)
        return None if low is None or high is None else (constant(low), constant(high))

    def _extremum(self, kind: type[ex.Min | ex.Max], a: Linear, b: Linear) -> Linear:
        return self.analyzer.form(kind(self.analyzer.expr(a), self.analyzer.expr(b)))

    def _divided(self, low: Linear, high: Linear, k: int) -> tuple[Linear, Linear]:
        """Bounds of x // k: exact if low's remainder is known, otherwise with one more block."""
        analyzer = self.analyzer
        first = analyzer.form(analyzer.expr(low) // k)
        last = analyzer.form(analyzer.expr(high) // k)
        span = high - low
        if (last - first).is_constant or not span.is_constant:
            return first, last
        m, r = analyzer.modulus(low)
        step = gcd(m, k)
        largest_remainder = k - step + r % step
        return first, first + (largest_remainder + span.constant) // k

    def _is_fixed(self, form: Linear) -> bool:
        """Whether no loop changes a form."""
        return not any(v in self.loops and v not in self.fixed for atom in form.terms for v in walk(atom))

    def _divided_by(self, low: Linear, high: Linear, by: Linear) -> tuple[Linear, Linear]:
        """Bounds of x // y for a symbol y: as many blocks as the span reaches, and one more."""
        analyzer = self.analyzer
        divisor = analyzer.expr(by)
        first = analyzer.form(analyzer.expr(low) // divisor)
        span = high - low
        if span.same(constant(0)):
            return first, first
        if not span.is_constant:
            return first, analyzer.form(analyzer.expr(high) // divisor)
        return first, first + analyzer.form((analyzer.expr(span + by - 1)) // divisor)

    def _remainder_by(self, low: Linear, high: Linear, by: Linear) -> tuple[Linear, Linear]:
        """Bounds of x % y for a symbol y: all, unless it is one value."""
        if (high - low).same(constant(0)):
            one = self.analyzer.form(self.analyzer.expr(low) % self.analyzer.expr(by))
            return one, one
        return constant(0), by - 1

    def _remainder(self, low: Linear, high: Linear, k: int) -> tuple[Linear, Linear]:
        """Bounds of x % k: a block that stays within one period keeps its extent, any other covers the period."""
        analyzer = self.analyzer
        first = analyzer.form(analyzer.expr(low) % k)
        span = high - low
        if span.is_constant:
            top = analyzer.upper(first + span.constant)
            m, r = analyzer.modulus(low)
            step = gcd(m, k)
            if (top is not None and top < k) or (k - step + r % step + span.constant < k):
                return first, first + span.constant
        return constant(0), constant(k - 1)
