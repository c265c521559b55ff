"""From a schedule to functions of this process."""

import ctypes
import os
import re
from pathlib import Path

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import ArgumentError, ArtifactError, CodegenError, ScheduleError, Target, TargetError, array
from sateen.runtime.abi import DLTensor, Status
from sateen.tensor_ir import build, build_functions, lower, te


def test_a_parallel_loop_has_storage_of_its_own_for_what_is_computed_inside() -> None:
    rows, columns = 4, 3000  # a row is too large for the stack of a task, so that it comes from the host
    A = te.placeholder((rows, columns), name="A")
    B = te.compute((rows, columns), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((rows, columns), lambda i, j: B[i, columns - 1 - j] + 1.0, name="C")
    s = te.create_schedule(C)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].parallel(C.op.axis[0])
    a = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    c = np.empty_like(a)
    build(s, [A, C])(a, c)
    assert np.array_equal(c, a[:, ::-1] * 2 + 1)


def test_schedules_and_compiled_functions_are_told_on_a_line() -> None:
    A = te.placeholder((4, 8), name="A")
    tensors = [A]
    for i in range(50):
        tensors.append(te.compute((4, 8), lambda i, j, x=tensors[-1]: x[i, j] + 1.0, name=f"B{i}"))
    s = te.create_schedule(tensors[-1])
    function = lower(s, [A, tensors[-1]], name="f")
    assert repr(s) == "Schedule(A, B0, B1, B2, … 47 more)"
    assert repr(function) == "Function(f(A: float32[4, 8], B49: float32[4, 8]))"
    assert repr(build_functions([function])) == "CompiledModule(f(A: float32[4, 8], B49: float32[4, 8] out))"


HERE = Target.host()
ELSEWHERE = [
    f"{'aarch64' if HERE.architecture == 'x86_64' else 'x86_64'}-unknown-linux-gnu",
    f"{HERE.architecture}-{'pc-windows-msvc' if 'linux' in HERE.triple else 'unknown-linux-gnu'}",
]


@pytest.mark.parametrize("triple", ELSEWHERE)
def test_code_for_another_architecture_or_system_is_not_loaded(triple: str) -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    f = build(te.create_schedule(B), [A, B], target=f"llvm -mtriple={triple}")
    expected = f"compiled for llvm -mtriple={triple}, but this machine is {HERE.triple}; use export_library"
    with pytest.raises(TargetError, match=re.escape(expected)):
        f(np.zeros(4, np.float32), np.zeros(4, np.float32))


def doubled() -> tuple[te.Tensor, te.Tensor, te.Schedule]:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    return A, B, te.create_schedule(B)


@pytest.mark.parametrize("name", ["", "a b", "2f", "_f", "sateen_f", "int", "exp", "memcpy", "pthread_create"])
def test_a_name_that_is_not_free_in_c_is_refused(name: str) -> None:
    A, B, s = doubled()
    message = f"expected an identifier that C leaves to its users for a function, found '{name}'"
    with pytest.raises(CodegenError, match=message):
        build(s, [A, B], name=name)


def test_unrolling_beyond_what_can_be_written_out_is_refused() -> None:
    A = te.placeholder((300, 300), name="A")
    B = te.compute((300, 300), lambda i, j: A[i, j] * 2.0, name="B")
    s = te.create_schedule(B)
    for axis in B.op.axis:
        s[B].unroll(axis)
    message = "f: expected at most 65536 statements once its unrolled loops (i, j) are written out, found 90000; split"
    with pytest.raises(CodegenError, match=re.escape(message)):
        build(s, [A, B], name="f")


