"""Hostile artifacts: each is refused with what to do, before anything of it is mapped as code or run."""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sateen import runtime
from sateen.runtime import Artifact, ArtifactError, DType, Parameter, VerifiedFiles, read_artifact
from sateen.runtime.artifact import ARTIFACT_MAGIC, HEADER, LEAF_BYTES, packed

X = Parameter("x", DType.of("float32"), (2, 3), None, 4)
Y = Parameter("y", DType.of("float32"), (2, 3), None, 4, is_output=True)
ARTIFACT = Artifact("test 1", "llvm -mtriple=x86_64", (X,), (Y,), 640, b"library bytes", bytes(range(256)) * 8)
RAW = ARTIFACT.to_bytes()
END = 8192 + len(ARTIFACT.parameters)
"""Where the last section ends, on the page behind the library."""
KEPT = (Path(__file__).parent / "running_sum.sateen").read_bytes()

Change = Callable[[dict[str, Any]], object]


def resealed(change: Change = lambda manifest: None, raw: bytes = RAW) -> bytes:
    """The file with its manifest changed, and given the right digest again."""
    start, size = struct.unpack_from("<QQ", raw, 16)
    manifest = json.loads(raw[start : start + size])
    change(manifest)
    return with_manifest(json.dumps(manifest).encode(), raw)


def with_manifest(text: bytes, raw: bytes = RAW) -> bytes:
    """The file with another text in place of its manifest, and the right digest of it."""
    _, version, first, *_ = HEADER.unpack_from(raw)
    place = -(-(HEADER.size + len(text)) // 4096) * 4096
    header = HEADER.pack(ARTIFACT_MAGIC, version, place, HEADER.size, len(text), hashlib.sha256(text).digest())
    return (header + text).ljust(place, b"\0") + raw[first:]


def test_resealing_keeps_an_artifact_valid() -> None:
    assert read_artifact(resealed()).inputs == (X,)


@pytest.mark.parametrize("size", [0, 7])
def test_a_file_shorter_than_the_magic_is_no_artifact(size: int, tmp_path: Path) -> None:
    path = tmp_path / "short.sateen"
    path.write_bytes(RAW[:size])
    with pytest.raises(ArtifactError, match=r"short\.sateen: expected an artifact( that sateen compiled)?, found "):
        read_artifact(path)


def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"a\.sateen: expected an artifact to read: No such file or directory"):
        read_artifact(tmp_path / "a.sateen")
    with pytest.raises(ArtifactError, match=r"expected an artifact to read: it is no regular file but a folder"):
        read_artifact(tmp_path)


@pytest.mark.parametrize(("version", "advice"), [(0, "compile the model again"), (2, "renew sateen-runtime")])
def test_another_format_version_says_which_side_is_older(version: int, advice: str) -> None:
    raw = bytearray(RAW)
    struct.pack_into("<I", raw, 8, version)
    with pytest.raises(ArtifactError, match=rf"expected format 1, found format {version}: .* is older; {advice}"):
        read_artifact(bytes(raw))


