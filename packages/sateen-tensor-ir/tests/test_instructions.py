"""Intrinsics: an instruction on regions means its te definition, for the interpreter and for all code alike."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen.runtime import Target, array, load_module
from sateen.runtime.errors import CodegenError, ExecutionError, ExpressionError, LoweringError
from sateen.tensor_ir import build, build_functions, te
from sateen.tensor_ir.codegen.object_code import generate
from sateen.tensor_ir.codegen.workers import CompilerPool
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.intrinsics import INTRINSICS, TensorIntrinsic
from sateen.tensor_ir.ir.access import read_by, written_by
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.equal import why_different
from sateen.tensor_ir.ir.expr import const
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function, Intrinsic, Region
from sateen.tensor_ir.ir.tokens import ParseError
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering import lower
from sateen.tensor_ir.targets import features_of

Array = np.ndarray[Any, Any]
DOT = INTRINSICS["dot4_u8s8_x16"]
M, N, K = 3, 32, 8
SERVER = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -mattr=+avx512vnni,+avx512bf16"
ARM = "llvm -mtriple=aarch64-unknown-linux-gnu -mattr=+i8mm,+bf16,+dotprod"
CLIENT = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3 -mattr=+avxvnni"
LATER_CLIENT = f"{CLIENT},+avxvnniint8"


def product(lanes: int = 16, scope: str = "local", kind: str = "serial") -> tuple[te.Schedule, list[te.Tensor]]:
    """C = A B of bytes, B in panels of `lanes` columns and 4 rows; sums are kept in `scope`."""
    dot = INTRINSICS[f"dot4_u8s8_x{lanes}"]
    a = te.placeholder((M, K), "uint8", name="A")
    b = te.placeholder((N // lanes, K // 4, 4 * lanes), "int8", name="B")

    def body(ins: list[Buffer], outs: list[Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        source, panels = map(ib.buffer_ptr, ins)
        result = ib.buffer_ptr(outs[0])
        with ib.for_range(0, M, "i", kind) as i, ib.for_range(0, N // lanes, "j") as j:
            sums = ib.allocate("int32", (lanes,), scope, "sums")
            four = ib.allocate("uint8", (4 * lanes,), "local", "four")
            with ib.for_range(0, lanes, "x", "vectorized") as x:
                sums[x] = te.const(0, "int32")
            with ib.for_range(0, K // 4, "k") as k:
                with ib.for_range(0, 4 * lanes, "y") as y:
                    four[y] = source[i, 4 * k + y % 4]
                total, panel = sums.region(0, (lanes,)), panels.region((j, k, 0), (1, 1, 4 * lanes))
                ib.intrinsic(dot, [total], [total, four.region(0, (4 * lanes,)), panel])
            with ib.for_range(0, lanes, "z", "vectorized") as z:
                result[i, lanes * j + z] = sums[z]
        return ib.get()

    c = te.extern((M, N), [a, b], body, name="C", dtype="int32")
    return te.create_schedule(c), [a, b, c]


def operands(lanes: int = 16) -> tuple[Array, Array, Array]:
    """A, B in panels, and C."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 256, (M, K)).astype(np.uint8)
    b = rng.integers(-128, 128, (K, N)).astype(np.int8)
    panels = b.reshape(K // 4, 4, N // lanes, lanes).transpose(2, 0, 3, 1).reshape(N // lanes, K // 4, 4 * lanes)
    return a, np.ascontiguousarray(panels), a.astype(np.int32) @ b.astype(np.int32)


def statement(text: str, b: str = "int8[64]") -> str:
    """A function with one statement over operands of the instruction, where `b` has this type."""
    parameters = f"sum: int32[16] align 4, a: uint8[2, 64] align 1, b: {b} align 1, y: out int32[64] align 4"
    return f"function f({parameters})\n  {text}"


def parsed(text: str) -> Function:
    return parse_function(statement(text), INTRINSICS)


PLAIN = "intrinsic dot4_u8s8_x16 y[8:16] = sum[0:16], a[1, 0:64], b[0:64]"


def interpreted(function: Function, *arrays: Array) -> Array:
    """What the function leaves in its last argument."""
    copies = [a.copy() for a in arrays]
    run(function, copies)
    return copies[-1]


def alone(instruction: TensorIntrinsic, kind: str = "serial") -> tuple[te.Schedule, list[te.Tensor]]:
    """The instruction once, from and to the memory of arguments."""

    def body(ins: list[Buffer], outs: list[Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        shapes = map(instruction.shape_of, instruction.operands)
        pointers = map(ib.buffer_ptr, (*outs, *ins))
        regions = [p.region((0,) * len(shape), shape) for p, shape in zip(pointers, shapes, strict=True)]
        count = len(instruction.outputs)
        with ib.for_range(0, 1, "i", kind):
            ib.intrinsic(instruction, regions[:count], regions[count:])
        return ib.get()

    shapes = [instruction.shape_of(t) for t in instruction.outputs]
    results = te.extern(shapes, instruction.inputs, body, "results", [t.dtype for t in instruction.outputs])
    return te.create_schedule(results), [*instruction.inputs, *results]


def any_numbers(tensors: Sequence[te.Tensor]) -> list[Array]:
    """Arrays of all bits for tensors of integers, of numbers in [-2, 2) for those of floating point."""
    if any(str(t.dtype) == "bfloat16" for t in tensors):
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    rng = np.random.default_rng(6)
    found = []
    for t in tensors:
        shape, dtype = [int(str(extent)) for extent in t.shape], t.dtype.numpy
        raw = rng.integers(0, 256, (*shape, t.dtype.bytes)).astype(np.uint8).view(dtype).reshape(shape)
        found.append(rng.uniform(-2, 2, shape).astype(dtype) if t.dtype.is_float else raw)
    return found


# Every instruction that ships, but those of warps, whose sums are not in memory (test_warp_tiles.py).

OWN = {name: instruction for name, instruction in INTRINSICS.items() if not instruction.by_warp}
every = pytest.mark.parametrize("name", OWN)


def arguments_of(instruction: TensorIntrinsic) -> list[Array]:
    """Inputs, and outputs of zeros."""
    outputs = [np.zeros(instruction.shape_of(t), t.dtype.numpy) for t in instruction.outputs]
    return [*any_numbers(instruction.inputs), *outputs]


def check_as_defined(instruction: TensorIntrinsic, arrays: Sequence[Array]) -> None:
    """The outputs among the arrays are what the definition says: integers exactly, sums of float32 to within 2^-21 of
    the sum of magnitudes, as an instruction may round between its additions."""
    inputs = dict(zip(instruction.inputs, arrays, strict=False))
    expected = instruction.evaluate(inputs)
    magnitudes = instruction.evaluate({t: np.abs(a) for t, a in inputs.items()})
    for result, e, magnitude in zip(arrays[len(inputs) :], expected, magnitudes, strict=True):
        if e.dtype.kind == "f":
            assert (np.abs(result - e) <= 2.0**-21 * magnitude).all()
        else:
            np.testing.assert_array_equal(result, e)


@every
def test_the_interpreter_follows_its_definition(name: str) -> None:
    arrays = arguments_of(INTRINSICS[name])
    run(lower(*alone(INTRINSICS[name])), arrays)
    check_as_defined(INTRINSICS[name], arrays)


@every
def test_its_machine_code_does_what_the_definition_says(name: str) -> None:
    if INTRINSICS[name].code_for(Target.host().enabled_features) is None:
        pytest.skip(f"this processor has no code for {name}")
    arrays = arguments_of(INTRINSICS[name])
    build(*alone(INTRINSICS[name]))(*arrays)
    check_as_defined(INTRINSICS[name], arrays)


def test_its_code_for_aarch64_does_what_the_definition_says(
    run_on_aarch64: Callable[..., str], call_in_c: Callable[..., None]
) -> None:
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    target = Target.parse(ARM)
    found = [i for i in INTRINSICS.values() if i.code_for(features_of(target))]
    assert {"smmla", "bfmmla", "bfdot"} <= {
        call.name.split(".")[2] for i in found for call in i.llvm if "64" in call.name
    }
    functions = [lower(*alone(instruction), instruction.name) for instruction in found]
    calls = {instruction.name: arguments_of(instruction) for instruction in found}
    call_in_c(build_functions(functions, target), calls, run_on_aarch64)
    for instruction in found:
        check_as_defined(instruction, calls[instruction.name])


def test_its_c_does_what_the_definition_says(tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    library = compiled([lower(*alone(instruction), name) for name, instruction in OWN.items()], tmp_path)
    for name, instruction in OWN.items():
        given = [array(a) for a in arguments_of(instruction)]
        library[name](*given)
        check_as_defined(instruction, [a.numpy() for a in given])


@every
def test_its_opencl_does_what_the_definition_says(name: str, launch: Callable[..., object]) -> None:
    arrays = arguments_of(INTRINSICS[name])
    launch(lower(*alone(INTRINSICS[name], "threadIdx.x"), "f"), *arrays)
    check_as_defined(INTRINSICS[name], arrays)


# Meaning.


@pytest.mark.parametrize("name", [f"dot4_u8s8_x{lanes}" for lanes in (4, 8, 16)])
def test_the_definition_is_the_sum_of_four_products_of_bytes_each_wrapped(name: str) -> None:
    dot = INTRINSICS[name]
    total, a, b = dot.inputs
    (lanes,) = dot.shape_of(total)
    rng = np.random.default_rng(2)
    sums = rng.integers(-(2**31), 2**31, lanes).astype(np.int32)
    x, y = rng.integers(0, 256, 4 * lanes).astype(np.uint8), rng.integers(-128, 128, 4 * lanes).astype(np.int8)
    x[:4], y[:4], sums[0] = 255, 127, 2**31 - 1  # 129540 more than the largest int32
    exact = sums.astype(np.int64) + (x.astype(np.int64) * y.astype(np.int64)).reshape(lanes, 4).sum(axis=1)
    (found,) = dot.evaluate({total: sums, a: x, b: y})
    np.testing.assert_array_equal(found, exact.astype(np.int32))
    assert found[0] == 2**31 - 1 + 129540 - 2**32


@pytest.mark.parametrize("scope", ["local", "register"])
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_interpreter_and_oracle_follow_the_definition(lanes: int, scope: str) -> None:
    s, (a, b, c) = product(lanes, scope)
    x, y, expected = operands(lanes)
    np.testing.assert_array_equal(interpreted(lower(s, [a, b, c]), x, y, np.zeros((M, N), np.int32)), expected)
    np.testing.assert_array_equal(evaluate([c], {a: x, b: y})[0], expected)


@pytest.mark.parametrize("kind", ["serial", "parallel"])
@pytest.mark.parametrize("scope", ["local", "register"])
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_machine_code_does_what_the_interpreter_does(lanes: int, scope: str, kind: str) -> None:
    host = Target.host()
    dot = INTRINSICS[f"dot4_u8s8_x{lanes}"]
    if dot.code_for(host.enabled_features) is None:
        pytest.skip(f"this processor has none of {', '.join('+'.join(code.features) for code in dot.llvm)}")
    s, arguments = product(lanes, scope, kind)
    x, y, expected = operands(lanes)
    result = np.zeros((M, N), np.int32)
    build(s, arguments, name="f")(x, y, result)
    np.testing.assert_array_equal(result, expected)


def test_inputs_are_read_before_the_output_that_overlaps_them_is_written() -> None:
    f = parsed("intrinsic dot4_u8s8_x16 y[1:16] = y[0:16], a[1, 0:64], b[0:64]")
    f = replace(f, aliased=frozenset(f.outputs))
    a, b = np.zeros((2, 64), np.uint8), np.zeros(64, np.int8)
    out = np.arange(64, dtype=np.int32)
    arrays = [np.zeros(16, np.int32), a, b, out]
    expected = np.concatenate([[0], np.arange(16), np.arange(17, 64)])
    np.testing.assert_array_equal(interpreted(f, *arrays), expected)
    if DOT.code_for(Target.host().enabled_features) is not None:
        build_functions([f])(*arrays)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("lanes", "target", "instruction"),
    [
        (16, SERVER, "vpdpbusd"),
        (8, SERVER, "vpdpbusd"),
        (8, CLIENT, "vpdpbusd"),
        (4, CLIENT, "vpdpbusd"),
        (4, ARM, "usdot"),
    ],
)
def test_processors_with_the_feature_have_one_instruction_for_it(lanes: int, target: str, instruction: str) -> None:
    s, arguments = product(lanes, "register")
    assembly = build(s, arguments, target=target, name="f").assembly()
    assert len(re.findall(rf"\b{instruction}\b", assembly)) == 1
    assert not re.findall(r"\bv?pmadd|\bmla\b", assembly)


@pytest.mark.parametrize(
    ("name", "target", "instruction"),
    [
        ("dot4_s8s8_x4", ARM, "sdot"),
        ("dot4_u8u8_x4_broadcast", ARM, "udot"),
        ("dot4_u8s8_x4_broadcast", ARM, "usdot"),
        ("dot2_bf16_x4", ARM, "bfdot"),
        ("matrix_2x2x8_s8s8", ARM, "smmla"),
        ("matrix_2x2x8_u8u8", ARM, "ummla"),
        ("matrix_2x2x8_u8s8", ARM, "usmmla"),
        ("matrix_2x2x4_bf16", ARM, "bfmmla"),
        ("dot4_s8s8_x4_broadcast", LATER_CLIENT, "vpdpbssd"),
        ("dot4_s8s8_x8", LATER_CLIENT, "vpdpbssd"),
        ("dot4_u8u8_x4", LATER_CLIENT, "vpdpbuud"),
        ("dot4_u8u8_x8_broadcast", LATER_CLIENT, "vpdpbuud"),
        ("dot2_s16s16_x4", CLIENT, "vpdpwssd"),
        ("dot2_s16s16_x8_broadcast", SERVER, "vpdpwssd"),
        ("dot2_s16s16_x16", SERVER, "vpdpwssd"),
        ("dot2_bf16_x4", SERVER, "vdpbf16ps"),
        ("dot2_bf16_x8_broadcast", SERVER, "vdpbf16ps"),
        ("dot2_bf16_x16", SERVER, "vdpbf16ps"),
    ],
)
def test_its_code_is_one_instruction(name: str, target: str, instruction: str) -> None:
    assembly = build(*alone(INTRINSICS[name]), target=target, name="f").assembly()
    assert len(re.findall(rf"\b{instruction}\b", assembly)) == 1


def test_a_dot_of_bfloat16_rounds_after_each_product_and_has_no_subnormals() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    dot = INTRINSICS["dot2_bf16_x16"]
    if "avx512bf16" not in Target.host().enabled_features:
        pytest.skip("this processor has no avx512bf16")
    rng = np.random.default_rng(8)
    total, a, b = (rng.standard_normal(n).astype(np.float32) for n in (16, 32, 32))
    a, b = a.astype(bfloat16), b.astype(bfloat16)
    total[:2], a[:4], b[:4] = (2.0**-130, 0), (2.0**-120, 0, 2.0**-130, 0), (2.0**-20, 0, 2.0**100, 0)
    result = np.zeros(16, np.float32)
    build(*alone(dot))(total, a, b, result)
    x, y = (v.astype(np.float64).reshape(16, 2) for v in (a, b))
    expected = ((total + x[:, 1] * y[:, 1]).astype(np.float32) + x[:, 0] * y[:, 0]).astype(np.float32)
    expected[:2] = 0
    np.testing.assert_array_equal(result, expected)


def compiled(functions: Sequence[Function], folder: Path) -> Any:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    (folder / "f.c").write_text(build_functions(functions, Target("c", triple=Target.host().triple)).source)
    options = [
        "-std=c99",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fsanitize=undefined",
        "-fsanitize-undefined-trap-on-error",
    ]
    subprocess.run([gcc, *options, "-shared", "-fPIC", folder / "f.c", "-o", folder / "f.so", "-lm"], check=True)
    return load_module(folder / "f.so")


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_c_spells_it_out(kind: str, tmp_path: Path) -> None:
    s, (a, b, c) = product(kind=kind)
    x, y, expected = operands()
    result = array(np.zeros((M, N), np.int32))
    compiled([lower(s, [a, b, c], "f")], tmp_path)["f"](array(x), array(y), result)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_names_in_c_do_not_meet_those_of_the_program(tmp_path: Path) -> None:
    f = parsed(
        PLAIN.replace("intrinsic", "for i in [0, 2):\n    intrinsic").replace("8:16", "i * 16:16").replace("[1,", "[i,")
    )
    rng = np.random.default_rng(3)
    arrays = [
        rng.integers(-5, 5, 16).astype(np.int32), rng.integers(0, 256, (2, 64)).astype(np.uint8),
        rng.integers(-128, 128, 64).astype(np.int8),
    ]  # fmt: skip
    expected = interpreted(f, *arrays, np.zeros(64, np.int32))
    result = array(np.zeros(64, np.int32))
    compiled([f], tmp_path)["f"](*map(array, arrays), result)
    np.testing.assert_array_equal(result.numpy()[:32], expected[:32])


def test_opencl_spells_it_out_for_the_memory_of_blocks_and_threads() -> None:
    s, (a, b, c) = product(kind="threadIdx.x")
    compiled = build_functions([lower(s, [a, b, c], "f")], "opencl")
    assert [buffer.name for buffer in compiled.program.kernels[0].buffers] == ["A", "B", "C"]
    assert "sateen_dot += (uint)((int)(&four[0])[4 * sateen_i + sateen_k] * (&B[" in compiled.source


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_opencl_computes_what_the_definition_says(launch: Callable[..., object], lanes: int) -> None:
    s, (a, b, c) = product(lanes, kind="threadIdx.x")
    x, y, expected = operands(lanes)
    result = np.zeros((M, N), np.int32)
    launch(lower(s, [a, b, c], "f"), x, y, result)
    np.testing.assert_array_equal(result, expected)


def test_worker_processes_know_those_that_ship_and_no_others() -> None:
    s, arguments = product()
    function = lower(s, arguments, "f")
    foreign = parse_function(statement(PLAIN), {DOT.name: replace(DOT)})
    known = ", ".join(INTRINSICS)
    message = f"f: worker processes know the intrinsics {known}, found 'dot4_u8s8_x16' of another definition"
    with CompilerPool(1) as pool:
        assert pool.submit(function, SERVER).result().symbols == ("f",)
        with pytest.raises(CodegenError, match=message):
            pool.submit(foreign, SERVER)


# Text, digest, structure.


def test_text_says_instruction_and_regions_and_is_read_back() -> None:
    f = parsed(PLAIN)
    assert str(f) == statement(PLAIN)
    again = parse_function(str(f), INTRINSICS)
    assert why_different(f, again) is None
    assert digest(again) == digest(f)


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace("8:16", "9:16"),
        PLAIN.replace("a[1,", "a[0,"),
        "intrinsic dot4_u8s8_x8 y[8:8] = sum[0:8], a[1, 0:32], b[0:32]",
        "intrinsic dot4_u8s8_x16 y[8:16] = y[0:16], a[1, 0:64], b[0:64]",
    ],
)
def test_digests_and_comparison_tell_others_apart(other: str) -> None:
    f, g = parsed(PLAIN), parsed(other)
    assert digest(f) != digest(g)
    assert why_different(f, g) is not None


def test_instructions_of_one_name_and_other_code_have_other_digests() -> None:
    other = replace(DOT, llvm=DOT.llvm[:0])
    assert digest(parsed(PLAIN)) != digest(parse_function(statement(PLAIN), {DOT.name: other}))


def test_what_it_reads_and_writes_is_known() -> None:
    f = parsed(PLAIN)
    (found,) = (n for n in walk(f.body) if isinstance(n, Intrinsic))
    assert [b.name for b in read_by(found)] == ["sum", "a", "b"]
    assert [b.name for b in written_by(found)] == ["y"]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            f"expected an intrinsic ({', '.join(INTRINSICS)}), found 'dot'",
            "intrinsic dot y[0:16] = b[0:64]",
        ),
        ("expected 1 outputs and 3 inputs of an intrinsic", "intrinsic dot4_u8s8_x16 y[0:16] = b[0:64]"),
        ("expected an index for each of 2 dimensions, found 'a'", PLAIN.replace("a[1, ", "a[")),
        ("expected an integer, found 'i'", PLAIN.replace("0:16", "0:i")),
    ],
)
def test_text_that_is_none_is_refused(message: str, text: str) -> None:
    with pytest.raises(ParseError, match=re.escape(message)):
        parsed(text)


