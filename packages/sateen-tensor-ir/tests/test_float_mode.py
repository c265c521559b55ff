"""The mode of floating point: subnormal numbers in functions, on every thread, and the mode that callers find after."""

import ctypes
import re
import threading
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from sateen.runtime import Target
from sateen.runtime.abi import ABI_VERSION, PublicFunction, SateenHost, Status
from sateen.runtime.errors import CodegenError
from sateen.runtime.library import Library
from sateen.runtime.ndarray import NDArray
from sateen.tensor_ir import ObjectCache, build, build_functions, te
from sateen.tensor_ir.codegen.llvm import LoadedObject
from sateen.tensor_ir.codegen.object_code import compile_for
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.equal import why_different
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.targets import architecture_named

HOST = Target.host()
MODE = architecture_named(HOST.triple).float_mode
pytestmark = pytest.mark.skipif(
    MODE is None or MODE.flush is None, reason=f"code for {HOST.triple} leaves the mode as it is"
)

SIZE = 4096
SCALE = """\
function f(a: float32[4096] align 4, b: out float32[4096] align 4){mode}
  {kind} i in [0, 4096):
    b[i] = a[i] * float32(2)
"""
FLUSH = " denormals flush"
TINY = np.finfo(np.float32).tiny
SUBNORMAL = np.float32(1e-39)

Task = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
ParallelFor = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, Task, ctypes.c_void_p, ctypes.c_int64)


class Thread:
    """The mode of the calling thread."""

    def __init__(self) -> None:
        assert MODE is not None
        word = f"i{MODE.bits}"
        text = "\n".join(
            [
                *MODE.declarations,
                "define void @read_mode(ptr %place) {",
                *MODE.save("%place"),
                "  ret void\n}",
                "define void @write_mode(ptr %place) {",
                *MODE.load("%place"),
                "  ret void\n}",
            ]
        )
        self._code = LoadedObject(compile_for(text, HOST), ["read_mode", "write_mode"])
        self._word = {"i32": ctypes.c_uint32, "i64": ctypes.c_uint64}[word]
        self._read, self._write = (
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._code.addresses[name]) for name in ("read_mode", "write_mode")
        )

    @property
    def mode(self) -> int:
        """Without the flags that say which exceptions there were."""
        word = self._word()
        self._read(ctypes.addressof(word))
        return word.value & ~0x3F if ctypes.sizeof(word) == 4 else word.value

    @mode.setter
    def mode(self, value: int) -> None:
        self._write(ctypes.addressof(self._word(value)))


@pytest.fixture(scope="module")
def code() -> Thread:
    return Thread()


@pytest.fixture
def thread(code: Thread) -> Iterator[Thread]:
    before = code.mode
    yield code
    code.mode = before


def rounding_up() -> int:
    assert MODE is not None
    return MODE.keep | (0x4000 if MODE.bits == 32 else 1 << 22)


def modes() -> dict[str, int]:
    """What a caller may have set."""
    assert MODE is not None
    return {"kept": MODE.keep, "flushed": MODE.flush, "rounding up": rounding_up()}


@pytest.mark.parametrize("kind", ["for", "vectorized", "parallel"])
@pytest.mark.parametrize("callers", ["kept", "flushed", "rounding up"])
@pytest.mark.parametrize("mode", ["", FLUSH])
def test_a_function_computes_in_its_own_mode_and_gives_the_callers_back(
    thread: Thread, mode: str, callers: str, kind: str
) -> None:
    source = SCALE.format(mode=mode, kind=kind).replace("4096", "4096" if kind != "vectorized" else "64")
    module = build_functions([parse_function(source)])
    size = module.functions[0].parameters[0].size()
    a = np.where(np.arange(size or 0) % 2, SUBNORMAL, np.float32(1)).astype(np.float32)
    b = np.zeros_like(a)
    thread.mode = given = modes()[callers]
    module(a, b)
    found = thread.mode
    assert found == given
    assert set(b.tolist()) == {2.0, 0.0 if mode else float(SUBNORMAL * 2)}


