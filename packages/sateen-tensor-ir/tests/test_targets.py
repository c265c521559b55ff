"""Architectures, their processors, and the machine that schedules ask."""

import pytest

from sateen.runtime import DeviceKind, Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.codegen.llvm import machine_code
from sateen.tensor_ir.targets import ARCHITECTURES, features_of

X86 = "llvm -mtriple=x86_64-linux-gnu"
ARM64 = "llvm -mtriple=aarch64-linux-gnu"


@pytest.mark.parametrize(
    ("text", "vector_bytes", "registers"),
    [
        (f"{X86} -mcpu=x86-64-v4", 64, 32),
        (f"{X86} -mcpu=x86-64-v3", 32, 16),
        (f"{X86} -mcpu=x86-64-v2", 16, 16),
        (X86, 16, 16),
        (f"{X86} -mcpu=znver4", 64, 32),
        (f"{X86} -mcpu=znver4 -mattr=-avx512f", 32, 16),
        (f"{X86} -mcpu=haswell", 32, 16),
        (f"{X86} -mattr=+avx2", 32, 16),
        (ARM64, 16, 32),
        (f"{ARM64} -mcpu=neoverse-v1", 16, 32),
        ("llvm -mtriple=riscv64-linux-gnu", 16, 16),
    ],
)
def test_vector_registers_are_those_of_the_processor(text, vector_bytes, registers):
    machine = Machine.of(text)
    assert (machine.vector_bytes, machine.vector_registers) == (vector_bytes, registers)
    assert machine.lanes() == vector_bytes // 4


def test_a_machine_is_of_the_kind_of_its_target():
    assert [Machine.of(text).kind for text in (X86, "c", "opencl")] == [
        DeviceKind.CPU, DeviceKind.CPU, DeviceKind.OPENCL,
    ]  # fmt: skip


def test_caches_and_rates_are_those_of_a_named_processor():
    small, large = Machine.of(f"{ARM64} -mcpu=cortex-a53"), Machine.of(f"{X86} -mcpu=sapphirerapids")
    assert (small.l2_bytes, large.l2_bytes) == (512 << 10, 2 << 20)
    assert small.rates.multiply_add_bytes < large.rates.multiply_add_bytes


def test_a_processor_without_fused_multiply_adds_waits_for_product_and_sum():
    with_fma, without = (Machine.of(f"{X86} -mcpu=x86-64-v{level}").rates for level in (3, 2))
    assert without.multiply_add_latency == 2 * with_fma.multiply_add_latency
    assert without.multiply_add_bytes < with_fma.multiply_add_bytes


def test_features_are_those_of_the_processor_and_of_the_target():
    features = features_of(Target.parse(f"{X86} -mcpu=znver4 -mattr=+amx-int8,-avx512bf16"))
    assert {"amx-int8", "avx512f", "avx512vnni", "fma"} <= features
    assert "avx512bf16" not in features


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
def test_llvm_knows_every_processor(architecture):
    known = machine_code._names(f"{architecture.name}-linux-gnu", "processor")
    assert set(architecture.cpus) <= set(known)


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
def test_llvm_knows_every_feature(architecture):
    known = machine_code._names(f"{architecture.name}-linux-gnu", "feature")
    rows = (*architecture.cpus.values(), *architecture.levels)
    named = {feature for row in rows for feature in row.features} | {v.feature for v in architecture.vectors}
    assert named - {""} <= set(known)
