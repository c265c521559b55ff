"""Networks as WebAssembly beside onnxruntime-web, in Node on one thread: `nox -s bench -- web [--models FOLDER]`.

Both engines run in one process and take their samples in turns, three times in new processes. A time is the median of
all samples; a ratio is the median of the ratios of neighbouring samples of a run, the median of the runs counts, and
its spread is their range. FOLDER holds ONNX files to use instead of our workloads, by the beginning of their names.
onnxruntime-web comes from npm into a temporary folder, or is taken from `--modules FOLDER`, the folder that npm calls
node_modules. It needs Node and npm.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from page import Figure, write_figures
from workload_files import network_file

from sateen.frontends import from_onnx
from sateen.graph_ir import build

NETWORKS = {"squeezenet": 1.0, "mobilenet": 1.0, "resnet18": 1.0}
"""The least time of onnxruntime-web over ours."""
RUNS = 3
RUN_SECONDS = 600
TOLERANCE = 1e-4
PROGRAM = Path(__file__).with_suffix(".mjs")


@dataclass(frozen=True)
class Run:
    """The samples of one process: seconds of ours and of theirs, in turns."""

    times: Sequence[tuple[float, float]]

    @property
    def ratio(self) -> float:
        return median(theirs / ours for ours, theirs in self.times)


def measured(artifact: Path, model: Path, modules: Path, samples: int) -> Run:
    """One process. Raises SystemExit if the engines disagree."""
    runtime = modules / "onnxruntime-web" / "dist" / "ort.wasm.mjs"
    command = ["node", str(PROGRAM), str(artifact), str(model), str(runtime), str(samples)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=RUN_SECONDS)
    told = json.loads(done.stdout)
    if told["difference"] > TOLERANCE:
        raise SystemExit(f"{model.stem}: the engines differ by {told['difference']:.1e} of the largest element")
    return Run([(ours, theirs) for ours, theirs in told["times"]])


def figure(name: str, runs: Sequence[Run]) -> Figure:
    ratios = [run.ratio for run in runs]
    ours, theirs = (median(pair[i] for run in runs for pair in run.times) for i in range(2))
    detail = f"{ours * 1e3:.2f} ms, onnxruntime-web {theirs * 1e3:.2f} ms"
    return Figure(f"{name} in Node", NETWORKS[name], median(ratios), max(ratios) - min(ratios), "x", detail)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, help="a folder of ONNX files")
    parser.add_argument("--modules", type=Path, help="a folder with onnxruntime-web")
    parser.add_argument("--samples", type=int, default=30)
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        modules = options.modules
        if modules is None:
            subprocess.run(["npm", "install", "--silent", "--prefix", temporary, "onnxruntime-web"], check=True)
            modules = folder / "node_modules"
        figures = []
        for name in NETWORKS:
            model = network_file(name, folder, options.models)
            graph, params = from_onnx(model)
            build(graph, "wasm32", params=params).save(artifact := folder / f"{name}.sateen")
            figures.append(figure(name, [measured(artifact, model, modules, options.samples) for _ in range(RUNS)]))
            print(figures[-1].row(), flush=True)
        write_figures("web", figures)


if __name__ == "__main__":
    main()
