"""The public function around a kernel: checks every argument against its signature, then calls the kernel.

The kernel runs in the floating-point mode of its function, which may differ from that of the caller's thread.

Status codes are those of docs/design/abi.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sateen.runtime.abi import ABI_VERSION, Status
from sateen.runtime.device import DeviceKind
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.llvm.check_writer import CheckWriter
from sateen.tensor_ir.codegen.llvm.overlaps import ArgumentMemory, check_overlaps
from sateen.tensor_ir.codegen.signature import check_limits, symbols_of
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import MOST_NUMBER, Function
from sateen.tensor_ir.lowering.split_tasks import HostProgram
from sateen.tensor_ir.targets import Architecture, FloatMode


def public_function(program: HostProgram, architecture: Architecture) -> str:
    """LLVM text of `int32_t NAME(const sateen_host*, DLTensor* const*, int32_t)`.

    Raises CodegenError for an extent that is not simple arithmetic, a symbol that no argument gives, and denormals to
    flush if the architecture has no mode for that.
    """
    function, mode = program.function, architecture.float_mode
    if function.denormals == "flush" and (mode is None or mode.flush is None):
        raise CodegenError(
            f"{function.name}: expected denormals to be kept, found denormals flush, which code for x86-64, "
            "AArch64 and ARM can do"
        )
    check_limits(function)
    w = CheckWriter(architecture.abi)
    count = len(function.parameters)
    w.require(w.emit(f"icmp eq i32 %n, {count}"), Status.ARGUMENT_COUNT)
    if count:
        w.require(w.emit("icmp ne ptr %args, null"), Status.NULL_ARGUMENT)
    scalars = symbols_of(function)
    devices = {d: w.device(d) for d in dict.fromkeys(b.on_device for b in function.parameters) if d is not None}
    symbols: dict[Var, str] = {}
    pending: list[_Extent] = []
    places = []
    tensors = [
        _check_type(w, i, b, devices.get(b.on_device) if b.on_device else None)
        for i, b in enumerate(function.parameters)
    ]
    for symbol, number in function.numbers:
        i = function.parameters.index(number)
        symbols[symbol] = _number(w, i, number, tensors[i], min(program.greatest.get(symbol, MOST_NUMBER), MOST_NUMBER))
    for i, b in enumerate(function.parameters):
        pending += _bind_symbols(w, i, b, tensors[i], symbols, program.greatest)
    for i, d, extent, found in pending:
        w.require(w.emit(f"icmp eq i64 {found}, {w.integer(extent, symbols)}"), Status.SHAPE.at(i, d))
    for r in function.requirements:
        fits = w.emit(f"icmp sge i64 {w.integer(r.slack, symbols)}, 0")
        w.require(fits, Status.SHAPE.at(function.parameters.index(r.parameter), r.dimension))
    strides = [_strides(w, b, tensor, symbols) for b, tensor in zip(function.parameters, tensors, strict=True)]
    for i, (b, given) in enumerate(zip(function.parameters, strides, strict=True)):
        _bind_strides(w, i, b, given, symbols)
    for i, (b, tensor) in enumerate(zip(function.parameters, tensors, strict=True)):
        _check_strides(w, i, b, tensor, strides[i], symbols)
        if b in function.outputs and any(isinstance(s, Var) for s in b.strides or ()):
            _check_apart(w, i, b, symbols)
        places.append(_check_data(w, i, b, tensor, symbols))
    check_overlaps(w, function, places)
    operands = (operand for p in places for operand in p.operands)
    arguments = ", ".join(["ptr %h", *operands, *(w.index(symbols[v], program.index_bits) for v in scalars)])
    storage, enter, leave = _mode(function, mode)
    return _FUNCTION.format(
        name=function.name, checks="\n".join(w.lines), arguments=arguments, version=ABI_VERSION,
        other_version=Status.ABI_VERSION.value, storage="".join(w.storage) + storage, enter=enter, leave=leave,
    )  # fmt: skip


def _mode(function: Function, mode: FloatMode | None) -> tuple[str, str, str]:
    """Text that reserves storage for modes, enters that of the function and goes back to the caller's."""
    if mode is None:
        return "", "", ""
    value = mode.flush if function.denormals == "flush" else mode.keep
    storage = [f"  {place} = alloca i{mode.bits}" for place in ("%mode.of.caller", "%mode")]
    enter = [*mode.save("%mode.of.caller"), f"  store i{mode.bits} {value}, ptr %mode", *mode.load("%mode")]
    return "\n".join([*storage, ""]), "\n".join([*enter, ""]), "\n".join([*mode.load("%mode.of.caller"), ""])