def test_more_lanes_than_can_be_written_out_are_refused() -> None:
    A = te.placeholder((5000,), name="A")
    B = te.compute((5000,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B)
    s[B].vectorize(B.op.axis[0])
    with pytest.raises(
        CodegenError, match="f: expected at most 4096 lanes in the vectorized loop 'i', found 5000; split"
    ):
        build(s, [A, B], name="f")


def test_a_caller_in_c_is_told_of_a_null_pointer() -> None:
    A, B, s = doubled()
    function = build(s, [A, B]).module["run"]
    null_shape = ctypes.POINTER(ctypes.c_int64)()

    def status(**changed: object) -> int:
        arrays = [array(np.ones(4, np.float32)) for _ in range(2)]
        tensor = DLTensor.from_address(arrays[1].handle)
        for name, value in changed.items():
            setattr(tensor, name, value)
        pointers = (ctypes.c_void_p * 2)(*[a.handle for a in arrays])
        return function._call(None, pointers, 2)

    assert function._call(None, None, 2) == Status.NULL_ARGUMENT
    assert (status(), status(data=None), status(shape=null_shape)) == (0, *[Status.NULL_ARGUMENT | 1 << 8] * 2)


def test_unsigned_integers_have_magnitude_and_complement() -> None:
    A = te.placeholder((3,), "uint64", name="A")
    B = te.compute((3,), lambda i: te.abs(A[i]), name="B")
    C = te.compute((3,), lambda i: te.bitwise_not(A[i]), name="C")
    a = np.array([0, 1, 2**64 - 2], np.uint64)
    b, c = np.zeros_like(a), np.zeros_like(a)
    build(te.create_schedule([B, C]), [A, B, C])(a, b, c)
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(c, ~a)


def test_arguments_that_are_no_list_are_refused() -> None:
    A, _, s = doubled()
    with pytest.raises(ScheduleError, match="lower expects a list of tensors as arguments, found Tensor"):
        build(s, A)  # type: ignore[arg-type]


def test_an_argument_that_the_schedule_does_not_know_says_why() -> None:
    A, B, s = doubled()
    twin, other = te.placeholder((4,), name="A"), te.compute((4,), lambda i: A[i] - 1, name="other")
    for argument, why in ((twin, "another tensor of that name is"), (other, "nothing in it reads it")):
        message = f"lower: argument {argument.name!r} is no tensor of the schedule: {why}"
        with pytest.raises(ScheduleError, match=message):
            lower(s, [A, argument, B])


def test_a_library_in_no_folder_is_refused(tmp_path: Path) -> None:
    A, B, s = doubled()
    with pytest.raises(ArtifactError, match=r"f\.so: expected a folder to write the library to, found no .*missing"):
        build(s, [A, B]).export_library(tmp_path / "missing" / "f.so")


def test_a_library_in_use_is_replaced_by_another_file(tmp_path: Path) -> None:
    A, B, s = doubled()
    module, place = build(s, [A, B]), tmp_path / "f.so"
    module.export_library(place)
    before = place.stat().st_ino, (tmp_path / "f.h").stat().st_ino
    with place.open("rb"), (tmp_path / "f.h").open("rb"):
        module.export_library(place)
        assert not set(before) & {place.stat().st_ino, (tmp_path / "f.h").stat().st_ino}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.h", "f.so"]


def test_a_library_of_any_name_of_a_file_can_be_exported(tmp_path: Path) -> None:
    A, B, s = doubled()
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + b"\xff" * 250 + b".so"))
    build(s, [A, B]).export_library(place)
    assert runtime.load_module(place).functions.keys() == {"run"}


def test_names_that_metadata_can_not_hold_are_refused_before_anybody_loads_them() -> None:
    A = te.placeholder((4,), name="A" * 513)
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    with pytest.raises(CodegenError, match="expected at most 512 characters in the name of a function, found 513"):
        build(te.create_schedule(B), [A, B], name="f" * 513)
    long = build(te.create_schedule(B), [A, B], name="f" * 512)
    with pytest.raises(CodegenError, match="expected the name of a parameter as printable text of 1 to 512 characters"):
        long.library()
    out = np.empty(4, np.float32)
    long(np.ones(4, np.float32), out)
    assert out.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("triple", ["x86_64-linux-gnu", "aarch64-linux-gnu"])
def test_a_library_has_kernels_that_use_what_its_thread_pool_uses(triple: str) -> None:
    """Greatest numbers without a sign, and counts of bits, are functions of LLVM that the pool declares, too."""
    A = te.placeholder((8,), "uint64", name="A")
    B = te.compute((8,), lambda i: te.popcount(te.maximum(A[i], A[0])) + te.minimum(A[i], A[7]), name="B")
    library = build(te.create_schedule(B), [A, B], f"llvm -mtriple={triple}").library()
    assert b"sateen_default_host" in library


def test_a_library_for_musl_needs_its_c_library() -> None:
    A, B, s = doubled()
    libraries = [build(s, [A, B], f"llvm -mtriple=x86_64-linux-{c}").library() for c in ("gnu", "musl")]
    assert [(b"libc.so.6\0" in one, b"libc.so\0" in one, b"libpthread" in one) for one in libraries] == [
        (True, False, True),
        (False, True, False),
    ]


@pytest.mark.parametrize(("triple", "name"), [("arm64-linux-gnu", "aarch64"), ("amd64-linux-gnu", "x86_64")])
def test_a_library_is_made_by_whatever_name_of_its_architecture(triple: str, name: str) -> None:
    A, B, s = doubled()
    module, same = (build(s, [A, B], f"llvm -mtriple={t}") for t in (triple, f"{name}-linux-gnu"))
    assert module.llvm_text() == same.llvm_text()
    elf_machine = {"x86_64": 62, "aarch64": 183}[name]
    assert [int.from_bytes(m.library()[18:20], "little") for m in (module, same)] == [elf_machine] * 2


def test_a_library_for_linux_without_a_pool_is_refused() -> None:
    A, B, s = doubled()
    with pytest.raises(
        CodegenError, match="the thread pool is for x86_64, aarch64, arm, riscv64 on Linux, not for 'i686-l"
    ):
        build(s, [A, B], "llvm -mtriple=i686-linux-gnu").library()


