"""Architectures, their processors, and the machine that schedules ask."""

import re
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from sateen.runtime import DeviceKind, Target, TargetError
from sateen.runtime.processor import PROCESSORS, architecture_of
from sateen.runtime.target_names import TARGET_NAMES
from sateen.tensor_ir import Machine, build, te
from sateen.tensor_ir.codegen.llvm import compile_text, machine_code, target_machine
from sateen.tensor_ir.codegen.llvm.machine_code import with_vendor
from sateen.tensor_ir.codegen.object_code import machine_of
from sateen.tensor_ir.targets import (
    ARCHITECTURES,
    SERIAL_ELEMENTS,
    WIDEST_VECTOR,
    System,
    architecture_named,
    features_of,
    least_registers,
    machine,
    with_features,
)

X86 = "llvm -mtriple=x86_64-linux-gnu"
ARM64 = "llvm -mtriple=aarch64-linux-gnu"
RISCV64 = "llvm -mtriple=riscv64-linux-gnu"


@pytest.mark.parametrize(
    ("text", "vector_bytes", "registers"),
    [
        (f"{X86} -mcpu=x86-64-v4", 64, 32),
        (f"{X86} -mcpu=x86-64-v3", 32, 16),
        (f"{X86} -mcpu=x86-64-v2", 16, 14),
        (X86, 16, 14),
        (f"{X86} -mcpu=znver4", 64, 32),
        (f"{X86} -mcpu=znver4 -mattr=-avx512f", 32, 16),
        (f"{X86} -mcpu=haswell", 32, 16),
        (f"{X86} -mattr=+avx2", 32, 16),
        (ARM64, 16, 32),
        (f"{ARM64} -mcpu=neoverse-v1", 16, 32),
        (RISCV64, 16, 7),
        (f"{RISCV64} -mcpu=sifive-u74", 16, 7),
        (f"{RISCV64} -mattr=+v", 16, 26),
        (f"{RISCV64} -mattr=+v,+zvl256b", 32, 26),
        (f"{RISCV64} -mcpu=spacemit-x60", 32, 26),
        (f"{RISCV64} -mcpu=sifive-x280", 64, 26),
        ("wasm32", 16, 14),
        ("llvm -mtriple=wasm32-unknown-unknown", 16, 14),
    ],
)
def test_vector_registers_are_those_of_the_processor(text, vector_bytes, registers):
    machine = Machine.of(text)
    assert (machine.vector_bytes, machine.vector_registers) == (vector_bytes, registers)
    assert machine.lanes() == vector_bytes // 4


@pytest.mark.parametrize(("target", "cores"), [("wasm32", 1), ("wasm32-threads", 4), ("cortex-m4", 1), ("aarch64", 4)])
def test_a_machine_without_threads_has_one_core(target, cores):
    assert Machine.of(target).cores == cores


def test_a_machine_is_of_the_kind_of_its_target():
    assert [Machine.of(text).kind for text in (X86, "c", "opencl")] == [
        DeviceKind.CPU, DeviceKind.CPU, DeviceKind.OPENCL,
    ]  # fmt: skip


def test_caches_and_rates_are_those_of_a_named_processor():
    small, large = Machine.of(f"{ARM64} -mcpu=cortex-a53"), Machine.of(f"{X86} -mcpu=sapphirerapids")
    assert (small.l2_bytes, large.l2_bytes) == (512 << 10, 2 << 20)
    assert small.rates.multiply_add_bytes < large.rates.multiply_add_bytes


def test_memory_is_no_slower_in_streams_and_no_slower_for_all_cores():
    for cpu in (cpu for a in ARCHITECTURES.values() for cpu in (*a.levels, *a.cpus.values())):
        rates = cpu.rates
        assert rates.memory <= rates.memory_in_streams <= min(rates.memory_together, rates.l1), cpu.name
        assert (rates.streams == 1) == (rates.memory == rates.memory_in_streams), cpu.name


def test_a_processor_without_fused_multiply_adds_waits_for_product_and_sum():
    with_fma, without = (Machine.of(f"{X86} -mcpu=x86-64-v{level}").rates for level in (3, 2))
    assert without.multiply_add_latency == 2 * with_fma.multiply_add_latency
    assert without.multiply_add_bytes < with_fma.multiply_add_bytes


@pytest.mark.parametrize(
    ("target", "registers", "multiplies"),
    [
        (f"{X86} -mcpu=sapphirerapids", 8, True),
        (f"{X86} -mcpu=graniterapids", 8, True),
        (f"{X86} -mcpu=znver4 -mattr=+amx-tile,+amx-bf16", 8, False),
        (f"{X86} -mcpu=icelake-server", 0, False),
        (f"{X86} -mcpu=sapphirerapids -mattr=-amx-tile", 0, False),
        ("llvm -mtriple=x86_64-pc-windows-msvc -mcpu=sapphirerapids", 0, False),
        (ARM64, 0, False),
    ],
)
def test_tile_registers_are_those_that_linux_gives_and_multiply_where_their_rate_is_known(
    target, registers, multiplies
):
    machine = Machine.of(target)
    assert (machine.tile_registers, machine.multiplies_tiles) == (registers, multiplies)


