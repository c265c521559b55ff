"""Short names of targets: each stands for the text of a target, which is what artifacts and records hold.

A name is a machine that a user has, or a level that many machines share. It chooses no features: the processor does.
`Target.parse` reads names; nothing else knows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TargetName:
    """A short name, the text that it stands for, and the machines that run code for it."""

    name: str
    text: str
    machines: str


_X86_64 = "llvm -mtriple=x86_64-linux-gnu"
_AARCH64 = "llvm -mtriple=aarch64-linux-gnu"
_MACOS = "llvm -mtriple=arm64-apple-macosx"
_CORTEX_M = "llvm -mtriple=thumbv7em-none-eabihf"

TARGET_NAMES: Mapping[str, TargetName] = {
    row.name: row
    for row in (
        TargetName("x86-64", f"{_X86_64} -mcpu=x86-64", "every x86-64 Linux"),
        TargetName("x86-64-v2", f"{_X86_64} -mcpu=x86-64-v2", "x86-64 Linux with SSE4.2"),
        TargetName("x86-64-v3", f"{_X86_64} -mcpu=x86-64-v3", "x86-64 Linux with AVX2 and FMA"),
        TargetName("x86-64-v4", f"{_X86_64} -mcpu=x86-64-v4", "x86-64 Linux with AVX-512"),
        TargetName("haswell", f"{_X86_64} -mcpu=haswell", "Intel Core of generation 4"),
        TargetName("alderlake", f"{_X86_64} -mcpu=alderlake", "Intel Core of generation 12"),
        TargetName("skylake-avx512", f"{_X86_64} -mcpu=skylake-avx512", "Intel Xeon Scalable of generation 1"),
        TargetName("cascadelake", f"{_X86_64} -mcpu=cascadelake", "Intel Xeon Scalable of generation 2"),
        TargetName("icelake-server", f"{_X86_64} -mcpu=icelake-server", "Intel Xeon Scalable of generation 3"),
        TargetName("sapphirerapids", f"{_X86_64} -mcpu=sapphirerapids", "Intel Xeon Scalable of generation 4"),
        TargetName("emeraldrapids", f"{_X86_64} -mcpu=emeraldrapids", "Intel Xeon Scalable of generation 5"),
        TargetName("graniterapids", f"{_X86_64} -mcpu=graniterapids", "Intel Xeon 6 with P-cores"),
        TargetName("znver1", f"{_X86_64} -mcpu=znver1", "AMD Zen: EPYC 7001, Ryzen 1000"),
        TargetName("znver2", f"{_X86_64} -mcpu=znver2", "AMD Zen 2: EPYC 7002, Ryzen 3000"),
        TargetName("znver3", f"{_X86_64} -mcpu=znver3", "AMD Zen 3: EPYC 7003, Ryzen 5000"),
        TargetName("znver4", f"{_X86_64} -mcpu=znver4", "AMD Zen 4: EPYC 9004, Ryzen 7000"),
        TargetName("znver5", f"{_X86_64} -mcpu=znver5", "AMD Zen 5: EPYC 9005, Ryzen 9000"),
        TargetName("aarch64", _AARCH64, "every ARM64 Linux"),
        TargetName("raspberry-pi-3", f"{_AARCH64} -mcpu=cortex-a53", "Raspberry Pi 3 with a system of 64 bits"),
        TargetName("raspberry-pi-4", f"{_AARCH64} -mcpu=cortex-a72", "Raspberry Pi 4 with a system of 64 bits"),
        TargetName("raspberry-pi-5", f"{_AARCH64} -mcpu=cortex-a76", "Raspberry Pi 5"),
        TargetName("jetson-nano", f"{_AARCH64} -mcpu=cortex-a57", "the processor of NVIDIA Jetson Nano"),
        TargetName("jetson-orin", f"{_AARCH64} -mcpu=cortex-a78ae", "the processor of NVIDIA Jetson Orin"),
        TargetName("graviton2", f"{_AARCH64} -mcpu=neoverse-n1", "AWS Graviton2"),
        TargetName("graviton3", f"{_AARCH64} -mcpu=neoverse-v1", "AWS Graviton3"),
        TargetName("graviton4", f"{_AARCH64} -mcpu=neoverse-v2", "AWS Graviton4"),
        TargetName("apple-m1", f"{_MACOS} -mcpu=apple-m1", "macOS on Apple M1"),
        TargetName("apple-m2", f"{_MACOS} -mcpu=apple-m2", "macOS on Apple M2"),
        TargetName("apple-m3", f"{_MACOS} -mcpu=apple-m3", "macOS on Apple M3"),
        TargetName("apple-m4", f"{_MACOS} -mcpu=apple-m4", "macOS on Apple M4"),
        TargetName("ios-arm64", "llvm -mtriple=arm64-apple-ios", "iOS and iPadOS 14 or later"),
        TargetName(
            "ios-simulator-arm64", "llvm -mtriple=arm64-apple-ios-simulator", "their simulator on Apple M1 or later"
        ),
        TargetName("android-arm64", "llvm -mtriple=aarch64-linux-android", "Android, ABI arm64-v8a"),
        TargetName("android-x86-64", "llvm -mtriple=x86_64-linux-android -mcpu=x86-64-v2", "Android, ABI x86_64"),
        TargetName("armv7", "llvm -mtriple=armv7-linux-gnueabihf -mattr=+neon", "ARMv7 Linux with NEON"),
        TargetName("riscv64", "llvm -mtriple=riscv64-linux-gnu", "RISC-V Linux, RV64GC"),
        TargetName("cortex-m4", f"{_CORTEX_M} -mcpu=cortex-m4", "Cortex-M4 with FPU, without a system"),
        TargetName("cortex-m7", f"{_CORTEX_M} -mcpu=cortex-m7", "Cortex-M7 with FPU, without a system"),
        TargetName("wasm32", "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128", "browsers and Node with SIMD"),
        TargetName(
            "wasm32-threads",
            "llvm -mtriple=wasm32-unknown-unknown -mattr=+atomics,+simd128",
            "the same, on the threads that a page allows",
        ),
    )
}
"""The names, in the order in which documentation and `sateen doctor --targets` list them."""
