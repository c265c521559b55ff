"""Dimensions that are not known yet: integer expressions over named sizes, in one normal form.

A dimension is an int or a `Dimension`: a sum of integer multiples of products of atoms, and a constant. An atom is a
`Symbol`, which stands for a size of one or more, or a `Quotient`, a dimension divided by a number and rounded down.
Arithmetic gives the normal form, an int without symbols, so that equality is that of values: `(n*2 + 4)//2` is `n + 2`,
`(n//2 + 1)//2` is `(n + 2)//4`. Equal dimensions are equal for all sizes. For polynomials the reverse holds, too.
Dimensions with quotients may be equal for all sizes and still differ here, such as `n` and `n//2 + (n + 1)//2`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import ceil, gcd, prod
from numbers import Integral
from operator import mul
from typing import Any

from sateen.runtime.errors import InferenceError

MOST_ATOMS = 128
"""The most atoms of one dimension, including those within its quotients."""
LARGEST = 1 << 63
"""The bound of every number in a dimension: an extent has 63 bits."""

PLAIN_NAME = re.compile(r"[\w.]+")
"""A name that is written plainly; any other is written as a JSON string."""


class Dimension:
    """A dimension that depends on unknown sizes.

    `+ - * //` and `%` take dimensions and ints, `//` and `%` an int above 0 on the right. `< <= > >=`, and truth (other
    than 0), hold for all sizes or for none. If neither can be shown they raise InferenceError, as do numbers and
    expressions that grow beyond LARGEST and MOST_ATOMS.
    """

    __slots__ = ()

    def __add__(self, other: Dim) -> Dim:
        return _sum([*_terms(self), *_terms(other)]) if _is_dim(other) else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return _sum((monomial, -count) for monomial, count in _terms(self))

    def __sub__(self, other: Dim) -> Dim:
        return self + -other if _is_dim(other) else NotImplemented

    def __rsub__(self, other: Dim) -> Dim:
        return -self + other if _is_dim(other) else NotImplemented

    def __mul__(self, other: Dim) -> Dim:
        if not _is_dim(other):
            return NotImplemented
        return _sum((_sorted((*a, *b)), m * n) for a, m in _terms(self) for b, n in _terms(other))

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Dim:
        if isinstance(divisor, bool) or not isinstance(divisor, Integral):
            return NotImplemented
        if divisor < 1:
            raise InferenceError(f"expected to divide {self} by a number above 0, found {divisor}")
        return _floor(self, int(divisor))

    def __mod__(self, divisor: int) -> Dim:
        quotient = self.__floordiv__(divisor)
        return quotient if quotient is NotImplemented else self - quotient * int(divisor)

    def __lt__(self, other: Dim) -> bool:
        return not _is_at_least(self, other, f"{self} < {other}") if _is_dim(other) else NotImplemented

    def __ge__(self, other: Dim) -> bool:
        return _is_at_least(self, other, f"{self} >= {other}") if _is_dim(other) else NotImplemented

    def __gt__(self, other: Dim) -> bool:
        return not _is_at_least(other, self, f"{self} > {other}") if _is_dim(other) else NotImplemented

    def __le__(self, other: Dim) -> bool:
        return _is_at_least(other, self, f"{self} <= {other}") if _is_dim(other) else NotImplemented

    def __bool__(self) -> bool:
        positive, negative = least(self), least(-self)
        if (positive or 0) > 0 or (negative or 0) > 0:
            return True
        raise InferenceError(f"expected to know whether {self} is 0{_remedy(self)}")

    def __str__(self) -> str:
        return _text(self)


Dim = int | Dimension
"""A dimension of a tensor."""


@dataclass(frozen=True, slots=True)
class Symbol(Dimension):
    """A named size of one or more. Symbols with the same name are equal."""

    name: str

    def __str__(self) -> str:
        return f"?{self.name if PLAIN_NAME.fullmatch(self.name) else json.dumps(self.name)}"


@dataclass(frozen=True, slots=True)
class Quotient(Dimension):
    """A dimension divided by a number above 1, rounded down. Arithmetic makes it, in lowest terms."""

    dividend: Dimension
    divisor: int


@dataclass(frozen=True, slots=True)
class Polynomial(Dimension):
    """A sum of products of atoms, each with a number of times other than 0. Arithmetic makes it, in canonical order."""

    terms: tuple[Term, ...]


Atom = Symbol | Quotient
Monomial = tuple[Atom, ...]
"""A product of atoms in order, one of them several times for a power; () is 1."""
Term = tuple[Monomial, int]


def bind(dimension: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """The dimension with sizes, numbers or dimensions, for the symbols in `sizes`; the others stay."""
    if isinstance(dimension, int):
        return dimension
    result: Dim = 0
    for monomial, count in _terms(dimension):
        result = result + reduce(mul, (_bound(atom, sizes) for atom in monomial), count)
    return result


def _bound(atom: Atom, sizes: Mapping[str, Dim]) -> Dim:
    if isinstance(atom, Symbol):
        return sizes.get(atom.name, atom)
    return bind(atom.dividend, sizes) // atom.divisor


def symbols_of(*dimensions: Dim) -> tuple[str, ...]:
    """The names of the symbols in dimensions, each once, in order of the dimensions."""
    names: dict[str, None] = {}
    for dimension in dimensions:
        for monomial, _ in _terms(dimension):
            for atom in monomial:
                found = (atom.name,) if isinstance(atom, Symbol) else symbols_of(atom.dividend)
                names.update(dict.fromkeys(found))
    return tuple(names)


def listed(dimensions: Iterable[Dim]) -> str:
    """Dimensions as messages list them, such as `[2, ?n + 1]`."""
    return f"[{', '.join(map(str, dimensions))}]"


def numbers(dimensions: Iterable[Dim]) -> tuple[int, ...]:
    """Dimensions as numbers. Raises InferenceError if one is open."""
    given = tuple(dimensions)
    known = tuple(d for d in given if isinstance(d, int))
    if len(known) < len(given):
        raise InferenceError(f"expected known dimensions, found {listed(given)}{_remedy(*given)}")
    return known


def rounded_up(dimension: Dim, divisor: int) -> Dim:
    """dimension / divisor, a number above 0, rounded up."""
    return (dimension + (divisor - 1)) // divisor


def product(dimensions: Iterable[Dim]) -> Dim:
    """The product of dimensions; of none 1."""
    return reduce(mul, dimensions, 1)


def divided(dividend: Dim, divisor: Dim) -> Dim | None:
    """The dimension whose product with `divisor` is `dividend`; None if there is none in normal form."""
    leading = next(iter(_terms(divisor)), None)
    if leading is None:
        return None
    result: Dim = 0
    while rest := _terms(dividend):  # long division: each step takes the leading term away
        monomial = _without(rest[0][0], leading[0])
        if monomial is None or rest[0][1] % leading[1]:
            return None
        part = _sum([(monomial, rest[0][1] // leading[1])])
        result, dividend = result + part, dividend - part * divisor
    return result


def least(dimension: Dim) -> int | None:
    """A lower bound of the dimension for all sizes; None if none is found.

    For a polynomial without differences it is the least value.
    """
    return _least(dimension, {})


def may_be_at_least(dimension: Dim, low: int) -> bool:
    """Whether sizes may make the dimension `low` or more: False only if none can."""
    if isinstance(dimension, int):
        return dimension >= low
    room = least(low - 1 - dimension)
    return room is None or room < 0


def _least(dimension: Dim, known: dict[Quotient, int | None]) -> int | None:
    if isinstance(dimension, int):
        return dimension
    bounds = (_lower_bound(dimension, loosen, known) for loosen in (False, True))
    return max((bound for bound in bounds if bound is not None), default=None)


def _lower_bound(dimension: Dim, loosen: bool, known: dict[Quotient, int | None]) -> int | None:
    """A number at or below the dimension; `known` are those of quotients.

    A quotient that is taken away is at most its exact fraction; one that is added stays as it is, or with `loosen` is
    its fraction less what rounding down may take.
    """
    total: dict[Monomial, Fraction] = {}
    for monomial, count in _terms(dimension):
        parts: tuple[Term, ...] = ((monomial, 1),)
        scale = Fraction(count)
        if len(monomial) == 1 and isinstance(monomial[0], Quotient) and (count < 0 or loosen):
            lost = 0 if count < 0 else monomial[0].divisor - 1
            parts, scale = _terms(monomial[0].dividend - lost), scale / monomial[0].divisor
        for m, n in parts:
            total[m] = total.get(m, Fraction(0)) + scale * n
    bound = Fraction(0)
    for monomial, fraction in total.items():
        lows = [_least_atom(atom, known) for atom in monomial] if fraction else []
        if fraction and monomial and (fraction < 0 or min(lows) < 0):
            return None
        bound += fraction * prod(lows)
    return ceil(bound)


def _least_atom(atom: Atom, known: dict[Quotient, int | None]) -> int:
    """A number at or below an atom; -1 if none is found."""
    if isinstance(atom, Symbol):
        return 1
    if atom not in known:
        known[atom] = _least(atom.dividend, known)
    low = known[atom]
    return -1 if low is None else low // atom.divisor


def _is_at_least(a: Dim, b: Dim, question: str) -> bool:
    difference, opposite = least(a - b), least(b - a)
    if difference is not None and difference >= 0:
        return True
    if opposite is not None and opposite > 0:
        return False
    raise InferenceError(f"expected to know whether {question}{_remedy(a, b)}")


def _remedy(*dimensions: Dim) -> str:
    return f", which the sizes of {', '.join(symbols_of(*dimensions))} decide"


def _is_dim(value: object) -> bool:
    return isinstance(value, (Dimension, Integral)) and not isinstance(value, bool)


def _terms(dimension: Dim) -> tuple[Term, ...]:
    """The terms in canonical order: highest degree first, the constant last."""
    if isinstance(dimension, Polynomial):
        return dimension.terms
    if isinstance(dimension, (Symbol, Quotient)):
        return (((dimension,), 1),)
    assert not isinstance(dimension, Dimension)
    return (((), int(dimension)),) if dimension else ()


def _sum(terms: Iterable[Term]) -> Dim:
    """The sum of terms in normal form."""
    counts: dict[Monomial, int] = {}
    for monomial, count in terms:
        counts[monomial] = counts.get(monomial, 0) + count
    kept = sorted(((m, n) for m, n in counts.items() if n), key=_order)
    if any(abs(n) >= LARGEST for _, n in kept):
        raise InferenceError(f"expected the numbers of a dimension below 2^63, found {max(abs(n) for _, n in kept)}")
    if sum(_atoms(m) for m, _ in kept) > MOST_ATOMS:
        raise InferenceError(f"expected a dimension of at most {MOST_ATOMS} symbols and quotients, found more")
    match kept:
        case []:
            return 0
        case [((), number)]:
            return number
        case [((atom,), 1)]:
            return atom
    return Polynomial(tuple(kept))


def _floor(dividend: Dim, divisor: int) -> Dim:
    """dividend / divisor rounded down: terms that the divisor divides are taken out, and the remaining fraction is
    reduced."""
    whole = _sum((monomial, count // divisor) for monomial, count in _terms(dividend))
    rest = [(monomial, count % divisor) for monomial, count in _terms(dividend) if count % divisor]
    common = gcd(divisor, *(count for monomial, count in rest if monomial))
    inner = _sum((monomial, count // common) for monomial, count in rest)
    divisor //= common
    if isinstance(inner, int) or divisor == 1:
        return whole  # a constant below the divisor
    nested = [(m[0], n) for m, n in _terms(inner) if len(m) == 1 and isinstance(m[0], Quotient)]
    if len(nested) == 1 and nested[0][1] == 1:  # (x//a + y)//b is (x + y*a)//(a*b)
        (quotient, _) = nested[0]
        assert isinstance(quotient, Quotient)
        return whole + _floor(quotient.dividend + (inner - quotient) * quotient.divisor, quotient.divisor * divisor)
    if divisor >= LARGEST:
        raise InferenceError(f"expected the numbers of a dimension below 2^63, found {divisor}")
    return whole + Quotient(inner, divisor)


def _sorted(monomial: Monomial) -> Monomial:
    return tuple(sorted(monomial, key=_atom_order))


def _order(term: Term) -> tuple[Any, ...]:
    """Graded, then by atoms: an order that products keep, which long division needs."""
    return (-len(term[0]), tuple(map(_atom_order, term[0])))


def _atom_order(atom: Atom) -> tuple[Any, ...]:
    """Symbols by name, then quotients."""
    if isinstance(atom, Symbol):
        return (0, atom.name)
    return (1, atom.divisor, tuple((*_order(term), term[1]) for term in _terms(atom.dividend)))


def _atoms(monomial: Monomial) -> int:
    return sum(1 + (sum(_atoms(m) for m, _ in _terms(a.dividend)) if isinstance(a, Quotient) else 0) for a in monomial)


def _without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    """The monomial divided by another; None if that is no factor."""
    rest = list(monomial)
    for atom in factor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _text(dimension: Dim) -> str:
    """The terms with signs between them, such as `?n*2 + 1`, `?h*?w - 1` and `(?h + 1)//2`."""
    text = ""
    for monomial, count in _terms(dimension):
        sign = "-" if count < 0 else "+"
        product_ = _product_text(monomial, abs(count))
        text += f" {sign} {product_}" if text else product_ if count > 0 else f"-{product_}"
    return text


def _product_text(monomial: Monomial, count: int) -> str:
    if not monomial:
        return str(count)
    alone = len(monomial) == 1 and count == 1
    factors = [str(a) if isinstance(a, Symbol) else _quotient_text(a, alone) for a in monomial]
    return "*".join([*factors, *([str(count)] if count != 1 else [])])


def _quotient_text(quotient: Quotient, alone: bool) -> str:
    dividend = quotient.dividend
    inside = str(dividend) if isinstance(dividend, Symbol) else f"({_text(dividend)})"
    return f"{inside}//{quotient.divisor}" if alone else f"({inside}//{quotient.divisor})"
