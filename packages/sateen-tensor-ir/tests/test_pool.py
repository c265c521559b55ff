"""The fork-join pool and default host table, loaded from a library and called as C and Python hosts call them."""

import ctypes
import os
import re
import subprocess
import sys
import threading
from _ctypes import dlclose
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from sateen.runtime.abi import ABI_VERSION, SateenHost
from sateen.runtime.errors import CodegenError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen import machine_of
from sateen.tensor_ir.codegen.llvm.long_integers import long_integers_text
from sateen.tensor_ir.host import has_host, host_text
from sateen.tensor_ir.link import link_shared
from sateen.tensor_ir.targets import architecture_named

HOST, AARCH64 = Target.host().triple, "aarch64-unknown-linux-gnu"
ARM, RISCV64 = "armv7-unknown-linux-gnueabihf", "riscv64-unknown-linux-gnu"

if not has_host(HOST):
    pytest.skip(f"there is no thread pool for {HOST}", allow_module_level=True)

PROCESSORS = """\
define internal i32 @sched_getaffinity(i32 %process, SIZE %bytes, ptr %mask) {
  store i64 15, ptr %mask
  ret i32 0
}
"""
"""Four processors, whatever the machine has, in place of the C library's answer."""

THREAD_LIMIT = """
@threads.started = internal global i32 0
define internal i32 @start_thread(ptr %thread, ptr %attributes, ptr %routine, ptr %argument) {
  %started = load i32, ptr @threads.started
  %more = add i32 %started, 1
  store i32 %more, ptr @threads.started
  %is.refused = icmp sge i32 %started, MOST
  br i1 %is.refused, label %refused, label %created
refused:
  ret i32 11  ; EAGAIN
created:
  %status = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr %routine, ptr %argument)
  ret i32 %status
}
"""

OBSERVERS = """
define i32 @pool_size() {
  %at = getelementptr %struct.pool, ptr @sateen_pool, i32 0, i32 2
  %size = load i32, ptr %at
  ret i32 %size
}
define i32 @pool_spins() {
  %at = getelementptr %struct.pool, ptr @sateen_pool, i32 0, i32 3
  %spins = load i32, ptr %at
  ret i32 %spins
}
define void @set_spins(i32 %spins) {
  store i32 %spins, ptr @sateen_pool_spins
  ret void
}
define void @set_groups(ptr %mount, ptr %membership) {
  store ptr %mount, ptr @sateen_cgroup_mount
  store ptr %membership, ptr @sateen_cgroup_membership
  ret void
}
define i32 @increment(ptr %array, i64 %begin, i64 %end) {
entry:
  br label %next
next:
  %index = phi i64 [ %begin, %entry ], [ %following, %work ]
  %is.more = icmp slt i64 %index, %end
  br i1 %is.more, label %work, label %done
work:
  %at = getelementptr i64, ptr %array, i64 %index
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  %following = add i64 %index, 1
  br label %next
done:
  ret i32 0
}
define void @increment_often(ptr %host, ptr %array, i64 %extent, i64 %times) {
entry:
  br label %next
next:
  %count = phi i64 [ 0, %entry ], [ %following, %next ]
  call i32 @parallel_for(ptr %host, ptr @increment, ptr %array, i64 %extent)
  %following = add i64 %count, 1
  %is.more = icmp slt i64 %following, %times
  br i1 %is.more, label %next, label %done
done:
  ret void
}
"""
EXPORTS = (
    "sateen_abi_version", "sateen_default_host", "pool_size", "pool_spins", "set_spins", "set_groups",
    "increment_often",
)  # fmt: skip

Task = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
ParallelFor = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, Task, ctypes.c_void_p, ctypes.c_int64)
Allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
Free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
Log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)


def compile_object(text: str, triple: str) -> bytes:
    machine = machine_of(Target.parse(f"llvm -mtriple={triple}"))
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple = triple
    return bytes(machine.emit_object(module))