def test_storage_that_does_not_fit_its_tensor_is_refused() -> None:
    A, B, s = doubled()
    for buffer, found in (
        (te.decl_buffer((3,), name="A"), "float32[3]"),
        (te.decl_buffer((4, 1), name="A"), "float32[4, 1]"),
        (te.decl_buffer((4,), "int32", name="A"), "int32[4]"),
        (te.decl_buffer((4,), name="A", scope="shared"), "float32[4] in shared memory"),
    ):
        message = f"lower: the buffer of 'A' expects float32[4], found {found}"
        with pytest.raises(ScheduleError, match=re.escape(message)):
            lower(s, [A, B], buffers={A: buffer})
    other = te.placeholder((4,), name="other")
    with pytest.raises(ScheduleError, match="lower: 'other' has a buffer, but is not among the arguments"):
        lower(s, [A, B], buffers={other: te.decl_buffer((4,))})


def test_what_is_no_schedule_or_function_is_refused() -> None:
    A, B, s = doubled()
    with pytest.raises(ScheduleError, match="lower expects a schedule, found Tensor"):
        lower(B, [A, B])  # type: ignore[arg-type]
    with pytest.raises(CodegenError, match="build_functions expects functions of loop IR, found Schedule"):
        build_functions([s])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (f"llvm -mtriple={HERE.triple} -mattr=+sse9", f"LLVM knows no feature '+sse9' for {HERE.architecture}"),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=skylak", "LLVM knows no processor 'skylak' for aarch64"),
        (
            "llvm -mtriple=aarch64-linux-gnu -mcpu=cortexa72",
            "LLVM knows no processor 'cortexa72' for aarch64; did you mean cortex-a72 or cortex-a725?",
        ),
        (
            "llvm -mtriple=x86_64-unknown-linux-gnu -mattr=+avx51f",
            "LLVM knows no feature '+avx51f' for x86_64; did you mean avx512f",
        ),
        ("llvm -mtriple=armv7-linux-gnueabihf -mattr=+avx2", "LLVM knows no feature '+avx2' for armv7"),
        (
            "llvm -mtriple=thumbv7m-none-eabi",
            "expected a processor with registers for floating-point numbers, found thumbv7m-none-eabi; name one",
        ),
        ("llvm -mtriple=thumbv6m-none-eabi -mcpu=cortex-m0", "registers for floating-point numbers, found thumbv6m-"),
        (
            "llvm -mtriple=riscv64-linux-gnu -mattr=-d",
            "expected d, whose registers pass numbers in calls on Linux, found it removed; give an ABI without them",
        ),
        ("llvm -mtripl=x86_64-unknown-linux-gnu", "found '-mtripl'; did you mean -mtriple or -mattr?"),
        ("cuda-c -mcpu=sm_98", "LLVM knows no processor 'sm_98' for nvptx64; did you mean sm_90 or"),
        (f"llvm -mtriple={HERE.triple} -mtune=znver4", "expected no option -mtune, which LLVM is not told of"),
    ],
)
def test_a_target_that_would_not_be_honoured_is_refused(target: str, message: str) -> None:
    A, B, s = doubled()
    with pytest.raises(TargetError, match=re.escape(message)):
        build(s, [A, B], target=target)


def test_floats_of_8_bits_are_refused() -> None:
    A = te.placeholder((4,), dtype="float8_e5m2", name="A")
    B = te.compute((4,), lambda i: A[i] + A[i], name="B")
    with pytest.raises(CodegenError, match="expected elements of another type than float8_e5m2"):
        build(te.create_schedule(B), [A, B])


def test_an_extent_may_be_a_quotient_or_a_remainder() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n % 3 + (n - 8) // 4 + 3,), lambda i: A[0], name="B")
    f = build(te.create_schedule(B), [A, B])
    b = np.zeros(1 - 1 + 3, np.float32)  # 7 % 3 + floor(-1 / 4) + 3
    f(np.ones(7, np.float32), b)
    assert (b == 1).all()


def test_each_output_is_checked_against_every_other_argument() -> None:
    A = te.placeholder((4,), name="A")
    outputs = [te.compute((4,), lambda i, n=n: A[i] * float(n), name=f"B{n}") for n in range(60)]
    function = lower(te.create_schedule(outputs), [A, *outputs], "many")
    module = build_functions([function])
    data = np.ones((62, 4), np.float32)
    module["many"](data[0], *data[1:61])
    np.testing.assert_array_equal(data[:61, 0], [1, *range(60)])
    for place in (0, 1, 37, 58):
        others = [data[place] if n == 59 else data[n + 1] for n in range(60)]
        with pytest.raises(ArgumentError, match="expected memory of its own, found memory that another argument uses"):
            module["many"](data[0], *others)
    module["many"](data[0], *data[1:60], data[61])
