"""Numbers as float16 and bfloat16, and back, as NumPy and ml_dtypes have them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}

ENCODE = """
const [dtype, path] = given;
const numbers = floatsOf(path);
writeFileSync(path, sateen.Tensor.of(numbers, [numbers.length], dtype).data);
answer(numbers.length);
"""
DECODE = """
const [dtype, path] = given;
const bits = Uint16Array.from({ length: 65536 }, (_, i) => i);
writeFileSync(path, Float64Array.from(new sateen.Tensor(bits, [256, 256], dtype).numbers()));
answer(bits.length);
"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_rounded_to_nearest_ties_to_even(dtype: str, node: Callable[..., object], tmp_path: Path) -> None:
    every = np.arange(65536, dtype=np.uint16).view(DTYPES[dtype]).astype(np.float32)
    finite = np.sort(every[np.isfinite(every)])
    between = (finite[1:].astype(np.float64) + finite[:-1]) / 2
    random = np.random.default_rng(0).integers(0, 1 << 32, 100_000, dtype=np.uint32).view(np.float32)
    numbers = np.concatenate([every, between.astype(np.float32), random])
    numbers.tofile(tmp_path / "numbers")
    assert node(ENCODE, dtype, tmp_path / "numbers") == numbers.size
    found = np.fromfile(tmp_path / "numbers", np.uint16).view(DTYPES[dtype])
    with np.errstate(over="ignore", invalid="ignore"):
        expected = numbers.astype(DTYPES[dtype])
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    assert np.array_equal(found[known].view(np.uint16), expected[known].view(np.uint16))


def test_numbers_of_64_bits_are_rounded_once(node: Callable[..., object]) -> None:
    """By way of float32 each would be a tie, which goes to the even neighbour."""
    program = """
const bits = (dtype, number) => sateen.Tensor.of([number], [1], dtype).data[0];
const [half, bfloat] = [1 + 2 ** -11 + 2 ** -40, -1 - 2 ** -8 - 2 ** -40];
answer([bits("float16", half), bits("float16", 65519.9999999), bits("bfloat16", bfloat), bits("bfloat16", -1e308)]);
"""
    assert node(program) == [0x3C01, 0x7BFF, 0xBF81, 0xFF80]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_is_decoded(dtype: str, node: Callable[..., object], tmp_path: Path) -> None:
    assert node(DECODE, dtype, tmp_path / "numbers") == 65536
    found = np.fromfile(tmp_path / "numbers", np.float64)
    with np.errstate(invalid="ignore"):
        expected = np.arange(65536, dtype=np.uint16).view(DTYPES[dtype]).astype(np.float64)
    np.testing.assert_array_equal(found, expected)
    signs = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found)[signs], np.signbit(expected)[signs])


def test_other_types_are_those_of_their_arrays(node: Callable[..., object]) -> None:
    program = """
const errors = [];
for (const dtype of ["int64", "float8_e5m2", "int7"]) {
  errors.push(await errorOf(() => sateen.Tensor.of([1], [1], dtype)));
}
errors.push(await errorOf(() => new sateen.Tensor(new Uint8Array(1), [1], "float8_e5m2").numbers()));
const wide = new sateen.Tensor(new BigInt64Array([-5n, 7n]), [2]);
answer([[...sateen.Tensor.of([1.5, -2], [2], "int32").data], wide.numbers(), wide.dtype, errors]);
"""
    refused = "ArgumentError: expected an element type that JavaScript's numbers become, found "
    assert node(program) == [
        [1, -2],
        [-5, 7],
        "int64",
        [
            f"{refused}int64",
            f"{refused}float8_e5m2",
            f"{refused}int7",
            "ArgumentError: expected numbers to decode, found float8_e5m2",
        ],
    ]
