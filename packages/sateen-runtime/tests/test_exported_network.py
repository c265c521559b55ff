"""A network as a library with its parameters inside, and its header, as programs in C use them."""

from __future__ import annotations

import ctypes
import mmap
import shutil
import struct
import subprocess
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from sateen import runtime
from sateen.runtime import ArgumentError, Artifact, ArtifactError, DType, Parameter, TargetError
from sateen.runtime.elf_records import ELF32
from sateen.runtime.exported_network import with_parameters
from sateen.runtime.network_header import header_of
from sateen.runtime.static_archive import symbol_of

KEPT = Path(__file__).parent / "running_sum.sateen"
COMPILER = shutil.which("cc")
PROGRAM = """
#include <stdio.h>
#include "libsum.h"
#include "libagain.h"
static unsigned char memory[SUM_WORKSPACE_BYTES + 64];
int main(void)
{
    const int shape[] = SUM_X_SHAPE;
    float x[SUM_X_ELEMENTS] = {1, -2, 3, 0, 5, -1}, total[SUM_TOTAL_ELEMENTS] = {10, 20, 30, 1, 2, 3};
    float y[SUM_Y_ELEMENTS], next[SUM_NEXT_TOTAL_ELEMENTS], again[SUM_NEXT_TOTAL_ELEMENTS];
    unsigned char *workspace = memory + (64 - (size_t)memory % 64) % 64;
    int32_t status = sum_run(NULL, x, total, y, next, workspace);
    printf("%d, %dx%d:", status, shape[0], shape[1]);
    for (int i = 0; i < SUM_NEXT_TOTAL_ELEMENTS; ++i) printf(" %g", (double)next[i]);
    printf("; %d %d\\n", (int)((size_t)sum_sateen_parameters() % 64), sum_run(NULL, x, total, x, next, workspace));
    printf("%s\\n", again_sateen_status_message(again_run(NULL, x, next, y, again, workspace)));
    for (int i = 0; i < SUM_NEXT_TOTAL_ELEMENTS; ++i) printf(" %g", (double)again[i]);
    return sum_sateen_parameters() == again_sateen_parameters();
}
"""
ANSWER = "0, 2x3: 20 20 35 1 7 3; 0 523\nsuccess\n 30 20 40 1 12 3"
"""The last number is the status for an output in the memory of an input: code 11, argument 2."""

NAMES = ("sum", "again")

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here: expected cc")


