"""Files of arrays, of all versions, whole and damaged."""

import struct

import numpy as np
import pytest

from sateen.frontends.core.source import LIMITS, Source
from sateen.frontends.mxnet.arrays import read_arrays
from sateen.runtime.errors import FrontendError

DATA = {"arg:w": np.arange(6, dtype=np.float32).reshape(2, 3), "aux:mean": np.array([1.5], np.float64)}


def read(data):
    return read_arrays(Source(data), LIMITS)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_gives_the_same_arrays(arrays_of, version):
    found = read(arrays_of(DATA, version=version))
    assert list(found) == ["w", "mean"]
    for name, data in DATA.items():
        np.testing.assert_array_equal(found[name.partition(":")[2]], data, strict=True)


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int8", "int32", "int64", "bool"])
def test_element_types(arrays_of, dtype):
    data = np.array([[1, 0, 1]], dtype)
    np.testing.assert_array_equal(read(arrays_of({"x": data}))["x"], data, strict=True)


def test_the_third_version_has_scalars(arrays_of):
    assert read(arrays_of({"x": np.array(2, np.float32)}, version=3))["x"].shape == ()


def test_a_file_that_is_cut_anywhere_is_refused(arrays_of):
    data = arrays_of(DATA)
    for end in range(len(data)):
        with pytest.raises(FrontendError):
            read(data[:end])


def one_array(*parts):
    return struct.pack("<QQQ", 0x112, 0, 1) + b"".join(parts)


V2 = struct.pack("<I", 0xF993FAC9)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (one_array(V2, struct.pack("<i", 1)), "array 0 is sparse (storage 1); save it after `tostype('default')`"),
        (one_array(V2, struct.pack("<ii", 0, 33)), "array 0: expected 0 to 32 dimensions, found 33"),
        (one_array(V2, struct.pack("<iiq", 0, 1, -2)), "array 0: expected extents of 0 or more, found -2 at axis 0"),
        (one_array(V2, struct.pack("<ii", 0, 0)), "array 0 is empty; save the parameters after they are initialised"),
        (
            one_array(V2, struct.pack("<iiqiii", 0, 1, 2, 1, 0, 9)),
            "array 0: expected the number of an element type of MXNet, found 9",
        ),
        (
            one_array(V2, struct.pack("<iiqqiii", 0, 2, 2**62, 2**62, 1, 0, 0)),
            f"expected {2**126} bytes of data of array 0, float32[{2**62}, {2**62}], found 0; the file is cut short",
        ),
        (struct.pack("<QQQ", 0x112, 0, 2**60), "expected at most 3 arrays, found 1152921504606846976"),
    ],
)
def test_what_is_refused(data, message):
    with pytest.raises(FrontendError) as caught:
        read(data)
    assert str(caught.value) == f"the given bytes: {message}"


def test_names_must_be_there_and_differ(arrays_of):
    data = arrays_of({"x": np.zeros(1, np.float32)})
    nameless = data[: -struct.calcsize("<QQ") - 1] + struct.pack("<Q", 0)
    with pytest.raises(FrontendError, match="expected a name for each of 1 arrays, found 0; save a dict of them"):
        read(nameless)
    with pytest.raises(FrontendError, match="expected arrays of different names, found 'x' twice"):
        read(arrays_of({"arg:x": np.zeros(1, np.float32), "aux:x": np.zeros(1, np.float32)}))
    with pytest.raises(FrontendError, match="expected its end after the names, found 1 bytes more"):
        read(data + b"\0")
