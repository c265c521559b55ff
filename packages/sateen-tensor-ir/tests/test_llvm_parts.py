"""The parts of the LLVM emitter, each alone: writer, addresses, registers, memory, conversions, frame, tasks."""

import re

import numpy as np
import pytest

from sateen.runtime.abi import Status
from sateen.runtime.dtype import DType
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.codegen.llvm.addresses import Addresses
from sateen.tensor_ir.codegen.llvm.checks import public_function
from sateen.tensor_ir.codegen.llvm.conversions import Conversions
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.expressions import Expressions, Nothing
from sateen.tensor_ir.codegen.llvm.frame import Frame
from sateen.tensor_ir.codegen.llvm.memory import Memory
from sateen.tensor_ir.codegen.llvm.module_state import ModuleState
from sateen.tensor_ir.codegen.llvm.registers import Registers
from sateen.tensor_ir.codegen.llvm.tasks import Captures, thunk
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, literal
from sateen.tensor_ir.codegen.llvm.windows import Windows
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter, flatten
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function, Seq, Store
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.lowering.index_width import shorten_host_indices
from sateen.tensor_ir.lowering.split_tasks import split_tasks
from sateen.tensor_ir.lowering.storage import STACK_BYTES
from sateen.tensor_ir.targets import architecture_named

TRIPLE = "x86_64-unknown-linux-gnu"
FLOAT32 = DType.of("float32")
A = Buffer("A", (ex.const(64), ex.const(16)), FLOAT32, alignment=4)
TILE = Buffer("tile", (ex.const(8),), FLOAT32, scope=Scope.REGISTER)
I, J = Var("i", INDEX), Var("j", INDEX)


@pytest.fixture
def writer():
    return FunctionWriter(ModuleState(architecture_named(TRIPLE), TRIPLE, frozenset({"f16c"})), "f")


@pytest.fixture
def environment():
    return Environment(Analyzer())


@pytest.fixture
def addresses(writer, environment):
    result = Addresses(writer, environment, lambda e: environment.variables[e], Nothing().address)
    result.base[A] = LlvmValue("%a0", "ptr")
    return result


@pytest.fixture
def memory(writer, environment, addresses):
    return Memory(writer, environment, addresses, Conversions(writer), frozenset())


@pytest.fixture
def registers(writer, environment, addresses):
    result = Registers(writer, environment, addresses)
    result.slots[TILE] = {}
    return result


def text(writer):
    return [line.strip() for line in flatten([writer.entry, writer.lines])]


def load(buffer, *indices):
    return Load(buffer, tuple(ex.const(i) if isinstance(i, int) else i for i in indices), buffer.dtype)


# Function writer.


def test_the_writer_hoists_what_depends_on_nothing_inside(writer):
    outer = writer.emit("add i64 %n0, 1", "i64")
    writer.open_scope()
    writer.start_block("loop")
    inner = writer.emit("add i64 %n1, 2", "i64")
    product = writer.product(outer, 16)
    assert writer.product(outer, 16) is product
    writer.sum(product, inner)
    writer.close_scope()
    assert text(writer) == [
        "%v1 = add i64 %n0, 1",
        "%v3 = mul i64 %v1, 16",
        "loop:",
        "%v2 = add i64 %n1, 2",
        "%v4 = add i64 %v3, %v2",
    ]


def test_the_writer_folds_literals_and_repeats_a_scalar_once(writer):
    assert writer.sum(literal(3, "i64"), writer.product(literal(4, "i64"), 5)).literal == 23
    assert writer.splat(literal(1.0, "float"), 4).text == "splat (float 0x3FF0000000000000)"
    value = writer.emit("fneg float %x", "float")
    assert writer.splat(value, 4) is writer.splat(value, 4)
    assert len(text(writer)) == 3


# Addresses.


