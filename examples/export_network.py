"""A network as one library with its parameters inside, run by programs in C and Java, and by Python."""

import os
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sateen import runtime
from sateen.graph_ir import build, workloads

PROGRAMS = Path(__file__).parent
JNA = Path("/usr/share/java/jna.jar")
"""Java Native Access, where Debian's package libjna-java has it; CLASSPATH may name another one."""


def run_from_c(library: Path) -> str:
    """Compile examples/c/run_mlp.c against the library and its header, run it, and give what it prints."""
    compiler = shutil.which("cc")
    if compiler is None:
        return "skipped, as there is no C compiler (cc) here\n"
    program = library.with_name("run_mlp")
    include = files("sateen.runtime") / "include"
    program_text = str(PROGRAMS / "c/run_mlp.c")
    sources = [f"-I{include}", f"-I{library.parent}", program_text, str(library), f"-Wl,-rpath,{library.parent}"]
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *sources, "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


def run_from_java(library: Path) -> str:
    """Run examples/java/RunMlp.java on the library, with the sizes of its header, and give what it prints."""
    java, classes = shutil.which("java"), os.environ.get("CLASSPATH", str(JNA))
    if java is None or not all(Path(place).exists() for place in classes.split(os.pathsep)):
        return f"skipped, as there is no {'java' if java is None else classes} here\n"
    sizes = re.findall(r"^#define (MLP_\w+_BYTES) (\d+)$", library.with_suffix(".h").read_text(), re.MULTILINE)
    given = [*(f"-D{name}={size}" for name, size in sizes), str(PROGRAMS / "java/RunMlp.java"), str(library)]
    return subprocess.run([java, "-cp", classes, *given], check=True, capture_output=True, text=True).stdout


def main() -> None:
    artifact = build(workloads.mlp())
    data = (np.arange(784) % 17).astype(np.float32).reshape(1, 784) / 16
    with TemporaryDirectory() as folder:
        library = Path(folder) / "libmlp.so"
        artifact.export_library(library, name="mlp")
        print(f"{library.name} has {library.stat().st_size:,} bytes, {len(artifact.parameters):,} of them parameters")
        (probabilities,) = runtime.load(artifact).run({"data": data}).values()
        expected = "".join(f" {value:.6f}" for value in probabilities.numpy()[0])
        print(f"from Python:{expected}")
        for language, run in {"C": run_from_c, "Java": run_from_java}.items():
            found = run(library)
            print(f"{f'from {language}:':12}{found}", end="")
            assert expected in found or found.startswith("skipped")


if __name__ == "__main__":
    main()
