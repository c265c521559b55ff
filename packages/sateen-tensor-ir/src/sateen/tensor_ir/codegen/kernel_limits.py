"""What a block of threads of a device may have."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import THREADS
from sateen.tensor_ir.targets import Gpu


def check_limits(kernel: Kernel, gpu: Gpu) -> None:
    """Raise LoweringError for a kernel whose blocks have more threads or shared memory than the device gives them."""
    x, y, z = kernel.block
    if x * y * z > gpu.block_threads:
        sizes = zip(THREADS, kernel.block, strict=True)
        loops = ", ".join(f"{tag} {n}" for tag, n in sizes if tag in kernel.axes)
        raise LoweringError(
            f"{_titled(kernel)}: expected at most {gpu.block_threads} threads in a block of the device, found "
            f"{x * y * z} ({loops})"
        )
    _check_memory(kernel, "shared memory in a block of the device", kernel.shared_buffers, gpu.shared_bytes)


def check_thread_memory(kernel: Kernel, gpu: Gpu) -> None:
    """Raise LoweringError for a kernel whose threads have more memory of their own than devices of a kind give them."""
    _check_memory(kernel, "memory of a thread of the device", kernel.private_buffers, gpu.thread_bytes)


def size_of(buffer: Buffer) -> int:
    """The bytes of storage of constant size, at least one element."""
    return max(buffer.size() or 0, 1) * buffer.dtype.bytes


def _check_memory(kernel: Kernel, what: str, buffers: Sequence[Buffer], most: int) -> None:
    size = sum(-(-size_of(b) // b.alignment) * b.alignment for b in buffers)
    if size > most:
        stages = ", ".join(f"{b.name!r} {size_of(b)}" for b in buffers)
        raise LoweringError(f"{_titled(kernel)}: expected at most {most} bytes of {what}, found {size} ({stages})")


def _titled(kernel: Kernel) -> str:
    """The name of a kernel, and what it computes."""
    outputs = ", ".join(repr(b.name) for b in kernel.buffers if b in kernel.outputs)
    return f"{kernel.name}, which computes {outputs}" if outputs else kernel.name