def run(folder: Path, *options: str, language: str = "c") -> str:
    """What PROGRAM prints, compiled against the two libraries and their headers in the folder."""
    assert COMPILER is not None
    (folder / "main.c").write_text(PROGRAM, encoding="utf-8")
    include = f"-I{files('sateen.runtime') / 'include'}"
    libraries = [str(folder / f"lib{name}.so") for name in NAMES]
    source = ["-x", language, str(folder / "main.c"), "-x", "none", *libraries]
    command = [COMPILER, "-Wall", "-Wextra", "-Werror", *options, include, f"-I{folder}", *source]
    subprocess.run([*command, f"-Wl,-rpath,{folder}", "-o", str(folder / "main")], check=True, timeout=60)
    return subprocess.run([str(folder / "main")], check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """A folder with two libraries of one network, which has two names, and their headers."""
    for name in NAMES:
        runtime.read_artifact(KEPT).export_library(tmp_path / f"lib{name}.so", name=name)
    return tmp_path


@pytest.mark.usefixtures("runs_kept")
@needs_compiler
@pytest.mark.parametrize("options", [("-std=c99", "-pedantic"), ("-O2", "-no-pie", "-fno-pic"), ("-O2", "-fPIE")])
def test_a_program_in_c_runs_two_networks(exported: Path, options: tuple[str, ...]) -> None:
    assert run(exported, *options) == ANSWER


@pytest.mark.usefixtures("runs_kept")
@needs_compiler
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler here: expected g++")
def test_the_header_serves_cplusplus(exported: Path) -> None:
    assert run(exported, "-lstdc++", language="c++") == ANSWER


@pytest.mark.usefixtures("runs_kept")
@needs_compiler
@pytest.mark.skipif(shutil.which("strip") is None, reason="expected strip of the binutils")
def test_a_stripped_library_keeps_its_parameters(exported: Path) -> None:
    subprocess.run(["strip", *(str(exported / f"lib{name}.so") for name in NAMES)], check=True, timeout=60)
    assert run(exported) == ANSWER


@pytest.mark.usefixtures("runs_kept")
@needs_compiler
def test_the_linker_notes_the_name_of_the_file(exported: Path) -> None:
    run(exported)
    assert b"\0libsum.so\0" in (exported / "main").read_bytes()


@pytest.mark.usefixtures("runs_kept")
def test_all_names_of_an_exported_library_begin_with_its_own(exported: Path) -> None:
    symbols = ("run", "sateen_abi_version", "sateen_default_host", "sateen_metadata", "sateen_parameters_offset")
    for name in NAMES:
        library = ctypes.CDLL(str(exported / f"lib{name}.so"))
        assert all(hasattr(library, symbol_of(name, symbol)) for symbol in symbols)
        assert not any(hasattr(library, symbol) for symbol in symbols)


def test_equal_artifacts_give_equal_libraries(exported: Path, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    runtime.read_artifact(KEPT).export_library(tmp_path / "again" / "libsum.so", name="sum")
    for name in ("libsum.so", "libsum.h"):
        assert (tmp_path / "again" / name).read_bytes() == (exported / name).read_bytes()


def test_names_in_the_header_are_c_identifiers_of_their_own() -> None:
    names = ["data:0", "data.0", "for", "workspace", "3d", "Data_0", "größe"]
    inputs = tuple(Parameter(name, DType.of("bool"), (), None, 1) for name in names)
    output = Parameter("out", DType.of("float16"), (2,), None, 2, is_output=True)
    header = header_of(Artifact("", "llvm", inputs, (output,), 0, b"", b"").signature, "llvm", "net")
    arguments = (
        "const uint8_t *data_0, const uint8_t *data_0_, const uint8_t *for_, const uint8_t *workspace_, "
        "const uint8_t *_3d, const uint8_t *Data_0__, const uint8_t *gr__e, uint16_t *out, void *workspace)"
    )
    assert f"net_run(const sateen_host *host, {arguments}" in header
    assert "#define NET_OUT_SHAPE {2}" in header


@needs_compiler
def test_names_of_c_and_of_the_header_are_no_names_of_arguments(tmp_path: Path) -> None:
    names = [
        "INT32_MAX",
        "UINT_LEAST8_MAX",
        "_Bool",
        "net_sateen_run",
        "net_run",
        "NET_WORKSPACE_BYTES",
        "a.b*/",
        "a_b__",
    ]
    inputs = tuple(Parameter(name, DType.of("float32"), (2,), None, 4) for name in names)
    output = Parameter("wchar_t", DType.of("float32"), (2,), None, 4, is_output=True)
    header = header_of(Artifact("", "llvm", inputs, (output,), 0, b"", b"").signature, "llvm", "net")
    assert ' *   in  a_b__: float32[2], "a.b* /" in the model\n' in header
    (tmp_path / "net.h").write_text(header, encoding="utf-8")
    include = f"-I{files('sateen.runtime') / 'include'}"
    assert COMPILER is not None
    command = [COMPILER, "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", include, "-x", "c"]
    (tmp_path / "main.c").write_text('#include <stdint.h>\n#include "net.h"\nint main(void) { return 0; }\n')
    subprocess.run([*command, "main.c"], cwd=tmp_path, check=True)


def test_the_header_says_which_memory_an_output_may_have(tmp_path: Path) -> None:
    kept = runtime.read_artifact(KEPT)
    replace(kept, aliases={"next_total": "total"}).export_library(tmp_path / "libsum.so", name="sum")
    header = (tmp_path / "libsum.h").read_text(encoding="utf-8")
    assert " *   out next_total: float32[2, 3], which may have the memory of total\n" in header
    assert header.count("which may have") == 1


def test_a_target_that_would_end_the_comment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="expected an option of the form -name=value in target"):
        replace(runtime.read_artifact(KEPT), target="llvm */ int x;").export_library(tmp_path / "a.so")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "3d", "a b", "for", "x;system"])
def test_a_name_that_is_no_identifier_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=f"expected a C identifier as the name of the network, .*, found {name!r}"):
        runtime.read_artifact(KEPT).export_library(tmp_path / "a.so", name=name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"a\.so: expected a place to write the library to: No such file or dir"):
        runtime.read_artifact(KEPT).export_library(tmp_path / "missing" / "a.so")