def pool_library(processors: str = PROCESSORS, triple: str = HOST, most_started: int = 1000) -> bytes:
    """A library of the pool and its observers; with `processors` "", it asks the C library how many there are.

    The system starts `most_started` threads, no more.
    """
    text = re.sub(r"(call (signext )?i32) @pthread_create\(", r"\1 @start_thread(", host_text(triple))
    if processors:
        size = f"i{8 * architecture_named(triple).abi.pointer_bytes}"
        text = re.sub(r"declare (signext )?i32 @sched_getaffinity\(.*\n", processors.replace("SIZE", size), text)
    text += THREAD_LIMIT.replace("MOST", str(most_started)) + long_integers_text(
        Target.parse(f"llvm -mtriple={triple}")
    )
    return link_shared(compile_object(text + OBSERVERS, triple), EXPORTS, "libpool.so")


@dataclass(frozen=True)
class Pool:
    """A loaded pool library."""

    library: ctypes.CDLL
    host: SateenHost

    def table(self, threads: int = 0) -> SateenHost:
        table = SateenHost.from_buffer_copy(self.host)
        table.threads = threads
        return table

    def run(self, task: Callable[[int, int], int], extent: int, threads: int = 0) -> int:
        """The status of parallel_for over [0, extent), given task(begin, end)."""
        callback = Task(lambda closure, begin, end: task(begin, end))
        return int(ParallelFor(self.host.parallel_for)(ctypes.byref(self.table(threads)), callback, None, extent))

    def increments(self, extent: int, times: int, threads: int = 0) -> list[int]:
        """An array of `extent` zeros after `times` parallel regions have added one to each element."""
        array = (ctypes.c_int64 * extent)()
        self.library.increment_often(
            ctypes.byref(self.table(threads)), array, ctypes.c_int64(extent), ctypes.c_int64(times)
        )
        return list(array)


def load(image: bytes, path: Path, *, cgroup: str = "/nowhere", membership: str = "/nowhere") -> Pool:
    """The pool of a library, which finds control groups and their membership at these paths."""
    path.write_bytes(image)
    library = ctypes.CDLL(str(path))
    library.sateen_default_host.restype = ctypes.POINTER(SateenHost)
    library.paths = [ctypes.create_string_buffer(place.encode()) for place in (cgroup, membership)]
    library.set_groups(*library.paths)
    return Pool(library, library.sateen_default_host().contents)


@pytest.fixture(scope="module")
def image() -> bytes:
    return pool_library()


@pytest.fixture
def pool(image: bytes, tmp_path: Path) -> Iterator[Pool]:
    pool = load(image, tmp_path / "pool.so")
    yield pool
    dlclose(pool.library._handle)


def chunks_of(pool: Pool, extent: int, threads: int = 0) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []

    def task(begin: int, end: int) -> int:
        found.append((begin, end))
        return 0

    assert pool.run(task, extent, threads) == 0
    return sorted(found)


def test_the_default_table_is_of_this_abi(pool: Pool) -> None:
    assert pool.library.sateen_abi_version() == pool.host.abi_version == ABI_VERSION
    assert (pool.host.threads, pool.host.devices, pool.host.device_count) == (0, None, 0)


@pytest.mark.parametrize("threads", [0, 1, 2, 3, 4, 9])
def test_chunks_are_contiguous_and_of_nearly_equal_length(pool: Pool, threads: int) -> None:
    for extent in (1, 2, 3, 4, 5, 7, 8, 63, 1000, 1001):
        chunks = chunks_of(pool, extent, threads)
        begins, ends = zip(*chunks, strict=True)
        assert (begins[0], ends[-1]) == (0, extent)
        assert begins[1:] == ends[:-1]
        assert len(chunks) == min(extent, 4, threads or 4)
        lengths = [end - begin for begin, end in chunks]
        assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("extent", [0, -1, -(1 << 63)])
