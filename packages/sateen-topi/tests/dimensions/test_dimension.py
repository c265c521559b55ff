"""Dimensions: their normal form, what it decides, and their text."""

import itertools
import random

import numpy as np
import pytest

from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.topi import Dimension, Symbol
from sateen.topi.dimensions import (
    bind,
    divided,
    least,
    may_be_at_least,
    parse_dimension,
    product,
    read_dimension,
    rounded_up,
    symbols_of,
)
from sateen.topi.dimensions.dimension import LARGEST, MOST_ATOMS
from sateen.topi.dimensions.parser import MOST_NESTED

N, M, H = Symbol("n"), Symbol("m"), Symbol("H")


@pytest.mark.parametrize(
    ("dimension", "same"),
    [
        ((N * 2 + 4) // 2, N + 2),
        ((H + 2 - 3) // 1 + 1, H),
        ((N // 2 + 1) // 2, (N + 2) // 4),
        ((6 * N + 3) // 4, N + (2 * N + 3) // 4),
        ((4 * N + 3) // 8, N // 2),
        (N + M - N, M),
        ((N + 1) * (N - 1), N * N - 1),
        (N * M, M * N),
        (0 - (-N), N),
        (3 - N, -N + 3),
        (rounded_up(N, 2), (N + 1) // 2),
        (product([2, N, 3, M]), N * M * 6),
        (N % 2 + (N // 2) * 2, N),
        (np.int64(2) * N + np.int64(1), 2 * N + 1),
    ],
)
def test_dimensions_of_one_value_are_equal(dimension, same):
    assert dimension == same
    assert hash(dimension) == hash(same)


@pytest.mark.parametrize(
    ("dimension", "number"), [(N - N, 0), (2 * N % 2, 0), ((2 * N + 1) % 2, 1), (N * 0, 0), ((N + 3 - N) // 2, 1)]
)
def test_where_nothing_is_open_there_is_a_number(dimension, number):
    assert isinstance(dimension, int)
    assert dimension == number


def test_other_dimensions_differ():
    different = [N, M, N + 1, 2 * N, N * N, N * M, N // 2, N // 3, (N + 1) // 2, N // 2 + 1, 1, -N]
    for a, b in itertools.combinations(different, 2):
        assert a != b


def drawn(rng, depth=3):
    """A dimension, and the function of sizes n and m that it should be."""
    kind = rng.choice(["symbol", "number"] if depth == 0 else ["sum", "difference", "product", "quotient", "quotient"])
    if kind == "symbol":
        name = rng.choice("nm")
        return Symbol(name), lambda sizes: sizes[name]
    if kind == "number":
        number = rng.randint(-5, 9)
        return number, lambda sizes: number
    a, of_a = drawn(rng, depth - 1)
    if kind == "quotient":
        divisor = rng.randint(1, 6)
        return a // divisor, lambda sizes: of_a(sizes) // divisor
    b, of_b = drawn(rng, depth - 1)
    if kind == "sum":
        return a + b, lambda sizes: of_a(sizes) + of_b(sizes)
    if kind == "difference":
        return a - b, lambda sizes: of_a(sizes) - of_b(sizes)
    return a * b, lambda sizes: of_a(sizes) * of_b(sizes)


SIZES = [dict(zip("nm", sizes, strict=True)) for sizes in itertools.product((1, 2, 3, 7, 12), repeat=2)]


def test_the_normal_form_keeps_the_value():
    rng = random.Random(1)
    for _ in range(1000):
        dimension, value = drawn(rng, depth=4)
        assert [bind(dimension, sizes) for sizes in SIZES] == [value(sizes) for sizes in SIZES], dimension


def test_bounds_hold():
    rng = random.Random(2)
    bounded = 0
    for _ in range(1000):
        dimension, value = drawn(rng)
        low = least(dimension)
        if low is not None:
            bounded += isinstance(dimension, Dimension)
            assert all(value(sizes) >= low for sizes in SIZES), dimension
    assert bounded > 100


def test_laws_of_rounding_hold_in_normal_form():
    rng = random.Random(3)
    for _ in range(500):
        (a, _), (b, _) = drawn(rng, depth=2), drawn(rng, depth=2)
        divisor, other = rng.randint(1, 6), rng.randint(1, 6)
        assert (a + divisor * b) // divisor == a // divisor + b
        assert (a * other) // (divisor * other) == a // divisor


def test_dividing_twice_is_dividing_by_the_product():
    rng = random.Random(4)
    for _ in range(500):
        linear = rng.randint(-9, 9) * N + rng.randint(-9, 9) * M + rng.randint(-9, 9)
        a, b = rng.randint(1, 9), rng.randint(1, 9)
        assert (linear // a) // b == linear // (a * b)


def test_text_is_read_back():
    rng = random.Random(5)
    for _ in range(500):
        dimension, _ = drawn(rng)
        assert parse_dimension(str(dimension)) == dimension


@pytest.mark.parametrize(
    ("dimension", "text"),
    [
        (N * 2 + 1, "?n*2 + 1"),
        ((H - 1) // 2 + 1, "(?H + 1)//2"),
        (N // 2, "?n//2"),
        (3 - N * 2, "-?n*2 + 3"),
        (N * M - H, "?m*?n - ?H"),
        ((H + 1) // 2 * M * 3, "?m*((?H + 1)//2)*3"),
        (H // 2 * 2, "(?H//2)*2"),
        (Symbol("floor(h/2)") + Symbol("x.0"), '?"floor(h/2)" + ?x.0'),
        (Symbol('a "b"\n'), '?"a \\"b\\"\\n"'),
    ],
)
def test_text(dimension, text):
    assert str(dimension) == text
    assert parse_dimension(text) == dimension


def test_text_may_have_another_form():
    assert parse_dimension("1 + 2*?n*(3 - 1)//4 - ( -?m )") == N + M + 1
    assert parse_dimension("(?H - 1)//2 + 1") == (H + 1) // 2


def test_a_dimension_within_a_text_ends_where_it_does():
    assert read_dimension("[?n + 1 , 2]", 1) == (N + 1, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a dimension, found the end of the text"),
        ("?n +", "expected a dimension, found the end of the text"),
        ("?", "expected the name of a dimension, found the end of the text"),
        ("?n ?m", r"expected the end of the dimension, found '\?m'"),
        ("(?n", r"expected '\)', found the end of the text"),
        ("?n//0", "expected a number above 0, found '0'"),
        ("?n//?m", r"expected a dimension, found '\?m'"),
        ('?"\\x"', "expected the name of a dimension in a string of JSON"),
        ("9" * 5000, "expected a number below 2\\^63"),
        ("9223372036854775808", "expected a number below 2\\^63"),
        ("4611686018427387904*2*?n", "expected a number below 2\\^63"),
        ("(" * (MOST_NESTED + 1), f"expected a dimension of at most {MOST_NESTED} parentheses within each other"),
    ],
)
def test_text_of_no_dimension_is_refused(text, message):
    with pytest.raises(ArgumentError, match=message):
        parse_dimension(text)


def test_text_of_a_dimension_that_is_too_large_is_refused():
    text = " + ".join(f"?a{i}" for i in range(MOST_ATOMS + 1))
    with pytest.raises(InferenceError, match=f"expected a dimension of at most {MOST_ATOMS} symbols and quotients"):
        parse_dimension(text)
    assert len(symbols_of(parse_dimension(text.rsplit(" + ", 1)[0]))) == MOST_ATOMS


def test_numbers_that_grow_too_large_are_refused():
    with pytest.raises(InferenceError, match=r"numbers of a dimension below 2\^63, found 9223372036854775808$"):
        _ = N * 2**62 * 2
    with pytest.raises(InferenceError, match=r"expected the numbers of a dimension below 2\^63, found"):
        _ = (N // (LARGEST - 1)) // 2


def test_deep_quotients_are_bounded_quickly():
    dimension = N
    for divisor in range(3, 43):
        dimension = (dimension * 2 + M) // divisor
    assert least(dimension) == 0


def test_symbols_take_sizes_and_dimensions():
    assert bind((H + 1) // 2 * N, {"H": 7, "n": 3}) == 12
    assert bind((H + 1) // 2, {"H": 2 * N + 1}) == N + 1
    assert bind(N + M, {"n": 2}) == M + 2
    assert bind(5, {"n": 2}) == 5
    assert symbols_of(N // 2 + M, 3, H * N) == ("m", "n", "H")


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"),
    [
        (N * M * 768, 768, N * M),
        (N * M * 768, M * 12, N * 64),
        (N * 3, 2, None),
        (N, M, None),
        (N * N - 1, N + 1, N - 1),
        ((H // 2) * 6, H // 2, 6),
        (0, N, 0),
        (N, 0, None),
        (12, 4, 3),
        (12, 5, None),
        (12, N, None),
    ],
)
def test_division_without_a_rest(dividend, divisor, quotient):
    assert divided(dividend, divisor) == quotient


def test_products_are_divided_by_their_factors():
    rng = random.Random(6)
    for _ in range(300):
        (a, _), (b, _) = drawn(rng, depth=3), drawn(rng, depth=2)
        if b != 0:
            assert divided(a * b, b) == a


def test_comparisons_that_all_sizes_decide():
    assert N >= 1
    assert N > 0
    assert not N < 1
    assert N + 1 > N
    assert N <= 2 * N
    assert 0 < N  # noqa: SIM300
    assert N - N // 2 > 0
    assert min(N, N + 1) == N
    assert max(N // 2, N) == N
    assert N
    assert -N


@pytest.mark.parametrize(
    ("compare", "question"),
    [
        (lambda: N > 3, r"\?n > 3, which the sizes of n decide"),
        (lambda: N <= M, r"\?n <= \?m, which the sizes of m, n decide"),
        (lambda: min(N, 7), r"\?n > 7"),
        (lambda: max(N, M), r"\?m > \?n"),
        (lambda: bool(N - 1), r"\?n - 1 is 0, which the sizes of n decide"),
    ],
)
def test_comparisons_that_sizes_decide_are_refused(compare, question):
    with pytest.raises(InferenceError, match=f"expected to know whether {question}"):
        compare()


@pytest.mark.parametrize(
    ("dimension", "low", "may"),
    [(3, 3, True), (2, 3, False), (N, 100, True), (-N, 0, False), (N - M, 5, True), (N // 2 - N, 0, False)],
)
def test_what_no_sizes_can_reach(dimension, low, may):
    assert may_be_at_least(dimension, low) == may


def test_division_by_what_is_no_number_above_0_is_refused():
    with pytest.raises(InferenceError, match=r"expected to divide \?n by a number above 0, found 0"):
        _ = N // 0
    for divide in (lambda: N // M, lambda: N % 1.5, lambda: N * 0.5, lambda: N // True):
        with pytest.raises(TypeError):
            divide()
