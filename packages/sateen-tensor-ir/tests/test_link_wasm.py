"""WebAssembly modules from LLVM's objects, by our own writer: what they hold and do in Node, and what is refused."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from sateen.runtime.errors import LinkError
from sateen.tensor_ir import build, te
from sateen.tensor_ir.codegen.llvm.machine_code import compile_text, target_machine
from sateen.tensor_ir.link import link, link_with_lld
from sateen.tensor_ir.link.wasm import STACK_BYTES, link_module
from sateen.tensor_ir.link.wasm_object import read_wasm_object

TRIPLE = "wasm32-unknown-unknown"

CALLER = """
declare i32 @twice(i32)
declare i32 @given(i32)
@numbers = external constant [4 x i32]
@operations = internal constant [2 x ptr] [ptr @twice, ptr @thrice]
@place = global ptr getelementptr (i8, ptr @numbers, i32 8)
@zeros = internal global [8 x i32] zeroinitializer, align 64
define i32 @thrice(i32 %x) { %y = mul i32 %x, 3 ret i32 %y }
define i32 @direct(i32 %x) { %y = call i32 @twice(i32 %x) ret i32 %y }
define i32 @indirect(i32 %which, i32 %x) {
  %slot = getelementptr ptr, ptr @operations, i32 %which
  %operation = load ptr, ptr %slot
  %y = call i32 %operation(i32 %x)
  ret i32 %y
}
define i32 @number(i32 %i) {
  %p = getelementptr i32, ptr @numbers, i32 %i
  %y = load i32, ptr %p
  ret i32 %y
}
define i32 @pointed() { %p = load ptr, ptr @place %y = load i32, ptr %p ret i32 %y }
define i32 @zero(i32 %i) {
  %p = getelementptr i32, ptr @zeros, i32 %i
  %y = load i32, ptr %p
  ret i32 %y
}
define i32 @asked(i32 %x) { %y = call i32 @given(i32 %x) ret i32 %y }
define i32 @on_stack(i32 %x) {
  %room = alloca [64 x i32]
  call void @llvm.memset.p0.i32(ptr %room, i8 1, i32 256, i1 false)
  %p = getelementptr i32, ptr %room, i32 %x
  %y = load volatile i32, ptr %p
  ret i32 %y
}
declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)
"""
CALLED = """
@numbers = constant [4 x i32] [i32 7, i32 11, i32 -13, i32 17]
define i32 @twice(i32 %x) { %y = call i32 @hidden(i32 %x) ret i32 %y }
define internal i32 @hidden(i32 %x) noinline { %y = add i32 %x, %x ret i32 %y }
"""
CONSTRUCTOR = """
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]
define void @f() { ret void }
"""
FUNCTIONS = ["thrice", "direct", "indirect", "number", "pointed", "zero", "asked", "on_stack"]

HOST = """
@table = internal constant { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, i32 } { i32 2, i32 1, ptr null, ptr null, ptr null,
  ptr null, ptr null, ptr null, i32 0 }
