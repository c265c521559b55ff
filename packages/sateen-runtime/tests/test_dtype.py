import importlib
import sys

import numpy as np
import pytest

from sateen.runtime import ArgumentError, DType, TypeCode

NAMES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
NARROW = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("name", NAMES + NARROW)
@pytest.mark.parametrize("lanes", [1, 4, 16, 65535])
def test_text_round_trips(name: str, lanes: int) -> None:
    text = name if lanes == 1 else f"{name}x{lanes}"
    dtype = DType.of(text)
    assert (str(dtype), dtype.lanes) == (text, lanes)
    assert DType.of(dtype) is dtype


def test_a_type_equals_its_text_and_numpy_takes_it() -> None:
    dtype = DType.of("int16")
    assert dtype == "int16"
    assert dtype not in ("uint16", "int16x2", 16)
    assert {dtype: 1}["int16"] == {"int16": 1}[dtype] == 1  # type: ignore[index]
    assert np.zeros(3).astype(dtype).dtype == np.dtype(dtype) == dtype == np.dtype("int16")
    with pytest.raises(ArgumentError, match=r"expected a type of one lane for NumPy, found int16x2; \.numpy is that"):
        np.zeros(3).astype(DType.of("int16x2"))


@pytest.mark.parametrize("name", NAMES)
def test_numpy_types_convert_both_ways(name: str) -> None:
    assert DType.of(name).numpy == np.dtype(name)
    assert DType.of(np.dtype(name)) == DType.of(np.dtype(name).type) == DType.of(name)


@pytest.mark.parametrize("name", NARROW)
def test_narrow_floats_convert_through_ml_dtypes(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    assert DType.of(name).numpy == np.dtype(getattr(ml_dtypes, name))
    assert DType.of(getattr(ml_dtypes, name)) == DType.of(name)


def test_bfloat16_without_ml_dtypes_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    importlib.import_module("sateen.runtime.dtype")._to_numpy.cache_clear()
    with pytest.raises(ArgumentError, match=r"bfloat16 in NumPy needs the package ml_dtypes: pip install"):
        _ = DType.of("bfloat16").numpy


def test_codes_bits_and_bytes_are_those_of_dlpack() -> None:
    assert DType.of("float32x4") == DType(TypeCode.FLOAT, 32, 4)
    assert DType.of("bfloat16") == DType(TypeCode.BFLOAT, 16)
    assert DType.of("bool") == DType(TypeCode.BOOL, 8)
    assert [int(code) for code in TypeCode] == [0, 1, 2, 4, 6, 10, 12]
    assert (DType.of("float32x4").bytes, DType.of("bool").bytes, DType.of("int16").bytes) == (16, 1, 2)


def test_each_type_is_of_one_class() -> None:
    assert [DType.of(name).is_float for name in ("float16", "bfloat16", "float8_e5m2", "int8", "bool")] == [
        True
    ] * 3 + [False] * 2
    assert [DType.of(name).is_int for name in ("int8", "uint64", "bool", "float32")] == [True, True, False, False]
    assert [DType.of(name).is_bool for name in ("bool", "uint8")] == [True, False]


@pytest.mark.parametrize(
    "text", ["float", "int", "float33", "int8x0", "x4", "", "float32x65536", "float32x", "int8x4x4"]
)
def test_unknown_names_are_refused(text: str) -> None:
    with pytest.raises(
        ArgumentError, match=r"expected (an element type such as 'float32' or 'int8x4'|1 to 65535 lanes)"
    ):
        DType.of(text)


@pytest.mark.parametrize("value", [np.dtype("complex64"), np.dtype("U4"), object, np.dtype([("a", "f4")])])
def test_numpy_types_that_sateen_lacks_are_refused(value: type) -> None:
    with pytest.raises(ArgumentError, match="expected an element type such as 'float32' or 'int8x4', found"):
        DType.of(value)


def test_foreign_byte_order_is_refused() -> None:
    foreign = np.dtype("float32").newbyteorder()
    with pytest.raises(ArgumentError, match="expected numbers in the byte order of this machine, found the NumPy type"):
        DType.of(foreign)


def test_codes_that_do_not_fit_their_bits_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"expected an element type of int8, .*; found .*FLOAT.*, 12 bits"):
        DType(TypeCode.FLOAT, 12)


def test_none_is_no_element_type() -> None:
    with pytest.raises(ArgumentError, match="expected an element type such as 'float32' or 'int8x4', found None"):
        DType.of(None)  # type: ignore[arg-type]
