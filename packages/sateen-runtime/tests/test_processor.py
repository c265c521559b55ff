import sys

import pytest

from sateen.runtime.processor import (
    X86_LEVELS,
    architecture_of,
    features_from_cpuinfo,
    features_from_sysctl,
    host_features,
    x86_level,
)

ZEN4 = (
    "flags\t\t: fpu sse sse2 lahf_lm pni ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt xsave avx f16c abm bmi1 avx2 bmi2 "
    "avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512_bf16 avx512vbmi avx512_vbmi2 gfni avx512_vnni\n"
)


def test_flags_of_linux_become_names_of_llvm() -> None:
    features = features_from_cpuinfo("x86_64", "processor\t: 0\n" + ZEN4)
    assert {"sse3", "sse4.1", "bmi", "lzcnt", "sahf", "avx512bf16", "avx512vnni", "avx512vbmi2", "gfni"} <= features
    assert "fpu" not in features
    assert x86_level(features) == 4


def test_only_what_all_processors_have_counts() -> None:
    assert features_from_cpuinfo("x86_64", "flags : sse avx\n\nflags : sse\n") == {"sse"}


def test_arm_and_riscv_are_read_too() -> None:
    assert features_from_cpuinfo("aarch64", "Features\t: fp asimd asimddp asimdhp sve\n") == {
        "neon",
        "dotprod",
        "fullfp16",
        "sve",
    }
    assert features_from_cpuinfo("arm", "Features\t: half neon vfpv4 idiva\n") == {"neon", "vfp4", "hwdiv-arm"}
    assert features_from_cpuinfo("riscv64", "isa\t\t: rv64gcv_zba_zicsr\n") == {"m", "a", "f", "d", "c", "v", "zba"}


def test_a_system_that_tells_nothing_has_no_features() -> None:
    assert features_from_cpuinfo("x86_64", "") == frozenset()


def test_sysctl_of_macos_is_read() -> None:
    assert features_from_sysctl("aarch64", "hw.optional.arm.FEAT_DotProd: 1\nhw.optional.arm.FEAT_BF16: 0\n") == {
        "dotprod"
    }
    intel = (
        "machdep.cpu.features: SSE SSE2 SSE3 SSSE3 SSE4.1 AVX1.0 FMA\nmachdep.cpu.leaf7_features: AVX2 BMI1 AVX512F\n"
    )
    assert features_from_sysctl("x86_64", intel) == {
        "sse",
        "sse2",
        "sse3",
        "ssse3",
        "sse4.1",
        "avx",
        "fma",
        "avx2",
        "bmi",
        "avx512f",
    }


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_a_level_is_reached_with_its_last_feature(level: int) -> None:
    complete = frozenset.union(*X86_LEVELS[:level])
    assert x86_level(complete) == level
    assert all(x86_level(complete - {feature}) < level for feature in X86_LEVELS[level - 1])


def test_architectures_have_one_name() -> None:
    named = {
        "AMD64": "x86_64",
        "arm64": "aarch64",
        "armv7l": "arm",
        "thumbv7em": "arm",
        "i686": "x86",
        "riscv64": "riscv64",
        "arm64-apple-macosx": "aarch64",
    }
    assert {name: architecture_of(name) for name in named} == named


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux and macOS tell their processor's features")
def test_this_machine_tells_its_features() -> None:
    assert host_features()