define ptr @sateen_default_host() { ret ptr @table }
"""

CALL = """
const [path, calls] = process.argv.slice(1);
const memory = new WebAssembly.Memory({initial: 64});
const module = new WebAssembly.Module(require('fs').readFileSync(path));
const {exports} = new WebAssembly.Instance(module, {env: {memory, given: x => x + 100}});
console.log(JSON.stringify(JSON.parse(calls).map(([name, ...args]) => exports[name](...args))));
"""

RUN = """
const [path, given] = process.argv.slice(1);
const values = JSON.parse(given);
const memory = new WebAssembly.Memory({initial: 64});
const module = new WebAssembly.Module(require('fs').readFileSync(path));
const {exports} = new WebAssembly.Instance(module, {env: {memory}});
const base = exports.__heap_base.value, view = new DataView(memory.buffer), bytes = 4 * values.length;
const data = [base + 1024, base + 1024 + Math.ceil(bytes / 64) * 64];
new Float32Array(memory.buffer, data[0], values.length).set(values);
view.setBigInt64(base, BigInt(values.length), true);
data.forEach((place, i) => {
  const tensor = base + 64 + 64 * i;
  [place, 1, 0, 1].forEach((word, j) => view.setInt32(tensor + 4 * j, word, true));
  view.setUint8(tensor + 16, 2), view.setUint8(tensor + 17, 32), view.setUint16(tensor + 18, 1, true);
  view.setInt32(tensor + 20, base, true);
  view.setInt32(base + 16 + 4 * i, tensor, true);
});
const status = exports.f(0, base + 16, 2);
console.log(JSON.stringify([status, [...new Float32Array(memory.buffer, data[1], values.length)]]));
"""


def compile_object(text: str) -> bytes:
    return compile_text(text, target_machine(TRIPLE, "", "")).object_code()


def node(program: str, module: bytes, folder: Path, given: object) -> object:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    path = folder / "module.wasm"
    path.write_bytes(module)
    command = ["node", "-e", program, str(path), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def called(module: bytes, folder: Path, calls: Sequence[Sequence[object]]) -> object:
    return node(CALL, module, folder, calls)


def test_two_objects_call_each_other_directly_through_a_table_and_through_data(tmp_path: Path) -> None:
    module = link_module([compile_object(CALLER), compile_object(CALLED)], FUNCTIONS, {"given": "env"})
    calls = [
        ["thrice", 5],
        ["direct", 5],
        ["indirect", 0, 5],
        ["indirect", 1, 5],
        *(["number", i] for i in range(4)),
        ["pointed"],
        ["zero", 7],
        ["asked", 5],
        ["on_stack", 63],
    ]
    expected = [15, 10, 10, 15, 7, 11, -13, 17, -13, 0, 105, 0x01010101]
    assert called(module, tmp_path, calls) == expected


def test_the_order_of_objects_does_not_matter_to_what_they_do(tmp_path: Path) -> None:
    module = link_module([compile_object(CALLED), compile_object(CALLER)], FUNCTIONS, {"given": "env"})
    calls = [["indirect", 0, 5], ["indirect", 1, 5], ["pointed"], ["asked", 1]]
    assert called(module, tmp_path, calls) == [10, 15, -13, 101]


def test_equal_objects_give_equal_bytes() -> None:
    objects = [compile_object(CALLER), compile_object(CALLED)]
    modules = {link_module(objects, FUNCTIONS, {"given": "env"}) for _ in range(2)}
    assert len(modules) == 1


def test_data_is_exported_as_its_address_behind_the_stack(tmp_path: Path) -> None:
    module = link_module(compile_object(CALLED), ["twice", "numbers"], {})
    program = CALL.replace("exports[name](...args)", "exports[name].value")
    stack, numbers, heap = node(program, module, tmp_path, [["__stack_pointer"], ["numbers"], ["__heap_base"]])  # type: ignore[misc]
    assert stack == STACK_BYTES <= numbers < numbers + 16 <= heap
    assert heap % 64 == 0


def test_an_overflow_of_the_stack_traps(tmp_path: Path) -> None:
    text = """
    define i32 @deep(i32 %n) noinline {
      %room = alloca [65536 x i8]
      store volatile i8 1, ptr %room
      %is_last = icmp eq i32 %n, 0
      br i1 %is_last, label %last, label %more
    more:
      %less = sub i32 %n, 1
      %below = call i32 @deep(i32 %less)
      %own = load volatile i8, ptr %room
      %one = zext i8 %own to i32
      %y = add i32 %below, %one
      ret i32 %y
    last:
      ret i32 0
    }
    """
    module = link_module(compile_object(text), ["deep"], {})
    fitting = STACK_BYTES // 65536 - 2
    assert called(module, tmp_path, [["deep", fitting]]) == [fitting]
    program = CALL.replace(
        "exports[name](...args)", "{ try { return exports[name](...args) } catch (e) { return e.message } }"
    )
    assert node(program, module, tmp_path, [["deep", 2 * fitting]]) == ["memory access out of bounds"]


@pytest.mark.parametrize("features", ["", "+simd128", "+simd128,+relaxed-simd"])
def test_a_kernel_runs_in_node(tmp_path: Path, features: str) -> None:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: te.exp(a[i]), name="B")
    schedule = te.create_schedule(b)
    _, lane = schedule[b].split(b.op.axis[0], factor=4)
    schedule[b].vectorize(lane)
    option = f" -mattr={features}" if features else ""
    code = build(schedule, [a, b], target=f"llvm -mtriple={TRIPLE}{option}", name="f").object_code
    module = link([code, compile_object(HOST)], TRIPLE, ["f"])
    values = np.linspace(-20, 20, 64, dtype=np.float32)
    if "relaxed" in features and not accepts(module, tmp_path):
        pytest.skip("this node has no relaxed SIMD")
    status, found = node(RUN, module, tmp_path, values.tolist())  # type: ignore[misc]
    assert status == 0
    np.testing.assert_allclose(found, np.exp(values), rtol=1e-6)


def test_float16_is_converted_without_functions(tmp_path: Path) -> None:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i].astype("float16").astype("float32"), name="B")
    code = build(te.create_schedule(b), [a, b], target=f"llvm -mtriple={TRIPLE}", name="f").object_code
    module = link([code, compile_object(HOST)], TRIPLE, ["f"])
    values = np.geomspace(1e-8, 60000, 64, dtype=np.float32) * np.tile(np.float32([1, -1]), 32)
    status, found = node(RUN, module, tmp_path, values.tolist())  # type: ignore[misc]
    assert status == 0
    np.testing.assert_array_equal(np.float32(found), values.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize(("target", "limits"), [("wasm32", 0), ("wasm32-threads", 3)])
def test_memory_is_shared_where_instructions_are_atomic(target: str, limits: int) -> None:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] * 2.0, name="B")
    library = build(te.create_schedule(b), [a, b], target=target, name="f").library()
    assert b"\3env\6memory" + bytes([2, limits]) in library
    assert (b"sateen_pool_join" in library) == (target == "wasm32-threads")


def accepts(module: bytes, folder: Path) -> bool:
    """Whether Node's engine takes the instructions of a module."""
    program = "console.log(WebAssembly.validate(require('fs').readFileSync(process.argv[1])))"
    return bool(node(program, module, folder, None))


