"""Schedules that ask for more than a device has: what they are told when code is made, where limits are known, and when
it is loaded on other devices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime.errors import DeviceError, LoweringError
from sateen.tensor_ir import build, te
from sateen.tensor_ir.schedule import Schedule
from sateen.tensor_ir.te import Tensor

KNOWN = ("cuda", "cuda -mcpu=sm_90", "cuda-c", "rocm", "metal")
LOADED = ("opencl", "webgpu")
Scheduled = tuple[Schedule, list[Tensor]]


def block_of(threads: int) -> Scheduled:
    """A row of threads in each block."""
    a = te.placeholder((4, threads), name="A")
    b = te.compute((4, threads), lambda i, j: a[i, j] + 1, name="B")
    s = te.create_schedule(b)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(b.op.axis[1], te.thread_axis("threadIdx.x"))
    return s, [a, b]


def shared_by_a_block(count: int) -> Scheduled:
    """A row in shared memory, which 64 threads reverse."""
    a = te.placeholder((4, count), name="A")
    row = te.compute((4, count), lambda i, j: a[i, j] * 2, name="Row")
    b = te.compute((4, count), lambda i, j: row[i, count - 1 - j] + 1, name="B")
    s = te.create_schedule(b)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    for stage in (b, row):
        _, thread = s[stage].split(stage.op.axis[1], 64)
        s[stage].bind(thread, te.thread_axis("threadIdx.x"))
    s[row].compute_at(s[b], b.op.axis[0])
    s[row].set_scope("shared")
    return s, [a, b]


def kept_by_a_thread(count: int) -> Scheduled:
    """A row in the memory of each thread."""
    a = te.placeholder((64, count), name="A")
    row = te.compute((64, count), lambda i, j: a[i, j] * 2, name="Row")
    b = te.compute((64,), lambda i: row[i, 0] + row[i, count - 1], name="B")
    s = te.create_schedule(b)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    s[row].compute_at(s[b], b.op.axis[0])
    s[row].set_scope("local")
    return s, [a, b]


def run(scheduled: Scheduled, kind: str) -> None:
    """Build for a device and run there; skipped without one."""
    try:
        runtime.open_device(kind)
    except DeviceError as error:
        pytest.skip(str(error))
    s, arguments = scheduled
    f = build(s, arguments, kind)
    (signature,) = f.signatures
    f(*(runtime.array(np.ones(p.shape, np.float32), device=kind) for p in signature.parameters))


@pytest.mark.parametrize("target", KNOWN)
def test_threads_and_memory_of_known_devices_are_limits_of_compiling(target: str) -> None:
    with pytest.raises(LoweringError, match=r"run_0, which computes 'B': expected at most 1024 threads in a block"):
        build(*block_of(2048), target)
    with pytest.raises(
        LoweringError, match=r"bytes of shared memory in a block of the device, found 80000 \('Row' 80000"
    ):
        build(*shared_by_a_block(20000), target)


@pytest.mark.parametrize("kind", LOADED)
@pytest.mark.parametrize(
    ("scheduled", "words"),
    [
        (block_of, r"run_0, which computes 'B': expected at most \d+ threads in a block of the device, found 1048576"),
        (shared_by_a_block, r"bytes of shared memory in a block of the device, found 4194304 \('Row' 4194304\)"),
    ],
)
def test_those_of_others_are_limits_of_loading(kind: str, scheduled: Callable[[int], Scheduled], words: str) -> None:
    with pytest.raises(DeviceError, match=words):
        run(scheduled(1 << 20), kind)
    run(scheduled(64), kind)


@pytest.mark.parametrize(
    ("target", "most"),
    [("cuda", 524288), ("rocm", 131056), ("cuda-c", 524288), *((kind, 8192) for kind in ("opencl", "webgpu", "metal"))],
)
def test_memory_of_a_thread_has_a_limit(target: str, most: int) -> None:
    words = rf"'B': expected at most {most} bytes of memory of a thread of the device, found \d+ \('Row' {most + 64}"
    with pytest.raises(LoweringError, match=words):
        build(*kept_by_a_thread(most // 4 + 16), target)
    build(*kept_by_a_thread(128), target)
