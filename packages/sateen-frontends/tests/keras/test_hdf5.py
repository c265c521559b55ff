"""The reader of HDF5 against files that the library behind h5py writes, and against damaged ones."""

import io
import random

import h5py
import numpy as np
import pytest

from sateen.frontends.keras.hdf5 import open_hdf5
from sateen.runtime.errors import FrontendError

MOST = 1 << 30


def written(fill, **options):
    data = io.BytesIO()
    with h5py.File(data, "w", **options) as file:
        fill(file)
    return data.getvalue()


def small(file):
    group = file.create_group("a/b")
    group.attrs["text"] = "völlig"
    group.attrs["list"] = np.array([b"one", b"three"])
    group.attrs["varying"] = ["one", "", "three"]
    group.attrs["empty"] = []
    group["x"] = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_groups_arrays_and_texts_are_those_that_were_written(libver):
    root = open_hdf5(written(small, libver=libver), MOST, "net.h5")
    group = root.group("a").group("b")
    assert (group.text("text"), group.text("none")) == ("völlig", None)
    assert [group.texts(name) for name in ("list", "varying", "empty", "none")] == [
        ["one", "three"], ["one", "", "three"], [], None,
    ]  # fmt: skip
    assert (root.has("a"), root.has("x"), group.has("x")) == (True, False, True)
    np.testing.assert_array_equal(root.array("a/b/x"), np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8", "i1", "u1", ">i2", "<u4", "<i8"])
def test_numbers_of_all_types_and_byte_orders(dtype):
    data = np.array([0, 1, 2, 100]).astype(dtype)
    found = open_hdf5(written(lambda file: file.create_dataset("x", data=data)), MOST, "net.h5").array("x")
    assert found.dtype == np.dtype(dtype).newbyteorder("=")
    assert found.tolist() == [0, 1, 2, 100]


def test_groups_of_many_members_and_scalars():
    def fill(file):
        for i in range(500):
            file[f"layer_{i}"] = np.float32(i)

    root = open_hdf5(written(fill), MOST, "net.h5")
    assert [root.array(f"layer_{i}").item() for i in range(500)] == list(range(500))


def test_long_lists_are_split_over_attributes():
    def fill(file):
        file.attrs["names0"], file.attrs["names1"] = np.array([b"a", b"b"]), np.array([b"c"])

    assert open_hdf5(written(fill), MOST, "net.h5").texts("names") == ["a", "b", "c"]


def test_what_keras_does_not_write_is_refused():
    cases = {
        "compressed data are not supported": lambda file: file.create_dataset("x", data=np.ones(99), compression=1),
        "data in chunks are not supported": lambda file: file.create_dataset("x", data=np.ones(99), chunks=(9,)),
        "elements of type 6": lambda file: file.create_dataset("x", data=np.zeros(2, [("a", "f4")])),
        "expected an array of numbers, found text": lambda file: file.create_dataset("x", data=np.array([b"a"])),
        "expected a dataset, found a group": lambda file: file.create_group("x"),
        "expected 'x', found none": lambda file: None,
    }
    for message, fill in cases.items():
        root = open_hdf5(written(fill), MOST, "net.h5")
        with pytest.raises(FrontendError) as error:
            root.array("x")
        assert message in str(error.value)
    with pytest.raises(FrontendError, match="the file has more data than a model may"):
        open_hdf5(written(lambda file: file.create_dataset("x", data=np.ones(9))), 71, "net.h5").array("x")


def test_damaged_files_are_refused_and_nothing_else_happens():
    """Each prefix, and bytes changed at random: the library behind h5py never returns from some of these."""
    whole, changes = written(small), random.Random(0)
    damaged = [whole[:length] for length in range(0, len(whole), 37)]
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(changes.choice([1, 4, 30])):
            data[changes.randrange(len(data))] = changes.randrange(256)
        damaged.append(bytes(data))
    refused = 0
    for data in damaged:
        try:
            group = open_hdf5(data, MOST, "net.h5").group("a/b")
            assert group.array("x").nbytes <= len(data)
            for name in ("text", "list", "varying"):
                group.texts(name)
        except FrontendError:
            refused += 1
    assert refused > len(damaged) // 4
