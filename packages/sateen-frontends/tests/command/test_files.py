"""Files that the command is given: none that it reads is replaced, and none keeps it waiting or takes all memory."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends.command.arrays import open_arrays, read_array
from sateen.runtime import ArgumentError


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A model whose weights lie in files beside it: of the graph, of a node, and of a graph within a node."""
    folder = tmp_path / "beside"
    folder.mkdir()

    def tensor(name: str) -> onnx.TensorProto:
        (folder / f"{name}.data").write_bytes(np.full((3, 4), 2.0, np.float32).tobytes())
        return TensorProto(
            name=name,
            data_type=TensorProto.FLOAT,
            dims=[3, 4],
            data_location=TensorProto.EXTERNAL,
            external_data=[onnx.StringStringEntryProto(key="location", value=f"{name}.data")],
        )

    branches = {
        f"{which}_branch": helper.make_graph(
            [helper.make_node("Constant", [], [which], value=tensor(which))],
            which,
            [],
            [helper.make_tensor_value_info(which, TensorProto.FLOAT, (3, 4))],
        )
        for which in ("then", "else")
    }
    nodes = [
        helper.make_node("Constant", [], ["v"], value=tensor("node")),
        helper.make_node("If", ["condition"], ["chosen"], "if", **branches),
        helper.make_node("Add", ["v", "w"], ["sum"]),
        helper.make_node("Add", ["sum", "chosen"], ["weight"]),
        helper.make_node("MatMul", ["data", "weight"], ["out"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, (1, 3))],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, (1, 4))],
        [numpy_helper.from_array(np.array(True), "condition")],
    )
    graph.initializer.append(tensor("w"))
    path = folder / "net.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("name", ["w.data", "node.data", "then.data", "else.data", "net.onnx", "linked"])
def test_no_file_of_a_model_is_replaced_by_what_is_made_of_it(sateen, beside, name):
    (beside.parent / "linked").symlink_to("w.data")
    before = contents(beside.parent)
    place = beside.parent / name
    for arguments in (
        ("compile", beside, "-o", place),
        ("run", beside, "--random", 1, "--output", place),
        ("tune", beside, "-o", place),
    ):
        ran = sateen(*arguments)
        assert ran.status == 2
        assert "which is read, found" in ran.err or "a symbolic link" in ran.err
        assert contents(beside.parent) == before
    assert sateen("compile", beside, "-o", beside.parent / "new.sateen").status == 0
    assert sateen("compile", beside, "-o", beside.parent / "new.sateen").status == 0


def test_outputs_replace_no_file_that_is_read(sateen, dense, artifact, tmp_path):
    np.save(tmp_path / "data.npy", np.ones((1, 3), np.float32))
    np.savez(tmp_path / "data.npz", data=np.ones((1, 3), np.float32))
    (tmp_path / "labels").write_text("a\nb\nc\nd\n")
    (tmp_path / "log").touch()
    os.link(tmp_path / "data.npz", tmp_path / "same.npz")
    before = contents(tmp_path)
    for arguments, source in (
        (("run", artifact, "--random", 1, "--output", artifact), artifact),
        (("run", artifact, "--input", "data.npy", "--output", "data.npy"), "data.npy"),
        (("run", artifact, "--input", "data=data.npz:data", "--output", "same.npz"), "data.npz"),
        (("run", artifact, "--random", 1, "--labels", "labels", "--output", "labels"), "labels"),
        (("run", dense, "--bind", "data=data.npy", "--output", "data.npy"), "data.npy"),
        (("compile", dense, "--bind", "data=data.npz:data", "-o", "same.npz"), "data.npz"),
        (("compile", dense, "--records", "log", "-o", "log"), "log"),
        (("tune", dense, "--bind", "data=data.npy", "-o", "data.npy"), "data.npy"),
    ):
        ran = sateen(*arguments)
        assert ran.status == 2
        assert f"expected another file than {source}, which is read, found {arguments[-1]}\n" in ran.err
        assert contents(tmp_path) == before


def test_a_dump_replaces_no_file_that_is_read(sateen, dense, tmp_path):
    (tmp_path / "dump").mkdir()
    os.link(dense, tmp_path / "dump" / "00_imported.txt")
    before = dense.read_bytes()
    ran = sateen("inspect", dense, "--dump", "dump")
    assert ran.status == 2
    assert f"expected another file than {dense}, which is read, found dump/00_imported.txt\n" in ran.err
    assert dense.read_bytes() == before
    assert [path.name for path in (tmp_path / "dump").iterdir()] == ["00_imported.txt"]
    (tmp_path / "dump" / "00_imported.txt").unlink()
    for _ in range(2):
        assert sateen("inspect", dense, "--dump", "dump").status == 0
    assert not [path for path in (tmp_path / "dump").iterdir() if path.name.startswith(".")]