def test_arithmetic_rounds_to_nearest_whatever_the_caller_does(thread: Thread) -> None:
    source = SCALE.format(mode="", kind="for").replace("* float32(2)", "+ a[i] / float32(3)")
    module = build_functions([parse_function(source)])
    a = np.linspace(1, 2, SIZE, dtype=np.float32)
    b, c = np.zeros_like(a), np.zeros_like(a)
    module(a, b)
    thread.mode = rounding_up()
    module(a, c)
    assert b.tobytes() == c.tobytes()


def called(source: str, host: SateenHost | None, *arrays: np.ndarray) -> int:
    """The status of the function of a library, called as a C host calls it."""
    library = Library(build_functions([parse_function(source)]).library(), "library")
    address = library.address("f")
    assert address is not None
    handles = [NDArray.of(array) for array in arrays]
    pointers = (ctypes.c_void_p * len(arrays))(*[array.handle for array in handles])
    return int(PublicFunction(address)(ctypes.byref(host) if host else None, pointers, len(arrays)))


@pytest.mark.parametrize("mode", ["", FLUSH])
def test_a_task_runs_in_the_mode_of_its_function_on_any_thread_of_a_c_host(thread: Thread, mode: str) -> None:
    assert MODE is not None
    found: list[int] = []

    def on_thread(task: Callable[[int, int, int], int], closure: int, begin: int, end: int) -> None:
        thread.mode = rounding_up() | MODE.flush
        assert task(closure, begin, end) == 0
        found.append(thread.mode)

    def parallel_for(_host: int, task: Callable[[int, int, int], int], closure: int, extent: int) -> int:
        for part in range(4):
            bounds = part * extent // 4, (part + 1) * extent // 4
            worker = threading.Thread(target=on_thread, args=(task, closure, *bounds))
            worker.start()
            worker.join()
        return 0

    function = ParallelFor(parallel_for)
    host = SateenHost(ABI_VERSION, 0, None, ctypes.cast(function, ctypes.c_void_p))
    a, b, serial = np.full(SIZE, SUBNORMAL), np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32)
    assert called(SCALE.format(mode=mode, kind="parallel"), host, a, b) == 0
    assert called(SCALE.format(mode=mode, kind="parallel"), None, a, serial) == 0
    assert set(b.tolist()) == {0.0 if mode else float(SUBNORMAL * 2)}
    assert b.tobytes() == serial.tobytes()
    assert found == [rounding_up() | MODE.flush] * 4


def test_the_callers_mode_comes_back_from_a_function_that_fails(thread: Thread) -> None:
    source = """\
function f(a: float32[4096] align 4, b: out float32[4096] align 4) denormals flush
  allocate large: float32[1048576]
  for i in [0, 4096):
    large[i * 256] = a[i]
  for i in [0, 4096):
    b[i] = large[i * 256]
"""
    nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)(lambda *_: None)
    host = SateenHost(ABI_VERSION, 0, None, None, ctypes.cast(nothing, ctypes.c_void_p))
    a, b = np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32)
    thread.mode = rounding_up()
    status = called(source, host, a, b)
    assert thread.mode == rounding_up()
    assert status == Status.OUT_OF_MEMORY


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sigmoid", "sin", "cos", "sqrt"])
def test_functions_take_a_subnormal_number_as_it_is_or_for_zero(name: str) -> None:
    source = SCALE.format(mode="{mode}", kind="for").replace("a[i] * float32(2)", f"{name}(a[i])")
    kept, flushed = (build_functions([parse_function(source.format(mode=mode))]) for mode in ("", FLUSH))
    a = np.resize([TINY / 2, TINY / 3, 1e-45, -TINY / 2, -TINY / 3, -1e-45], SIZE).astype(np.float32)
    expected, of_zero, found = (np.zeros_like(a) for _ in range(3))
    kept(a, expected)
    kept(np.copysign(np.float32(0), a), of_zero)
    flushed(a, found)
    as_zero = np.where(np.abs(expected) < TINY, np.copysign(np.float32(0), expected), expected)
    for value, *choices in zip(found, expected, of_zero, as_zero, strict=True):
        assert any(np.array_equal(value, choice, equal_nan=True) for choice in choices), (value, choices)