# Refusals.


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            "operand 'a' of intrinsic 'dot4_u8s8_x16' expects uint8, found buffer 'b' of int8",
            PLAIN.replace("a[1, 0:64]", "b[0:64]"),
        ),
        (
            "operand 'sum' of intrinsic 'dot4_u8s8_x16' expects extents [16], found [8] of 'sum'",
            PLAIN.replace("sum[0:16]", "sum[0:8]"),
        ),
        (
            "operand 'b' of intrinsic 'dot4_u8s8_x16' is outside of its buffer: expected within [0, 64), found [4, 68)",
            PLAIN.replace("b[0:64]", "b[4:64]"),
        ),
        ("buffer 'sum' is stored to, but is no output", PLAIN.replace("y[8:16]", "sum[0:16]")),
        (
            "intrinsic 'dot4_u8s8_x16' is inside of the vectorized loop 'v'",
            f"vectorized v in [0, 2):\n    {PLAIN}",
        ),
    ],
)
def test_the_verifier_refuses_regions_that_do_not_fit(message: str, text: str) -> None:
    with pytest.raises(LoweringError, match=re.escape(message)):
        verify(parsed(text))


def test_the_interpreter_traps_regions_that_leave_their_buffers() -> None:
    f = parsed(f"for i in [0, 2):\n    {PLAIN.replace('b[0:64]', 'b[i:64]')}")
    arrays = [np.zeros(16, np.int32), np.zeros((2, 64), np.uint8), np.zeros(64, np.int8)]
    with pytest.raises(ExecutionError, match=re.escape("load from b[64], outside of its shape [64]")):
        run(f, [*arrays, np.zeros(64, np.int32)])


