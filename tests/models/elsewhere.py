"""Real networks on machines that qemu emulates: `python elsewhere.py [--only TEXT] [--write docs/targets.md]`.

Each is compiled here for a machine, exported with its parameters, called there by a program in C on all threads, and
compared with the definitions of its operators, whose sums are in float64; so is the same network on this machine. The
exit status is 1 if one differs by more than 1e-4 of its largest result.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from catalogue import BENCH, SHARED, Case, draw
from emulator import AARCH64, EmulatedMachine

from sateen import runtime
from sateen.frontends import from_onnx
from sateen.graph_ir import Graph, build, interpret, workloads
from sateen.runtime import Parameter

Arrays = dict[str, np.ndarray[Any, Any]]

TOLERANCE = 1e-4
SECONDS = 900
"""The most that a network takes under an emulator."""
MARK = "<!-- networks -->"
HERE = "this machine"

MACHINES = {
    "aarch64": ("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", AARCH64),
    "armv7": (
        "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7",
        EmulatedMachine("arm", "arm-linux-gnueabihf"),
    ),
    "riscv64": ("llvm -mtriple=riscv64-linux-gnu", EmulatedMachine("riscv64", "riscv64-linux-gnu", ("-cpu", "rv64"))),
    "riscv64 with vectors of 256 bits": (
        "llvm -mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b",
        EmulatedMachine("riscv64", "riscv64-linux-gnu", ("-cpu", "rv64,v=true,vext_spec=v1.0,vlen=256")),
    ),
}
"""The targets by the head of their column, behind that of this machine, each with the machine that runs its code."""

_VOICE = {
    "shapes": {"input": (1, 512), "state": (2, 1, 128)},
    "constants": {"sr": np.array(16000, np.int64)},
}


def _drawn(name: str) -> Callable[[Path], tuple[Graph, Arrays]]:
    """A network of the benchmarks, whose skeleton is filled in a folder."""

    def read(folder: Path) -> tuple[Graph, Arrays]:
        case = Case(name, folder / f"{name}.onnx")
        draw(case)
        return from_onnx(case.model)

    return read


NETWORKS: dict[str, Callable[[Path], tuple[Graph, Arrays]]] = {
    **{name: _drawn(name) for name in ("squeezenet1.1", "mobilenet1.0", "resnet18_v1")},
    "silero_vad": lambda _: from_onnx(SHARED / "models/onnx/silero_vad.onnx", **_VOICE),
    "a block of a transformer": lambda _: (workloads.transformer(), {}),
}

PROGRAM = """
#include <stdio.h>
#include "network.h"

static _Alignas(64) unsigned char workspace[NETWORK_WORKSPACE_BYTES];
{storage}

static int move(const char *name, const char *mode, void *data, size_t bytes) {{
  FILE *file = fopen(name, mode);
  if (!file) return 1;
  size_t moved = *mode == 'r' ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file);
  return fclose(file) != 0 || moved != bytes;
}}

int main(void) {{
  if ({reads}) return 1;
  int32_t status = network_run(NULL, {arguments}, workspace);
  if (status != 0) fputs(network_sateen_status_message(status), stderr);
  return status != 0 || {writes};
}}
"""
_C_TYPES = {"float32": "float", "int64": "int64_t"}


def program(inputs: Sequence[Parameter], outputs: Sequence[Parameter]) -> str:
    """A program in C that reads each input from a file, runs the network and writes each output to one."""
    places = [(f"input{i}", p) for i, p in enumerate(inputs)] + [(f"output{i}", p) for i, p in enumerate(outputs)]
    storage = [f"static {_C_TYPES[str(p.dtype)]} {name}[{np.prod(p.shape, dtype=int)}];" for name, p in places]
    moves = {
        mode: [f'move("{name}", "{mode}", {name}, sizeof {name})' for name, _ in places if name.startswith(kind)]
        for mode, kind in (("rb", "input"), ("wb", "output"))
    }
    return PROGRAM.format(
        storage="\n".join(storage),
        reads=" || ".join(moves["rb"]),
        arguments=", ".join(name for name, _ in places),
        writes=" || ".join(moves["wb"]),
    )


def run_there(graph: Graph, params: Arrays, target: str, machine: EmulatedMachine, data: Arrays) -> list[Any]:
    """The outputs of a network on a machine. Raises SubprocessError where its program fails."""
    artifact = build(graph, target, params)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        artifact.export_library(work / "network.so")
        for i, p in enumerate(artifact.inputs):
            data[p.name].tofile(work / f"input{i}")
        (work / "main.c").write_text(program(artifact.inputs, artifact.outputs), encoding="utf-8")
        header = f"-I{files('sateen.runtime') / 'include'}"
        command = [machine.compiler, "-std=c11", header, "main.c", "./network.so", "-Wl,-rpath,.", "-o", "main"]
        subprocess.run(command, cwd=work, check=True, timeout=SECONDS)
        emulator = machine.program()
        assert emulator is not None
        there = [emulator, *machine.options, "-L", f"/usr/{machine.system}", "./main"]
        subprocess.run(there, cwd=work, check=True, timeout=SECONDS)
        return [np.fromfile(work / f"output{i}", str(p.dtype)).reshape(p.shape) for i, p in enumerate(artifact.outputs)]


def run_here(graph: Graph, params: Arrays, data: Arrays) -> list[Any]:
    """The outputs of a network on this machine."""
    artifact = build(graph, params=params)
    with runtime.load(artifact) as model:
        outputs = model.run(data)
        return [np.array(outputs[p.name]) for p in artifact.outputs]


def differences(name: str, folder: Path) -> Iterator[tuple[str, float | None]]:
    """By machine, how far the worst output of a network is from its definition, in parts of its largest element; None
    where the machine can't be emulated."""
    graph, params = NETWORKS[name](folder)
    random = np.random.default_rng(1)
    data = {v.name: random.normal(size=v.type.shape).astype(str(v.type.dtype)) for v in graph.inputs}
    expected = list(interpret(graph, data).values())

    def worst(found: list[Any]) -> float:
        return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(found, expected, strict=True))

    yield HERE, worst(run_here(graph, params, data))
    for machine_name, (target, machine) in MACHINES.items():
        reached = not machine.why_not()
        yield machine_name, worst(run_there(graph, params, target, machine, data)) if reached else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="the networks whose names have this text")
    parser.add_argument("--write", type=Path, help="the page whose table this is")
    options = parser.parse_args()
    if not BENCH.is_dir():
        raise SystemExit(f"expected the networks in {BENCH}")
    heads = [HERE, *MACHINES]
    lines = [f"| network | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in (name for name in NETWORKS if options.only in name):
            found = dict(differences(name, Path(folder)))
            worst = max([worst, *(number for number in found.values() if number is not None)])
            cells = ("not run" if number is None else f"{number:.1e}" for number in found.values())
            lines.append(f"| {name} | {' | '.join(cells)} |")
            sys.stderr.write(f"{lines[-1]}\n")
    sys.stdout.write("\n".join([*lines, ""]))
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        before, _, rest = page.partition(MARK)
        after = rest.partition(MARK)[2]
        options.write.write_text("\n".join([f"{before}{MARK}", *lines, f"{MARK}{after}"]), encoding="utf-8")
    return int(not worst <= TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