@pytest.mark.parametrize(("denormals", "other"), [("keep", "flush"), ("flush", "keep")])
def test_a_schedule_is_built_to_keep_or_to_flush(denormals: str, other: str, tmp_path: Path) -> None:
    A = te.placeholder((SIZE,), name="A")
    B = te.compute((SIZE,), lambda i: A[i] * 2.0, name="B")
    cache = ObjectCache(tmp_path / "objects")
    build(te.create_schedule(B), [A, B], denormals=other, cache=cache)  # the other is not taken for it
    a, b = np.full(SIZE, SUBNORMAL), np.ones(SIZE, np.float32)
    build(te.create_schedule(B), [A, B], denormals=denormals, cache=cache)(a, b)
    assert set(b.tolist()) == {0.0 if denormals == "flush" else float(SUBNORMAL * 2)}


def test_another_choice_is_refused() -> None:
    A = te.placeholder((SIZE,), name="A")
    B = te.compute((SIZE,), lambda i: A[i] * 2.0, name="B")
    with pytest.raises(CodegenError, match="expected denormals keep or flush, found True"):
        build(te.create_schedule(B), [A, B], denormals=True)


def test_a_function_that_flushes_differs_from_one_that_keeps() -> None:
    flushing, keeping = (parse_function(SCALE.format(mode=mode, kind="for")) for mode in (FLUSH, ""))
    assert str(flushing).splitlines()[0].endswith("b: out float32[4096] align 4) denormals flush")
    assert why_different(parse_function(str(flushing)), flushing) is None
    assert digest(parse_function(str(flushing))) == digest(flushing) != digest(keeping)
    assert "denormals" in (why_different(flushing, keeping) or "")


@pytest.mark.parametrize("triple", ["riscv64-unknown-linux-gnu", "wasm32-unknown-unknown"])
def test_other_architectures_keep_denormals_as_the_thread_does_and_flush_none(triple: str) -> None:
    build_functions([parse_function(SCALE.format(mode="", kind="parallel"))], f"llvm -mtriple={triple}")
    message = "f: expected denormals to be kept, found denormals flush, which code for x86-64, AArch64 and ARM can do"
    with pytest.raises(CodegenError, match=re.escape(message)):
        build_functions([parse_function(SCALE.format(mode=FLUSH, kind="for"))], f"llvm -mtriple={triple}")


def test_c_and_opencl_flush_none() -> None:
    message = "f: expected denormals to be kept, found denormals flush, which targets of kind llvm can do"
    function = parse_function(SCALE.format(mode=FLUSH, kind="for"))
    with pytest.raises(CodegenError, match=re.escape(message)):
        build_functions([function], "c")
    with pytest.raises(CodegenError, match=re.escape(message)):
        build_functions([function], "opencl")