# RISC-V's calls extend an int32 in a register of 64 bits (`signext`); for others the attribute changes nothing.
_FUNCTION = """\
define signext i32 @{name}(ptr %host, ptr %args, i32 %n) #0 {{
entry:
{storage}\
  %no.host = icmp eq ptr %host, null
  br i1 %no.host, label %default, label %ready
default:
  %own = call ptr @sateen_default_host()
  br label %ready
ready:
  %h = phi ptr [ %host, %entry ], [ %own, %default ]
  %version = load i32, ptr %h
  %known = icmp eq i32 %version, {version}
  br i1 %known, label %start, label %unknown
unknown:
  ret i32 {other_version}
start:
{checks}
{enter}\
  %result = call i32 @{name}.kernel({arguments})
{leave}\
  ret i32 %result
}}
"""

_Extent = tuple[int, int, Expr, str]
"""The extent that an argument must have in a dimension, and the operand with its actual extent."""


def _check_type(w: CheckWriter, i: int, b: Buffer, device: str | None) -> str:
    """The pointer to argument i, whose device, element type and rank are right; `device` is the one of a host."""
    tensor = w.field("%args", w.layout.pointer_bytes * i, "ptr")
    w.require(w.emit(f"icmp ne ptr {tensor}, null"), Status.NULL_ARGUMENT.at(i))
    word = int(b.dtype.code) | b.dtype.bits << 8 | b.dtype.lanes << 16
    if device is not None:
        found = w.field(tensor, w.layout.device, "i64", ", align 4")
        w.require(w.emit(f"icmp eq i64 {found}, {device}"), Status.DEVICE.at(i))
    kind = () if device is not None else ((w.layout.device, DeviceKind.CPU.value, Status.DEVICE),)
    for offset, expected, status in (
        *kind,
        (w.layout.dtype, word, Status.DTYPE),
        (w.layout.rank, len(b.shape), Status.RANK),
    ):
        w.require(w.emit(f"icmp eq i32 {w.field(tensor, offset, 'i32')}, {expected}"), status.at(i))
    return tensor


def _number(w: CheckWriter, i: int, b: Buffer, tensor: str, most: int) -> str:
    """The value of a symbol that argument i holds, which is in [0, most]."""
    (place,) = _check_data(w, i, b, tensor, {}).operands
    found = w.emit(f"load i64, {place}, align {b.alignment}")
    w.require(w.emit(f"icmp ule i64 {found}, {most}"), Status.SHAPE.at(i))
    return found


def _bind_symbols(
    w: CheckWriter, i: int, b: Buffer, tensor: str, symbols: dict[Var, str], greatest: Mapping[Var, int]
) -> list[_Extent]:
    """Bind symbols that stand alone as extents of an argument for the first time; returns the other extents."""
    shape = w.field(tensor, w.layout.shape, "ptr") if b.shape else ""
    if shape:
        w.require(w.emit(f"icmp ne ptr {shape}, null"), Status.NULL_ARGUMENT.at(i))
    others: list[_Extent] = []
    for d, extent in enumerate(b.shape):
        found = w.field(shape, 8 * d, "i64")
        if isinstance(extent, Var) and extent not in symbols:
            symbols[extent] = found
            w.require(w.emit(f"icmp sge i64 {found}, 0"), Status.SHAPE.at(i, d))
            if extent in greatest:
                w.require(w.emit(f"icmp sle i64 {found}, {greatest[extent]}"), Status.SHAPE.at(i, d))
        else:
            others.append((i, d, extent, found))
    return others


def _check_data(w: CheckWriter, i: int, b: Buffer, tensor: str, symbols: dict[Var, str]) -> ArgumentMemory:
    """Check the memory of an argument: it is aligned, and not null unless the argument has no elements."""
    data = w.field(tensor, w.layout.data, "ptr")
    offset = w.field(tensor, w.layout.byte_offset, "i64")
    pointer = w.emit(f"getelementptr i8, ptr {data}, i64 {offset}")
    is_object = b.on_device is not None and not b.on_device.kind.has_addresses
    address = offset if is_object else w.emit(f"ptrtoint ptr {pointer} to i64")
    low = w.emit(f"and i64 {address}, {b.alignment - 1}")
    w.require(w.emit(f"icmp eq i64 {low}, 0"), Status.ALIGNMENT.at(i))
    size = w.integer(b.span_bytes(), symbols)
    given, nothing = w.emit(f"icmp ne ptr {data}, null"), w.emit(f"icmp eq i64 {size}, 0")
    w.require(w.emit(f"or i1 {given}, {nothing}"), Status.NULL_ARGUMENT.at(i))
    if b.on_device is None:
        return ArgumentMemory((f"ptr {pointer}",), address, size)
    owner = w.emit(f"ptrtoint ptr {data} to i64") if is_object else "0"
    return ArgumentMemory((f"ptr {data}", f"i64 {offset}"), address, size, owner)


