"""The check that an output shares memory with no other argument, unless it is declared to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sateen.runtime.abi import Status
from sateen.tensor_ir.codegen.llvm.check_writer import CheckWriter
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.stmt import Function


class ArgumentMemory(NamedTuple):
    """Operands: what the kernel is given, where an argument's elements begin, as an integer, and their bytes.

    Where memory of a device is an object, `owner` is which one, and they begin at an offset in it.
    """

    operands: tuple[str, ...]
    address: str
    size: str
    owner: str = "0"


def check_overlaps(w: CheckWriter, function: Function, places: Sequence[ArgumentMemory]) -> None:
    """An output shares memory with no other argument, unless it is declared to: a loop over pairs, of which there may
    be thousands."""
    if not function.outputs:
        return
    roles = [_role(function, b) for b in function.parameters]
    count = len(roles)
    _, addresses, lengths, owners = zip(*places, strict=True)
    columns: list[tuple[str, Sequence[object]]] = [("i64", addresses), ("i64", lengths), ("i8", roles)]
    has_objects = any(owner != "0" for owner in owners)
    columns += [("i64", owners)] if has_objects else []
    tables = []
    for kind, values in columns:
        table = w.reserve(f"[{count} x {kind}]")
        for i, value in enumerate(values):
            w.lines.append(f"  store {kind} {value}, ptr {w.emit(f'getelementptr {kind}, ptr {table}, i64 {i}')}")
        tables.append(table)
    address, size, role, *owner = tables
    kinds = {"output": _OUTPUT, "shared": _SHARED, "status": Status.OVERLAP.value}
    other_owner = _OTHER_OWNER.format(owner=owner[0]) if owner else _ONE_OWNER
    w.lines.append(
        _OVERLAPS.format(address=address, size=size, role=role, count=count, other_owner=other_owner, **kinds)
    )


_OUTPUT, _SHARED = 1, 2


def _role(function: Function, b: Buffer) -> int:
    """The role of an argument in the check of overlaps, as bits."""
    return _OUTPUT * (b in function.outputs) + _SHARED * (b in function.aliased)


_OVERLAPS = """\
  br label %overlaps
overlaps:
  br label %outer
outer:
  %i = phi i64 [ 0, %overlaps ], [ %i.next, %outer.end ]
  %i.role = getelementptr i8, ptr {role}, i64 %i
  %i.kind = load i8, ptr %i.role
  %i.output = and i8 %i.kind, {output}
  %i.written = icmp ne i8 %i.output, 0
  br i1 %i.written, label %pairs, label %outer.end
pairs:
  %i.place = getelementptr i64, ptr {address}, i64 %i
  %i.begin = load i64, ptr %i.place
  %i.size.place = getelementptr i64, ptr {size}, i64 %i
  %i.size = load i64, ptr %i.size.place
  %i.end = add i64 %i.begin, %i.size
  br label %inner
inner:
  %j = phi i64 [ 0, %pairs ], [ %j.next, %inner.end ]
  %j.role = getelementptr i8, ptr {role}, i64 %j
  %j.kind = load i8, ptr %j.role
  %j.output = and i8 %j.kind, {output}
  %j.written = icmp ne i8 %j.output, 0
  %j.done = icmp ule i64 %j, %i
  %j.checked = and i1 %j.written, %j.done
  %both.kind = and i8 %i.kind, %j.kind
  %both.shared = and i8 %both.kind, {shared}
  %j.shared = icmp ne i8 %both.shared, 0
  %j.left = or i1 %j.checked, %j.shared
  %j.place = getelementptr i64, ptr {address}, i64 %j
  %j.begin = load i64, ptr %j.place
  %j.size.place = getelementptr i64, ptr {size}, i64 %j
  %j.size = load i64, ptr %j.size.place
  %j.end = add i64 %j.begin, %j.size
  %before = icmp ule i64 %i.end, %j.begin
  %after = icmp ule i64 %j.end, %i.begin
  %nothing = icmp eq i64 %i.size, 0
  %either = or i1 %before, %after
{other_owner}
  %fine = or i1 %apart, %j.left
  br i1 %fine, label %inner.end, label %overlapping, !prof !0
overlapping:
  %index = trunc i64 %i to i32
  %shifted = shl i32 %index, 8
  %overlap = or i32 %shifted, {status}
  ret i32 %overlap
inner.end:
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, {count}
  br i1 %j.more, label %inner, label %outer.end
outer.end:
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, {count}
  br i1 %i.more, label %outer, label %apart.all
apart.all:"""
"""Compares each output with every argument except the outputs before it."""

_OTHER_OWNER = """\
  %i.owner.place = getelementptr i64, ptr {owner}, i64 %i
  %i.owner = load i64, ptr %i.owner.place
  %j.owner.place = getelementptr i64, ptr {owner}, i64 %j
  %j.owner = load i64, ptr %j.owner.place
  %elsewhere = icmp ne i64 %i.owner, %j.owner
  %there = or i1 %either, %elsewhere
  %apart = or i1 %there, %nothing"""
"""Objects of memory are apart from each other."""
_ONE_OWNER = "  %apart = or i1 %either, %nothing"
