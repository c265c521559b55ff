"""The reader of HDF5 against files that the library behind h5py writes, and against damaged ones."""

import io
import random

import h5py
import numpy as np
import pytest

from sateen.frontends.keras.hdf5 import open_hdf5
from sateen.frontends.keras.hdf5.bytes_in_file import FileBytes
from sateen.frontends.keras.hdf5.values import ElementType, numbers
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


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("count", [1, 20, 500])
def test_groups_of_many_members_and_scalars(libver, count):
    def fill(file):
        for i in range(count):
            file[f"layers/layer_{i}"] = np.float32(i)

    root = open_hdf5(written(fill, libver=libver), MOST, "net.h5")
    assert [root.array(f"layers/layer_{i}").item() for i in range(count)] == list(range(count))
    assert set(root.arrays()) == {f"layers/layer_{i}" for i in range(count)}


def test_groups_of_many_and_of_large_attributes():
    def fill(file):
        for i in range(300):
            file.attrs[f"text{i}"] = f"{i}"
        file.attrs["large"] = np.array([b"x" * 100_000, b"y"])

    root = open_hdf5(written(fill, libver="latest"), MOST, "net.h5")
    assert [root.text(f"text{i}") for i in range(300)] == [f"{i}" for i in range(300)]
    assert root.texts("large") == ["x" * 100_000, "y"]


def test_a_group_within_itself_has_its_arrays_once():
    def fill(file):
        file["a/x"] = np.ones(2)
        file["a/b"] = file["a"]
        file["y"] = file["a/x"]
        file["z"] = h5py.SoftLink("/a")

    assert len(list(open_hdf5(written(fill), MOST, "net.h5").arrays())) == 1


def test_long_lists_are_split_over_attributes():
    def fill(file):
        file.attrs["names0"], file.attrs["names1"] = np.array([b"a", b"b"]), np.array([b"c"])

    assert open_hdf5(written(fill), MOST, "net.h5").texts("names") == ["a", "b", "c"]


INDEXES = {
    "of one chunk": ((7, 9), (7, 9), None),
    "larger than the data": ((3,), (10,), (None,)),
    "of chunks one after the other": ((37,), (5,), None),
    "an array of fixed length": ((7, 9), (3, 4), (8, 20)),
    "an array of fixed length in pages": ((2500,), (1,), None),
    "a growing array": ((7, 9, 5), (2, 3, 4), (7, None, 11)),
    "a growing array of blocks of blocks": ((3000,), (1,), (None,)),
    "a tree": ((90, 9), (1, 2), (None, None)),
}
"""Extents of data, of chunks, and those that the data may reach: each makes the library choose another index."""


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("filters", [{}, {"shuffle": True, "compression": 1, "fletcher32": True}])
def test_data_in_chunks(libver, index, filters):
    extents, chunks, most = INDEXES[index]
    data = np.random.default_rng(0).integers(-100, 100, extents).astype(">i2")
    whole = written(
        lambda file: file.create_dataset("x", data=data, chunks=chunks, maxshape=most, **filters), libver=libver
    )
    np.testing.assert_array_equal(open_hdf5(whole, MOST, "net.h5").array("x"), data)


def test_chunks_that_can_not_be_right_are_refused():
    def sparse(file):
        file.create_dataset("x", (99,), "f4", chunks=(9,))[:9] = 1

    zeros = written(lambda file: file.create_dataset("x", data=np.zeros(1 << 20, np.int8), chunks=True, compression=9))
    summed = written(lambda file: file.create_dataset("x", data=np.ones(9, np.int8), chunks=(9,), fletcher32=True))
    assert summed.count(b"\1" * 9) == 1
    cases = {
        "expected 11 chunks of data, 10 were never written": written(sparse),
        "the file has more data than a model may": zeros,
        "expected data with its checksum, which differs": summed.replace(b"\1" * 9, b"\1" * 8 + b"\2"),
        "data that filter 32000 compressed": written(
            lambda file: file.create_dataset("x", data=np.ones(99), compression="lzf")
        ),
    }
    for message, data in cases.items():
        with pytest.raises(FrontendError) as error:
            open_hdf5(data, MOST, "net.h5").array("x")
        assert message in str(error.value)