@pytest.mark.parametrize(
    ("kept", "expected"),
    [(8, "at least 64"), (63, "at least 64"), (64, "at least 4096"), (4095, "at least 4096")]
    + [(count, str(END)) for count in (4096, END // 2, END - 1)],
)
def test_a_file_cut_short_says_where_it_ends(tmp_path: Path, kept: int, expected: str) -> None:
    (tmp_path / "a.sateen").write_bytes(RAW[:kept])
    told = f"the artifact ends after {kept} of {expected} bytes: it is cut short or damaged; copy it again"
    with pytest.raises(ArtifactError, match=rf"a\.sateen: {told}"):
        read_artifact(tmp_path / "a.sateen")


@pytest.mark.parametrize(
    ("offset", "form", "value"),
    [(12, "<I", 0), (12, "<I", 64), (16, "<Q", 0), (16, "<Q", 1 << 63), (24, "<Q", (1 << 64) - 1), (24, "<Q", 1 << 40)],
)
def test_a_manifest_out_of_its_place_is_refused(offset: int, form: str, value: int) -> None:
    raw = bytearray(RAW)
    struct.pack_into(form, raw, offset, value)
    with pytest.raises(
        ArtifactError, match=r"expected a manifest between the header and the sections at byte \d+, found"
    ):
        read_artifact(bytes(raw))


def test_an_altered_manifest_is_refused() -> None:
    raw = bytearray(RAW)
    raw[raw.index(b"test 1")] ^= 1
    with pytest.raises(
        ArtifactError, match=r"the manifest does not have its digest: the file was altered or damaged; copy it again"
    ):
        read_artifact(bytes(raw))


@pytest.mark.parametrize(
    ("needle", "name"), [(b"library bytes", "section 'library'"), (bytes(range(9)), "section 'parameters'")]
)
def test_an_altered_section_is_refused(needle: bytes, name: str) -> None:
    raw = bytearray(RAW)
    raw[raw.index(needle)] ^= 1
    with pytest.raises(
        ArtifactError,
        match=rf"{name} does not have its digest in leaf 0 of 4 MiB: the file was altered or damaged; copy",
    ):
        read_artifact(bytes(raw))


def test_the_leaf_that_is_altered_is_told() -> None:
    raw = bytearray(packed(ARTIFACT.fields(), {"library": b"", "parameters": bytes(3 * LEAF_BYTES)}))
    raw[-1 - LEAF_BYTES] = 1
    with pytest.raises(ArtifactError, match=r"section 'parameters' does not have its digest in leaf 1 of 4 MiB"):
        read_artifact(bytes(raw))


def test_a_section_that_is_required_and_unknown_is_refused() -> None:
    sections = {"library": b"", "parameters": b"", "gpu": b"code"}
    with pytest.raises(
        ArtifactError, match=r"section 'gpu' is required, but this sateen-runtime does not know it; renew sateen-run"
    ):
        read_artifact(packed(ARTIFACT.fields(), sections))


def section(**changed: Any) -> Change:
    return lambda manifest: manifest["sections"]["parameters"].update(changed)


def put(name: str, value: Any) -> Change:
    return lambda manifest: manifest.update({name: value})


def in_input(**changed: Any) -> Change:
    return lambda manifest: manifest["inputs"][0].update(changed)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (section(offset=-4096), r"expected the offset of section 'parameters' as an integer from 0 to \d+, found -4"),
        (section(offset=1 << 60), r"expected the offset of section 'parameters' as an integer"),
        (section(offset=True), r"expected the offset of section 'parameters' as an integer from 0 to \d+, found True"),
        (section(offset="0"), r"expected the offset of section 'parameters' as an integer"),
        (section(offset=1 << 40), r"the artifact ends after \d+ of 10\d{11} bytes: it is cut short or damaged"),
        (section(offset=64), r"expected section 'parameters' at a multiple of 4096 bytes, found it at \d+"),
        (section(offset=0), r"expected sections that lie apart, found 'library' over 'parameters'"),
        (section(size=-1), r"expected the size of section 'parameters' as an integer from 0 to"),
        (section(size=1 << 47), r"expected 33554432 digests of section 'parameters'|the artifact ends after"),
        (section(leaves=[]), r"expected 1 digests of section 'parameters', found 0"),
        (section(leaves=["0" * 64] * 2), r"expected the digests of section 'parameters' as a list of at most 1"),
        (section(leaves=["short"]), r"expected a digest of section 'parameters' as printable text of 64 to 64"),
        (section(leaves=[7]), r"expected a digest of section 'parameters' as printable text"),
        (section(leaves=["0" * 64]), r"section 'parameters' does not have its digest in leaf 0"),
        (section(required=1), r"expected true or false for whether section 'parameters' is required, found 1"),
        (section(more=1), r"expected section 'parameters' to have offset, size, required, leaves; found"),
        (lambda m: m["sections"].pop("library"), r"expected a section 'library', found parameters"),
        (put("sections", []), r"expected the sections as an object, found list"),
        (put("sections", {}), r"expected a section 'library', found none"),
        (put("sections", {"a\nb": {}}), r"expected a key of the sections as printable text"),
        (put("producer", 7), r"expected the producer as printable text of 1 to 512 characters, found 7"),
        (put("producer", "\33[2J"), r"expected the producer as printable text"),
        (put("target", ["llvm"]), r"expected the target as printable text"),
        (put("source", None), r"expected the digest of the source as printable text"),
        (put("options", {"a": 1}), r"expected 'a' of the options as printable text"),
        (put("labels", {"z": ["a"]}), "expected no labels of 'z', found 1"),
        (put("labels", {"y": ["a", "b"]}), r"expected \d+ labels of 'y', found 2"),
        (put("labels", {"y": 3}), "expected the labels of 'y' as a list of at most"),
        (put("aliases", {"y": "z"}), r"expected aliases from an output to an input, found 'y' to 'z'"),
        (put("inputs", {}), r"expected the inputs as a list of at most 65535, found dict"),
        (put("inputs", [X.to_json()] * 2), r"expected each of the inputs to have a name of its own"),
        (put("inputs", [Y.to_json()]), r"expected 'y' to be among the outputs"),
        (put("outputs", [X.to_json()]), r"expected 'x' to be among the inputs"),
        (in_input(dtype="complex64"), r"expected an element type such as 'float32' or 'int8x4', found 'complex64'"),
        (in_input(shape=[2, -3]), r"expected the shape of parameter 'x' as an integer from 0 to"),
        (in_input(shape=["n", 3]), r"expected inputs of known extents that fit into memory and compact, found x: fl"),
        (in_input(shape=[1 << 62, 4]), r"expected inputs of known extents that fit into memory and compact"),
        (in_input(shape=[1] * 65), r"expected the shape of parameter 'x' as a list of at most 64"),
        (in_input(strides=[1, 2]), r"expected inputs of known extents that fit into memory and compact"),
        (in_input(alignment=3), r"expected a power of two as the alignment of parameter 'x', found 3"),
        (in_input(device="tape"), r"expected a kind of device, one of cpu, .*; found 'tape'"),
        (put("variants", []), r"expected one variant of the network, found 0; renew sateen-runtime"),
        (put("variants", [1]), r"expected a variant to have dims, entry, workspace; found int"),
        (
            lambda m: m["variants"][0].update(entry="main"),
            r"expected a variant of fixed dimensions whose entry is 'run'; renew sateen-runtime",
        ),
        (
            lambda m: m["variants"][0]["workspace"].update(cpu=-64),
            r"expected the size of the workspace as an integer from 0 to \d+, found -64",
        ),
        (lambda m: m["variants"][0]["workspace"].update(cuda=1), r"expected the workspace to have cpu; found cpu, c"),
        (lambda m: m.pop("target"), r"expected the manifest to have producer, target, .*; found aliases, inputs"),
        (put("stack", -8), r"expected the size of the stack as an integer from 0 to \d+, found -8"),
        (put("steps", 1), r"expected the steps as a list of at most"),
        (put("steps", [{"kernel": "k"}]), r"expected a step to have kernel, nodes, .*, bytes; found kernel"),
    ],
)  # fmt: skip
def test_a_manifest_of_wrong_values_is_refused(change: Change, error: str) -> None:
    with pytest.raises(ArtifactError, match=f"artifact: (parameter 'x': )?{error}"):
        read_artifact(resealed(change))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"", "expected the manifest as JSON: Expecting value"),
        (b"\xff\xfe{}", "expected the manifest as JSON"),
        (b"{", "expected the manifest as JSON"),
        (b"[]", "expected the manifest to have producer, .*; found list"),
        (b"null", "expected the manifest to have producer, .*; found NoneType"),
        (b'{"target":NaN}', "expected the manifest as JSON: expected integers only, found NaN"),
        (b'{"target":1e999}', "expected the manifest as JSON: expected integers only, found 1e999"),
        (b'{"target":' + b"9" * 5000 + b"}", "expected the manifest as JSON: Exceeds the limit"),
        (b'{"target":1,"target":1}', "expected the manifest as JSON: a key stands twice in one object"),
        (b"[" * 200_000, "expected the manifest as JSON: maximum recursion depth exceeded"),
        (b'{"a":' * 100_000, "expected the manifest as JSON: maximum recursion depth exceeded"),
    ],
)
def test_a_manifest_of_other_json_is_refused(text: bytes, error: str) -> None:
    with pytest.raises(ArtifactError, match=f"artifact: {error}"):
        read_artifact(with_manifest(text))


