"""The artifact file: what is written, and that reading gives it back."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from sateen.runtime import Artifact, ArtifactError, DType, Parameter, Target, VerifiedFiles, read_artifact
from sateen.runtime.artifact import HEADER, LEAF_BYTES, packed


def artifact(parameters: bytes = bytes(range(256)) * 8) -> Artifact:
    x = Parameter("x", DType.of("float32"), (2, 3), None, 4)
    y = Parameter("y", DType.of("float32"), (2, 3), None, 4, is_output=True)
    library = b"library bytes"
    return Artifact(
        "test 1", str(Target.of("llvm")), (x,), (y,), 640, library, parameters, "abc", {"a": "b"}, {"y": "x"},
        {"y": ("a", "b", "c")}, stack_bytes=48,
    )  # fmt: skip


def test_a_saved_artifact_reads_back_equal(tmp_path: Path) -> None:
    artifact().save(tmp_path / "a.sateen")
    read = read_artifact(tmp_path / "a.sateen")
    assert (read.inputs, read.outputs) == (artifact().inputs, artifact().outputs)
    assert (read.library, bytes(read.parameters)) == (b"library bytes", artifact().parameters)
    assert (read.workspace_bytes, read.source_digest, read.options) == (640, "abc", {"a": "b"})
    assert (read.aliases, read.labels, read.stack_bytes) == ({"y": "x"}, {"y": ("a", "b", "c")}, 48)


def test_equal_artifacts_give_equal_bytes() -> None:
    assert artifact().to_bytes() == artifact().to_bytes()


def test_what_was_read_has_the_digest_of_its_manifest_and_what_was_changed_has_none() -> None:
    raw = artifact().to_bytes()
    read = read_artifact(raw)
    assert read.digest == read_artifact(raw).digest == HEADER.unpack(raw[: HEADER.size])[-1].hex()
    assert read_artifact(artifact(b"other").to_bytes()).digest != read.digest
    assert replace(read, producer="another").digest == artifact().digest == ""


def test_sections_begin_on_pages() -> None:
    raw = artifact().to_bytes()
    assert raw.index(b"library bytes") % 4096 == 0
    assert raw.index(bytes(range(256)) * 8) % 4096 == 0


def test_a_section_that_is_not_required_is_ignored() -> None:
    sections = {"library": b"code", "notes": b"of a later version", "parameters": b"data"}
    read = read_artifact(packed(artifact().fields(), sections, optional=("notes",)))
    assert (read.library, bytes(read.parameters)) == (b"code", b"data")


def test_an_artifact_without_parameters_reads_back() -> None:
    assert bytes(read_artifact(artifact(b"").to_bytes()).parameters) == b""


class Counted:
    """Content that is made on demand: number i is i mod 251."""

    def __init__(self, size: int) -> None:
        self.size = size
        content = bytearray(size)
        self.read_into(0, memoryview(content))
        self._whole = memoryview(bytes(content))

    def __len__(self) -> int:
        return self.size

    def read_into(self, start: int, place: memoryview) -> None:
        place[:] = bytes((start + i) % 251 for i in range(len(place)))

    def whole(self) -> memoryview:
        return self._whole

    def __bytes__(self) -> bytes:
        return bytes(self._whole)


@pytest.mark.parametrize("size", [0, 5, 4096, 3 * LEAF_BYTES + 64])
def test_content_made_on_demand_gives_the_file_of_its_bytes(size: int, tmp_path: Path) -> None:
    content = Counted(size)
    made, known = replace(artifact(), parameters=content), artifact(bytes(content))
    made.save(tmp_path / "a.sateen")
    assert (tmp_path / "a.sateen").read_bytes() == made.to_bytes() == known.to_bytes()


def test_a_failure_while_content_is_made_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    class Failing(Counted):
        def read_into(self, start: int, place: memoryview) -> None:
            if hasattr(self, "_whole"):
                raise MemoryError(start)
            super().read_into(start, place)

    path = tmp_path / "a.sateen"
    artifact().save(path)
    with pytest.raises(MemoryError):
        replace(artifact(), parameters=Failing(3 * LEAF_BYTES)).save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.sateen"]
    assert path.read_bytes() == artifact().to_bytes()


def test_threads_that_save_to_one_path_leave_the_file_of_one_of_them(tmp_path: Path) -> None:
    path = tmp_path / "a.sateen"
    versions = [artifact(bytes([i]) * (LEAF_BYTES + i)) for i in range(8)]
    with ThreadPoolExecutor(len(versions)) as threads:
        list(threads.map(lambda version: version.save(path), versions))
    assert path.read_bytes() in [version.to_bytes() for version in versions]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.sateen"]


@pytest.mark.parametrize("name", ["file/a.sateen", "none/a.sateen", "a" * 256])
def test_a_place_that_can_not_be_written_to_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ArtifactError, match="expected a place to write the artifact to: "):
        artifact().save(tmp_path / name)


@pytest.mark.parametrize("name", ["x" * 513, "x\0", "\x1b[31m", ""])
def test_a_name_that_a_reader_would_refuse_is_not_written(name: str, tmp_path: Path) -> None:
    made = artifact()
    named = replace(made, inputs=(replace(made.inputs[0], name=name), *made.inputs[1:]))
    with pytest.raises(ArtifactError, match="expected the name of a parameter as printable text of 1 to 512 char"):
        named.save(tmp_path / "a.sateen")
    assert list(tmp_path.iterdir()) == []


def test_saving_replaces_a_file_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.sateen"
    artifact().save(path)
    before = read_artifact(path)
    artifact(b"other").save(path)
    assert bytes(before.parameters) == artifact().parameters
    assert bytes(read_artifact(path).parameters) == b"other"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.sateen"]


def test_a_place_that_can_not_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"a\.sateen: expected a place to write the artifact to: No such file or"):
        artifact().save(tmp_path / "missing" / "a.sateen")
    (tmp_path / "folder.sateen" / "inside").mkdir(parents=True)
    with pytest.raises(ArtifactError, match=r"folder\.sateen: expected a place to write the artifact to: "):
        artifact().save(tmp_path / "folder.sateen")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.sateen"]


def test_parameters_are_hashed_once_per_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, notes = tmp_path / "a.sateen", VerifiedFiles(tmp_path / "notes")
    artifact(bytes(LEAF_BYTES + 5)).save(path)
    hashed: list[int] = []
    digests = read_artifact.__globals__["leaf_digests"]

    def counting(data: memoryview) -> list[str]:
        hashed.append(len(data))
        return digests(data)  # type: ignore[no-any-return]

    monkeypatch.setitem(read_artifact.__globals__, "leaf_digests", counting)
    read_artifact(path, verified=notes)
    read_artifact(path, verified=notes)
    assert hashed == [13, LEAF_BYTES + 5, 13]


def test_a_file_altered_since_it_was_verified_is_hashed_again(tmp_path: Path) -> None:
    path, notes = tmp_path / "a.sateen", VerifiedFiles(tmp_path / "notes")
    artifact(bytes(LEAF_BYTES + 5)).save(path)
    read_artifact(path, verified=notes)
    times = path.stat()
    with path.open("r+b") as file:
        file.seek(-4096, os.SEEK_END)
        file.write(b"\1")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(ArtifactError, match=r"section 'parameters' does not have its digest in leaf 1 of 4 MiB"):
        read_artifact(path, verified=notes)
    with pytest.raises(ArtifactError, match=r"does not have its digest in leaf 1"):
        read_artifact(path, verified=notes)


def test_notes_that_can_not_be_kept_cost_time_only(tmp_path: Path) -> None:
    path, notes = tmp_path / "a.sateen", VerifiedFiles(tmp_path / "notes")
    artifact().save(path)
    (tmp_path / "notes").rmdir()
    assert read_artifact(path, verified=notes).producer == "test 1"


def test_a_folder_of_notes_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ArtifactError, match=r"expected a folder that only its owner, you, may write to"):
        VerifiedFiles(tmp_path / "open")
    (tmp_path / "file").touch()
    with pytest.raises(ArtifactError, match=r"notes: expected a folder to keep notes in: Not a directory"):
        VerifiedFiles(tmp_path / "file" / "notes")
