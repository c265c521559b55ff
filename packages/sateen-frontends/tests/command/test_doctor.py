from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sateen.frontends.command import doctor as module
from sateen.frontends.command import measured_machine, target_support
from sateen.frontends.command.target_support import TargetSupport, support_of
from sateen.runtime import LinkError, Target, read_artifact
from sateen.runtime.devices import opencl
from sateen.runtime.devices.driver import MissingDriverError
from sateen.runtime.devices.opencl_library import OpenCLLibrary
from sateen.runtime.target_names import TARGET_NAMES, TargetName
from sateen.tensor_ir import CompiledModule, Machine, MeasuredMachine
from sateen.tensor_ir.host import has_host
from sateen.tensor_ir.targets import ARCHITECTURES, machine_digest, read_machine

CORTEX_A72 = TARGET_NAMES["raspberry-pi-4"]


def test_this_machine_works_and_is_described(sateen):
    ran = sateen("doctor", "--json")
    assert ran.status == 0
    answer = json.loads(ran.out)
    assert answer["machine"]["target"] == str(Target.host())
    assert answer["findings"][0] == {
        "subject": "this machine", "works": True, "found": "compiles, links and runs", "remedy": "",
    }  # fmt: skip


def test_the_machine_that_choices_are_made_for_is_named(sateen):
    told, machine = json.loads(sateen("doctor", "--json").out)["machine"], Machine.of("llvm")
    assert told["machine"].startswith(f"{machine.processor}; rates: ")
    assert f"{machine.rates.multiply_add_bytes:g} bytes of multiply-adds a cycle" in told["rates"]


class FakeMeter:
    """Finds this machine with slower memory."""

    def __init__(self, cores: int) -> None:
        assert cores >= 1

    def measure(self) -> MeasuredMachine:
        own = Machine.of("llvm")
        return MeasuredMachine(replace(own, rates=replace(own.rates, memory=0.25)), 3.7e9, 29.0, 7.4)


def test_a_measured_machine_is_shown_and_written_for_other_verbs(sateen, dense, tmp_path, monkeypatch):
    monkeypatch.setattr(measured_machine, "MachineMeter", FakeMeter)
    file, one, other = (tmp_path / name for name in ("machine.json", "one.sateen", "other.sateen"))
    ran = sateen("doctor", "--measure", "-o", str(file))
    assert ran.status == 0
    assert "memory, at one place" in ran.out
    assert "0.25" in ran.out
    machine = read_machine(file, "llvm")
    assert machine.rates.memory == 0.25
    assert sateen("compile", str(dense), "-o", str(one), "--machine", str(file)).status == 0
    assert sateen("compile", str(dense), "-o", str(other)).status == 0
    assert read_artifact(one).options["machine"] == machine_digest(machine)
    assert "machine" not in read_artifact(other).options
    for verb in (("inspect", "--candidates"), ("inspect",), ("check",), ("verify",)):
        assert sateen(verb[0], str(dense), *verb[1:], "--machine", str(file)).status == 0, verb
    kept = file.read_text()
    refused = sateen("compile", str(dense), "-o", str(file), "--machine", str(file))
    assert refused.status == 2
    assert file.read_text() == kept
    answer = json.loads(sateen("doctor", "--measure", "--json").out)
    assert answer["measured"]["memory"] == 0.25
    assert answer["chosen_for"]["memory"] == Machine.of("llvm").rates.memory


def test_a_file_that_is_no_machine_is_refused(sateen, dense, tmp_path):
    file = tmp_path / "machine.json"
    file.write_text("{}")
    ran = sateen("compile", str(dense), "-o", str(tmp_path / "out.sateen"), "--machine", str(file))
    assert ran.status == 1
    assert "machine.json: expected the format 'sateen machine 1', found None" in ran.err


@pytest.mark.parametrize("options", [("-o", "x.json"), ("--targets", "--measure")])
def test_options_of_measuring_are_for_measuring(sateen, options):
    assert sateen("doctor", *options).status == 2


def test_targets_without_a_thread_pool_say_what_they_give(sateen):
    findings = {f["subject"]: f for f in json.loads(sateen("doctor", "--json").out)["findings"]}
    without = [a for a in ARCHITECTURES.values() if not has_host(a.triple)]
    assert "x86 of 32 bits" in [a.title for a in without]
    for subject in map(module._name, without):
        assert (findings[subject]["works"], findings[subject]["remedy"]) == (False, "")
        assert findings[subject]["found"].startswith("object code of kernels; no libraries, whose thread pool is for")


