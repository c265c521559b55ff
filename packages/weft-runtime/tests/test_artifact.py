"""The artifact file: round trip, and every way in which a file can be refused."""

import hashlib
import os
import struct
from pathlib import Path

import pytest

from weft.runtime import Artifact, ArtifactError, DType, Parameter, Target, VerifiedFiles, read_artifact
from weft.runtime.artifact import LEAF_BYTES


def artifact(parameters: bytes = bytes(range(256)) * 8) -> Artifact:
    x = Parameter("x", DType.of("float32"), (2, 3), None, 4)
    y = Parameter("y", DType.of("float32"), (2, 3), None, 4, is_output=True)
    return Artifact("test 1", str(Target.of("llvm")), (x,), (y,), 640, b"library bytes", parameters, "abc", {"a": "b"})


def test_a_saved_artifact_reads_back_equal(tmp_path: Path) -> None:
    artifact().save(tmp_path / "a.weft")
    read = read_artifact(tmp_path / "a.weft")
    assert read.inputs == artifact().inputs
    assert read.outputs == artifact().outputs
    assert (read.library, bytes(read.parameters)) == (b"library bytes", artifact().parameters)
    assert (read.workspace_bytes, read.source_digest, read.options) == (640, "abc", {"a": "b"})


def test_equal_artifacts_give_equal_bytes() -> None:
    assert artifact().to_bytes() == artifact().to_bytes()


def test_sections_begin_on_pages() -> None:
    raw = artifact().to_bytes()
    assert raw.index(b"library bytes") % 4096 == 0
    assert raw.index(bytes(range(256)) * 8) % 4096 == 0


@pytest.mark.parametrize("size", [0, 7, 63])
def test_a_file_shorter_than_a_header_is_no_artifact(size: int, tmp_path: Path) -> None:
    path = tmp_path / "short.weft"
    path.write_bytes(artifact().to_bytes()[:size])
    with pytest.raises(ArtifactError, match=r"expected an artifact"):
        read_artifact(path)


def test_a_file_cut_short_is_refused() -> None:
    raw = artifact().to_bytes()
    with pytest.raises(
        ArtifactError, match=r"section 'parameters' ends at byte \d+, but the file has \d+: it is cut short"
    ):
        read_artifact(raw[:-4096])
    with pytest.raises(ArtifactError, match=r"the file is cut short"):
        read_artifact(raw[:200])


@pytest.mark.parametrize(
    ("needle", "text"), [(b"library bytes", "section 'library'"), (bytes(range(9)), "section 'parameters'")]
)
def test_an_altered_section_is_refused(needle: bytes, text: str) -> None:
    raw = bytearray(artifact().to_bytes())
    raw[raw.index(needle)] ^= 1
    with pytest.raises(
        ArtifactError, match=rf"{text} does not have its digest in leaf 0 of 4 MiB: the file was altered"
    ):
        read_artifact(bytes(raw))


def test_an_altered_manifest_is_refused() -> None:
    raw = bytearray(artifact().to_bytes())
    raw[raw.index(b"test 1")] ^= 1
    with pytest.raises(ArtifactError, match=r"the manifest does not have its digest"):
        read_artifact(bytes(raw))


@pytest.mark.parametrize(("version", "advice"), [(0, "compile the model again"), (2, "renew weft-runtime")])
def test_another_format_version_says_which_side_is_older(version: int, advice: str) -> None:
    raw = bytearray(artifact().to_bytes())
    struct.pack_into("<I", raw, 8, version)
    with pytest.raises(ArtifactError, match=rf"expected format 1, found format {version}: .* is older; {advice}"):
        read_artifact(bytes(raw))


def reseal(raw: bytes, old: bytes, new: bytes) -> bytes:
    """The file with its manifest changed and given the right digest again."""
    start, size = struct.unpack_from("<QQ", raw, 16)
    manifest = raw[start : start + size].replace(old, new)
    assert len(manifest) == size, "the replacement must keep the length"
    changed = raw[:start] + manifest + raw[start + size :]
    return changed[:32] + hashlib.sha256(manifest).digest() + changed[64:]


def test_an_unknown_section_is_ignored_unless_required() -> None:
    raw = artifact().to_bytes()
    with pytest.raises(
        ArtifactError, match=r"section 'paramfters' is required, but this weft-runtime does not know it"
    ):
        read_artifact(reseal(raw, b'"parameters":{', b'"paramfters":{'))


@pytest.mark.parametrize(
    ("old", "new"), [(b'"cpu":640', b'"cpu":-64'), (b'"source":"abc"', b'"source":12345'), (b'"size":13', b'"size":-3')]
)
def test_a_manifest_of_wrong_types_is_refused(old: bytes, new: bytes) -> None:
    with pytest.raises(ArtifactError, match=r"expected|no valid place"):
        read_artifact(reseal(artifact().to_bytes(), old, new))


def test_parameters_are_hashed_once_per_file(tmp_path: Path) -> None:
    path, notes = tmp_path / "a.weft", VerifiedFiles(tmp_path / "notes")
    artifact(bytes(LEAF_BYTES + 5)).save(path)
    read_artifact(path, verified=notes)
    stat = path.stat()
    raw = bytearray(path.read_bytes())
    raw[-4096] ^= 1
    with path.open("r+b") as file:
        file.write(raw)
    with pytest.raises(ArtifactError, match=r"does not have its digest in leaf 1"):
        read_artifact(path, verified=notes)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert read_artifact(path, verified=notes).producer == "test 1"


def test_a_folder_of_notes_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ArtifactError, match=r"expected a folder that only its owner, you, may write to"):
        VerifiedFiles(tmp_path / "open")
