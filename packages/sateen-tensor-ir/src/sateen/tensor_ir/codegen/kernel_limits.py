"""What a block of threads of a known device may have."""

from __future__ import annotations

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import THREADS
from sateen.tensor_ir.targets import Gpu


def check_limits(kernel: Kernel, gpu: Gpu) -> None:
    """Raise LoweringError for a kernel whose blocks have more threads or shared memory than the device gives them."""
    x, y, z = kernel.block
    if x * y * z > gpu.block_threads:
        sizes = ", ".join(f"{tag} {n}" for tag, n in zip(THREADS, kernel.block, strict=True))
        raise LoweringError(
            f"{kernel.name}: expected at most {gpu.block_threads} threads in a block of the device, found {x * y * z} "
            f"({sizes})"
        )
    shared_bytes = sum(-(-size_of(b) // b.alignment) * b.alignment for b in kernel.shared_buffers)
    if shared_bytes > gpu.shared_bytes:
        stages = ", ".join(f"{b.name!r} {size_of(b)}" for b in kernel.shared_buffers)
        raise LoweringError(
            f"{kernel.name}: expected at most {gpu.shared_bytes} bytes of shared memory in a block of the device, "
            f"found {shared_bytes} ({stages})"
        )


def size_of(buffer: Buffer) -> int:
    """The bytes of storage of constant size, at least one element."""
    return max(buffer.size() or 0, 1) * buffer.dtype.bytes
