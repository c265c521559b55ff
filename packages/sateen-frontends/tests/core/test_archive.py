"""Zip archives: the files in them, and what is refused."""

import io
import zipfile

import pytest

from sateen.frontends.core.archive import open_archive
from sateen.runtime.errors import FrontendError


def zipped(files, compression=zipfile.ZIP_STORED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return data.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_files_are_read(compression):
    archive = open_archive(zipped([("a/b", b"some bytes " * 9), ("c", b"")], compression), "x")
    assert list(archive.names) == ["a/b", "c"]
    assert bytes(archive.read("a/b")) == b"some bytes " * 9
    assert bytes(archive.read("c")) == b""
    with pytest.raises(FrontendError, match="x: expected a file 'd' in the archive, found none"):
        archive.read("d")


def test_a_file_of_another_length_than_its_directory_says_is_refused():
    data = bytearray(zipped([("a", b"some bytes " * 9)], zipfile.ZIP_DEFLATED))
    place = data.index(b"PK\x01\x02") + 24  # the uncompressed size in the directory (APPNOTE 4.3.12)
    data[place : place + 4] = (100).to_bytes(4, "little")
    with pytest.raises(FrontendError, match="'a' in the archive can't be read: it inflates to another number of bytes"):
        open_archive(bytes(data), "x").read("a")


@pytest.mark.parametrize(
    ("files", "compression", "message"),
    [
        ([("../a", b"")], zipfile.ZIP_STORED, "expected the plain relative path of a file"),
        ([("/a", b"")], zipfile.ZIP_STORED, "expected the plain relative path of a file"),
        ([("a", b" " * 1_000_000)], zipfile.ZIP_DEFLATED, "bytes for 1000000; expected at most 100 for one"),
        ([("a", b"x" * 100)], zipfile.ZIP_BZIP2, "'a' in the archive is compressed in a way that is not supported"),
    ],
)
def test_what_is_refused(files, compression, message):
    with pytest.raises(FrontendError, match=message):
        open_archive(zipped(files, compression), "x")


def test_files_that_inflate_from_the_same_bytes_count_each():
    name, content = b"a00", bytes(20_000) + bytes(range(250))
    data = zipped([(name.decode(), content)], zipfile.ZIP_DEFLATED)
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry, last = data[start:end], bytearray(data[end:])
    last[8:10] = last[10:12] = (99).to_bytes(2, "little")  # the number of files, and the bytes of their directory
    last[12:16] = (99 * len(entry)).to_bytes(4, "little")
    entries = [entry.replace(name, f"a{i:02}".encode()) for i in range(99)]
    assert open_archive(data, "x").read("a00") == content
    with pytest.raises(FrontendError, match=r"x: 2004750 bytes are in [0-9]+; expected at most 100 for one"):
        open_archive(b"".join([data[:start], *entries, last]), "x")


def test_a_file_may_be_read_within_a_limit():
    archive = open_archive(zipped([("a", b"some bytes " * 9)], zipfile.ZIP_DEFLATED), "x")
    assert len(archive.read("a", 99)) == 99
    with pytest.raises(FrontendError, match="x: expected 'a' in the archive to have at most 98 bytes, found 99"):
        archive.read("a", 98)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused():
    with pytest.raises(FrontendError, match="expected each file of the archive once, found 'a' twice"):
        open_archive(zipped([("a", b""), ("a", b"")]), "x")