def test_outputs_are_replaced_whole_as_the_user_makes_files(sateen, artifact, tmp_path):
    (tmp_path / "out.npz").write_bytes(b"old")
    with (tmp_path / "out.npz").open("rb") as reader:
        assert sateen("run", artifact, "--random", 1, "--output", "out.npz").status == 0
        assert reader.read() == b"old"
    assert np.load(tmp_path / "out.npz")["out"].shape == (1, 4)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out.npz").stat().st_mode) == 0o666 & ~mask
    assert sorted(contents(tmp_path)) == ["dense.sateen", "out.npz"]


@pytest.mark.parametrize("place", ["/dev/null", "pipe", "link"])
def test_an_output_takes_the_place_of_no_device_and_no_link(sateen, artifact, dense, tmp_path, place):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("elsewhere")
    ran = sateen("run", artifact, "--random", 1, "--output", place)
    assert ran.status == 2
    assert f"expected a new or a regular file, found {place}, " in ran.err
    if place != "link":
        assert sateen("tune", dense, "-o", place).status == 2


@pytest.mark.parametrize("found", ["a pipe", "a device"])
def test_labels_and_inputs_are_read_from_regular_files_alone(sateen, artifact, dense, tmp_path, found):
    os.mkfifo(tmp_path / "pipe")
    path = "pipe" if found == "a pipe" else "/dev/zero"
    for arguments, expected in (
        (("run", artifact, "--random", 1, "--labels", path), f"{path}: expected labels, one a line: it is no regular"),
        (("verify", dense, "--inputs", path), f"{path}: expected arrays of NumPy (npy or npz): it is no regular file"),
        (("run", artifact, "--input", path), f"expected a file, found none at '{path}'"),
        (("run", artifact, "--records", path), "--records: expected a model to compile so"),
        (("compile", dense, "-o", "out", "--records", path), f"expected a file of records, found '{path}'"),
    ):
        ran = sateen(*arguments)
        assert ran.status == (2 if "to compile so" in expected else 1)
        assert expected in ran.err


def test_labels_are_bounded(sateen, artifact, tmp_path):
    with (tmp_path / "labels").open("wb") as file:
        file.truncate(4 << 40)
    ran = sateen("run", artifact, "--random", 1, "--labels", "labels")
    assert (ran.status, ran.err) == (
        1,
        "ArgumentError: labels: expected labels, one a line: it has 4398046511104 bytes, more than 67108864\n",
    )


def header(text: str) -> bytes:
    """The beginning of an npy file."""
    content = text.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content


def described(shape: str, descr: str = "'<f4'", order: str = "False") -> bytes:
    return header(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (described("(1099511627776,)"), r"expected at most 3 elements, found shape \[1099511627776\]"),
        (described("(4294967296, 4294967296)"), r"expected at most 3 elements, found shape \[4294967296, 4294967296\]"),
        (described(f"({'1, ' * 65})"), "expected at most 32 dimensions, found 65"),
        (described("(-1,)"), r"expected extents of 0 or more, found shape \[-1\]"),
        (described("(1, 3)", "'|O'"), "expected numbers, found elements of object"),
        (described("(1, 3)", "'<U1000000'"), "expected numbers, found elements of <U1000000"),
        (described("(3,)", "[('a', '<f4')]"), "expected numbers, found elements of "),
        (described("(3,)", "('<f4', (1000,))"), "expected numbers, found elements of "),
        (described("(1, 3)") + bytes(4), r"expected 12 bytes of float32\[1, 3\], found 4"),
        (b"\x93NUMPY\x03\x00" + bytes(100), "expected version 1 or 2 of the format, found 3"),
        (header("(" * 100), "expected a header as NumPy writes it"),
        (header("__import__('os').abort()"), "expected a header as NumPy writes it"),
        (b"\x93NUMPY\x01\x00\xff\xff", "expected a header as NumPy writes it, found another: EOF"),
    ],
)
@pytest.mark.parametrize("compression", [None, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_array_is_refused_by_its_header_before_there_is_memory_for_it(tmp_path, content, words, compression):
    path = tmp_path / "file"
    if compression is None:
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("data.npy", content)
    with pytest.raises(ArgumentError, match=f"file.*: expected arrays of NumPy .npy or npz.: .*{words}"):
        read_array(str(path), "data", 3)


def test_a_member_that_inflates_without_end_is_read_no_further_than_its_header_says(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("bomb.npy", "w") as member:
            for _ in range(64):
                member.write(bytes(1 << 20))
        with archive.open("data.npy", "w") as member:
            member.write(described("(1, 3)") + np.arange(3, dtype=np.float32).tobytes())
            for _ in range(64):
                member.write(bytes(1 << 20))
    assert read_array(str(tmp_path / "bomb.npz"), "data").tolist() == [[0, 1, 2]]
    with open_arrays(tmp_path / "bomb.npz") as content, pytest.raises(ArgumentError, match="array 'bomb': expected"):
        content.read("bomb")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: raw.replace(b"PK\x01\x02", b"PK\x01\x03"), "Bad magic number for central directory"),
        (lambda raw: raw[: len(raw) // 2], "File is not a zip file"),
        (lambda raw: raw.replace(b"\x00\x00\x80?", b"\x00\x00\x80@"), "Bad CRC-32"),
    ],
)
def test_a_damaged_archive_is_refused(tmp_path, change, words):
    file = io.BytesIO()
    np.savez(file, data=np.ones(3, np.float32))
    (tmp_path / "damaged.npz").write_bytes(change(file.getvalue()))
    with pytest.raises(ArgumentError, match=f"damaged.npz.*: expected arrays of NumPy .npy or npz.: {words}"):
        read_array(str(tmp_path / "damaged.npz"), "data")


@pytest.mark.parametrize("compression", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_compression_that_numpy_does_not_write_is_refused(tmp_path, compression):
    with zipfile.ZipFile(tmp_path / "data.npz", "w", compression) as archive:
        archive.writestr("data.npy", described("(3,)") + bytes(12))
    with pytest.raises(ArgumentError, match="expected an archive as NumPy writes it, found another compression"):
        read_array(str(tmp_path / "data.npz"), "data")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.asfortranarray(np.arange(24, dtype=">f4").reshape(2, 3, 4)),
        np.array(2.5),
        np.zeros((0, 4), np.float16),
        np.array([True, False]),
    ],
)
def test_arrays_are_read_as_numpy_writes_them(tmp_path, array):
    np.save(tmp_path / "one.npy", array)
    np.savez_compressed(tmp_path / "many.npz", array=array, other=np.ones(3))
    for text in ("one.npy", "many.npz:array"):
        found = read_array(str(tmp_path / text), "data")
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, array)