@pytest.mark.parametrize("shape", [(0, 3), (0, 1 << 62, 1 << 62), (1 << 62, 0), (1 << 31, 1 << 31, 1 << 31)])
def test_extents_of_nothing_and_of_too_much(shape):
    whole = written(lambda file: file.create_dataset("x", data=np.zeros((0, 3), np.float32), chunks=None))
    if shape == (0, 3):
        assert open_hdf5(whole, MOST, "net.h5").array("x").shape == shape
        return
    kind = ElementType(np.dtype("<f4"), 4)
    with pytest.raises(FrontendError, match="the file has more data than a model may"):
        numbers(FileBytes(memoryview(b""), "net.h5", MOST), memoryview(b""), kind, shape, "x")


def test_what_keras_does_not_write_is_refused():
    cases = {
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


def test_texts_that_share_their_bytes_count_each():
    """Three thousand references of varying text to one object of the heap."""

    def fill(file):
        file.attrs["long"] = np.array(["x" * 50_000, *["y"] * 3000], h5py.string_dtype())

    data = written(fill)
    start = data.index((50_000).to_bytes(4, "little"))
    reference = data[start : start + 16]
    second = data.index((1).to_bytes(4, "little") + reference[4:12], start)
    shared = data[:second] + reference * 3000 + data[second + 16 * 3000 :]
    assert len(open_hdf5(data, MOST, "net.h5").texts("long")) == 3001
    with pytest.raises(FrontendError, match=r"net\.h5@long: the file has more data than a model may"):
        open_hdf5(shared, MOST, "net.h5").texts("long")


def test_names_are_bounded_and_overlapping_ones_count_each():
    def fill(file):
        for i in range(8):
            file[f"m{i}"] = file[f"n{i}" + "x" * 900] = np.float32(i)

    data = written(fill)
    assert open_hdf5(data, MOST, "net.h5").has("n3" + "x" * 900)
    with pytest.raises(FrontendError, match="the file has more data than a model may"):
        open_hdf5(data, 7000, "net.h5").has("m0")
    with pytest.raises(FrontendError, match="a name has more than 1024 bytes"):
        open_hdf5(written(lambda file: file.create_group("x" * 1025)), MOST, "net.h5").has("m0")


def test_long_names_are_shortened_in_errors_and_long_paths_refused():
    def fill(file):
        file["g/x"] = np.ones(2)
        file["g/g"] = file["g"]

    root = open_hdf5(written(fill), MOST, "net.h5")
    assert root.array("g/" * 1000 + "x").tolist() == [1, 1]
    for path in ("y" * 3000, "g/" * 100_000 + "x"):
        with pytest.raises(FrontendError) as error:
            root.array(path)
        assert len(str(error.value)) < 400


def large(file):
    small(file)
    group = file["a/b"]
    for i in range(20):
        group[f"more{i}"] = np.float32(i)
        group.attrs[f"more{i}"] = "text"
    for name, (_, chunks, most) in {"tree": INDEXES["a tree"], "array": INDEXES["a growing array"]}.items():
        data = np.zeros([2 * n for n in chunks])
        group.create_dataset(name, data=data, chunks=chunks, maxshape=most, compression=1)


@pytest.mark.parametrize(("fill", "libver"), [(small, "earliest"), (large, "earliest"), (large, "latest")])
def test_damaged_files_are_refused_and_nothing_else_happens(fill, libver):
    """Each prefix, and bytes changed at random: the library behind h5py never returns from some of these."""
    whole, changes = written(fill, libver=libver), random.Random(0)
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
            for path in group.arrays():
                group.array(path)
        except FrontendError:
            refused += 1
    assert refused > len(damaged) // 4
