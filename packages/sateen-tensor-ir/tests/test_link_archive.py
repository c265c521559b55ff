"""Static archives: what is in them, under which names, and what is refused."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from sateen.runtime import ArtifactError, LinkError
from sateen.runtime.elf_object import object_of_data, sizes_of, symbols_of, with_names
from sateen.runtime.static_archive import PARAMETER_DATA, members_of, network_archive, pack_archive
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen import STATIC_PARAMETERS_TEXT, freestanding_text
from sateen.tensor_ir.codegen.object_code import compile_for
from sateen.tensor_ir.link import link_static

LINUX, CORTEX = "llvm -mtriple=x86_64-linux-gnu", "cortex-m4"
BOTH = pytest.mark.parametrize("target", [LINUX, CORTEX])


def code(text: str, target: str) -> bytes:
    return compile_for(text, Target.of(target))


def archive(target: str) -> bytes:
    outer = "declare i32 @inner()\ndefine i32 @run() nounwind {\n %x = call i32 @inner()\n ret i32 %x\n}"
    inner = "define i32 @inner() nounwind {\n ret i32 7\n}\n" + STATIC_PARAMETERS_TEXT
    objects = [code(outer, target), code(inner, target)]
    return link_static(objects, Target.of(target).triple, ["run", "sateen_parameters"], given=[PARAMETER_DATA])


@BOTH
def test_an_archive_has_the_objects_and_nothing_of_the_day(target: str) -> None:
    made = archive(target)
    assert made == archive(target)
    members = members_of(made)
    assert [*members] == ["code0.o", "code1.o"]
    assert pack_archive(members) == made
    assert symbols_of(members["code0.o"]).defined == ("run",)
    assert symbols_of(members["code0.o"]).undefined == ("inner",)


@BOTH
def test_all_names_of_a_network_begin_with_its_own(target: str) -> None:
    members = members_of(network_archive(archive(target), b"parameters", "mlp"))
    symbols = [symbols_of(content) for content in members.values()]
    assert {name for own in symbols for name in own.defined} == {
        "mlp_sateen_run", "mlp_sateen_inner", "mlp_sateen_parameters", "mlp_sateen_parameter_data"
    }  # fmt: skip
    assert {name for own in symbols for name in own.undefined} == {"mlp_sateen_inner", "mlp_sateen_parameter_data"}
    assert b"parameters" in members["parameters.o"]
    assert sizes_of(members["parameters.o"]).constant == len(b"parameters")


@BOTH
@pytest.mark.skipif(shutil.which("ar") is None or shutil.which("nm") is None, reason="no binutils: expected ar, nm")
def test_other_tools_read_an_archive(target: str, tmp_path: Path) -> None:
    path = tmp_path / "libmlp.a"
    path.write_bytes(network_archive(archive(target), bytes(3), "mlp"))
    listed = subprocess.run(["ar", "t", path], capture_output=True, text=True, check=True, timeout=60).stdout
    assert listed.split() == ["code0.o", "code1.o", "parameters.o"]
    index = subprocess.run(["nm", "-s", path], capture_output=True, text=True, check=False, timeout=60).stdout
    assert "mlp_sateen_inner in code1.o" in index


def test_a_name_that_others_own_keeps_its_name() -> None:
    text = "declare ptr @memcpy(ptr, ptr, i64)\ndefine ptr @run(ptr %a) {\n"
    text += " %x = call ptr @memcpy(ptr %a, ptr %a, i64 8) nobuiltin\n ret ptr %x\n}\n"
    made = link_static([code(text + STATIC_PARAMETERS_TEXT, LINUX)], "x86_64-linux-gnu", ["run"], [PARAMETER_DATA])
    own = symbols_of(members_of(network_archive(made, b"", "mlp"))["code0.o"])
    assert "memcpy" in own.undefined
    assert "mlp_sateen_run" in own.defined


@pytest.mark.parametrize(
    ("texts", "exports", "told"),
    [
        (["define void @f() { ret void }"] * 2, [], "symbol 'f' is defined by code0.o and code1.o"),
        (["define void @f() { ret void }"], ["g"], "export 'g' is not among the symbols of the objects"),
        (
            ["declare void @malloc()\ndefine void @f() {\n call void @malloc()\n ret void\n}"],
            [],
            "undefined symbol 'malloc': for thumbv7em-none-eabihf only memcpy, memset may be",
        ),
    ],
)
def test_what_does_not_fit_is_refused(texts: list[str], exports: list[str], told: str) -> None:
    with pytest.raises(LinkError) as caught:
        link_static([code(text, CORTEX) for text in texts], Target.of(CORTEX).triple, exports)
    assert str(caught.value) == told


def test_objects_of_other_systems_are_refused() -> None:
    with pytest.raises(LinkError, match=r"objects are ELF files for a static archive, found 'arm64-apple-macosx'"):
        link_static([], "arm64-apple-macosx", [])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"!<arch>\n" + b"x" * 60, "expected the header of a member at 8 of a static archive"),
        (b"\x7fELF", "expected a static archive, found 4 bytes that begin with"),
        (pack_archive({}), "expected the archive of a network, found one that needs no parameters"),
    ],
)
def test_what_is_no_archive_of_a_network_is_refused(content: bytes, told: str) -> None:
    with pytest.raises(ArtifactError, match=told):
        network_archive(content, b"", "mlp")


def test_a_long_name_of_a_member_is_refused() -> None:
    with pytest.raises(ArtifactError, match="up to 15 letters and digits as the name of a member"):
        pack_archive({"a" * 16: b""})


@BOTH
def test_damaged_archives_are_refused_or_read(target: str) -> None:
    whole = archive(target)
    source = random.Random(0)
    refused = 0
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(source.randrange(1, 4)):
            damaged[source.randrange(len(whole))] = source.randrange(256)
        try:
            network_archive(bytes(damaged[: source.choice([len(whole), source.randrange(len(whole))])]), b"p", "mlp")
        except ArtifactError:
            refused += 1
    assert refused > 100


@BOTH
def test_an_object_of_data_lies_where_it_is_aligned_to(target: str) -> None:
    like = code("define void @f() { ret void }", target)
    made = object_of_data(like, "numbers", b"12345", 64)
    assert made.index(b"12345") % 64 == 0
    assert symbols_of(made).defined == ("numbers",)
    damaged = bytearray(like)
    damaged[52 if like[4] == 2 else 40] = 255  # the length of its own header, which objects of one machine share
    assert object_of_data(bytes(damaged), "numbers", b"12345", 64) == made
    renamed = with_names(made, {"numbers": "longer_name_of_numbers"})
    assert symbols_of(renamed).defined == ("longer_name_of_numbers",)
    assert symbols_of(with_names(made, {"other": "name"})).defined == ("numbers",)


def test_only_machines_without_a_system_get_functions_of_a_library() -> None:
    assert freestanding_text(Target.of(LINUX)) == ""
    assert symbols_of(code(freestanding_text(Target.of(CORTEX)), CORTEX)).undefined == ("memcpy", "memset")