def test_an_empty_range_runs_nothing(pool: Pool, extent: int) -> None:
    assert chunks_of(pool, extent) == []


def test_every_element_is_visited_once_in_each_of_many_regions(pool: Pool) -> None:
    for extent in (1, 2, 5, 1000):
        assert pool.increments(extent, 5000) == [5000] * extent


def test_workers_that_fall_asleep_at_once_lose_nothing(tmp_path: Path) -> None:
    pool = load(pool_library(), tmp_path / "sleepy.so")
    pool.library.set_spins(0)
    assert pool.increments(1000, 3000) == [3000] * 1000
    dlclose(pool.library._handle)


def test_the_caller_runs_the_first_chunk(pool: Pool) -> None:
    threads: dict[int, int] = {}

    def task(begin: int, _end: int) -> int:
        threads[begin] = threading.get_native_id()
        return 0

    pool.run(task, 4)
    assert threads[0] == threading.get_native_id()


def test_workers_run_while_the_caller_runs(pool: Pool) -> None:
    arrived = threading.Barrier(4, timeout=30)
    assert pool.run(lambda begin, end: arrived.wait() * 0, 4) == 0


def test_the_status_is_that_of_the_lowest_chunk_that_failed(pool: Pool) -> None:
    assert pool.run(lambda begin, end: 0, 4) == 0
    assert pool.run(lambda begin, end: begin, 4) == 1
    assert pool.run(lambda begin, end: 100 + begin, 4) == 100
    assert pool.run(lambda begin, end: 7 if begin == 3 else 0, 4) == 7
    assert pool.run(lambda begin, end: -5, 1) == -5


def test_all_chunks_end_before_a_failure_is_returned(pool: Pool) -> None:
    ended: list[int] = []

    def task(begin: int, _end: int) -> int:
        ended.append(begin)
        return 3

    assert pool.run(task, 4) == 3
    assert sorted(ended) == [0, 1, 2, 3]


def test_a_nested_region_runs_serially_in_its_caller(pool: Pool) -> None:
    inner: list[tuple[int, int, bool]] = []

    def outer(outer_begin: int, _outer_end: int) -> int:
        thread = threading.get_native_id()

        def task(begin: int, end: int) -> int:
            inner.append((begin, end, threading.get_native_id() == thread))
            return outer_begin

        return pool.run(task, 10)

    assert pool.run(outer, 4) == 1
    assert inner == [(0, 10, True)] * 4


def test_threads_that_call_at_once_do_not_wait_for_each_other(pool: Pool) -> None:
    results: list[list[int]] = []
    callers = [threading.Thread(target=lambda: results.append(pool.increments(1000, 2000))) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=60)
    assert results == [[2000] * 1000] * 4


def test_a_region_beside_another_one_runs_serially(pool: Pool) -> None:
    beside: list[list[tuple[int, int]]] = []

    def outer(begin: int, _end: int) -> int:
        if begin == 0:
            other = threading.Thread(target=lambda: beside.append(chunks_of(pool, 100)))
            other.start()
            other.join(timeout=60)
        return 0

    pool.run(outer, 4)
    assert beside == [[(0, 100)]]
    assert len(chunks_of(pool, 100)) == 4


def test_two_libraries_share_the_pool_of_a_table(pool: Pool, image: bytes, tmp_path: Path) -> None:
    other = load(image, tmp_path / "other.so")
    array = (ctypes.c_int64 * 100)()
    other.library.increment_often(ctypes.byref(pool.host), array, ctypes.c_int64(100), ctypes.c_int64(10))
    assert list(array) == [10] * 100
    dlclose(other.library._handle)


