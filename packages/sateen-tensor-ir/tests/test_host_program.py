"""Host programs: what a host asks of a device, as text, interpreted, and as machine code against OpenCL."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import DeviceFunctions
from sateen.runtime.abi import DLDataType, DLTensor, Status
from sateen.runtime.device import Device, DeviceKind, cpu, cuda, opencl
from sateen.runtime.devices import OpenDevices
from sateen.runtime.devices.process_devices import DRIVERS
from sateen.runtime.errors import CodegenError, DeviceError, ExecutionError, LoweringError, TargetError
from sateen.tensor_ir import CompiledModule, build, build_functions, te
from sateen.tensor_ir.interpret import loop_oracle
from sateen.tensor_ir.ir.buffer import decl_buffer
from sateen.tensor_ir.ir.equal import why_different
from sateen.tensor_ir.ir.expr import Var, const
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.ir.tokens import ParseError
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.lowering import lower

FLOAT = DLDataType(2, 32, 1)
SUMS = """
function f[n](A: float32[4, n], B: out float32[n])
  allocate T: float32[n]
    thread blockIdx.x i in [0, n):
      T[i] = 0.0f
    for k in [0, 4):
      thread blockIdx.x i in [0, n):
        T[i] = T[i] + A[k, i]
    thread blockIdx.x i in [0, n):
      B[i] = T[i]