def test_the_interpreter_traps_inputs_that_were_never_written() -> None:
    f = parsed(PLAIN.replace("sum[0:16]", "y[0:16]"))
    arrays = [np.zeros(16, np.int32), np.zeros((2, 64), np.uint8), np.zeros(64, np.int8)]
    with pytest.raises(ExecutionError, match=re.escape("load from y[0], which has not been written")):
        run(f, [*arrays, np.zeros(64, np.int32)])


def test_threads_that_write_one_region_at_once_are_a_race() -> None:
    f = parsed(f"parallel i in [0, 2):\n    {PLAIN.replace('8:16', 'i:16')}")
    rng = np.random.default_rng(4)
    arrays = [
        rng.integers(0, 9, 16).astype(np.int32), rng.integers(1, 9, (2, 64)).astype(np.uint8),
        rng.integers(1, 9, 64).astype(np.int8), np.zeros(64, np.int32),
    ]  # fmt: skip
    with pytest.raises(ExecutionError, match="is stored while another thread stores another value to it"):
        run(f, arrays)


@pytest.mark.parametrize(
    ("message", "emit"),
    [
        (
            "f: x86_64-unknown-linux-gnu has no code for intrinsic 'dot4_u8s8_x16', only for processors with avx",
            lambda f: generate([f], Target.parse(CLIENT)),
        ),
        (
            "f: aarch64-unknown-linux-gnu has no code for intrinsic 'dot4_u8s8_x16', only for processors with avx",
            lambda f: generate([f], Target.parse("llvm -mtriple=aarch64-unknown-linux-gnu")),
        ),
    ],
)
def test_processors_without_code_for_it_are_refused(message: str, emit: Callable[[Function], object]) -> None:
    with pytest.raises(CodegenError, match=re.escape(message)):
        emit(parsed(PLAIN))