def test_unloading_ends_the_workers_and_a_fresh_load_works(image: bytes, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/task"))
    for number in range(20):
        pool = load(image, tmp_path / f"{number}.so")
        assert len(chunks_of(pool, 100)) == 4
        dlclose(pool.library._handle)
    # The kernel may still list the last thread that was joined.
    assert len(os.listdir("/proc/self/task")) <= before + 3


def test_unloading_a_pool_that_never_ran_is_safe(image: bytes, tmp_path: Path) -> None:
    pool = load(image, tmp_path / "pool.so")
    assert pool.library.pool_size() == 0
    dlclose(pool.library._handle)


@pytest.mark.parametrize(
    ("files", "threads"),
    [
        ({}, 4),
        ({"cpu.max": "max 100000\n"}, 4),
        ({"cpu.max": "100000 100000\n"}, 1),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "9000000 100000\n"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "300000\n"}, 4),
        ({"cpu.max": "garbage"}, 4),
    ],
)
def test_a_quota_of_the_control_group_bounds_the_threads(files: dict[str, str], threads: int, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    pool = load(pool_library(), tmp_path / "pool.so", cgroup=str(tmp_path))
    assert len(chunks_of(pool, 100)) == pool.library.pool_size() == threads
    dlclose(pool.library._handle)


@pytest.mark.parametrize(
    ("membership", "files", "threads"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "200000 100000"}, 2),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000"}, 2),
        ("0::/a/b\n", {"cpu.max": "300000 100000", "a/cpu.max": "200000 100000", "a/b/cpu.max": "400000 100000"}, 2),
        ("0::/a/b\n", {"cpu.max": "100000 100000", "a/cpu.max": "200000 100000"}, 1),
        ("0::/a/b", {"a/b/c/cpu.max": "100000 100000", "b/cpu.max": "100000 100000"}, 4),
        ("0::/\n", {"cpu.max": "200000 100000"}, 2),
        ("0::/not/in/this/container\n", {"cpu.max": "200000 100000"}, 2),
        ("0::/../outside\n", {"cpu.max": "300000 100000"}, 3),
        ("4:memory:/m\n3:cpu,cpuacct:/a/b\n0::/\n", {"cpu/a/cpu.cfs": "200000 100000"}, 2),
        ("3:cpuacct,cpu:/a\n", {"cpu/cpu.cfs": "300000 100000", "cpu/a/cpu.cfs": "200000 100000"}, 2),
        ("3:cpuset:/a\n2:memory:/a\n1:name=cpu:/a\n", {"cpu/a/cpu.cfs": "200000 100000"}, 4),
        ("1:cpu:/a\n0::/b\n", {"cpu/a/cpu.cfs": "300000 100000", "b/cpu.max": "200000 100000"}, 2),
        ("0::/a:b/c\n", {"a:b/cpu.max": "200000 100000"}, 2),
        ("", {"cpu.max": "200000 100000"}, 2),
        ("garbage\n:\n::\n0:\n0::/a\n", {"a/cpu.max": "200000 100000"}, 2),
        ("\n" * 3, {}, 4),
        (f"0::/{'n' * 9000}\n", {"cpu.max": "200000 100000"}, 2),
        (f"0::/{'n' * 20000}\n", {"cpu.max": "200000 100000"}, 2),
    ],
)
def test_the_least_quota_of_nested_control_groups_counts(
    membership: str, files: dict[str, str], threads: int, tmp_path: Path
) -> None:
    mount = tmp_path / "cgroup"
    for name, content in files.items():
        place = mount / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".max"):
            place.write_text(f"{content}\n")
        else:
            for suffix, number in zip(("_quota_us", "_period_us"), content.split(), strict=True):
                place.with_name(place.name + suffix).write_text(f"{number}\n")
    (tmp_path / "membership").write_text(membership)
    paths = {"cgroup": str(mount), "membership": str(tmp_path / "membership")}
    pool = load(pool_library(), tmp_path / "pool.so", **paths)
    assert len(chunks_of(pool, 100)) == pool.library.pool_size() == threads
    dlclose(pool.library._handle)