def test_inputs_and_recorded_outputs_are_bounded_by_what_the_network_takes(sateen, artifact, dense, tmp_path):
    np.savez_compressed(tmp_path / "wide.npz", data=np.zeros((1, 1 << 20), np.float32))
    np.savez_compressed(tmp_path / "out.npz", **{"data": np.ones((1, 3), "f"), "out/out": np.zeros((1, 5), "f")})
    for arguments, words in (
        (("run", artifact, "--input", "wide.npz"), "expected at most 3 elements, found shape [1, 1048576]"),
        (("verify", dense, "--inputs", "wide.npz"), "expected at most 3 elements, found shape [1, 1048576]"),
        (("run", dense, "--bind", "data=wide.npz:data"), "expected at most 3 elements, found shape [1, 1048576]"),
        (
            ("verify", artifact, "--against", "recorded", "--inputs", "out.npz"),
            "array 'out/out': expected arrays of NumPy (npy or npz): expected at most 4 elements, found shape [1, 5]",
        ),
    ):
        ran = sateen(*arguments)
        assert ran.status == 1
        assert words in ran.err


def test_a_lack_of_memory_is_told_without_a_traceback(sateen, dense, monkeypatch):
    def fail(*_):
        raise MemoryError("unable to allocate 4 TiB")

    monkeypatch.setattr("sateen.frontends.command.bench.random_inputs", fail)
    ran = sateen("bench", dense)
    assert ran.status == 1
    assert ran.err.endswith(
        "OutOfMemoryError: the model or its data ask for more memory than there is: unable to allocate 4 TiB\n"
    )


class TestPictures:
    @pytest.fixture(autouse=True)
    def image(self):
        return pytest.importorskip("PIL.Image", reason="Pillow is not installed")

    def test_a_format_that_runs_a_program_is_not_read(self, sateen, picture_network, tmp_path):
        script = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 2 2\n(/etc/passwd) run\n%%EOF\n"
        (tmp_path / "script.eps").write_text(script)
        ran = sateen("run", picture_network, "--input", "script.eps")
        assert ran.status == 1
        assert "script.eps: expected arrays of NumPy or a picture (BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP)" in ran.err

    def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(self, sateen, picture_network, tmp_path):
        for extent in (10_000, 60_000):
            (tmp_path / "large.ppm").write_bytes(f"P6 {extent} {extent} 255\n".encode() + bytes(100))
            ran = sateen("run", picture_network, "--input", "large.ppm")
            assert ran.status == 1
            assert "large.ppm: expected a picture of at most 89478485 pixels, found a larger one" in ran.err

    @pytest.mark.parametrize("kept", [20, 60, 70])
    def test_a_damaged_picture_is_refused(self, sateen, picture_network, image, tmp_path, kept):
        image.new("RGB", (64, 64), (250, 100, 50)).save(tmp_path / "whole.png")
        (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:kept])
        ran = sateen("run", picture_network, "--input", "cut.png")
        assert ran.status == 1
        assert "cut.png: expected arrays of NumPy or a picture" in ran.err