def test_features_are_those_of_the_processor_and_of_the_target():
    features = features_of(Target.parse(f"{X86} -mcpu=znver4 -mattr=+amx-int8,-avx512bf16"))
    assert {"amx-int8", "avx512f", "avx512vnni", "fma"} <= features
    assert "avx512bf16" not in features


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
def test_llvm_knows_every_processor(architecture):
    known = machine_code._names(architecture.triple, "processor")
    assert {row.name for row in architecture.rows} - {"generic"} <= set(known)


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
def test_llvm_knows_every_feature(architecture):
    known = machine_code._names(architecture.triple, "feature")
    named = frozenset[str]().union(*(row.features for row in architecture.rows))
    asked = {architecture.half_feature, architecture.rounding_feature, *(v.feature for v in architecture.vectors)}
    asked |= {feature[1:] for feature in architecture.tuning}
    assert named | asked - {""} <= set(known)


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
def test_code_is_made_for_every_architecture(architecture):
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B)
    s[B].vectorize(B.op.axis[0])
    module = build(s, [A, B], target=f"llvm -mtriple={architecture.triple}", name="f")
    assert module.object_code
    assert architecture_of(architecture.triple) == architecture.name


@pytest.mark.parametrize("name", TARGET_NAMES)
def test_code_is_made_for_every_name(name):
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    module = build(te.create_schedule(B), [A, B], target=name, name="f")
    assert module.object_code
    assert str(module.target) == TARGET_NAMES[name].text


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
def test_pointers_are_as_wide_as_llvm_has_them(architecture):
    machine = machine_code.target_machine(architecture.triple, "", "")
    pointer = llvm.parse_assembly("@pointer = global ptr null").get_global_variable("pointer").type
    assert machine.target_data.get_abi_size(pointer) == architecture.abi.pointer_bytes


def test_what_the_linker_and_the_loader_know_agrees():
    linked = {a.name: a.linking.machine for a in ARCHITECTURES.values() if a.linking}
    assert linked == {name: PROCESSORS[name].elf_machine for name in linked}
    # Libraries need both; the pool of ARM is to be written.
    assert set(linked) == {a.name for a in ARCHITECTURES.values() if a.host} | {"arm"}


def test_an_architecture_that_no_code_is_made_for_is_refused():
    with pytest.raises(TargetError) as caught:
        architecture_named("x86_65-linux-gnu")
    assert str(caught.value) == (
        f"expected a triple of {', '.join(ARCHITECTURES)}, such as x86_64-linux-gnu, "
        "found 'x86_65-linux-gnu'; did you mean x86_64 or x86?"
    )
    with pytest.raises(TargetError, match="found 'sparc-unknown-linux-gnu'"):
        Machine.of("llvm -mtriple=sparc-unknown-linux-gnu")


def test_the_features_of_a_processor_are_written_out_for_those_who_load_its_code():
    told = with_features(Target.parse(f"{X86} -mcpu=haswell -mattr=-movbe"))
    assert str(told).startswith(f"{X86} -mcpu=haswell -mattr=+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,-movbe,")
    assert with_features(told) == told
    level = Target.parse(f"{X86} -mcpu=x86-64-v3 -mattr=+avx512f")
    assert with_features(level) == level
    older = Target.parse(f"{X86} -mcpu=x86-64-v2")
    assert older.missing_features(told) == ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "xsave")


def test_a_library_for_a_processor_tells_its_features():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    module = build(te.create_schedule(B), [A, B], target=f"{X86} -mcpu=sapphirerapids", name="f")
    assert b"+amx-bf16,+amx-int8,+amx-tile,+avx,+avx2,+avx512bf16" in module.library()


@pytest.mark.parametrize(
    ("triple", "system"),
    [
        ("x86_64-unknown-linux-gnu", System.LINUX),
        ("aarch64-linux-musl", System.LINUX),
        ("aarch64-linux-android", System.ANDROID),
        ("x86_64-pc-windows-msvc", System.WINDOWS),
        ("arm64-apple-macos11", System.MACOS),
        ("arm64-apple-ios", System.IOS),
        ("arm64-apple-ios15.0-simulator", System.IOS),
        ("wasm32-unknown-unknown", System.WEBASSEMBLY),
        ("thumbv7em-none-eabi", System.NONE),
    ],
)
def test_a_triple_names_a_system(triple, system):
    assert System.of(triple) is system


@pytest.mark.parametrize(
    ("text", "accumulators"),
    [
        (f"{X86} -mcpu=x86-64-v4", 4),
        (f"{X86} -mcpu=x86-64-v3", 8),
        (X86, 8),
        (f"{X86} -mcpu=znver5", 8),
        (ARM64, 8),
        (RISCV64, 2),
        (f"{RISCV64} -mattr=+v", 4),
    ],
)
def test_sums_have_as_many_accumulators_as_hide_the_latency_of_an_addition(text, accumulators):
    assert Machine.of(text).accumulators == accumulators


