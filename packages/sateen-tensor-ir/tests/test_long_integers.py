"""Divisions and conversions of long integers on ARM of 32 bits: functions of our own, against Python's and NumPy's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from sateen.runtime import Target
from sateen.tensor_ir import build, te
from sateen.tensor_ir.codegen.llvm import LoadedObject
from sateen.tensor_ir.codegen.llvm.long_integers import functions_text, long_integers_text
from sateen.tensor_ir.codegen.object_code import compile_for

LONG, UNSIGNED = ctypes.c_int64, ctypes.c_uint64
FLOATS: dict[str, tuple[Any, Any]] = {"f": (ctypes.c_float, np.float32), "d": (ctypes.c_double, np.float64)}


class Pair(ctypes.Structure):
    """Quotient and remainder, as numbers with sign."""

    _fields_ = (("quotient", LONG), ("remainder", LONG))


@cache
def loaded() -> LoadedObject:
    """The functions in this process, which passes floats as its own system does."""
    names = [f"__aeabi_{name}" for name in ("uldivmod", "ldivmod", "uidiv", "idiv")]
    names += [f"__aeabi_{pair}" for letter in FLOATS for pair in (f"{letter}2lz", f"{letter}2ulz")]
    names += [f"__aeabi_{pair}" for letter in FLOATS for pair in (f"l2{letter}", f"ul2{letter}")]
    text = functions_text("").replace("define hidden", "define")
    return LoadedObject(compile_for(text, Target.host()), names)


def function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    return ctypes.CFUNCTYPE(result, *arguments)(loaded().addresses[f"__aeabi_{name}"])


def long_numbers(count: int) -> Iterator[int]:
    """Numbers of 64 bits of all lengths, and their neighbours."""
    random = Random(1)
    yield from (0, 1, 2**63 - 1, 2**63, 2**64 - 1)
    for _ in range(count):
        yield random.getrandbits(random.randint(1, 64))
        yield ((1 << random.randint(0, 63)) + random.randint(-2, 2)) % 2**64


def with_sign(number: int, bits: int = 64) -> int:
    return number - (1 << bits) if number >> (bits - 1) else number


def towards_zero(a: int, b: int) -> tuple[int, int]:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def test_quotients_and_remainders_of_64_bits() -> None:
    signed, unsigned = function("ldivmod", Pair, LONG, LONG), function("uldivmod", Pair, UNSIGNED, UNSIGNED)
    for a, b in product(long_numbers(60), repeat=2):
        if b == 0:
            continue
        found = unsigned(a, b)
        assert (found.quotient % 2**64, found.remainder % 2**64) == divmod(a, b)
        if (with_sign(a), with_sign(b)) != (-(2**63), -1):
            found = signed(with_sign(a), with_sign(b))
            assert (found.quotient, found.remainder) == towards_zero(with_sign(a), with_sign(b))


def test_quotients_of_32_bits() -> None:
    signed = function("idiv", ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)
    unsigned = function("uidiv", ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)
    for a, b in product({number % 2**32 for number in long_numbers(60)}, repeat=2):
        if b:
            assert unsigned(a, b) == a // b
            if (a, b) != (2**31, 2**32 - 1):
                assert signed(a, b) == towards_zero(with_sign(a, 32), with_sign(b, 32))[0]


@pytest.mark.parametrize("letter", FLOATS)
def test_integers_round_to_the_nearest_even_float(letter: str) -> None:
    kind, expected = FLOATS[letter]
    signed, unsigned = function(f"l2{letter}", kind, LONG), function(f"ul2{letter}", kind, UNSIGNED)
    halves = [(3 << 62 >> shift) + (1 << 62 >> shift + 24) + step for shift in range(30) for step in (-1, 0, 1)]
    for number in (*long_numbers(2000), *halves):
        assert expected(signed(with_sign(number))) == expected(np.int64(with_sign(number)))
        assert expected(unsigned(number)) == expected(np.uint64(number))


@pytest.mark.parametrize("letter", FLOATS)
def test_floats_become_integers_towards_zero(letter: str) -> None:
    kind, rounded = FLOATS[letter]
    signed, unsigned = function(f"{letter}2lz", LONG, kind), function(f"{letter}2ulz", UNSIGNED, kind)
    random = Random(2)
    for number in long_numbers(2000):
        for value in (float(rounded(with_sign(number) * 2.0 ** -random.randint(0, 80))), float(rounded(number))):
            if -(2.0**63) <= value < 2.0**63:
                assert signed(value) == int(value)
            if 0 <= value < 2.0**64:
                assert unsigned(value) == int(value)
    assert signed(float(np.finfo(rounded).smallest_subnormal)) == signed(-0.0) == 0


def test_other_architectures_need_none() -> None:
    assert long_integers_text(Target.of("llvm -mtriple=aarch64-linux-gnu")) == ""


MAIN = """
#include <stdio.h>
#include "libf.h"
enum { N = ELEMENTS };
static int64_t a[N], b[N], quotient[N], remainder_[N], truncated[N];
static int32_t short_[N];
static float rounded[N];
int main(void) {
  int64_t shape[] = {N};
  DLTensor whole = {a, {kDLCPU, 0}, 1, {kDLInt, 64, 1}, shape, 0, 0}, all[6];
  DLTensor *args[6];
  void *data[] = {a, b, quotient, remainder_, truncated, short_};
  for (int i = 0; i < 6; ++i) all[i] = whole, all[i].data = data[i], args[i] = &all[i];
  all[5].dtype.bits = 32;
  FILE *file = fopen("numbers", "rb");
  if (!file || fread(a, 8, N, file) != N || fread(b, 8, N, file) != N || fclose(file)) return 1;
  int32_t status = f(0, args, 6);
  file = fopen("results", "wb");
  return status || fwrite(quotient, 8, N, file) != N || fwrite(remainder_, 8, N, file) != N ||
    fwrite(truncated, 8, N, file) != N || fwrite(short_, 4, N, file) != N || fclose(file);
}
"""


@pytest.mark.parametrize("cpu", ["cortex-a8", "cortex-a7"])
def test_code_for_arm_divides_and_converts(cpu: str, tmp_path: Path, run_on_arm: Callable[..., str]) -> None:
    """cortex-a8 has no division of 32 bits either."""
    numbers = np.array([with_sign(number) for number in long_numbers(100) if number % 2**32], np.int64)
    a, b = np.repeat(numbers, numbers.size), np.tile(numbers, numbers.size)
    A, B = (te.placeholder(a.shape, dtype="int64", name=name) for name in "AB")
    results = [
        te.compute(a.shape, lambda i: A[i] // B[i], name="Q"),
        te.compute(a.shape, lambda i: A[i] % B[i], name="R"),
        te.compute(a.shape, lambda i: (A[i].astype("float32") * te.const(0.3, "float32")).astype("int64"), name="T"),
        te.compute(a.shape, lambda i: A[i].astype("int32") // B[i].astype("int32"), name="S"),
    ]
    target = f"llvm -mtriple=armv7-linux-gnueabihf -mcpu={cpu}"
    build(te.create_schedule(results), [A, B, *results], target, name="f").export_library(tmp_path / "libf.so")
    (tmp_path / "numbers").write_bytes(a.tobytes() + b.tobytes())
    (tmp_path / "main.c").write_text(MAIN.replace("ELEMENTS", str(a.size)))
    include = files("sateen.runtime") / "include"
    assert run_on_arm(tmp_path, ["-std=gnu11", f"-I{include}", "./libf.so", "-Wl,-rpath,."], []) == ""
    found = (tmp_path / "results").read_bytes()
    quotient, remainder, truncated = np.frombuffer(found, "int64", 3 * a.size).reshape(3, -1)
    with np.errstate(over="ignore"):
        short = a.astype("int32"), b.astype("int32")
        np.testing.assert_array_equal(quotient, a // b)
        np.testing.assert_array_equal(remainder, a % b)
        np.testing.assert_array_equal(np.frombuffer(found, "int32", a.size, 24 * a.size), short[0] // short[1])
    np.testing.assert_array_equal(truncated, (a.astype("float32") * np.float32(0.3)).astype("int64"))