def test_a_field_that_a_later_version_adds_is_ignored() -> None:
    assert read_artifact(resealed(put("later", {"any": ["thing", None]}))).inputs == (X,)


def test_a_file_replaced_while_it_is_read_gives_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "a.sateen"

    class Replacing(VerifiedFiles):
        """Replaces the file as soon as the reader asks whether it knows it."""

        def of(self, descriptor: int) -> Any:
            Artifact("test 2", "llvm", (X,), (Y,), 0, b"other", b"other").save(path)
            return super().of(descriptor)

    ARTIFACT.save(path)
    read = read_artifact(path, verified=Replacing(tmp_path / "notes"))
    assert (read.producer, bytes(read.parameters)) == ("test 1", ARTIFACT.parameters)
    assert read_artifact(path).producer == "test 2"


def test_a_file_written_to_while_it_is_hashed_is_not_remembered(tmp_path: Path) -> None:
    path, notes = tmp_path / "a.sateen", tmp_path / "notes"

    class Touching(VerifiedFiles):
        """Changes the time of the file after each question."""

        def of(self, descriptor: int) -> Any:
            known = super().of(descriptor)
            os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))
            return known

    ARTIFACT.save(path)
    read_artifact(path, verified=Touching(notes))
    assert list(notes.iterdir()) == []