@pytest.mark.parametrize("started", [0, 1, 2])
def test_a_pool_makes_do_with_the_threads_that_the_system_starts(started: int, tmp_path: Path) -> None:
    pool = load(pool_library(most_started=started), tmp_path / "pool.so")
    assert len(chunks_of(pool, 100)) == pool.library.pool_size() == 1 + started
    assert pool.increments(1000, 100) == [100] * 1000
    dlclose(pool.library._handle)


def test_memory_is_aligned_as_asked(pool: Pool) -> None:
    allocate, free = Allocate(pool.host.alloc), Free(pool.host.free)
    for alignment in (1, 2, 8, 64, 4096):
        memory = allocate(None, 100, alignment)
        assert memory % alignment == 0
        ctypes.memset(memory, 0xFF, 100)
        free(None, memory)
    assert allocate(None, 100, 24) is None
    assert allocate(None, (1 << 64) - 4096, 64) is None
    free(None, None)


def test_messages_go_to_standard_error(pool: Pool, capfd: pytest.CaptureFixture[str]) -> None:
    Log(pool.host.log)(None, 1, b"hello")
    assert capfd.readouterr().err == "sateen: hello\n"


def test_other_triples_are_refused() -> None:
    for triple in ("i686-unknown-linux-gnu", "riscv32-unknown-linux-gnu"):
        with pytest.raises(CodegenError) as caught:
            host_text(triple)
        assert str(caught.value) == f"the thread pool is for x86_64, aarch64, arm, riscv64 on Linux, not for {triple!r}"


PROLOGUE = """
import ctypes, os, sys
from sateen.runtime.abi import ABI_VERSION, SateenHost

library = ctypes.CDLL(sys.argv[1])
library.sateen_default_host.restype = ctypes.POINTER(SateenHost)
nowhere = ctypes.create_string_buffer(b"/nowhere")
library.set_groups(nowhere, nowhere)

def increments(times=100):
    array = (ctypes.c_int64 * 1000)()
    library.increment_often(library.sateen_default_host(), array, ctypes.c_int64(1000), ctypes.c_int64(times))
    return set(array) == {times}
"""


def run_in_process(program: str, image: bytes, folder: Path) -> None:
    """Runs `program` after PROLOGUE in an interpreter of its own, which must end well and say nothing."""
    (folder / "pool.so").write_bytes(image)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROLOGUE + program, str(folder / "pool.so")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_process_exits_while_its_pool_is_alive(image: bytes, tmp_path: Path) -> None:
    run_in_process("assert increments()", image, tmp_path)


def test_a_forked_child_starts_a_pool_of_its_own(image: bytes, tmp_path: Path) -> None:
    program = """
assert increments()
assert library.pool_size() == 4
for attempt in range(10):
    child = os.fork()
    if child == 0:
        fresh = library.pool_size() == 0
        fine = increments() and len(os.listdir("/proc/self/task")) == 4
        os._exit(0 if fresh and fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert increments()
"""
    run_in_process(program, image, tmp_path)


def test_a_child_that_is_forked_amid_a_region_starts_a_pool_of_its_own(image: bytes, tmp_path: Path) -> None:
    program = """
import threading
Task = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
host = library.sateen_default_host()
parallel_for = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, Task, ctypes.c_void_p, ctypes.c_int64)(
    host.contents.parallel_for)
inside, may_end = threading.Barrier(5), threading.Event()

def wait(closure, begin, end):
    inside.wait()
    may_end.wait()
    return 0

task = Task(wait)
other = threading.Thread(target=lambda: parallel_for(ctypes.addressof(host.contents), task, None, 4))
other.start()
inside.wait()
child = os.fork()
if child == 0:
    fresh = library.pool_size() == 0
    os._exit(0 if fresh and increments() and library.pool_size() == 4 else 1)
assert os.waitpid(child, 0)[1] == 0
may_end.set()
other.join()
assert increments()
"""
    run_in_process(program, image, tmp_path)


