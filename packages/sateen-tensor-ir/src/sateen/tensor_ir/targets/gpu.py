"""Devices that run blocks of threads: what schedules need to know about them, a row per kind and generation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sateen.runtime.device import DeviceKind
from sateen.runtime.dtype import DType
from sateen.runtime.target import Target


@dataclass(frozen=True, slots=True)
class Gpu:
    """Units that run blocks of threads, and the limits of a block. Sizes are in bytes."""

    units: int
    """Parts that run blocks at the same time: streaming multiprocessors, compute units."""
    unit_threads: int
    """Threads that a unit holds at once; it runs some while others wait for memory."""
    warp: int
    """Threads that run in step, and whose neighbouring accesses are one. 1 on a processor, where a thread has vectors
    of its own and waits for no other."""
    block_threads: int
    shared_bytes: int
    """Memory that the threads of a block share."""
    thread_registers: int
    """Registers of 4 bytes that a thread may have without spills."""
    bandwidth: float
    """Bytes of memory per second."""
    multiply_adds: float = 1e11
    """Those of float32 that a unit does in a second."""
    launch: float = 3e-6
    """Seconds from a kernel to the next one, which waits for it."""
    enlargement: float = 0.0
    """Seconds of each run that a byte is worth by which a method enlarges a weight (`Machine.enlargement_cycles`)."""
    access_bytes: int = 16
    """What a thread loads or stores at once; 4 where a kernel has no vectors in memory, or makes them itself."""
    vector: int = 1
    """Elements of 4 bytes that a thread computes at once."""
    thread_bytes: int = 8 << 10
    """Memory that a thread may have of its own, registers and beyond. WGSL promises these 8 KiB (2.4, "Limits"); OpenCL
    and Metal promise nothing, and a processor has the threads of a block on one stack."""
    memory_cost: float = 4.0
    """What a load of memory takes, for one of shared memory or a multiply-add."""
    shared_cost: float = 0.25
    """What an element of a factor that a warp takes from shared memory costs, for a multiply-add of a thread."""
    gathered_cost: float = 6.0
    """What an element costs whose place a thread computes alone, for a multiply-add of a thread."""
    busy_threads: int = 256
    """The threads of a unit that hide the latency of arithmetic and shared memory."""
    resident_blocks: int = 4
    """Blocks of a unit that should find place in its shared memory, so that some compute while others load."""
    shared_banks: int = 32
    """Threads access so many words of 4 bytes of shared memory at once, if no two are a multiple of it apart."""
    product_rates: tuple[tuple[str, float], ...] = ()
    """The types of factors that warps multiply as tiles (`wmma`), and the multiply-adds of a unit in the time that its
    threads take for one of float32. None for generations without a row, which may be older than any with such products,
    and none but in PTX, which alone has the instructions."""

    @property
    def runs_in_step(self) -> bool:
        """Whether the threads of a block run together, so that they gain by sharing memory. A processor's do not."""
        return self.warp > 1

    def whole_warps(self, threads: int) -> int:
        """So many threads, and those that idle in the last of their warps."""
        return -(-threads // self.warp) * self.warp

    def product_rate(self, dtype: DType) -> float:
        """The rate of products of tiles of a type; 0 where there are none."""
        return dict(self.product_rates).get(str(dtype), 0.0)

    def memory_cycles(self, moved: float) -> float:
        """The time of so many bytes of memory, in multiply-adds of a unit."""
        return moved / self.bandwidth * self.multiply_adds

    def enlargement_cycles(self, added: float) -> float:
        """What so many bytes that a method adds to a weight are worth, in multiply-adds of a unit."""
        return added * self.enlargement * self.multiply_adds

    @property
    def launch_cycles(self) -> float:
        """The time from a kernel to the next one, in multiply-adds of a unit."""
        return self.launch * self.multiply_adds

    @staticmethod
    def of(target: Target) -> Gpu | None:
        """The device of a target: its generation (`-mcpu`), or any of its kind. None for a processor."""
        if target.device_kind is DeviceKind.CPU:
            return None
        found = _GENERATIONS.get(target.cpu, _KINDS.get(target.device_kind, _ANY))
        has_row = target.cpu in _GENERATIONS or not target.cpu
        return found if target.kind == "cuda" and has_row else replace(found, product_rates=())


_ANY = Gpu(16, 1024, 32, 256, 32 << 10, 128, 2e11)
"""The assumptions for a device of which nothing is known: OpenCL 1.2 (table 4.3) promises these 32 KiB, and nearly all
have 256 threads in a block."""

_VOLTA = Gpu(80, 2048, 32, 1024, 48 << 10, 255, 9e11, product_rates=(("float16", 8.0),), thread_bytes=512 << 10)
_AMPERE = replace(_VOLTA, product_rates=(("float16", 16.0), ("bfloat16", 16.0)))
_OF_GRAPHICS = replace(_VOLTA, unit_threads=1536, product_rates=(("float16", 4.0), ("bfloat16", 4.0)))

_GENERATIONS = {
    "sm_70": _VOLTA,
    "sm_75": replace(_VOLTA, units=40, unit_threads=1024, bandwidth=3.2e11),
    "sm_80": replace(_AMPERE, units=108, bandwidth=1.5e12, multiply_adds=9e10),
    "sm_86": replace(_OF_GRAPHICS, units=82, bandwidth=9e11, multiply_adds=2.2e11),
    "sm_89": replace(_OF_GRAPHICS, units=58, bandwidth=3e11, multiply_adds=2.6e11),
    "sm_90": replace(_AMPERE, units=132, bandwidth=3.3e12, multiply_adds=2.2e11),
    "processor": Gpu(16, 1, 1, 256, 32 << 10, 128, 2e10, multiply_adds=5e10, access_bytes=4, vector=8),
}
"""Generations of CUDA by the name of their code, each as its usual product: V100, T4, A100, A10 to RTX 3090, L4, H100
(CUDA C++ Programming Guide, "Compute Capabilities"), with 64 or 128 multiply-adds of a unit in each clock. Kernels
whose shared memory has a fixed size get 48 KiB on all, a thread has up to 512 KiB of its own. A processor that OpenCL
offers as a device, by PoCL or Intel's driver, runs a thread on vectors: its registers are 16 of 8 elements (AVX2)."""

_KINDS = {
    DeviceKind.CUDA: _GENERATIONS["sm_75"],
    DeviceKind.ROCM: Gpu(64, 2560, 64, 1024, 64 << 10, 256, 4.8e11, thread_bytes=131056),
    DeviceKind.METAL: Gpu(10, 1024, 32, 1024, 32 << 10, 128, 1e11, multiply_adds=1.6e11),
    DeviceKind.WEBGPU: Gpu(16, 1024, 32, 256, 16 << 10, 128, 1e11, access_bytes=4, enlargement=1 / (10e6 * 150)),
}
"""Devices whose generation a target leaves open, by kind. ROCm's is Vega 64, for whose threads LLVM makes no larger
frame; Metal's the least of Apple's own processors, WebGPU's what every adapter has (WebGPU, 3.6.2: limits). A page
fetches parameters at some 10 MB/s, which 150 runs share."""