"""
HOST = """\
function f[n](A: float32[4, n] on opencl(0), B: out float32[n] on opencl(0))
  allocate T: float32[n] on opencl(0)
  launch f_0(T + 0, n) grid [n, 1, 1] block [1, 1, 1] on opencl(0)
  for k in [0, 4):
    launch f_1(A + 0, T + 0, n, k) grid [n, 1, 1] block [1, 1, 1] on opencl(0)
  launch f_2(B + 0, T + 0, n) grid [n, 1, 1] block [1, 1, 1] on opencl(0)"""


def function(text: str, **on_host: object) -> Function:
    """The function of a text; parameters that are named get a declared device."""
    f = parse_function(dedent(text))
    for b in f.parameters:
        if b.name in on_host:
            object.__setattr__(b, "device", on_host[b.name])
    return f


def test_a_host_launches_kernels_within_its_own_loops() -> None:
    program = build_functions([function(SUMS)], "opencl").program
    assert str(program.host) == HOST
    assert why_different(program.host, parse_function(HOST)) is None
    assert [k.name for k in program.kernels] == ["f_0", "f_1", "f_2"]
    assert [[v.name for v in k.scalars] for k in program.kernels] == [["n"], ["n", "k"], ["n"]]


def test_it_is_interpreted_with_its_kernels() -> None:
    program = build_functions([function(SUMS)], "opencl").program
    a = np.arange(20, dtype=np.float32).reshape(4, 5)
    b = np.zeros(5, np.float32)
    loop_oracle.run(program.host, [a, b], kernels=program.kernels)
    np.testing.assert_array_equal(b, a.sum(0))


def test_storage_of_a_symbolic_size_with_padded_rows_is_interpreted() -> None:
    n, block = te.var("n"), te.thread_axis("blockIdx.x")
    a = te.placeholder((4, n), name="A")
    double = te.compute((4, n), lambda i, j: a[i, j] * 2.0, name="B")
    result = te.compute((4, n), lambda i, j: double[i, j] + 1.0, name="C")
    s = te.create_schedule(result)
    s[double].storage_align(double.op.axis[0], 8, 3)
    for stage in (double, result):
        s[stage].bind(stage.op.axis[1], block)
    program = build(s, [a, result], target="opencl", name="f").program
    assert "allocate B: float32[4, n] strides [n + (3 - n) % 8, 1] on opencl(0)" in str(program.host)
    data, c = np.arange(20, dtype=np.float32).reshape(4, 5), np.zeros((4, 5), np.float32)
    loop_oracle.run(program.host, [data, c], kernels=program.kernels)
    np.testing.assert_array_equal(c, data * 2 + 1)


def test_it_runs_as_machine_code(launch: Any) -> None:
    a = np.arange(20, dtype=np.float32).reshape(4, 5)
    b = np.zeros(5, np.float32)
    launch(function(SUMS), a, b)
    np.testing.assert_array_equal(b, a.sum(0))
    own = [entry for entry in launch.log if not entry.startswith("free")]
    assert own == ["alloc 20", "launch f_0 [5, 1, 1] [1, 1, 1]", *["launch f_1 [5, 1, 1] [1, 1, 1]"] * 4,
                   "launch f_2 [5, 1, 1] [1, 1, 1]"]  # fmt: skip


def test_parameters_on_the_host_are_copied() -> None:
    program = build_functions([function(SUMS, A=cpu(), B=cpu())], "opencl").program
    lines = str(program.host).splitlines()
    assert lines[:3] == [
        "function f[n](A: float32[4, n] align 4 on cpu(0), B: out float32[n] align 4 on cpu(0))",
        "  allocate A_1: float32[4, n] on opencl(0)",
        "  allocate B_1: float32[n] on opencl(0)",
    ]
    copies = [line.strip() for line in lines if "copy" in line or "wait" in line]
    assert [re.sub(r", .* on", ", … on", copy) for copy in copies] == [
        "copy A_1 + 0 = A + 0, … on opencl(0)",
        "copy B_1 + 0 = B + 0, … on opencl(0)",
        "copy B + 0 = B_1 + 0, … on opencl(0)",
        "wait on opencl(0)",
    ]
    a, b = np.arange(20, dtype=np.float32).reshape(4, 5), np.zeros(5, np.float32)
    loop_oracle.run(program.host, [a, b], kernels=program.kernels)
    np.testing.assert_array_equal(b, a.sum(0))


@pytest.mark.parametrize("on_host", [{"A": cpu()}, {"B": cpu()}, {"A": cpu(), "B": cpu()}], ids=" and ".join)
def test_it_copies_between_host_and_device(launch: Any, on_host: dict[str, object]) -> None:
    a, b = np.arange(20, dtype=np.float32).reshape(4, 5), np.full(5, 9, np.float32)
    launch(function(SUMS, **on_host), a, b)
    np.testing.assert_array_equal(b, a.sum(0))
    assert "sync 0" in launch.log
    assert not launch.memory


def test_a_schedule_says_what_is_on_the_host(launch: Any) -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b)
    block, thread = s[b].split(b.op.axis[0], 8)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    on_host = {t: decl_buffer((n,), name=t.name, device="cpu(0)") for t in (a, b)}
    compiled = build(s, [a, b], "opencl", buffers=on_host)
    x, y = np.arange(19, dtype=np.float32), np.zeros(19, np.float32)
    launch.run(compiled, x, y)
    np.testing.assert_array_equal(y, x * 2)
    signature = compiled.host.signatures[0]
    assert [p.device for p in signature.parameters] == [DeviceKind.CPU, DeviceKind.CPU]


@pytest.mark.parametrize(("at", "code"), [("alloc", "OUT_OF_MEMORY"), ("copy", "QUEUE"), ("launch", "LAUNCH")])
def test_what_fails_gives_memory_back(launch: Any, at: str, code: str) -> None:
    compiled = build_functions([function(SUMS, A=cpu(), B=cpu())], "opencl")
    launch.fail_at = at
    try:
        with pytest.raises(RuntimeError, match=code):
            launch.run(compiled, np.zeros((4, 5), np.float32), np.zeros(5, np.float32))
    finally:
        launch.fail_at = ""
    assert not launch.memory


QUEUES = """
function f(A: float32[4] on cpu(0), B: out float32[4] on cpu(0))
  allocate S: float32[4] on opencl(0)
  allocate T: float32[4] on opencl(0)
  copy S + 0 = A + 0, 16 on opencl(0) queue 1
  wait on opencl(0) queue 1 by opencl(0)
  copy T + 8 = S + 0, 8 on opencl(0)
  copy T + 0 = S + 8, 8 on opencl(0)
  wait on opencl(0)
  copy B + 0 = T + 0, 16 on opencl(0) queue 1
  wait on opencl(0) queue 1
