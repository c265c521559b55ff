"""What ptxas makes of the kernels of networks for CUDA: `nox -s bench -- ptx` writes its table in docs/benchmarks.md.

No GPU is needed, and nothing runs: ptxas (of the toolkit, or of the wheel nvidia-cuda-nvcc) tells registers and spills
of each kernel. Occupancy is the share of the 2048 threads of a multiprocessor of sm_90 that find place there at once,
by registers, shared memory and blocks (CUDA C++ Programming Guide, "Compute Capabilities").
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from page import PAGE, table

from sateen.graph_ir import Graph, GraphBuilder, build, workloads
from sateen.graph_ir.ir import Value

ARCH = "sm_90"
UNIT_THREADS, UNIT_BLOCKS, UNIT_REGISTERS, UNIT_SHARED = 2048, 32, 65536, 228 << 10
HEAD = (
    "network", "kernels", "registers: median, most", "shared bytes, most", "spills, bytes", "occupancy: median, least"
)  # fmt: skip
MARK = "<!-- ptx -->"
BLOCK_SHARED = 1 << 10
"""Shared memory of a block that the driver takes for itself."""


def short(graph: Graph) -> Graph:
    """A network of float32 as one of float16, which takes no other types."""
    g = GraphBuilder(graph.name)
    values: dict[Value, Value] = {}
    for v, data in graph.parameters.items():
        values[v] = g.parameter(v.name, data.astype(np.float16) if str(v.type.dtype) == "float32" else data)
    for v in graph.inputs:
        values[v] = g.input(v.name, "float16", v.type.shape)
    for node in graph.nodes:
        found = g.add_all(
            node.op, *(None if v is None else values[v] for v in node.inputs), names=[v.name for v in node.outputs]
        )
        values.update(zip(node.outputs, found, strict=True))
    g.output(*(values[v] for v in graph.outputs))
    return g.finish()


def encoder() -> Graph:
    """A block of BERT's encoder (Devlin et al. 2018, base) on 128 tokens."""
    return workloads.transformer(length=128, width=768, heads=12)


NETWORKS: dict[str, Callable[[], Graph]] = {
    "resnet18": lambda: workloads.resnet(18),
    "resnet18, batch 64": lambda: workloads.resnet(18, batch=64),
    "mobilenet": workloads.mobilenet,
    "mobilenet_v2": workloads.mobilenet_v2,
    "squeezenet": workloads.squeezenet,
    "transformer": workloads.transformer,
    "bert, a block": encoder,
    "resnet18, float16": lambda: short(workloads.resnet(18)),
    "resnet18, float16, batch 64": lambda: short(workloads.resnet(18, batch=64)),
    "resnet50, float16, batch 64": lambda: short(workloads.resnet(50, batch=64)),
    "bert, a block, float16": lambda: short(encoder()),
}
_KERNEL = re.compile(
    r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores.*?Used (\d+) registers",
    re.DOTALL,
)


def assembled(ptx: bytes) -> dict[str, tuple[int, int]]:
    """Registers, and bytes of spills, of each kernel."""
    ptxas = shutil.which("ptxas")
    assert ptxas is not None, "ptxas is not installed"
    with TemporaryDirectory() as folder:
        place = Path(folder, "kernels.ptx")
        place.write_bytes(ptx)
        command = [ptxas, "-v", f"-arch={ARCH}", str(place), "-o", f"{folder}/kernels.cubin"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return {name: (int(registers), int(spilled)) for name, _, spilled, registers in _KERNEL.findall(told)}


def occupancy(threads: int, registers: int, shared: int) -> float:
    """The share of a multiprocessor's threads that blocks of these needs fill."""
    warps = -(-threads // 32)
    by_registers = UNIT_REGISTERS // (-(-registers // 8) * 8 * 32 * warps)
    by_shared = UNIT_SHARED // (shared + BLOCK_SHARED)
    blocks = min(UNIT_THREADS // (warps * 32), UNIT_BLOCKS, by_registers, by_shared)
    return blocks * warps * 32 / UNIT_THREADS


def row(name: str, graph: Graph) -> list[str]:
    """A network in the table: its kernels with shared memory are products and convolutions, and reductions of rows."""
    artifact = build(graph, f"cuda -mcpu={ARCH}")
    kernels = assembled(artifact.kernels)
    launches = {launch.kernel: launch for launch in artifact.launches}
    assert kernels.keys() == launches.keys(), kernels.keys() ^ launches.keys()
    filled = [
        occupancy(block[0] * block[1] * block[2], kernels[name][0], launch.shared_bytes)
        for name, launch in launches.items()
        for block in [launch.block]
    ]
    return [
        name,
        str(len(kernels)),
        f"{median(r for r, _ in kernels.values()):.0f}, {max(r for r, _ in kernels.values())}",
        f"{max(launch.shared_bytes for launch in launches.values())}",
        str(sum(spilled for _, spilled in kernels.values())),
        f"{median(filled):.0%}, {min(filled):.0%}",
    ]


def main() -> None:
    """Compile, print each line as it is known, write the page."""
    rows = []
    for name, graph in NETWORKS.items():
        rows.append(row(name, graph()))
        sys.stdout.write(f"{' | '.join(rows[-1])}\n")
    before, _, rest = PAGE.read_text().partition(MARK)
    _, _, after = rest.partition(MARK)
    PAGE.write_text(f"{before}{MARK}\n{chr(10).join(table(HEAD, rows))}\n{MARK}{after}")


if __name__ == "__main__":
    main()
