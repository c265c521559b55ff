"""Networks as C99 text: a compiler accepts it without a warning, and the program gives what the library gives."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sateen.graph_ir import build, workloads
from sateen.graph_ir.ir import Graph
from sateen.runtime import ArtifactError, CodegenError, load
from sateen.runtime.network_source import network_source

COMPILER = shutil.which("cc")
OPTIONS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here: expected cc")


def program(name: str, inputs: int, outputs: int) -> str:
    """C that reads the inputs of a network from files and writes its outputs; all elements have 4 bytes."""
    arguments = ", ".join(f"arrays[{i}]" for i in range(inputs + outputs))
    return "\n".join(
        [
            "#include <stdio.h>",
            f'#include "{name}.h"',
            f"static double workspace[{name.upper()}_WORKSPACE_BYTES / 8 + 1];",
            "static double memory[1 << 20];",
            "int main(void) {",
            "  char *place = (char *)memory;",
            f"  void *arrays[{inputs + outputs}];",
            "  long sizes[] = {SIZES};",
            '  FILE *file = fopen("inputs", "rb");',
            f"  for (int i = 0; i < {inputs + outputs}; ++i) {{",
            "    arrays[i] = place;",
            f"    if (i < {inputs} && fread(place, 1, (size_t)sizes[i], file) != (size_t)sizes[i]) return 2;",
            "    place += (sizes[i] + 7) / 8 * 8;",
            "  }",
            "  fclose(file);",
            f"  if ({name}_run(NULL, {arguments}, workspace)) return 1;",
            '  file = fopen("outputs", "wb");',
            f"  for (int i = {inputs}; i < {inputs + outputs}; ++i) fwrite(arrays[i], 1, (size_t)sizes[i], file);",
            "  return fclose(file);",
            "}",
            "",
        ]
    )


GRAPHS: dict[str, Callable[[], Graph]] = {
    "mlp": workloads.mlp,
    "lstm": workloads.lstm,
    "mobilenet": lambda: workloads.mobilenet(image=32, classes=10, width=0.25),
}


@needs_compiler
@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_c_gives_what_the_library_gives(name: str, tmp_path: Path) -> None:
    graph = GRAPHS[name]()
    artifact = build(graph, "c")
    artifact.export_source(tmp_path / f"{name}.c", name)
    random = np.random.default_rng(0)
    inputs = {p.name: random.standard_normal([int(e) for e in p.shape]).astype("float32") for p in artifact.inputs}
    (tmp_path / "inputs").write_bytes(b"".join(inputs[p.name].tobytes() for p in artifact.inputs))
    shapes = [[int(e) for e in p.shape] for p in (*artifact.inputs, *artifact.outputs)]
    sizes = ", ".join(str(4 * int(np.prod(shape))) for shape in shapes)
    include = f"-I{files('sateen.runtime') / 'include'}"
    text = program(name, len(artifact.inputs), len(artifact.outputs)).replace("SIZES", sizes)
    (tmp_path / "main.c").write_text(text, encoding="utf-8")
    assert COMPILER is not None
    command = [
        COMPILER,
        *OPTIONS,
        include,
        "main.c",
        f"{name}.c",
        "-lm",
        "-o",
        "main",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    subprocess.run([tmp_path / "main"], cwd=tmp_path, check=True, timeout=120)
    found = np.fromfile(tmp_path / "outputs", np.float32)
    ran = load(build(graph)).run(inputs)
    expected = np.concatenate([ran[p.name].numpy().ravel() for p in artifact.outputs])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@needs_compiler
def test_two_networks_link_into_one_program(tmp_path: Path) -> None:
    for name in ("one", "two"):
        build(workloads.mlp(), "c").export_source(tmp_path / f"{name}.c", name)
    calls = "one_sateen_abi_version() + two_sateen_abi_version()"
    text = f'#include "one.h"\n#include "two.h"\nint main(void) {{ return {calls} == 4 ? 0 : 1; }}\n'
    declared = "uint32_t one_sateen_abi_version(void);\nuint32_t two_sateen_abi_version(void);\n"
    (tmp_path / "main.c").write_text(text.replace("int main", declared + "int main"), encoding="utf-8")
    assert COMPILER is not None
    include = f"-I{files('sateen.runtime') / 'include'}"
    command = [COMPILER, *OPTIONS, "-Wno-unused-function", include, "main.c", "one.c", "two.c", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    subprocess.run([tmp_path / "main"], check=True, timeout=60)


def test_equal_networks_give_equal_text() -> None:
    first, second = (build(workloads.mlp(), "c") for _ in range(2))
    assert first.to_bytes() == second.to_bytes()
    assert first.target.startswith("c -mtriple=")


def test_parameters_are_words_in_little_endian_order() -> None:
    text = network_source(b"", bytes(range(1, 10)), "mlp").decode()
    assert "  0x807060504030201, 0x9,\n" in text
    assert "#define sateen_parameters mlp_sateen_parameters\n" in text


def test_c_is_not_loaded_nor_made_a_library(tmp_path: Path) -> None:
    artifact = build(workloads.mlp(), "c")
    with pytest.raises(ArtifactError, match="expected a library to load, found C text, which programs are built with"):
        load(artifact)
    with pytest.raises(ArtifactError, match="expected code that is a library, found C text"):
        artifact.export_library(tmp_path / "mlp.so")
    with pytest.raises(ArtifactError, match="expected code that is C text, found a library"):
        build(workloads.mlp()).export_source(tmp_path / "mlp.c")


def test_c_has_no_clock() -> None:
    with pytest.raises(CodegenError, match="C99 has no clock to read; build for llvm"):
        build(workloads.mlp(), "c", timed=True)