"""


def test_queues_wait_for_each_other(launch: Any) -> None:
    f = parse_function(QUEUES.strip())
    assert str(f) == QUEUES.strip()
    expected = [2, 3, 0, 1]
    a, b = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    loop_oracle.run(f, [a, b])
    np.testing.assert_array_equal(b, expected)
    launch.log.clear()
    x, y = runtime.array(a), runtime.empty(4)
    assert status_of(f, [launch.device], *(tensor(t.data, (4,), DeviceKind.CPU) for t in (x, y))) == 0
    assert ", ".join(launch.log) == (
        "alloc 16, alloc 16, copy 16, wait 0 for 1, copy 8, copy 8, sync 0, copy 16, sync 1, free, free"
    )
    np.testing.assert_array_equal(y.numpy(), expected)


def status_of(f: Function, devices: list[DeviceFunctions], *tensors: DLTensor) -> int:
    """What a function of the host returns."""
    (loaded,) = build_functions([f]).module.with_devices(devices).functions.values()
    return loaded.call_pointers(*map(ctypes.addressof, tensors))


def tensor(data: int, shape: tuple[int, ...], device: DeviceKind, index: int = 0, offset: int = 0) -> DLTensor:
    extents = (ctypes.c_int64 * len(shape))(*shape)
    return DLTensor(data, (device, index), len(shape), FLOAT, extents, None, offset)


IDLE = """
function f(A: float32[4] on {0}, B: out float32[4] on {0})
  wait on {0}
