"""The stack of Thumb code, counted from its instructions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sateen.runtime import Target
from sateen.tensor_ir.codegen.object_code import compile_for
from sateen.tensor_ir.link import stack_depth
from sateen.tensor_ir.link.call_graph import depth_from
from sateen.tensor_ir.link.object_file import STT_FUNC, ObjectFile, Relocation, Section, Symbol
from sateen.tensor_ir.link.thumb_frames import frame_of

CALL = "f000 f800"
"""A call whose place a relocation says."""


def function(name: str, code: str) -> Symbol:
    """A function of these halfwords, in a section of its own."""
    data = b"".join(int(half, 16).to_bytes(2, "little") for half in code.split())
    section = Section(f".text.{name}", 1, 6, len(data), 2, memoryview(data))
    return Symbol(name, 1, STT_FUNC, section, 0, len(data))


def depth_of(calls: Mapping[tuple[str, int], str], **codes: str) -> int | None:
    """The depth of the stack from `run` on, in functions with calls at some offsets."""
    functions = {name: function(name, code) for name, code in codes.items()}
    others = {name: Symbol(name, 1, 0, None, 0, 0) for name in calls.values() if name not in functions}
    relocations: dict[Section, tuple[Relocation, ...]] = {}
    for (name, offset), called in calls.items():
        section = functions[name].section
        assert section is not None
        symbol = functions.get(called) or others[called]
        relocations[section] = (*relocations.get(section, ()), Relocation(offset, 10, symbol, None))
    return depth_from("run", ObjectFile(40, 4, 0, relocations, (*functions.values(), *others.values())))


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("bx lr", "4770", 0),
        ("push {r4, lr}; pop {r4, pc}", "b510 bd10", 8),
        ("push.w {r4, r8, lr}; pop.w {r4, r8, pc}", "e92d 4110 e8bd 8110", 12),
        ("str lr, [sp, #-8]!; ldr pc, [sp], #8", "f84d ed08 f85d fb08", 8),
        ("strd r4, lr, [sp, #-16]!; bx lr", "e96d 4e04 4770", 16),
        ("vpush {d8-d10}; vpop {d8-d10}; bx lr", "ed2d 8b06 ecbd 8b06 4770", 24),
        ("vpush {s16}; vpop {s16}; bx lr", "ed2d 8a01 ecbd 8a01 4770", 4),
        ("sub sp, #8; add sp, #8; bx lr", "b082 b002 4770", 8),
        ("sub.w sp, sp, #512; add.w sp, sp, #512; bx lr", "f5ad 7d00 f50d 7d00 4770", 512),
        ("sub.w sp, sp, #0x3fc00; bx lr", "f5ad 3d7f 4770", 0x3FC00),
        ("sub.w sp, sp, #0x10001; bx lr", "f1ad 1d01 4770", 0x10001),
        ("subw sp, sp, #2456; addw sp, sp, #2456; bx lr", "f6ad 1d98 f60d 1d98 4770", 2456),
        ("mov r4, sp; bfc r4, #0, #6; mov sp, r4; bx lr", "466c f36f 0405 46a5 4770", 60),
        ("sub sp, #8; sub.w r4, r7, #12; mov sp, r4; bx lr", "b082 f1a7 040c 46a5 4770", 8),
        ("sub sp, #8; subs r4, r7, #4; mov sp, r4; bx lr", "b082 1f3c 46a5 4770", 8),
        ("sub sp, #8; mov sp, r7; bx lr", "b082 46bd 4770", 8),
        ("strd r4, r5, [r0, #-16]!; str r4, [r0, #-4]!; bx lr", "e960 4504 f840 4d04 4770", 0),
        ("sub.w sp, sp, r0; bx lr", "ebad 0d00 4770", None),
        ("add sp, r0; bx lr", "4485 4770", None),
        ("mov sp, r0; bx lr", "4685 4770", None),
        ("mov r1, sp; subs r0, r1, r0; mov sp, r0; bx lr", "4669 1a08 4685 4770", None),
        ("mov r1, sp; sub.w r0, r1, r0; mov sp, r0; bx lr", "4669 eba1 0000 4685 4770", None),
        ("sub.w r4, r7, #12; mov r4, r0; mov sp, r4; bx lr", "f1a7 040c 4604 46a5 4770", None),
        ("blx r0", "4780", None),
        ("bx r0", "4700", None),
        ("ldr pc, [r0]", "f8d0 f000", None),
        ("mov pc, r0", "4687", None),
    ],
)
def test_each_move_of_the_stack_pointer_counts(text: str, code: str, expected: int | None) -> None:
    assert frame_of(function(text, code), [(0, True)], {}).bytes == expected


def test_data_between_instructions_are_none() -> None:
    found = frame_of(function("f", "b082 4770 b5ff 4780 b081 4770"), [(0, True), (4, False), (8, True)], {})
    assert found.bytes == 12


def test_the_deepest_path_of_calls_counts() -> None:
    calls = {("run", 2): "small", ("run", 6): "large", ("small", 2): "leaf", ("large", 4): "leaf"}
    codes = {
        "run": f"b580 {CALL} {CALL} bd80",
        "small": f"b510 {CALL} bd10",
        "large": "b570 bd70 f000 b800",  # push {r4-r6, lr}; pop {r4-r6, pc}; b.w
        "leaf": "b088 4770",
    }
    assert depth_of(calls, **codes) == 8 + 16 + 32


def test_a_call_within_a_section_needs_no_relocation() -> None:
    both = function("both", "b580 f000 f801 bd80 b088 4770")
    assert both.section is not None
    run, leaf = (Symbol(name, 1, STT_FUNC, both.section, *at) for name, at in {"run": (0, 8), "leaf": (8, 4)}.items())
    assert depth_from("run", ObjectFile(40, 4, 0, {}, (run, leaf))) == 8 + 32
    assert depth_from("run", ObjectFile(40, 4, 0, {}, (run,))) is None


def test_functions_of_others_are_not_counted() -> None:
    assert depth_of({("run", 2): "memcpy"}, run=f"b580 {CALL} bd80") == 8


def test_what_calls_itself_or_calls_what_is_not_known_is_not_known() -> None:
    again = f"b580 {CALL} bd80"
    assert depth_of({("run", 2): "run"}, run=again) is None
    assert depth_of({("run", 2): "other", ("other", 2): "run"}, run=again, other=again) is None
    assert depth_of({("run", 2): "other"}, run=again, other="4780") is None


def test_other_code_than_thumb_is_not_known() -> None:
    target = Target.of("riscv64")
    assert stack_depth([compile_for("define void @f() { ret void }", target)], target.triple, "f") is None