def _strides(w: CheckWriter, b: Buffer, tensor: str, symbols: dict[Var, str]) -> list[str]:
    """The stride that an argument has in each dimension of a buffer with declared strides: that of a compact one if it
    gives none, or has at most one element there."""
    if not b.strides:
        return []
    compact = [w.integer(step, symbols) for step in replace(b, strides=None).stride_exprs()]
    own = w.reserve(f"[{len(compact)} x i64]")
    for d, step in enumerate(compact):
        w.lines.append(f"  store i64 {step}, ptr {w.emit(f'getelementptr i64, ptr {own}, i64 {d}')}")
    given = w.field(tensor, w.layout.strides, "ptr")
    known = w.emit(f"select i1 {w.emit(f'icmp eq ptr {given}, null')}, ptr {own}, ptr {given}")
    found = [w.field(known, 8 * d, "i64") for d in range(len(compact))]
    single = [w.emit(f"icmp sle i64 {w.integer(extent, symbols)}, 1") for extent in b.shape]
    return [
        w.emit(f"select i1 {one}, i64 {step}, i64 {stride}")
        for one, step, stride in zip(single, compact, found, strict=True)
    ]


def _bind_strides(w: CheckWriter, i: int, b: Buffer, given: Sequence[str], symbols: dict[Var, str]) -> None:
    """Bind symbols that stand alone as strides; they are no less than 0."""
    for d, (stride, found) in enumerate(zip(b.strides or (), given, strict=True)):
        if isinstance(stride, Var) and stride not in symbols:
            symbols[stride] = found
            w.require(w.emit(f"icmp sge i64 {found}, 0"), Status.STRIDES.at(i, d))


def _check_apart(w: CheckWriter, i: int, b: Buffer, symbols: dict[Var, str]) -> None:
    """Check that the elements of an output have places of their own: each stride goes beyond what the smaller ones
    reach, of which equal ones are the later."""
    strides = [w.integer(stride, symbols) for stride in b.stride_exprs()]
    lasts = [w.emit(f"sub i64 {w.integer(extent, symbols)}, 1") for extent in b.shape]
    reach = [w.emit(f"mul i64 {last}, {stride}") for last, stride in zip(lasts, strides, strict=True)]
    for d, stride in enumerate(strides):
        within = "0"
        for e, other in enumerate(strides):
            if e != d:
                smaller = w.emit(f"icmp {'slt' if e < d else 'sle'} i64 {other}, {stride}")
                within = w.emit(f"add i64 {within}, {w.emit(f'select i1 {smaller}, i64 {reach[e]}, i64 0')}")
        beyond = w.emit(f"icmp sgt i64 {stride}, {within}")
        single = w.emit(f"icmp sle i64 {lasts[d]}, 0")
        w.require(w.emit(f"or i1 {beyond}, {single}"), Status.STRIDES.at(i, d))


def _check_strides(
    w: CheckWriter, i: int, b: Buffer, tensor: str, declared: Sequence[str], symbols: dict[Var, str]
) -> None:
    """Check strides: none means compact; others must be the expected ones, except in dimensions of at most one
    element."""
    if not b.shape:
        return
    if b.strides is not None:
        for d, (stride, found) in enumerate(zip(b.strides, declared, strict=True)):
            if not isinstance(stride, Var) or symbols[stride] != found:
                same = w.emit(f"icmp eq i64 {found}, {w.integer(stride, symbols)}")
                single = w.emit(f"icmp sle i64 {w.integer(b.shape[d], symbols)}, 1")
                w.require(w.emit(f"or i1 {same}, {single}"), Status.STRIDES.at(i, d))
        return
    strides = w.field(tensor, w.layout.strides, "ptr")
    w.number += 1
    own = w.number
    w.lines.append(f"  %null{own} = icmp eq ptr {strides}, null")
    w.lines.append(f"  br i1 %null{own}, label %compact{own}, label %given{own}")
    w.lines.append(f"given{own}:")
    for d, (extent, stride) in enumerate(zip(b.shape, b.stride_exprs(), strict=True)):
        found = w.field(strides, 8 * d, "i64")
        same = w.emit(f"icmp eq i64 {found}, {w.integer(stride, symbols)}")
        single = w.emit(f"icmp sle i64 {w.integer(extent, symbols)}, 1")
        w.require(w.emit(f"or i1 {same}, {single}"), Status.STRIDES.at(i, d))
    w.lines.append(f"  br label %compact{own}")
    w.lines.append(f"compact{own}:")
