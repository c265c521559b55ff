"""A network as a static archive, linked into programs in C++, Go and Rust, where their compilers are."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sateen import runtime
from sateen.graph_ir import build, workloads

PROGRAMS = Path(__file__).parent
INCLUDE = files("sateen.runtime") / "include"
BUILDS: dict[str, tuple[str, Sequence[str]]] = {
    "C++": (
        "cpp/run_mlp.cc",
        ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "run_mlp.cc", "libmlp.a", "-pthread"],
    ),
    "Go": ("go/run_mlp.go", ["go", "build"]),
    "Rust": ("rust/run_mlp.rs", ["rustc", "-D", "warnings", "-C", "link-arg=libmlp.a", "run_mlp.rs"]),
}
"""The program in each language, and the command that builds it."""


def sizes(header: str) -> dict[str, str]:
    """The numbers that a header defines, by name."""
    return dict(re.findall(r"^#define (\w+) (\d+)$", header, re.MULTILINE))


def output_of(folder: Path, source: str, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a program prints that is built in a folder with the archive and its header."""
    if shutil.which(command[0]) is None:
        return f"skipped, as there is no {command[0]} here"
    shutil.copy(PROGRAMS / source, folder)
    given = [Path(source).name] if command[0] == "go" else []
    output = folder / f"run_mlp_{command[0].replace('+', 'p')}"
    subprocess.run([*command, "-o", output, *given], cwd=folder, check=True, env={**os.environ, **environment})
    return subprocess.run([output], check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    graph = workloads.mlp()
    data = (np.arange(784) % 17).astype(np.float32).reshape(1, 784) / 16
    (probabilities,) = runtime.load(build(graph)).run({"data": data}).values()
    expected = " ".join(f"{value:.6f}" for value in probabilities.numpy()[0])
    print(f"{'Python:':8}{expected}")
    with TemporaryDirectory() as name:
        folder = Path(name)
        build(graph, static=True).export_archive(folder / "libmlp.a", "mlp")
        environment = {
            **sizes((folder / "libmlp.h").read_text()),
            "CGO_CFLAGS": f"-I{INCLUDE}",
            "GOCACHE": str(folder / "go"),
            "GO111MODULE": "off",
        }
        for language, (source, command) in BUILDS.items():
            found = output_of(folder, source, command, environment)
            print(f"{language + ':':8}{found}")
            assert found in {expected, f"skipped, as there is no {command[0]} here"}


if __name__ == "__main__":
    main()
