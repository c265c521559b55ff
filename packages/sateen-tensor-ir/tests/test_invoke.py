"""Calls of other kernels: their text, digest and code."""

import pytest

from sateen.runtime.dtype import DType
from sateen.runtime.errors import CodegenError
from sateen.runtime.target import Target
from sateen.tensor_ir import build_functions
from sateen.tensor_ir.codegen.object_code import generate
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.expr import Expr, Var, const
from sateen.tensor_ir.ir.stmt import For, Function, If, LoopKind, While, invoke, sequence

INT64, UINT8 = DType.of("int64"), DType.of("uint8")
TARGET = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu")


def block(name: str) -> Buffer:
    return Buffer(name, (const(256),), UINT8)


def in_a_loop(offset: Expr | int, block: Buffer, i: Var) -> Function:
    body = For(i, const(0), const(4), LoopKind.SERIAL, invoke("slice", (block, 0), (block, offset)))
    return Function("run", (block,), frozenset({block}), body)


@pytest.fixture
def memory() -> Buffer:
    return block("memory")


def test_an_offset_may_be_an_expression(memory: Buffer) -> None:
    i = Var("i")
    function = in_a_loop(i * 16 + 64, memory, i)
    assert "invoke slice(memory + 0, memory + i * 16 + 64)" in str(function)
    text = generate([function], TARGET).text
    assert "call i32 @slice.kernel(ptr %host, ptr %a0, ptr %" in text


def test_the_digest_tells_offsets_apart_and_ignores_names(memory: Buffer) -> None:
    i, j = Var("i"), Var("j")
    assert digest(in_a_loop(i * 16, memory, i)) == digest(in_a_loop(j * 16, block("other"), j))
    assert digest(in_a_loop(i * 16, memory, i)) != digest(in_a_loop(i * 32, memory, i))
    assert digest(in_a_loop(16, memory, i)) == digest(in_a_loop(const(16), memory, i))


def test_what_a_kernel_may_have_written_is_loaded_anew(memory: Buffer) -> None:
    flag = Buffer("flag", (), INT64)
    goes_on = Load(flag, (), INT64) < 3
    step = invoke("step", (flag, 0), (memory, 0))
    for body, loads in ((While(goes_on, step), 1), (sequence(If(goes_on, step), If(goes_on, step)), 2)):
        text = generate([Function("run", (flag, memory), frozenset({flag, memory}), body)], TARGET).text
        kernel = text[text.index("@run.kernel") :]
        assert kernel.count("load i64, ptr %a0") == loads
        assert kernel.index("  br ") < kernel.index("load i64") or loads == 2


def test_c_refuses_calls(memory: Buffer) -> None:
    function = Function("run", (memory,), frozenset({memory}), invoke("slice", (memory, 0)))
    with pytest.raises(CodegenError, match="run: C99 has each kernel on its own, found a call of 'slice'; build for"):
        build_functions([function], "c")
