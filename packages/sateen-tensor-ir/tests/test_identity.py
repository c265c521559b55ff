"""Rows of processors, found by what a system tells of them."""

from itertools import combinations

import pytest

from sateen.runtime import Target
from sateen.runtime.processor import PROCESSORS
from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import ARCHITECTURES, machine
from sateen.tensor_ir.targets.identity import Found, found_in

V3, V4 = (PROCESSORS["x86_64"].levels[f"x86-64-v{level}"] for level in (3, 4))
VNNI = V4 | {"avx512vnni"}


def x86(maker: str, family: int, model: int) -> str:
    return (
        f"processor\t: 0\nvendor_id\t: {maker}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: virtual\n"
        "flags\t\t: fpu\npower management:\n"
    )


def arm(part: str, implementer: str = "0x41") -> str:
    return f"processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: {implementer}\nCPU part\t: {part}\n"


def riscv(name: str) -> str:
    return f"processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdcv\nuarch\t\t: {name}\n"


@pytest.mark.parametrize(
    ("architecture", "cpuinfo", "features", "name"),
    [
        ("x86_64", x86("AuthenticAMD", 25, 17), VNNI, "znver4"),
        ("x86_64", x86("AuthenticAMD", 25, 0x61), V3, "znver4"),
        ("x86_64", x86("AuthenticAMD", 25, 0xA0), VNNI, "znver4"),
        ("x86_64", x86("AuthenticAMD", 25, 0x21), V3, "znver3"),
        ("x86_64", x86("AuthenticAMD", 23, 0x71), V3, "znver2"),
        ("x86_64", x86("AuthenticAMD", 26, 2), VNNI, "znver5"),
        ("x86_64", x86("AuthenticAMD", 27, 2), VNNI, None),
        ("x86_64", x86("GenuineIntel", 6, 143), V4, "sapphirerapids"),
        ("x86_64", x86("GenuineIntel", 6, 0x55), V4, "skylake-avx512"),
        ("x86_64", x86("GenuineIntel", 6, 0x55), VNNI, "cascadelake"),
        ("x86_64", x86("GenuineIntel", 6, 0x55), V3, "skylake-avx512"),
        ("x86_64", x86("GenuineIntel", 6, 0xBA), V3, "raptorlake"),
        ("x86_64", x86("GenuineIntel", 19, 143), V3, None),
        ("x86_64", "vendor_id : AuthenticAMD\n", V3, None),
        ("x86_64", x86("AuthenticAMD", 25, 17).replace("17", "seventeen"), V3, None),
        ("aarch64", arm("0xd08"), frozenset(), "cortex-a72"),
        ("aarch64", f"{arm('0xd03')}\n{arm('0xd08')}\n", frozenset(), "cortex-a72"),
        ("aarch64", f"{arm('0xd05')}\n{arm('0xd0b')}\n", frozenset(), "cortex-a76"),
        ("aarch64", arm("0x023", "0x61"), frozenset(), "apple-m1"),
        ("aarch64", arm("0xd08", "0x42"), frozenset(), None),
        ("arm", arm("0xc07"), frozenset(), "cortex-a7"),
        ("riscv64", riscv("spacemit,x60"), frozenset(), "spacemit-x60"),
        ("riscv64", riscv("sifive,u74-mc"), frozenset(), "sifive-u74"),
        ("riscv64", "", frozenset(), None),
    ],
)
def test_a_processor_is_found_by_its_maker_and_numbers(architecture, cpuinfo, features, name):
    row = ARCHITECTURES[architecture].cpu_found(found_in(cpuinfo), features)
    assert (row and row.name) == name


@pytest.mark.parametrize(
    ("brand", "name"), [("Apple M1", "apple-m1"), ("Apple M1 Pro", "apple-m1"), ("Apple M10", None), ("Apple", None)]
)
def test_a_name_may_be_that_of_a_variant(brand, name):
    row = ARCHITECTURES["aarch64"].cpu_found([Found(brand)], frozenset())
    assert (row and row.name) == name


def test_equal_processors_are_told_once():
    assert found_in(f"{x86('AuthenticAMD', 25, 17)}\n" * 2) == (Found("AuthenticAMD", 25, 17),)


def test_no_processor_of_x86_is_of_two_rows_but_by_its_features():
    rows = ARCHITECTURES["x86_64"].cpus.values()
    found = [Found("AuthenticAMD", family, m) for family in (23, 25, 26) for m in range(256)]
    found += [Found("GenuineIntel", 6, m) for m in range(256)]
    for one in found:
        of = [row for row in rows if any(i.is_of(one) for i in row.identities)]
        assert all(a.features != b.features for a, b in combinations(of, 2)), one


def test_every_named_processor_says_what_it_is_and_where_its_rates_are_from():
    for row in (row for a in ARCHITECTURES.values() for row in a.cpus.values()):
        assert row.title, row.name
        assert row.source, row.name
        assert row.identities or row.cores == 1, row.name


def test_the_machine_of_this_machine_is_that_of_its_processor(monkeypatch):
    monkeypatch.setattr(machine, "found_here", lambda: (Found("GenuineIntel", 6, 143),))
    if Target.host().architecture == "x86_64":
        assert Machine.of("llvm").processor == "Intel Sapphire Rapids"
        assert Machine.of("llvm -mcpu=x86-64-v3").processor != "Intel Sapphire Rapids"