"""


def idle_device(kind: DeviceKind, index: int = 0) -> DeviceFunctions:
    """A device that does nothing, and says so."""

    def refused(*_: object) -> int:
        raise AssertionError("expected nothing but waits")

    return DeviceFunctions(Device(kind, index), refused, refused, refused, refused, refused, lambda queue: 0)


@pytest.mark.parametrize(
    ("kind", "places", "status"),
    [
        (DeviceKind.OPENCL, [(4096, 0), (4104, 0)], 0),  # objects of memory, whose addresses mean nothing
        (DeviceKind.OPENCL, [(4096, 0), (4096, 64)], 0),
        (DeviceKind.OPENCL, [(4096, 64), (4096, 64)], Status.OVERLAP.at(1)),
        (DeviceKind.OPENCL, [(4096, 0), (8192, 12)], Status.ALIGNMENT.at(1)),
        (DeviceKind.OPENCL, [(0, 0), (8192, 0)], Status.NULL_ARGUMENT.at(0)),
        (DeviceKind.CUDA, [(4096, 0), (4096, 64)], 0),
        (DeviceKind.CUDA, [(4096, 64), (4160, 0)], Status.OVERLAP.at(1)),
    ],
)
def test_memory_of_a_device_is_checked(kind: DeviceKind, places: list[tuple[int, int]], status: int) -> None:
    f = parse_function(IDLE.strip().format(f"{kind}(0)"))
    tensors = [tensor(data, (4,), kind, 0, offset) for data, offset in places]
    assert status_of(f, [idle_device(kind)], *tensors) == status


def test_a_device_is_found_by_kind_and_number() -> None:
    f = parse_function(IDLE.strip().format("cuda(1)"))
    kinds = [(DeviceKind.OPENCL, 0), (DeviceKind.CUDA, 3), (DeviceKind.CUDA, 5)]
    tables = [idle_device(kind, index) for kind, index in kinds]

    def status(devices: list[DeviceFunctions], index: int) -> int:
        return status_of(f, devices, *(tensor(4096 * i, (4,), DeviceKind.CUDA, index) for i in (1, 2)))

    assert status(tables, 5) == 0
    assert status(tables, 3) == Status.DEVICE.at(0)
    assert status(tables[:2], 5) == Status.NO_DEVICE
    assert status([], 5) == Status.NO_DEVICE


REFUSED = {
    "launch k(A + 0) grid [4, 1, 1] block [1, 1, 1] on opencl(0)": (
        "kernel 'k' expects memory of opencl(0), found buffer 'A' of the host"
    ),
    "launch k(D + 0) grid [4, 1, 1] block [1, 1, 1] on cpu(0)": (
        "a queue expects a device other than the host, found cpu(0)"
    ),
    "copy A + 0 = D + 0, 16 on cuda(0)": (
        "a copy on cuda(0) expects memory of that device and the host, of scope global; found buffer 'D' of opencl(0)"
    ),
    "copy A + 0 = D + 0, 16 on opencl(0)": "buffer 'A' is stored to, but is no output",
    "B[0] = D[0]": "an element of buffer 'D' is accessed, which is in memory of opencl(0)",
    "D[0] = 1.0f": "an element of buffer 'D' is accessed, which is in memory of opencl(0)",
    "parallel i in [0, 4):\n    wait on opencl(0)": (
        "work of opencl(0) is inside of the parallel loop 'i', not a host's"
    ),
    "copy B + 0 = A + 0, 16 on opencl(0)": (
        "a copy on opencl(0) expects memory of that device, found two buffers of the host"
    ),
    "copy D + 0 = B + -4, 16 on opencl(0)": "the offset of buffer 'B' expects bytes of 0 or more, found -4",
    "copy D + 0 = B + 0, -16 on opencl(0)": "the size of a copy expects bytes of 0 or more, found -16",
    "constant C: float32[1] = \"AACAPw==\"\n  copy C + 0 = D + 0, 4 on opencl(0)": (
        "buffer 'C' is stored to, but is no output"
    ),
    "allocate R: register float32[4]\n  copy D + 0 = R + 0, 16 on opencl(0)": (
        "of scope global; found buffer 'R' of the host and scope register"
    ),
    "allocate S: shared float32[4] on opencl(0)\n  wait on opencl(0)": (
        "memory of a device expects scope global, found buffer 'S' of opencl(0) and scope shared"
    ),
    "invoke g(D + 0)": "kernel 'g' expects memory of the host, found buffer 'D' of opencl(0)",
    "wait on opencl(0) by cuda(0)": "a queue waits for one of its own device, found cuda(0) for opencl(0)",
}  # fmt: skip


@pytest.mark.parametrize("statement", REFUSED)
def test_the_verifier_refuses_work_that_no_device_can_do(statement: str) -> None:
    head = "function f(A: float32[4], B: out float32[4], D: out float32[4] on opencl(0))\n  "
    with pytest.raises(LoweringError, match=re.escape(REFUSED[statement])):
        verify(parse_function(head + statement))


@pytest.mark.parametrize(("device", "remedy"), [(cuda(), "copy it before the call"), (opencl(), "leave it out")])
def test_a_parameter_of_a_device_by_name_is_refused(device: Device, remedy: str) -> None:
    expected = (
        "f: expected parameter 'A' in memory of the host, or with no device, which means opencl(0); found "
        f"{device}: {remedy}"
    )
    with pytest.raises(LoweringError, match=re.escape(expected)):
        build_functions([function(SUMS, A=device)], "opencl")


@pytest.fixture
def own_devices(monkeypatch: pytest.MonkeyPatch) -> OpenDevices:
    """Devices that a test may close. Skipped without OpenCL."""
    devices = OpenDevices(DRIVERS)
    try:
        devices.open(opencl())
    except DeviceError as error:
        pytest.skip(str(error))
    monkeypatch.setattr("sateen.tensor_ir.compiled_module.open_device", devices.open)
    monkeypatch.setattr("sateen.runtime.ndarray.PROCESS_DEVICES", devices)
    return devices


def test_a_function_is_brought_to_a_device_that_was_opened_again(own_devices: OpenDevices) -> None:
    f = build_functions([function(SUMS)], "opencl")
    for _ in range(2):
        data = runtime.array(np.ones((4, 8), np.float32), device="opencl(0)")
        out = runtime.empty(8, device="opencl(0)")
        f(data, out)
        assert out.numpy().tolist() == [4.0] * 8
        own_devices.open(opencl()).close()
        with pytest.raises(DeviceError, match=r"opencl\(0\): it is closed; open it again"):
            f(data, out)


def test_an_argument_of_a_device_by_name_is_refused() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i], name="B")
    expected = "lower: expected argument 'A' in memory of the host, or with no device, which means where the code runs"
    with pytest.raises(LoweringError, match=re.escape(f"{expected}; found opencl(0)")):
        lower(te.create_schedule(b), [a, b], buffers={a: decl_buffer((4,), name="A", device="opencl(0)")})


def test_aliased_parameters_of_the_host_are_refused() -> None:
    """Each would get a copy of its own, and the last one that is copied back would undo what others stored."""
    text = "function f(A: aliased float32[4], B: inout float32[4])\n  thread threadIdx.x i in [0, 4):\n    B[i] = A[i]"
    expected = "f: expected aliased parameters in memory of the device, where they stay one; found 'A' in memory of the"
    with pytest.raises(LoweringError, match=re.escape(expected)):
        build_functions([function(text, A=cpu(), B=cpu())], "opencl")


@pytest.mark.parametrize(
    "body",
    [
        "thread blockIdx.x i in [0, index(N[0])):\n    B[i] = 1.0f",
        "allocate T: float32[index(N[0])]\n  thread blockIdx.x i in [0, 4):\n    T[i] = 1.0f",
    ],
)
def test_extents_in_memory_of_the_device_are_refused(body: str) -> None:
    f = function(f"function f(N: int64[1], B: out float32[4])\n  {body}")
    expected = "f: expected serial loops, conditions and extents of sizes around kernels, found work for the host"
    with pytest.raises(LoweringError, match=expected):
        build_functions([f], "opencl")


def test_work_on_the_callers_memory_ends_before_a_failure(launch: Any) -> None:
    compiled = build_functions([function(SUMS, A=cpu(), B=cpu())], "opencl")
    launch.fail_at = "launch"
    try:
        with pytest.raises(RuntimeError, match="LAUNCH"):
            launch.run(compiled, np.zeros((4, 5), np.float32), np.zeros(5, np.float32))
    finally:
        launch.fail_at = ""
    assert launch.log[-5:] == ["launch f_0 [5, 1, 1] [1, 1, 1]", "sync 0", "free", "free", "free"]


def test_constants_are_copied_to_a_device() -> None:
    f = parse_function(
        "function f(B: out float32[1] on cpu(0))\n"
        '  constant C: float32[1] = "AACAPw=="\n'
        "  allocate T: float32[1] on opencl(0)\n"
        "  copy T + 0 = C + 0, 4 on opencl(0)\n"
        "  copy B + 0 = T + 0, 4 on opencl(0)\n"
        "  wait on opencl(0)"
    )
    b = np.zeros(1, np.float32)
    loop_oracle.run(f, [b])
    assert b[0] == 1


def test_elements_of_a_device_are_no_code_of_a_host() -> None:
    f = parse_function("function f(D: float32[4] on opencl(0), B: out float32[4])\n  B[0] = D[0]")
    with pytest.raises(CodegenError, match=re.escape("f: C99 has no memory of devices, found 'D' of opencl(0)")):
        build_functions([f], "c")
    with pytest.raises(CodegenError, match=re.escape("an element of 'D' is accessed, which is in memory of opencl(0)")):
        build_functions([f])


def test_a_host_is_a_processor() -> None:
    with pytest.raises(TargetError, match="expected a target of a processor as target_host, found opencl"):
        build_functions([function(SUMS)], "opencl", target_host="opencl")


def test_kernels_that_are_not_given_are_told() -> None:
    program = build_functions([function(SUMS)], "opencl").program
    arrays = [np.zeros((4, 5), np.float32), np.zeros(5, np.float32)]
    with pytest.raises(ExecutionError, match="kernel 'f_1' is not among those that are given"):
        loop_oracle.run(program.host, arrays, kernels=program.kernels[:1])
    kernel = replace(program.kernels[0], scalars=(*program.kernels[0].scalars, Var("m")))
    with pytest.raises(ExecutionError, match="kernel 'f_0' expects 2 scalars, found 1"):
        loop_oracle.run(program.host, arrays, kernels=[kernel, *program.kernels[1:]])


def test_a_copy_stays_within_its_memory() -> None:
    f = parse_function(QUEUES.strip().replace("T + 8 = S + 0, 8", "T + 12 = S + 0, 8"))
    with pytest.raises(ExecutionError, match="a copy expects bytes within the 16 of 'T', found 12 to 20"):
        loop_oracle.run(f, [np.zeros(4, np.float32), np.zeros(4, np.float32)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("launch k(A + 0) grid [1, 1] block [1, 1, 1] on opencl(0)", "three extents of the grid"),
        ("launch k(A + 0) grid [1, 1, 1] block [1, 1, 1] on npu(0)", "expected a kind of device, one of cpu, cuda"),
        ("wait opencl(0)", "expected 'on'"),
        ("launch k(A + 0) grid [1, 1, 1] block [8, n, 8] on opencl(0)", "expected an integer"),
        ("launch k(A + 0) grid [1, 1, 1] block [1.5f, 1, 1] on opencl(0)", "expected an integer"),
        ("launch k(A + 0) grid [1, 1, 1] block [0, 1, 1] on opencl(0)", "three numbers of threads of the block"),
        ("launch k(A + 0) grid [1, 1, 1] block [18446744073709551624, 1, 1] on opencl(0)", "numbers of threads"),
        ("launch k(A + 0, 3, A + 0) grid [1, 1, 1] block [1, 1, 1] on opencl(0)", "a scalar, as behind other scalars"),
        ("wait on opencl(0) queue -1", "a queue of a number from 0 to 2147483647, found -1"),
        ("wait on opencl(0) queue 4294967299", "a queue of a number from 0 to 2147483647, found 4294967299"),
        ("copy A + 0 = A + 0 on opencl(0)", "expected ','"),
    ],
)
def test_malformed_text_is_told(text: str, message: str) -> None:
    with pytest.raises((ParseError, LoweringError), match=re.escape(message)):
        parse_function(f"function f(A: out float32[4] on opencl(0))\n  {text}")


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_what_has_no_host_table_launches_nothing(target: str) -> None:
    text = "function f(A: out float32[4])\n  {}wait on opencl(0)"
    f = parse_function(text.format("thread blockIdx.x i in [0, 1):\n    " if target == "opencl" else ""))
    with pytest.raises((CodegenError, LoweringError), match="work of opencl"):
        build_functions([f], target)


def test_more_arguments_than_a_status_tells_apart_are_refused() -> None:
    shape = tuple(const(1) for _ in range(129))
    f = replace(parse_function("function f(A: out float32[1])\n  A[0] = 1.0f"))
    b = replace(f.parameters[0], name="B", shape=shape)
    deep = Function("f", (*f.parameters, b), f.outputs, f.body)
    for target in ("llvm", "c"):
        with pytest.raises(CodegenError, match="f: expected at most 128 dimensions, found 129 of 'B'"):
            build_functions([deep], target)


def test_the_host_of_a_device_is_a_module_of_its_own() -> None:
    compiled = build_functions([function(SUMS)], "opencl")
    assert isinstance(compiled.host, CompiledModule)
    assert [p.device for p in compiled.host.signatures[0].parameters] == [DeviceKind.OPENCL] * 2


def test_the_header_tells_what_a_host_needs() -> None:
    header = build_functions([function(SUMS, B=cpu())], "opencl").host.c_header()
    assert "args[0]  in  A: float32[4, n], aligned to 64 bytes, memory of opencl\n" in header
    assert "args[1]  out B: float32[n], aligned to 4 bytes\n" in header
    assert "n is 2; host has devices of kind opencl." in header