def test_the_part_of_an_address_from_outside_of_a_loop_is_computed_there(writer, environment, addresses):
    environment.variables[I] = writer.emit("add i64 %n0, 0", "i64")
    writer.open_scope()
    writer.start_block("loop")
    environment.variables[J] = writer.emit("add i64 %n1, 0", "i64")
    access = load(A, I, J)
    constant, terms = addresses.evaluate(addresses.offset_form(access))
    pointer = addresses.pointer(A, constant, terms)
    assert addresses.pointer(A, constant, terms) == pointer
    assert addresses.alignment(A, constant, terms) == 4
    assert text(writer) == [
        "%v1 = add i64 %n0, 0",
        "%v3 = mul i64 %v1, 16",
        "%v4 = getelementptr float, ptr %a0, i64 %v3",
        "%v5 = freeze ptr %v4",
        "loop:",
        "%v2 = add i64 %n1, 0",
        "%v6 = getelementptr float, ptr %v5, i64 %v2",
    ]


def test_strides_between_lanes(environment, addresses):
    environment.lane, environment.width = J, 8
    environment.variables[I] = literal(2, "i64")
    assert addresses.lane_stride(addresses.offset_form(load(A, I, J))) == 1
    assert addresses.lane_stride(addresses.offset_form(load(A, J, I))) == 16
    assert addresses.lane_stride(addresses.offset_form(load(A, I, 3))) == 0
    assert addresses.lane_stride(addresses.offset_form(load(A, I, J // 2))) is None


def test_a_buffer_that_the_function_is_not_given_has_no_address(addresses):
    with pytest.raises(AssertionError, match="buffer tile is used outside of its scope"):
        addresses.base_pointer(TILE)


# Registers.


def test_a_slot_is_taken_apart_for_its_elements(writer, environment, registers):
    environment.lane, environment.width = J, 4
    registers.store(Store(TILE, (J,), ex.const(0.0, FLOAT32)), LlvmValue("%x", "float", 4))
    assert registers.load(load(TILE, J)).text == "%x"
    environment.lane, environment.width = None, 0
    assert registers.load(load(TILE, 2)).kind == "float"
    assert text(writer) == ["%v1 = extractelement <4 x float> %x, i64 2"]


def test_a_loop_carries_what_it_stores(writer, registers):
    registers.store(Store(TILE, (ex.const(0),), ex.const(0.0, FLOAT32)), literal(0.0, "float"))
    writer.open_scope()
    writer.start_block("loop")
    registers.open_loop({TILE})
    carried = registers.load(load(TILE, 0))
    registers.store(Store(TILE, (ex.const(0),), ex.const(0.0, FLOAT32)), LlvmValue("%next", "float"))
    registers.close_loop(registers.loop_finals(), "work", "loop")
    writer.close_scope()
    zero = literal(0.0, "float").text
    assert text(writer) == ["loop:", f"{carried.text} = phi float [ {zero}, %work ], [ %next, %loop ]"]


def test_an_element_that_nothing_wrote_is_refused(registers):
    with pytest.raises(CodegenError, match="register buffer 'tile': element 3 is read before it is written"):
        registers.load(load(TILE, 3))


def test_a_masked_store_to_a_slot_that_holds_nothing_needs_no_select(writer, environment, registers):
    environment.lane, environment.width, environment.mask = J, 4, LlvmValue("%m", "i1", 4)
    registers.store(Store(TILE, (J,), ex.const(0.0, FLOAT32)), LlvmValue("%x", "float", 4))
    assert text(writer) == []
    registers.store(Store(TILE, (J,), ex.const(0.0, FLOAT32)), LlvmValue("%y", "float", 4))
    assert text(writer) == ["%v1 = select <4 x i1> %m, <4 x float> %y, <4 x float> %x"]


# Memory.


def test_memory_is_loaded_again_only_after_it_may_have_changed(writer, memory):
    first = memory.load(load(A, 1, 2))
    assert memory.load(load(A, 1, 2)) is first
    memory.store(Store(A, (ex.const(0), ex.const(0)), ex.const(0.0, FLOAT32)), literal(1.0, "float"))
    assert memory.load(load(A, 1, 2)) is not first
    assert [line.partition("load")[1] for line in text(writer)].count("load") == 2


def test_what_overlaps_a_stored_buffer_is_loaded_again(writer, environment, addresses):
    b = Buffer("B", (ex.const(4),), FLOAT32, alignment=4)
    addresses.base[b] = LlvmValue("%a1", "ptr")
    for aliased, again in ((frozenset(), False), (frozenset({A, b}), True)):
        memory = Memory(writer, environment, addresses, Conversions(writer), aliased)
        first = memory.load(load(A, 1, 2))
        memory.forget_loads({b})
        assert (memory.load(load(A, 1, 2)) is not first) is again


def test_a_masked_load_of_neighbours_declares_what_it_calls(writer, environment, memory):
    environment.lane, environment.width, environment.mask = J, 8, LlvmValue("%m", "i1", 8)
    environment.variables[I] = LlvmValue("%n0", "i64")
    memory.load(load(A, I, J))
    assert "call <8 x float> @llvm.masked.load.v8f32.p0(ptr" in text(writer)[-1]
    assert "i32 4, <8 x i1> %m, <8 x float> zeroinitializer)" in text(writer)[-1]
    assert list(writer.module.declarations) == [
        "declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)"
    ]
    assert writer.module.report.masked == 1


# Conversions.


def test_conversions_write_one_instruction_where_llvm_has_one(writer):
    conversions = Conversions(writer)
    assert conversions.cast(literal(300, "i64"), DType.of("int64"), DType.of("int8")).literal == 44
    conversions.cast(LlvmValue("%x", "i8", 4), DType.of("uint8"), DType.of("int32"))
    conversions.narrow(LlvmValue("%y", "float"), DType.of("float16"))
    assert text(writer) == ["%v1 = zext <4 x i8> %x to <4 x i32>", "%v2 = fptrunc float %y to half"]


# Frame.


def test_small_buffers_are_on_the_stack_and_large_ones_in_the_arena(writer):
    frame = Frame(writer)
    small = Buffer("small", (ex.const(4),), FLOAT32)
    large = Buffer("large", (ex.const(STACK_BYTES),), FLOAT32)
    assert frame.place(small) is frame.place(small)
    assert frame.define("g", "ptr %host", "hidden").splitlines() == [
        "define hidden i32 @g(ptr %host) #0 {",
        "work:",
        "  %stack1 = alloca [16 x i8], align 64",
        "  ret i32 0",
        "}",
    ]
    frame.place(large)
    written = frame.define("g", "ptr %host", "hidden")
    assert f"  %arena = call noalias ptr %alloc(ptr %host, i64 {4 * STACK_BYTES}, i64 64)" in written
    assert f"  ret i32 {Status.OUT_OF_MEMORY.value}" in written
    assert written.index("call void %free") < written.index("ret i32 %result")


def test_a_failure_gives_back_what_was_taken(writer):
    frame = Frame(writer)
    memory = frame.take(LlvmValue("%size", "i64"))
    frame.stop_on(LlvmValue("%status.of.callee", "i32"))
    lines = text(writer)
    assert frame.can_fail
    assert lines.index("store i32 %status.of.callee, ptr %status") > next(
        i for i, line in enumerate(lines) if "call void" in line and line.endswith(f"ptr {memory.text})")
    )


# Checks.


def test_the_public_function_checks_before_it_calls_the_kernel():
    function = parse_function("function f[n](A: float32[n], B: out float32[n])\n  B[0] = A[0]")
    lines = public_function(split_tasks(function), architecture_named(TRIPLE)).splitlines()
    assert lines[0] == "define signext i32 @f(ptr %host, ptr %args, i32 %n) #0 {"
    returned = [int(line.split()[-1]) for line in lines if line.startswith("  ret i32 ") and "%" not in line]
    kinds = [Status(status & 255) for status in returned]
    for status in (Status.ARGUMENT_COUNT, Status.NULL_ARGUMENT, Status.DTYPE, Status.SHAPE, Status.STRIDES):
        assert status in kinds
    (call,) = (i for i, line in enumerate(lines) if "@f.kernel(" in line)
    assert all(i < call for i, line in enumerate(lines) if ", !prof !0" in line)


def test_the_public_function_refuses_an_extent_that_its_indices_do_not_hold():
    program = split_tasks(parse_function("function f[n](A: float32[n, 3], B: out float32[n])\n  B[0] = A[0, 0]"))
    whole = public_function(program, architecture_named(TRIPLE))
    short = public_function(shorten_host_indices(program, 32), architecture_named(TRIPLE))
    assert re.search(r"@f\.kernel\(.*, i64 %v\d+\)", whole)
    assert ", 178956970" not in whole
    (refused,) = (k for k, line in enumerate(short.splitlines()) if re.search(r"icmp sle i64 %v\d+, 178956970$", line))
    assert int(short.splitlines()[refused + 3].split()[-1]) == Status.SHAPE.at(0, 0)
    assert re.search(r"trunc i64 %v\d+ to i32", short)


def test_an_extent_that_no_argument_gives_is_refused():
    n = Var("n", INDEX)
    function = Function("f", (Buffer("A", (n + 1,), FLOAT32),), frozenset(), Seq(()))
    with pytest.raises(CodegenError, match="f: no argument's shape gives the extent 'n'"):
        public_function(split_tasks(function), architecture_named(TRIPLE))


# Windows.


def test_lanes_that_read_every_second_element_take_them_out_of_two_windows(writer, environment, addresses):
    near = []

    def neighbours(_access, form, lanes):
        near.append((form.constant, lanes))
        return writer.emit(f"load {form.constant}", "float", lanes)

    environment.lane, environment.width = J, 4
    windows = Windows(writer, environment, addresses, neighbours)
    assert windows.load(load(A, 0, J * 2)).lanes == 4
    assert near == [(0, 3), (4, 3)]
    assert text(writer)[-1].endswith("<4 x i32> <i32 0, i32 2, i32 3, i32 5>")


# Tasks.


def captures(writer, environment, noalias=()):
    around = Expressions(writer, environment, Nothing(), frozenset())
    around.addresses.base[A] = LlvmValue("%a0", "ptr")
    return Captures(around, noalias, Frame(FunctionWriter(writer.module, "f.task0")))


def test_a_task_is_given_what_it_uses_once(writer, environment):
    task = captures(writer, environment, {"%a0"})
    environment.variables[I], environment.variables[J] = LlvmValue("%n0", "i64"), literal(7, "i64")
    assert task.variable(I) is task.variable(I)
    assert task.variable(J).literal == 7
    assert task.address(A).text == "%c1"
    assert task.parameters() == ["i64 %c0", "ptr noalias %c1"]


def test_constants_are_known_to_every_function(writer, environment):
    table = Buffer("table", (ex.const(2),), FLOAT32, data=np.zeros(2, "float32"))
    task = captures(writer, environment)
    assert task.address(table).text == "@constant.0"
    assert task.values == []


def test_a_vector_of_the_loop_around_is_no_value_of_a_task(writer, environment):
    environment.variables[I] = LlvmValue("%v", "i64", 4)
    with pytest.raises(CodegenError, match="a parallel loop inside a vectorized one can't be expressed"):
        captures(writer, environment).variable(I)


def test_the_thunk_unpacks_the_closure():
    assert thunk("f.task0", [LlvmValue("%c0", "i64"), LlvmValue("%c1", "ptr")], "i64", None).splitlines() == [
        "define internal signext i32 @f.task0(ptr %closure, i64 %begin, i64 %end) #0 {",
        "  %host = load ptr, ptr %closure",
        "  %p0 = getelementptr i64, ptr %closure, i64 1",
        "  %c0 = load i64, ptr %p0",
        "  %p1 = getelementptr i64, ptr %closure, i64 2",
        "  %c1 = load ptr, ptr %p1",
        "  %result = call i32 @f.task0.body(ptr %host, i64 %c0, ptr %c1, i64 %begin, i64 %end)",
        "  ret i32 %result",
        "}",
    ]


def test_the_thunk_shortens_its_range_where_the_body_has_short_indices():
    assert thunk("f.task0", [LlvmValue("%c0", "i32")], "i32", None).splitlines()[4:-2] == [
        "  %first = trunc i64 %begin to i32",
        "  %last = trunc i64 %end to i32",
        "  %result = call i32 @f.task0.body(ptr %host, i32 %c0, i32 %first, i32 %last)",
    ]