def test_one_allowed_processor_means_no_workers(tmp_path: Path) -> None:
    program = """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
threads = os.listdir("/proc/self/task")
assert increments(10000)
assert library.pool_size() == 1
assert os.listdir("/proc/self/task") == threads
"""
    run_in_process(program, pool_library(processors=""), tmp_path)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_threads_stop_spinning_when_processors_are_taken_away(tmp_path: Path) -> None:
    program = """
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
assert increments()
assert library.pool_size() == 2
assert library.pool_spins() > 0
for thread in os.listdir("/proc/self/task"):
    os.sched_setaffinity(int(thread), {min(os.sched_getaffinity(0))})
while library.pool_spins() > 0:
    assert increments()
assert increments(3000)
assert library.pool_spins() == 0
"""
    run_in_process(program, pool_library(processors=""), tmp_path)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_a_worker_that_is_woken_keeps_off_the_processor_of_its_caller(tmp_path: Path) -> None:
    program = """
library.set_spins(0)
allowed = set(sorted(os.sched_getaffinity(0))[:2])
os.sched_setaffinity(0, allowed)
threads = set(os.listdir("/proc/self/task"))
assert increments()
worker, = set(os.listdir("/proc/self/task")) - threads
while os.sched_getaffinity(int(worker)) == allowed:
    assert increments()
assert len(os.sched_getaffinity(int(worker)) & allowed) == 1
"""
    run_in_process(program, pool_library(processors=""), tmp_path)


def test_a_jit_stops_the_pool_before_it_unmaps_the_code(tmp_path: Path) -> None:
    content = compile_object(host_text(HOST) + OBSERVERS, HOST)
    (tmp_path / "pool.o").write_bytes(content)
    program = f"""
import ctypes, gc
import llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
compiler = llvm.create_lljit_compiler(machine)
builder = llvm.JITLibraryBuilder().add_object_img(open({str(tmp_path / "pool.o")!r}, "rb").read()).add_current_process()
for name in ("sateen_default_host", "sateen_pool_stop", "increment_often"):
    builder = builder.export_symbol(name)
code = builder.link(compiler, "pool")
long, pointer = ctypes.c_int64, ctypes.c_void_p
array = (long * 1000)()
host = ctypes.CFUNCTYPE(pointer)(code["sateen_default_host"])()
increment_often = ctypes.CFUNCTYPE(None, pointer, pointer, long, long)(code["increment_often"])
increment_often(host, ctypes.cast(array, pointer), 1000, 100)
stop = ctypes.CFUNCTYPE(None)(code["sateen_pool_stop"])
stop()
stop()
increment_often(host, ctypes.cast(array, pointer), 1000, 100)
assert set(array) == {{200}}
del code
gc.collect()
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("triple", "run_on"), [(AARCH64, "run_on_aarch64"), (ARM, "run_on_arm"), (RISCV64, "run_on_riscv64")]
)
def test_the_pool_runs_on_other_machines(
    triple: str, run_on: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run = request.getfixturevalue(run_on)
    (tmp_path / "pool.so").write_bytes(pool_library(triple=triple))
    (tmp_path / "main.c").write_text(
        """#include <dlfcn.h>
        #include <stdint.h>
        #include <stdio.h>
        int main(void) {
          void *library = dlopen("./pool.so", RTLD_NOW);
          if (!library) { puts(dlerror()); return 1; }
          static int64_t array[1000];
          ((void (*)(const char *, const char *))dlsym(library, "set_groups"))("/nowhere", "/nowhere");
          void *host = ((void *(*)(void))dlsym(library, "sateen_default_host"))();
          ((void (*)(void *, int64_t *, int64_t, int64_t))dlsym(library, "increment_often"))(host, array, 1000, 200);
          for (int i = 0; i < 1000; ++i) if (array[i] != 200) return 2;
          if (((int (*)(void))dlsym(library, "pool_size"))() != 4) return 3;
          return dlclose(library);
        }
        """
    )
    assert run(tmp_path, ["-ldl"], []) == ""