C_HOST = """
#include <math.h>
#include <stdint.h>
#include "sateen.h"
int32_t f(const sateen_host *host, DLTensor *const *args, int32_t n);
#ifdef __riscv
enum { PLACE = 5 };
static uint64_t mode(void) { uint64_t value; __asm__ volatile("frcsr %0" : "=r"(value)); return value & ~0x1f; }
static void set(uint64_t value) { __asm__ volatile("fscsr %0" : : "r"(value)); }
#elif defined __arm__
enum { PLACE = 22 };
static uint64_t mode(void) { uint32_t value; __asm__ volatile("vmrs %0, fpscr" : "=r"(value)); return value; }
static void set(uint64_t value) { __asm__ volatile("vmsr fpscr, %0" : : "r"((uint32_t)value)); }
#else
enum { PLACE = 22 };
static uint64_t mode(void) { uint64_t value; __asm__ volatile("mrs %0, fpcr" : "=r"(value)); return value; }
static void set(uint64_t value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
#endif
int main(void) {
  static float a[4096], b[4096];
  int64_t shape[] = {4096};
  DLTensor in = {a, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, 0, 0}, out = in;
  DLTensor *args[] = {&in, &out};
  out.data = b;
  for (int i = 0; i < 4096; ++i) a[i] = i % 2 ? 1e-39f : 1;
  for (uint64_t given = 0; given < 4; ++given) {
    set(given << PLACE);  /* every way to round that all have */
    int32_t status = f(0, args, 2);
    uint64_t found = mode();
    set(0);
    if (status || found != given << PLACE) return 1;
    for (int i = 0; i < 4096; ++i) if (b[i] != (i % 2 ? ODD : EVEN)) return 2;
  }
  return 0;
}
"""


@pytest.mark.parametrize(("mode", "expected"), [("", "2e-39f"), (FLUSH, "0")])
def test_aarch64_computes_in_the_functions_mode(mode, expected, tmp_path, run_on_aarch64) -> None:
    function = parse_function(SCALE.format(mode=mode, kind="parallel"))
    computes_in_its_own_mode(function, "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", expected, "2", tmp_path)
    assert run_on_aarch64(tmp_path, ["-std=gnu99", "libf.so", "-Wl,-rpath,."], []) == ""


@pytest.mark.parametrize(("mode", "expected"), [("", "2e-39f"), (FLUSH, "0")])
def test_arm_computes_in_the_functions_mode(mode, expected, tmp_path, run_on_arm) -> None:
    function = parse_function(SCALE.format(mode=mode, kind="parallel"))
    computes_in_its_own_mode(function, "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7", expected, "2", tmp_path)
    assert run_on_arm(tmp_path, ["-std=gnu99", "libf.so", "-Wl,-rpath,."], []) == ""


def test_vectors_of_arm_flush_denormals_and_round_to_nearest(tmp_path, run_on_arm) -> None:
    function = parse_function(
        SCALE.format(mode="", kind="parallel")
        .replace("    b[i]", "    vectorized k in [0, 4):\n      b[4 * i + k]")
        .replace("a[i]", "a[4 * i + k]")
        .replace("i in [0, 4096)", "i in [0, 1024)")
    )
    computes_in_its_own_mode(function, "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7", "0", "2", tmp_path)
    assert run_on_arm(tmp_path, ["-std=gnu99", "libf.so", "-Wl,-rpath,."], []) == ""


@pytest.mark.parametrize("vectors", ["", " -mattr=+v,+zvl256b"])
def test_risc_v_rounds_to_nearest_and_keeps_denormals(vectors, tmp_path, run_on_riscv64_with_vectors) -> None:
    function = parse_function(SCALE.format(mode="", kind="parallel").replace("* float32(2)", "/ float32(3)"))
    computes_in_its_own_mode(function, f"llvm -mtriple=riscv64-linux-gnu{vectors}", "1e-39f / 3", "1.0f / 3", tmp_path)
    assert run_on_riscv64_with_vectors(tmp_path, ["-std=gnu99", "libf.so", "-Wl,-rpath,."], []) == ""


def computes_in_its_own_mode(function: Function, target: str, odd: str, even: str, folder: Path) -> None:
    """Write what a C program needs to call the function in each way to round."""
    build_functions([function], target).export_library(folder / "libf.so")
    (folder / "main.c").write_text(C_HOST.replace("ODD", odd).replace("EVEN", even))
    header = resources.files("sateen.runtime") / "include" / "sateen.h"
    (folder / "sateen.h").write_text(header.read_text(encoding="utf-8"), encoding="utf-8")