@pytest.mark.parametrize(
    ("texts", "exports", "message"),
    [
        ([CALLER], ["direct"], "undefined symbol 'twice': a module may import only given"),
        ([CALLED, CALLED], ["twice"], "symbol '(twice|numbers)' is defined by two objects"),
        (["@a = global i32 1, align 131072 define ptr @f() { ret ptr @a }"], ["f"], r"up to 2\^16, found 2\^17"),
        ([CALLED], ["twice", "twice"], "export 'twice' is listed twice"),
        (
            [CALLED, "@twice = external global i32 define ptr @f() { ret ptr @twice }"],
            ["f"],
            "symbol 'twice' is read as data, but it is a function",
        ),
        ([CALLED], ["thrice"], "export 'thrice' is not among the objects' symbols: .*twice"),
        (
            [CALLER, CALLED.replace("@twice(i32 %x) { %y", "@twice(i32 %x, i64 %z) { %y")],
            ["direct"],
            "function 'twice' is called with another type than it has",
        ),
        (["@outer = external global i32 define ptr @f() { ret ptr @outer }"], ["f"], "'outer': a module imports only"),
        (
            [CALLER, "@twice = global i32 1 @numbers = global i32 1"],
            ["direct"],
            "symbol 'twice' is called, but it is data",
        ),
        (
            [CONSTRUCTOR],
            ["f"],
            "expected an object without constructors",
        ),
    ],
)  # fmt: skip
def test_what_can_not_be_linked_is_refused(texts: Sequence[str], exports: Sequence[str], message: str) -> None:
    with pytest.raises(LinkError, match=message):
        link_module([compile_object(text) for text in texts], exports, {"given": "env"})


def test_position_independent_code_is_refused() -> None:
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=2, reloc="pic", codemodel="default")
    content = compile_text(CALLER.replace("external constant", "external hidden constant"), machine).object_code()
    with pytest.raises(
        LinkError, match="relocation type 11 of WebAssembly is not supported: compile with reloc='static'"
    ):
        read_wasm_object(content)


def test_other_files_are_refused() -> None:
    with pytest.raises(LinkError, match="expected a WebAssembly object of version 1, found other bytes"):
        read_wasm_object(b"\x7fELF")
    with pytest.raises(LinkError, match="found a module without section linking"):
        read_wasm_object(link_module(compile_object("define void @f() { ret void }"), ["f"], {})[:8])


def test_every_truncated_object_is_refused() -> None:
    content = compile_object(CALLER)
    whole = read_wasm_object(content)
    for length in range(len(content)):
        try:
            cut = read_wasm_object(content[:length])
        except LinkError:
            continue
        assert [f.body for f in cut.functions] == [f.body for f in whole.functions]  # the cut was between sections


def test_damaged_objects_give_an_object_or_a_link_error() -> None:
    content = compile_object(CALLER)
    other = compile_object(CALLED)
    random = np.random.default_rng(5)
    for _ in range(3000):
        damaged = bytearray(content)
        damaged[random.integers(len(content))] = random.integers(256)
        try:
            link_module([bytes(damaged), other], ["direct"], {"given": "env"})
        except LinkError:
            continue


def test_the_module_does_what_that_of_lld_does(tmp_path: Path) -> None:
    if shutil.which("wasm-ld") is None:
        pytest.skip("wasm-ld is not installed")
    objects = [compile_object(CALLER), compile_object(CALLED)]
    calls = [["indirect", 0, 5], ["indirect", 1, 9], ["pointed"], ["asked", 1], ["on_stack", 0], ["number", 3]]
    ours = called(link_module(objects, FUNCTIONS, {"given": "env"}), tmp_path, calls)
    theirs = called(link_with_lld(objects, TRIPLE, FUNCTIONS, imports={"given": "env"}), tmp_path, calls)
    assert ours == theirs
