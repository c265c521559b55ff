"""A network as one library with its parameters inside, run by a program in C and by Python."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sateen import runtime
from sateen.graph_ir import build, workloads

PROGRAM = Path(__file__).parent / "c" / "run_mlp.c"


def run_from_c(library: Path) -> str:
    """Compile examples/c/run_mlp.c against the library and its header, run it, and give what it prints."""
    compiler = shutil.which("cc")
    if compiler is None:
        return "skipped, as there is no C compiler (cc) here\n"
    program = library.with_name("run_mlp")
    include = files("sateen.runtime") / "include"
    sources = [f"-I{include}", f"-I{library.parent}", str(PROGRAM), str(library), f"-Wl,-rpath,{library.parent}"]
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *sources, "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


def main() -> None:
    artifact = build(workloads.mlp())
    data = (np.arange(784) % 17).astype(np.float32).reshape(1, 784) / 16
    with TemporaryDirectory() as folder:
        library = Path(folder) / "libmlp.so"
        artifact.export_library(library, name="mlp")
        print(f"{library.name} has {library.stat().st_size:,} bytes, {len(artifact.parameters):,} of them parameters")
        print(f"from C:     {run_from_c(library)}", end="")
    (probabilities,) = runtime.load(artifact).run({"data": data}).values()
    print("from Python:", *(f"{value:.6f}" for value in probabilities.numpy()[0]))


if __name__ == "__main__":
    main()