@pytest.mark.parametrize("raw", [RAW, KEPT], ids=["small", "kept"])
def test_mutants_are_refused_or_equal(raw: bytes) -> None:
    """Bytes flipped, cut, repeated or moved: an ArtifactError, or a file that differs where nothing is looked at."""
    choose = random.Random(0)
    whole = read_artifact(raw)
    for _ in range(1500):
        mutant = bytearray(raw)
        for _ in range(choose.randint(1, 3)):
            at, length = choose.randrange(len(raw)), choose.randrange(1, 64)
            match choose.randrange(4):
                case 0:
                    mutant[choose.randrange(min(len(mutant), choose.choice((64, 2048, len(raw)))))] ^= (
                        1 << choose.randrange(8)
                    )
                case 1:
                    del mutant[at : at + length]
                case 2:
                    mutant[at:at] = mutant[:length]
                case _:
                    mutant[at : at + length] = bytes(choose.randrange(256) for _ in range(length))
            mutant = mutant or bytearray(1)
        try:
            read = read_artifact(bytes(mutant))
        except ArtifactError:
            continue
        assert (read.fields(), read.library) == (whole.fields(), whole.library)
        assert bytes(read.parameters) == bytes(whole.parameters)


def values(choose: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    kind = choose.randrange(9 if depth < 3 else 6)
    simple = (
        None,
        True,
        -1,
        0,
        1 << choose.randrange(80),
        choose.choice(("", "x", "y", "run", "float32", "\0", "é" * 600)),
    )
    if kind < 6:
        return simple[kind]
    if kind == 6:
        return [values(choose, depth + 1) for _ in range(choose.randrange(4))]
    return {
        choose.choice(("offset", "cpu", "name", "dims")): values(choose, depth + 1) for _ in range(choose.randrange(4))
    }


def replace_somewhere(value: Any, choose: random.Random) -> Any:
    """The value with one of its parts replaced by any other, or left out."""
    if choose.random() < 0.25 or not isinstance(value, (dict, list)) or not value:
        return values(choose)
    if isinstance(value, list):
        at = choose.randrange(len(value))
        return [*value[:at], replace_somewhere(value[at], choose), *value[at + 1 :]]
    key = choose.choice(sorted(value))
    if choose.random() < 0.1:
        return {k: v for k, v in value.items() if k != key}
    return {**value, key: replace_somewhere(value[key], choose)}


def test_manifests_of_any_values_with_the_right_digest_are_refused_or_run() -> None:
    """Nothing but ArtifactError, or OutOfMemoryError for a workspace that is too large, leaves `load`."""
    choose = random.Random(1)
    start, size = struct.unpack_from("<QQ", KEPT, 16)
    manifest = json.loads(KEPT[start : start + size])
    refused = 0
    for _ in range(1500):
        changed = replace_somewhere(manifest, choose)
        try:
            runtime.load(with_manifest(json.dumps(changed).encode(), KEPT))
        except (ArtifactError, runtime.OutOfMemoryError):
            refused += 1
    assert refused > 1000


@pytest.mark.parametrize("field", [3, 4])
def test_a_header_that_claims_terabytes_is_refused(field: int) -> None:
    fields = list(HEADER.unpack_from(RAW))
    fields[field] = 4 << 40
    with pytest.raises(ArtifactError, match="expected a manifest between the header and the sections at byte"):
        read_artifact(HEADER.pack(*fields) + RAW[HEADER.size :])


def test_a_library_larger_than_any_is_refused_before_it_is_copied(tmp_path: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["sections"]["library"] |= {"size": 2 << 30, "leaves": ["0" * 64] * 512}
        manifest["sections"]["parameters"]["offset"] = 2 << 30

    path = tmp_path / "sparse.sateen"
    path.write_bytes(resealed(change))
    os.truncate(path, 3 << 30)
    with pytest.raises(ArtifactError, match="expected a library of at most 1073741824 bytes, found 2147483648"):
        read_artifact(path)
