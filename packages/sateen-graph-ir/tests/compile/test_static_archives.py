"""Networks as static archives, which programs in C link."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sateen.graph_ir import OPS, build, parse_graph, workloads
from sateen.runtime import ArtifactError, CodegenError, load
from sateen.runtime.artifact import CodeForm

COMPILER = shutil.which("cc")
PROGRAM = """
#include <stdio.h>
#include "first.h"
#include "second.h"
static _Alignas(64) unsigned char memory[FIRST_WORKSPACE_BYTES + SECOND_WORKSPACE_BYTES];
static float data[FIRST_DATA_ELEMENTS], one[FIRST_PROBABILITIES_ELEMENTS], two[SECOND_PROBABILITIES_ELEMENTS];
int main(void)
{
    for (int i = 0; i < FIRST_DATA_ELEMENTS; ++i) data[i] = (float)(i % 7) / 7;
    int32_t status = first_run(NULL, data, one, memory) | second_run(NULL, data, two, memory);
    printf("%d %s\\n", (int)status, second_sateen_status_message(523));
    for (int i = 0; i < FIRST_PROBABILITIES_ELEMENTS; ++i) printf("%.9g %.9g\\n", (double)one[i], (double)two[i]);
    return 0;
}
"""


@pytest.mark.skipif(COMPILER is None, reason="no C compiler here: expected cc")
@pytest.mark.parametrize("options", [("-std=c11", "-pedantic"), ("-static-pie", "-fPIE"), ("-no-pie", "-static")])
def test_a_program_links_two_networks(options: tuple[str, ...], tmp_path: Path) -> None:
    graph = workloads.mlp()
    build(graph, static=True).export_archive(tmp_path / "first.a", "first")
    build(graph, static=True, numerics="strict").export_archive(tmp_path / "second.a", "second")
    (tmp_path / "main.c").write_text(PROGRAM, encoding="utf-8")
    assert COMPILER is not None
    checks = ["-Wall", "-Wextra", "-Werror", "-Wl,--fatal-warnings", "-pthread", *options]
    include = f"-I{files('sateen.runtime') / 'include'}"
    command = [COMPILER, *checks, include, "main.c", "first.a", "second.a", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    shown = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True, timeout=60).stdout
    first, *rows = shown.splitlines()
    assert first == "0 an output overlaps another argument"
    data = (np.arange(784, dtype="float32") % 7 / 7).reshape(1, 784)
    expected = load(build(graph)).run({"data": data})["probabilities"].numpy()[0]
    found = np.array([[float(word) for word in row.split()] for row in rows])
    np.testing.assert_allclose(found, np.stack([expected, expected], 1), rtol=1e-5, atol=1e-7)


def test_equal_networks_give_equal_archives(tmp_path: Path) -> None:
    for name in ("one", "two"):
        build(workloads.mlp(), static=True).export_archive(tmp_path / f"{name}.a", "mlp")
    assert (tmp_path / "one.a").read_bytes() == (tmp_path / "two.a").read_bytes()
    assert (tmp_path / "one.h").read_text() == (tmp_path / "two.h").read_text()


def test_each_form_of_code_has_its_export(tmp_path: Path) -> None:
    linked, loaded = build(workloads.mlp(), "cortex-m4"), build(workloads.mlp(), "aarch64")
    assert linked.form is CodeForm.ARCHIVE
    assert loaded.form is CodeForm.LIBRARY
    with pytest.raises(ArtifactError) as caught:
        linked.export_library(tmp_path / "mlp.so")
    assert str(caught.value) == (
        "expected code that is a library, found a static archive for thumbv7em-none-eabihf cortex-m4; --as static "
        "exports it; for --as shared compile the model for another target"
    )
    with pytest.raises(ArtifactError) as caught:
        loaded.export_archive(tmp_path / "mlp.a")
    assert str(caught.value) == (
        "expected code that is a static archive, found a library for aarch64-linux-gnu; compile the model again: "
        "sateen export MODEL --as static"
    )
    with pytest.raises(ArtifactError, match="found a library for aarch64-linux-gnu"):
        _ = loaded.footprint
    assert not [*tmp_path.iterdir()]


def test_a_static_archive_is_not_loaded() -> None:
    with pytest.raises(ArtifactError, match="expected a library to load, found a static archive, which programs are"):
        load(build(workloads.mlp(), static=True))


def test_a_footprint_counts_flash_and_memory() -> None:
    found = build(workloads.mlp(), "cortex-m4").footprint
    assert found.parameters >= 4 * (784 * 128 + 128 * 64 + 64 * 10)
    assert found.arrays == 4 * (784 + 10)
    assert found.data == 0
    assert 0 < found.code < 16 << 10
    assert found.flash == found.code + found.parameters
    assert found.stack is not None
    assert 0 < found.stack < 1 << 10
    assert found.memory == found.workspace + found.arrays + found.stack


DOUBLE = """
graph double
  input %a: float64[3, 5]
  %positive = abs(%a)
  %sum = add(%positive, %a)
  output %sum
"""


def test_float64_is_refused_with_its_node_where_a_processor_has_none() -> None:
    with pytest.raises(CodegenError) as caught:
        build(parse_graph(DOUBLE, OPS), "cortex-m4")
    assert str(caught.value) == (
        "expected code that needs only memcpy, memset on thumbv7em-none-eabihf, found arithmetic of float64 that the "
        "processor leaves to a library (__aeabi_dadd); convert the model to float32"
    )
    assert "%sum: float64[3, 5]" in caught.value.report()
    assert build(parse_graph(DOUBLE, OPS), "cortex-m7").footprint.code
