"""The host of machines without threads, and loops of kernels for them."""

import ctypes

import llvmlite.binding as llvm
import pytest

from sateen.runtime.abi import ABI_VERSION, SateenHost
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.llvm import LoadedObject
from sateen.tensor_ir.codegen.llvm.machine_code import target_machine
from sateen.tensor_ir.codegen.object_code import compile_for
from sateen.tensor_ir.host import has_host, has_pool, host_text
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering import serialize_loops
from sateen.tensor_ir.targets import ARCHITECTURES, Architecture

WASM, CORTEX_M = "wasm32-unknown-unknown", "thumbv7em-none-eabihf"

Task = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
Host = ctypes.POINTER(SateenHost)
ParallelFor = ctypes.CFUNCTYPE(ctypes.c_int32, Host, Task, ctypes.c_void_p, ctypes.c_int64)
Alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, Host, ctypes.c_uint64, ctypes.c_uint64)
Free = ctypes.CFUNCTYPE(None, Host, ctypes.c_void_p)
Log = ctypes.CFUNCTYPE(None, Host, ctypes.c_int32, ctypes.c_char_p)


@pytest.fixture(scope="module")
def loaded() -> LoadedObject:
    """The serial host as code of this machine, which its one text is, too."""
    return LoadedObject(compile_for(host_text(WASM), Target.host()), ["sateen_default_host", "sateen_abi_version"])


@pytest.fixture(scope="module")
def host(loaded: LoadedObject) -> SateenHost:
    default_host = ctypes.CFUNCTYPE(Host)(loaded.addresses["sateen_default_host"])
    return default_host().contents


def test_machines_without_threads_have_it_and_no_pool() -> None:
    for triple in (
        WASM,
        CORTEX_M,
        "aarch64-none-elf",
        "x86_64-pc-windows-msvc",
        "arm64-apple-macosx",
        "aarch64-linux-android",
    ):
        assert has_host(triple)
        assert not has_pool(triple)
        assert host_text(triple) == host_text(WASM)
    assert host_text("x86_64-linux-gnu") != host_text(WASM)


def test_it_has_this_version_and_one_thread(loaded: LoadedObject, host: SateenHost) -> None:
    assert ctypes.CFUNCTYPE(ctypes.c_uint32)(loaded.addresses["sateen_abi_version"])() == ABI_VERSION
    assert (host.abi_version, host.threads, host.device_count) == (ABI_VERSION, 1, 0)


@pytest.mark.parametrize(("extent", "chunks"), [(5, [(0, 5)]), (1, [(0, 1)]), (0, []), (-3, [])])
def test_a_parallel_loop_is_one_chunk_in_its_caller(
    host: SateenHost, extent: int, chunks: list[tuple[int, int]]
) -> None:
    found = []

    @Task
    def task(closure: int, begin: int, end: int) -> int:
        found.append((closure, begin, end))
        return 7

    status = ParallelFor(host.parallel_for)(host, task, 64, extent)
    assert found == [(64, *chunk) for chunk in chunks]
    assert status == (7 if chunks else 0)


def test_it_gives_no_memory_and_says_nothing(host: SateenHost, capfd: pytest.CaptureFixture[str]) -> None:
    assert Alloc(host.alloc)(host, 16, 64) is None
    Free(host.free)(host, None)
    Log(host.log)(host, 1, b"hello")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
def test_the_table_is_laid_out_as_code_expects_it(architecture: Architecture) -> None:
    data = target_machine(architecture.triple, "", "").target_data
    (table,) = llvm.parse_assembly(host_text(WASM)).global_variables
    offsets = [data.get_element_offset(table.global_value_type, field) for field in (3, 4, 5, 7, 8)]
    abi = architecture.abi
    assert offsets == [abi.parallel_for, abi.alloc, abi.free, abi.devices, abi.device_count]


SHARED = """\
function f(a: float32[4] align 4, b: out float32[6, 4] align 4)
  parallel i in [0, {extent}):
    allocate t: float32[4]
    for j in [0, 4):
      t[j] = a[j] * 2.0f
    for k in [0, 4):
      b[i, k] = t[k]"""


def test_what_the_iterations_of_a_parallel_loop_share_comes_before_the_serial_one() -> None:
    function = serialize_loops(parse_function(SHARED.format(extent=6)))
    assert (
        str(function)
        == """\
function f(a: float32[4] align 4, b: out float32[6, 4] align 4)
  allocate t: float32[4]
  for j in [0, 4):
    t[j] = a[j] * 2.0f
  for i in [0, 6):
    for k in [0, 4):
      b[i, k] = t[k]"""
    )


def test_it_stays_inside_where_the_loop_may_have_no_iteration() -> None:
    text = (
        SHARED.replace("a: float32[4]", "a: float32[4], c: int64[n]")
        .replace("{extent}", "n - 1")
        .replace("function f", "function f[n]")
    )
    function = serialize_loops(parse_function(text))
    assert str(function) == text.replace("parallel", "for")


def test_nested_parallel_loops_are_all_serial() -> None:
    text = """\
function f(b: out float32[6, 4] align 4)
  parallel i in [0, 6):
    for k in [0, 2):
      parallel j in [0, 4):
        b[i, j] = 1.0f"""
    assert str(serialize_loops(parse_function(text))) == text.replace("parallel", "for")


def test_a_function_without_parallel_loops_stays_as_it_is() -> None:
    function = parse_function(SHARED.format(extent=6).replace("parallel", "for"))
    assert serialize_loops(function) is function
