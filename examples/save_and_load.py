"""A library on disk: written once, loaded from Python without the compiler, and linked to a program in C."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sateen import runtime
from sateen.tensor_ir import Machine, build, te

ROWS, INNER, COLUMNS = 32, 64, 48
PROGRAM = Path(__file__).parent / "c" / "run_matmul.c"


def save(path: Path) -> None:
    """Compile a product of matrices and write it to `path`, its header beside it."""
    A, B = te.placeholder((ROWS, INNER), name="A"), te.placeholder((INNER, COLUMNS), name="B")
    k = te.reduce_axis(INNER, name="k")
    C = te.compute((ROWS, COLUMNS), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    i, j = C.op.axis
    _, lane = s[C].split(j, factor=Machine.of("llvm").lanes("float32"))
    s[C].vectorize(lane)
    s[C].parallel(i)
    build(s, [A, B, C], target="llvm", name="matmul").export_library(path)


def run_from_python(path: Path) -> None:
    """All that a machine needs for this part is sateen-runtime."""
    matmul = runtime.load_module(path)
    a = np.random.default_rng(0).standard_normal((ROWS, INNER), dtype=np.float32)
    b = np.random.default_rng(1).standard_normal((INNER, COLUMNS), dtype=np.float32)
    c = np.empty((ROWS, COLUMNS), np.float32)
    matmul(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=0, atol=1e-4)
    print(f"from Python: {matmul['matmul'].signature}")
    try:
        matmul(a, b.T, c)
    except runtime.ArgumentError as error:
        print(f"a wrong shape: {error}")


def run_from_c(path: Path) -> None:
    """Compile examples/c/run_matmul.c against the library and its header, and run it."""
    compiler = shutil.which("cc")
    if compiler is None:
        print("from C: skipped, as there is no C compiler (cc) here")
        return
    program = path.with_name("run_matmul")
    include = files("sateen.runtime") / "include"
    sources = [f"-I{include}", f"-I{path.parent}", str(PROGRAM), str(path), f"-Wl,-rpath,{path.parent}"]
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", *sources, "-o", str(program)], check=True)
    print(subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout, end="")


def main() -> None:
    with TemporaryDirectory() as folder:
        library = Path(folder) / "libmatmul.so"
        save(library)
        print(f"{library.name} has {library.stat().st_size:,} bytes, {library.with_suffix('.h').name} says:\n")
        print(library.with_suffix(".h").read_text())
        run_from_python(library)
        run_from_c(library)


if __name__ == "__main__":
    main()