@pytest.mark.usefixtures("runs_kept")
def test_a_library_in_use_can_be_exported_over(tmp_path: Path) -> None:
    place, kept = tmp_path / ("lib" + "n" * 248 + ".so"), runtime.read_artifact(KEPT)
    kept.export_library(place)
    loaded = ctypes.CDLL(str(place))
    written = place.stat().st_ino
    with place.open("r+b") as old:
        content = mmap.mmap(old.fileno(), 0, access=mmap.ACCESS_READ)
        kept.export_library(place)
        assert place.stat().st_ino != written
        assert bytes(content) == place.read_bytes()  # cut in place, the mapped pages would be gone: SIGBUS
    assert loaded.network_sateen_abi_version() == 1  # of the time when it was kept
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".h", ".so"]


def test_a_library_is_not_replaced_where_its_header_can_not_be(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(b"old")
    (tmp_path / "a.h" / "inside").mkdir(parents=True)
    with pytest.raises(ArtifactError, match=r"a\.so: expected a place to write the library to: it is no regular file"):
        runtime.read_artifact(KEPT).export_library(tmp_path / "a.so")
    assert (tmp_path / "a.so").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.h", "a.so"]


def test_a_library_does_not_take_the_name_of_its_header(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"expected a name for the library that leaves 'a\.h' to its header"):
        runtime.read_artifact(KEPT).export_library(tmp_path / "a.h")
    assert list(tmp_path.iterdir()) == []


def test_parameters_that_addresses_of_32_bits_do_not_reach_are_refused() -> None:
    segments = [ELF32.program(1, 5, 0, 0, 0, 200, 200, 4096), ELF32.program(0, 0, 0, 0, 0, 0, 0, 0)]
    sections = [ELF32.section_header.pack(0, kind, 2, 0, 0, 0, 0, 0, 0, 0) for kind in (11, 5)]
    head = (b"\x7fELF" + ELF32.ident, 3, 40, 1, 0, 52, 116, 0, 52, 32, 2, 40, 2, 0)
    library = ELF32.file_header.pack(*head) + b"".join(segments + sections)
    message = f"expected parameters that addresses of 32 bits reach, found {1 << 32} bytes"
    with mmap.mmap(-1, 1 << 32) as memory, memoryview(memory) as large, pytest.raises(ArtifactError, match=message):
        with_parameters(library, large, "libsum.so")


def test_other_libraries_are_refused(tmp_path: Path, library: bytes) -> None:
    kept = runtime.read_artifact(KEPT)
    unnamed = kept.library.replace(b"sateen_parameters_offset", b"sateen_parameters_elsewh")
    far = bytearray(kept.library)
    struct.pack_into("<Q", far, 40, 1 << 60)
    wide = bytearray(kept.library)
    for at in range(64, 64 + 56 * struct.unpack_from("<H", wide, 56)[0], 56):
        struct.pack_into("<Q", wide, at + 48, 1 << 60)
    long = bytearray(kept.library)
    sections_at, count = struct.unpack_from("<Q", long, 40)[0], struct.unpack_from("<H", long, 60)[0]
    headers = range(sections_at, sections_at + 64 * count, 64)
    found_by = next(at for at in headers if struct.unpack_from("<I", long, at + 4)[0] == 5)
    struct.pack_into("<Q", long, found_by + 32, struct.unpack_from("<Q", long, found_by + 32)[0] + 4)
    for image, error in (
        (b"MZ" + bytes(100), "expected an ELF library to export, found another kind; for macOS, iOS"),
        (library, "expected a library of a network, found one without room for parameters; compile it again"),
        (unnamed, "expected a library of a network, found one without sateen_parameters_offset; compile it again"),
        (bytes(wide), f"expected segments on pages of up to 2097152 bytes, found {1 << 60}"),
        (bytes(long), "expected a table of names for all dynamic symbols of a library, found another"),
        (bytes(far), "expected a whole ELF library to export, found tables that lie outside of it"),
    ):
        with pytest.raises(ArtifactError, match=error):
            replace(kept, library=image).export_library(tmp_path / "a.so")
    assert list(tmp_path.iterdir()) == []
