import gc
import os
import struct
import sys
from pathlib import Path

import pytest

from sateen.runtime import ArtifactError
from sateen.runtime.library import Library, check_elf
from sateen.runtime.processor import host_architecture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="libraries of other systems are no ELF files")


def patched(image: bytes, offset: int, form: str, value: int) -> bytes:
    changed = bytearray(image)
    struct.pack_into(form, changed, offset, value)
    return bytes(changed)


def test_symbols_have_addresses(library: bytes) -> None:
    loaded = Library(library, "kernels.so")
    assert loaded.address("add")
    assert loaded.address("subtract") is None
    assert loaded.text("sateen_metadata").startswith(b'{"format":1')


def test_a_missing_text_is_named(library: bytes) -> None:
    with pytest.raises(
        ArtifactError, match=r"kernels\.so: expected a library that sateen compiled, found one without nothing"
    ):
        Library(library, "kernels.so").text("nothing")


def test_two_copies_are_apart_and_unloaded_with_their_last_holder(library: bytes) -> None:
    maps = Path("/proc/self/maps")
    gc.collect()
    before, mapped = len(os.listdir("/proc/self/fd")), maps.read_text(encoding="utf-8").count("memfd:sateen")
    one, other = Library(library, "one"), Library(library, "other")
    assert one.address("add") != other.address("add")
    del one, other
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
    assert maps.read_text(encoding="utf-8").count("memfd:sateen") == mapped


@pytest.mark.parametrize("image", [b"", b"\x7fELF", b"MZ" + bytes(100), b"not a library at all" * 10])
def test_what_is_no_library_is_refused(image: bytes) -> None:
    with pytest.raises(ArtifactError, match=r"a\.so: expected an ELF shared library, found \d+ bytes that begin"):
        Library(image, "a.so")


def test_a_library_for_another_processor_is_refused(library: bytes) -> None:
    foreign, name = (40, "arm") if host_architecture() != "arm" else (62, "x86_64")
    with pytest.raises(
        ArtifactError, match=rf"a\.so: expected a library for {host_architecture()}, found one for {name};"
    ):
        Library(patched(library, 18, "<H", foreign), "a.so")
    with pytest.raises(ArtifactError, match="found one for machine 999"):
        Library(patched(library, 18, "<H", 999), "a.so")


def test_an_object_file_is_refused(library: bytes) -> None:
    with pytest.raises(ArtifactError, match="expected an ELF shared library, found ELF type 1"):
        Library(patched(library, 16, "<H", 1), "a.so")


@pytest.mark.parametrize("kept", [100, 600, 5000, -1])
def test_a_library_cut_short_is_refused(library: bytes, kept: int) -> None:
    message = f"a.so: expected {len(library)} bytes, found {len(library[:kept])}: the library is cut short"
    with pytest.raises(ArtifactError, match=message):
        check_elf(library[:kept], "a.so")


def test_what_the_systems_loader_refuses_is_an_error_of_ours(library: bytes) -> None:
    (start,) = struct.unpack_from("<Q", library, 32)
    size, count = struct.unpack_from("<HH", library, 54)
    image = library
    for index in range(count):
        if struct.unpack_from("<I", library, start + index * size) == (2,):  # PT_DYNAMIC
            image = patched(image, start + index * size, "<I", 0)
    with pytest.raises(ArtifactError, match=r"a\.so: the system's loader refused the library: "):
        Library(image, "a.so")