@pytest.mark.parametrize(
    ("target", "emit"),
    [
        ("x86_64-unknown-linux-gnu", lambda f: generate([f], Target.parse(SERVER))),
        ("C99", lambda f: build_functions([f], "c").source),
    ],
)
def test_an_instruction_without_code_is_refused_by_the_names_of_target_and_intrinsic(
    target: str, emit: Callable[[Function], object]
) -> None:
    bare = replace(DOT, name="bare", llvm=(), c99=None)
    f = parse_function(statement(PLAIN.replace(DOT.name, "bare")), {"bare": bare})
    with pytest.raises(CodegenError, match=f"^f: {target} has no code for intrinsic 'bare'$"):
        emit(f)


@pytest.mark.parametrize(
    "emit", [lambda f: generate([f], Target.parse(SERVER)), lambda f: build_functions([f], "c").source]
)
def test_elements_that_do_not_lie_one_behind_the_other_are_refused(emit: Callable[[Function], object]) -> None:
    definition = te.placeholder((16, 4), "int8", name="b")
    total, a, _ = DOT.inputs
    wide = te.compute(
        (16,), lambda i: total[i] + definition[i, 0].astype("int32") + a[4 * i].astype("int32"), name="out"
    )
    other = replace(DOT, name="rows", inputs=(total, a, definition), outputs=(wide,))
    text = statement("intrinsic rows y[8:16] = sum[0:16], a[1, 0:64], b[0:16, 0:4]", "int8[16, 4] strides [1, 16]")
    message = (
        "intrinsic 'rows', operand 'b': expected elements one behind the other, found extents [16, 4] of 'b' with "
        "strides [1, 16]"
    )
    with pytest.raises(CodegenError, match=re.escape(message)):
        emit(parse_function(text, {"rows": other}))