@pytest.mark.parametrize(
    ("text", "features"),
    [
        (RISCV64, {"a", "c", "d", "f", "m"}),
        (f"{RISCV64} -mattr=+v,-c", {"a", "d", "f", "m", "v"}),
        (f"{RISCV64} -mcpu=generic-rv64", set()),
        (f"{RISCV64} -mcpu=sifive-u74 -mattr=-zba", {"a", "c", "d", "f", "m", "zbb"}),
    ],
)
def test_systems_on_risc_v_assume_what_llvm_does_not(text, features):
    assert features_of(Target.parse(text)) == features
    listed = with_features(Target.parse(text))
    assert listed.enabled_features == features


def test_no_vector_is_wider_than_the_widest():
    assert WIDEST_VECTOR == 64
    assert all(vectors.bytes <= WIDEST_VECTOR for a in ARCHITECTURES.values() for vectors in a.vectors)


@pytest.mark.parametrize(("attributes", "registers"), [("", 7), (" -mattr=+v", 26), (" -mattr=+v,+zvl256b", 26)])
def test_tiles_without_vectors_are_as_large_as_the_scalar_registers(attributes, registers):
    machine = Machine.of(RISCV64 + attributes)
    assert machine.vector_registers == registers
    assert machine.vector_bytes * machine.tile_positions(1) <= 32 * (machine.vector_bytes if attributes else 4)


def test_what_is_written_before_a_machine_is_known_suits_all():
    assert [least_registers(vector) for vector in (4, 16, 32, 64)] == [14, 14, 16, 26]
    processors = [cpu for a in ARCHITECTURES.values() for cpu in (*a.levels, *a.cpus.values())]
    assert max(cpu.rates.serial_elements for cpu in processors) == SERIAL_ELEMENTS


@pytest.mark.parametrize(
    ("triple", "whole"),
    [
        ("armv7-linux-gnueabihf", "armv7-unknown-linux-gnueabihf"),
        ("thumbv7em-none-eabihf", "thumbv7em-unknown-none-eabihf"),
        ("x86_64-pc-windows-msvc", "x86_64-pc-windows-msvc"),
        ("arm64-apple-macosx", "arm64-apple-macosx"),
        ("wasm32-unknown-unknown", "wasm32-unknown-unknown"),
        ("wasm32", "wasm32"),
    ],
)
def test_llvm_is_told_the_vendor_that_a_triple_leaves_out(triple: str, whole: str) -> None:
    assert with_vendor(triple) == whole
    assert target_machine(triple, "cortex-m4" if triple.startswith("thumb") else "", "").triple == whole


def test_floats_are_passed_in_registers_of_floats_where_the_system_does() -> None:
    text = "define float @f(float %x) nounwind { %y = fadd float %x, %x ret float %y }"
    for triple in ("armv7-linux-gnueabihf", "thumbv7em-none-eabihf -mcpu=cortex-m4"):
        code = compile_text(text, machine_of(Target.of(f"llvm -mtriple={triple}"))).assembly()
        assert "vmov" not in code
        assert re.search(r"vadd\.f32\s+[sd]0, [sd]0, [sd]0", code)


def test_a_cache_whose_size_the_system_does_not_tell_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index, files in enumerate(({"type": "Data", "level": "1", "size": "32K"}, {"type": "Unified", "level": "2"})):
        (tmp_path / f"index{index}").mkdir()
        for name, text in files.items():
            (tmp_path / f"index{index}" / name).write_text(f"{text}\n")
    monkeypatch.setattr(machine, "Path", lambda _: tmp_path)
    machine._host_caches.cache_clear()
    assert Machine.of("llvm").l1_bytes == 32 << 10
    machine._host_caches.cache_clear()


def test_no_more_of_the_third_cache_is_counted_on_than_a_core_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_host_caches", lambda: {3: 105 << 20})
    rows = ARCHITECTURES["x86_64"].cpus
    third = {name: machine._caches_here(rows[name])[2] >> 20 for name in ("sapphirerapids", "znver4", "lunarlake")}
    assert third == {"sapphirerapids": 16, "znver4": 32, "lunarlake": 16}
    monkeypatch.setattr(machine, "_host_caches", lambda: {3: 4 << 20})
    assert machine._caches_here(rows["znver4"])[2] == 4 << 20


@pytest.mark.parametrize(
    ("text", "in_step"),
    [("opencl", True), ("opencl -mcpu=processor", False), ("cuda", True), ("webgpu", True), ("metal", True)],
)
def test_threads_run_in_step_but_on_a_processor_that_is_a_device(text: str, in_step: bool) -> None:
    gpu = Machine.of(text).gpu
    assert gpu is not None
    assert gpu.runs_in_step is in_step


def test_threads_that_do_not_fill_their_last_warp_idle_in_it() -> None:
    gpu = Machine.of("cuda").gpu
    assert gpu is not None
    assert [gpu.whole_warps(threads) for threads in (1, 32, 33, 256)] == [32, 32, 64, 256]
