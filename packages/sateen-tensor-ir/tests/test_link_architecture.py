"""Fields of relocated instructions, against words that LLVM's assembler gives for the same assembly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sateen.runtime.errors import LinkError
from sateen.tensor_ir.targets import ARCHITECTURES
from sateen.tensor_ir.targets.relocation import Addressing

AARCH64, ARM, RISCV64, X86_64 = (ARCHITECTURES[name].linking for name in ("aarch64", "arm", "riscv64", "x86_64"))


@pytest.mark.parametrize(
    ("relocation", "before", "value", "after"),
    [
        pytest.param(274, 0x10000003, 0x12345, 0x30091A23, id="adr x3, .+0x12345"),
        pytest.param(274, 0x10000003, -3, 0x30FFFFE3, id="adr x3, .-3"),
        pytest.param(275, 0x90000003, 0x12345000, 0xB0091A23, id="adrp x3, .+0x12345000"),
        pytest.param(275, 0x90000003, -0x1000, 0xF0FFFFE3, id="adrp x3, .-0x1000"),
        pytest.param(277, 0x91000041, 0xABC, 0x912AF041, id="add x1, x2, #0xabc"),
        pytest.param(278, 0x39400041, 0xABD, 0x396AF441, id="ldrb w1, [x2, #0xabd]"),
        pytest.param(284, 0x79400041, 0xABE, 0x79557C41, id="ldrh w1, [x2, #0xabe]"),
        pytest.param(285, 0xB9400041, 0xABC, 0xB94ABC41, id="ldr w1, [x2, #0xabc]"),
        pytest.param(286, 0xF9400041, 0xAB8, 0xF9455C41, id="ldr x1, [x2, #0xab8]"),
        pytest.param(299, 0x3DC00041, 0xFF0, 0x3DC3FC41, id="ldr q1, [x2, #0xff0]"),
        pytest.param(282, 0x14000000, 0x7FFFFFC, 0x15FFFFFF, id="b .+0x7fffffc"),
        pytest.param(283, 0x94000000, -0x8000000, 0x96000000, id="bl .-0x8000000"),
        pytest.param(280, 0x54000001, 0xFFFFC, 0x547FFFE1, id="b.ne .+0xffffc"),
        pytest.param(280, 0xB4000005, -0x100000, 0xB4800005, id="cbz x5, .-0x100000"),
        pytest.param(279, 0x36180005, 0x7FFC, 0x361BFFE5, id="tbz x5, #3, .+0x7ffc"),
        pytest.param(273, 0x58000001, 0x40, 0x58000201, id="ldr x1, .+0x40"),
    ],
)
def test_a_value_goes_into_its_bits_of_an_instruction(relocation: int, before: int, value: int, after: int) -> None:
    code = bytearray(b"\xff" * 4 + before.to_bytes(4, "little") + b"\xff" * 4)
    AARCH64.rules[relocation].field.insert(code, 4, value)
    assert code == b"\xff" * 4 + after.to_bytes(4, "little") + b"\xff" * 4


@pytest.mark.parametrize(
    ("relocation", "before", "value", "after"),
    [
        pytest.param(16, "6300b500", 0xFFE, "e30fb57e", id="beq a0, a1, .+0xffe"),
        pytest.param(16, "6300b500", -0x1000, "6300b580", id="beq a0, a1, .-0x1000"),
        pytest.param(16, "6300b500", 0x7E2, "6301b57e", id="beq a0, a1, .+0x7e2"),
        pytest.param(17, "ef000000", 0xFFFFE, "eff0ff7f", id="jal ra, .+0xffffe"),
        pytest.param(17, "ef000000", -0x100000, "ef000080", id="jal ra, .-0x100000"),
        pytest.param(17, "ef000000", 0x12346, "ef206134", id="jal ra, .+0x12346"),
        pytest.param(44, "01c1", 0xFE, "7dcd", id="c.beqz a0, .+0xfe"),
        pytest.param(44, "01c1", -0x100, "01d1", id="c.beqz a0, .-0x100"),
        pytest.param(44, "01c1", 0x62, "2dc1", id="c.beqz a0, .+0x62"),
        pytest.param(45, "01a0", 0x7FE, "fdaf", id="c.j .+0x7fe"),
        pytest.param(45, "01a0", -0x800, "01b0", id="c.j .-0x800"),
        pytest.param(45, "01a0", 0x2B4, "55ac", id="c.j .+0x2b4"),
        pytest.param(23, "17050000", 0x12345678, "17553412", id="auipc a0, 0x12345"),
        pytest.param(23, "17050000", 0x12345878, "17653412", id="auipc a0, 0x12346"),
        pytest.param(24, "83250500", 0x12345878, "83258587", id="lw a1, -0x788(a0)"),
        pytest.param(24, "83250500", 0x12345678, "83258567", id="lw a1, 0x678(a0)"),
        pytest.param(25, "2320b500", 0x12345878, "232cb586", id="sw a1, -0x788(a0)"),
        pytest.param(25, "2330b500", 0x12345678, "233cb566", id="sd a1, 0x678(a0)"),
        pytest.param(19, "97000000e7800000", 0x12345878, "97603412e7808087", id="auipc ra, 0x12346; jalr -0x788(ra)"),
        pytest.param(19, "97000000e7800000", -0x802, "97f0ffffe780e07f", id="auipc ra, 0xfffff; jalr 0x7fe(ra)"),
    ],
)
def test_a_value_goes_into_its_bits_of_an_instruction_of_risc_v(
    relocation: int, before: str, value: int, after: str
) -> None:
    rule = RISCV64.rules[relocation]
    code = bytearray.fromhex(before)
    rule.field.insert(code, 0, rule.addressing.compute(value, 0))
    assert code.hex() == after


@pytest.mark.parametrize(
    ("relocation", "value", "message"),
    [
        (16, 0x1000, "the value 0x1000 does not fit 12 bits"),
        (16, 3, "the value 0x3 is not a multiple of 2"),
        (17, -0x100002, "the value -0x100002 does not fit 20 bits"),
        (19, 0x7FFFF800, "the value 0x80000800 does not fit 32 bits"),
        (23, 0x7FFFF800, "the value 0x80000000 does not fit 20 bits"),
        (45, 0x800, "the value 0x800 does not fit 11 bits"),
    ],
)
def test_a_distance_that_does_not_fit_is_refused_on_risc_v(relocation: int, value: int, message: str) -> None:
    rule = RISCV64.rules[relocation]
    with pytest.raises(LinkError, match=f"^{message}$"):
        rule.field.insert(bytearray(8), 0, rule.addressing.compute(value, 0))


@pytest.mark.parametrize(
    ("relocation", "word", "value"),
    [
        pytest.param(28, 0xEBFFFFFE, -8, id="bl ."),
        pytest.param(28, 0xEB7FFFFF, 0x1FFFFFC, id="bl .+0x2000004"),
        pytest.param(29, 0x1A800000, -0x2000000, id="bne .-0x1fffff8"),
        pytest.param(45, 0xE3051678, 0x5678, id="movw r1, #0x5678"),
        pytest.param(46, 0xE34F1FF8, -8, id="movt r1, #0xfff8"),
        pytest.param(3, 0xFFFFFFFC, -4, id=".long -4"),
    ],
)
def test_an_addend_is_in_the_bits_that_take_the_value(relocation: int, word: int, value: int) -> None:
    field, code = ARM.rules[relocation].field, bytearray(word.to_bytes(4, "little"))
    assert field.extract(code, 0) == value
    field.insert(code, 0, value if field.signed else value & 0xFFFF)
    assert code == word.to_bytes(4, "little")


@pytest.mark.parametrize(
    ("relocation", "value", "message"),
    [
        (283, 0x8000000, "the value 0x8000000 does not fit 26 bits"),
        (283, -0x8000004, "the value -0x8000004 does not fit 26 bits"),
        (283, 2, "the value 0x2 is not a multiple of 4"),
        (275, 1 << 32, "the value 0x100000000 does not fit 21 bits"),
        (286, 4, "the value 0x4 is not a multiple of 8"),
        (277, -1, "the value -0x1 does not fit 12 bits"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(relocation: int, value: int, message: str) -> None:
    with pytest.raises(LinkError, match=f"^{message}$"):
        AARCH64.rules[relocation].field.insert(bytearray(4), 0, value)


def test_words_of_data_take_values_of_their_size() -> None:
    data = bytearray(12)
    X86_64.rules[2].field.insert(data, 0, -2)
    X86_64.rules[24].field.insert(data, 4, -3)
    assert data == (-2).to_bytes(4, "little", signed=True) + (-3).to_bytes(8, "little", signed=True)
    with pytest.raises(LinkError, match=r"^the value 0x80000000 does not fit 32 bits$"):
        X86_64.rules[4].field.insert(data, 0, 1 << 31)


def test_values_are_those_of_the_abi() -> None:
    assert Addressing.RELATIVE.compute(0x12345, 0x20000) == 0x12345 - 0x20000
    assert Addressing.PAGE.compute(0x12FFF, 0x20001) == 0x12000 - 0x20000
    assert Addressing.LOW.compute(0x12345, 0x20000) == 0x345
    assert Addressing.RELATIVE_LOW.compute(0x12345, 0x20000) == 0x2345
    assert Addressing.RELATIVE_HIGH.compute(0x12345, 0x20000) == 0xFFFF
    assert [Addressing.UPPER.compute(0x12000 + low, 0x2000) for low in (0x7FF, 0x800)] == [0x10000, 0x11000]
    assert [Addressing.LOWER.compute(0x12000 + low, 0x2000) for low in (0x7FF, 0x800)] == [0x7FF, -0x800]
    assert Addressing.SUBTRACTED.compute(0x2000, 0, Addressing.ADDED.compute(0x1234, 0, 0)) == 0x1234 - 0x2000


@given(st.integers(-(1 << 31) - 0x800, (1 << 31) - 0x801))
def test_upper_and_lower_part_make_the_distance(distance: int) -> None:
    upper, lower = (way.compute(distance, 0) for way in (Addressing.UPPER, Addressing.LOWER))
    assert upper + lower == distance
    assert upper % 0x1000 == 0
    assert Addressing.PAIR.compute(distance, 0) == upper + lower % 0x1000


def test_stubs_jump_through_their_slot() -> None:
    assert X86_64.stub(0x1000, 0x3008) == bytes.fromhex("ff2502200000cccc")
    # ldr ip, [pc, #4]; add ip, pc, ip; ldr pc, [ip]; 0x23ff8 seen from 0x1044c
    assert ARM.stub(0x10440, 0x23FF8) == b"".join(
        word.to_bytes(4, "little") for word in (0xE59FC004, 0xE08FC00C, 0xE59CF000, 0x13BAC)
    )
    # adrp x16, page of 0x23ff8 seen from 0x10440; ldr x17, [x16, #0xff8]; br x17; nop
    words = (0xF0000090, 0xF947FE11, 0xD61F0220, 0xD503201F)
    assert AARCH64.stub(0x10440, 0x23FF8) == b"".join(word.to_bytes(4, "little") for word in words)
    # auipc t3, 0x3; ld t3, -0x448(t3); jr t3; nop: 0x3ff8 seen from 0x1440 is 0x2bb8 away
    words = (0x00003E17, 0xBB8E3E03, 0x000E0067, 0x00000013)
    assert RISCV64.stub(0x1440, 0x3FF8) == b"".join(word.to_bytes(4, "little") for word in words)