@pytest.mark.parametrize(
    ("message", "make"),
    [
        (
            "intrinsic 'x' expects constant shapes, found y: float32[n]",
            lambda x, n: ((x,), te.compute((n,), lambda i: x[i], name="y")),
        ),
        (
            "intrinsic 'x' expects a definition by te.compute from its inputs, found 'x'",
            lambda x, n: ((), te.compute((4,), lambda i: x[i], name="y")),
        ),
    ],
)
def test_definitions_that_are_none_are_refused(
    message: str, make: Callable[[te.Tensor, te.Expr], tuple[Sequence[te.Tensor], te.Tensor]]
) -> None:
    inputs, output = make(te.placeholder((4,), name="x"), te.var("n"))
    with pytest.raises(ExpressionError, match=re.escape(message)):
        TensorIntrinsic("x", tuple(inputs), (output,))


def test_regions_of_another_number_than_operands_are_refused() -> None:
    region = Region(Buffer("v", (const(16),), DOT.outputs[0].dtype), (const(0),), (16,))
    ib = te.ir_builder.create()
    with pytest.raises(LoweringError, match="intrinsic 'dot4_u8s8_x16' expects 4 regions, found 2"):
        ib.intrinsic(DOT, [region], [region])
    with pytest.raises(LoweringError, match="intrinsic 'dot4_u8s8_x16' expects 4 extents of its regions, found 5"):
        ib.intrinsic(DOT, [region], [region, region, replace(region, extents=(4, 4))])
    with pytest.raises(ExpressionError, match=re.escape("a region of 'v' expects 1 extents of at least 1, found (0,)")):
        ib.buffer_ptr(region.buffer).region(0, (0,))


def test_an_extern_may_not_use_regions_that_it_was_not_given() -> None:
    def body(ins: list[Buffer], outs: list[Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        foreign = ib.buffer_ptr(Buffer("foreign", (const(64),), DOT.inputs[1].dtype)).region(0, (64,))
        total, b = ib.buffer_ptr(outs[0]).region(0, (16,)), ib.buffer_ptr(ins[0]).region(0, (64,))
        ib.intrinsic(DOT, [total], [total, foreign, b])
        return ib.get()

    b = te.placeholder((64,), "int8", name="b")
    with pytest.raises(ExpressionError, match="extern 'c': the body uses buffer 'foreign', which it was not given"):
        te.extern((16,), [b], body, name="c", dtype="int32")