def test_what_is_missing_is_told_with_the_command_that_brings_it(sateen, monkeypatch):
    monkeypatch.setattr(module, "is_installed", lambda name: False)
    monkeypatch.setattr(opencl, "opencl_library", _no_library)
    ran = sateen("doctor")
    for remedy in ("pillow", "onnxruntime"):
        assert f"pip install {remedy}" in ran.out
    (row,) = [line.split("  ") for line in ran.out.splitlines() if line.startswith("devices of opencl")]
    assert [word.strip() for word in row if word] == ["devices of opencl", "no", "no libOpenCL", "install it"]


def _no_library() -> OpenCLLibrary:
    raise MissingDriverError("no libOpenCL", "install it")


def test_every_name_of_a_target_is_listed_with_its_text_and_what_works(sateen):
    ran = sateen("doctor", "--targets")
    assert ran.status == 0
    rows = {line.split()[0]: line for line in ran.out.splitlines()[1:] if line.strip()}
    assert [*rows] == [*TARGET_NAMES]
    assert all(rows[name].rstrip().endswith(row.text) for name, row in TARGET_NAMES.items())
    listed = json.loads(sateen("doctor", "--targets", "--json").out)["targets"]
    assert [row["compiles"] for row in listed] == ["yes"] * len(TARGET_NAMES)


def test_a_target_of_this_machine_runs_here():
    host = TargetName("host", str(Target.host()), "this machine")
    assert support_of(host) == TargetSupport("yes", "yes", "natively")


def test_a_processor_that_this_machine_is_not_is_told_by_its_features(monkeypatch):
    monkeypatch.setattr(Target, "host", staticmethod(lambda: Target.parse("llvm -mtriple=x86_64-linux-gnu")))
    lacking = support_of(TargetName("level", "llvm -mtriple=x86_64-linux-gnu -mattr=+avx,+fma", ""))
    assert lacking == TargetSupport("yes", "yes", "no: this processor lacks avx, fma")


@pytest.mark.skipif(Target.host().architecture != "x86_64", reason="needs a machine that is not ARM64")
@pytest.mark.parametrize(
    ("installed", "runs", "remedy"),
    [("qemu-aarch64", "by qemu-aarch64", ""), ("", "no emulator found", "apt-get install qemu-user-static")],
)
def test_another_linux_runs_by_an_emulator(monkeypatch, installed, runs, remedy):
    monkeypatch.setattr(target_support.shutil, "which", lambda program: installed if program == installed else None)
    assert support_of(CORTEX_A72) == TargetSupport("yes", "yes", runs, remedy)


@pytest.mark.parametrize(
    ("installed", "runs", "remedy"), [("node", "by node", ""), ("", "no emulator found", "apt-get install nodejs")]
)
def test_webassembly_runs_in_node(monkeypatch, installed, runs, remedy):
    monkeypatch.setattr(target_support.shutil, "which", lambda program: installed if program == installed else None)
    assert support_of(TARGET_NAMES["wasm32"]) == TargetSupport("yes", "yes", runs, remedy)


def test_a_missing_linker_is_told_with_the_command_that_brings_it(monkeypatch):
    def library(_module: CompiledModule) -> bytes:
        raise LinkError("no linker")

    monkeypatch.setattr(CompiledModule, "library", library)
    assert support_of(CORTEX_A72) == TargetSupport("yes", "no linker found", "", "pip install ziglang")


def test_a_target_that_llvm_does_not_know_says_why():
    support = support_of(TargetName("none", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72x", ""))
    assert support.compiles.startswith("no: LLVM knows no processor 'cortex-a72x' for aarch64; did you mean cortex-a72")


@pytest.mark.parametrize(
    ("installed", "runs", "remedy"),
    [("qemu-system-arm", "by qemu-system-arm", ""), ("", "no emulator found", "apt-get install qemu-system-arm")],
)
def test_code_for_a_machine_without_a_system_is_an_archive(monkeypatch, installed, runs, remedy):
    monkeypatch.setattr(target_support.shutil, "which", lambda program: installed if program == installed else None)
    assert support_of(TARGET_NAMES["cortex-m4"]) == TargetSupport("yes", "as an archive", runs, remedy)
