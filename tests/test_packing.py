"""Artifacts that hold parameters as they were trained: their size, their first load, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from sateen import runtime
from sateen.graph_ir import Graph, GraphBuilder, build
from sateen.graph_ir.ops import Conv, Gather, MatMul, Relu, Reshape, Transpose
from sateen.rpc import Key, RemoteSession, Server, SessionLimits
from sateen.runtime import ArgumentError, Artifact, ArtifactError, LocalSession, OutOfMemoryError, Packing
from sateen.runtime.artifact import packed

RANDOM = np.random.default_rng(3)


def weight(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype("float32") * np.float32(0.05)


def pictures() -> Graph:
    """Convolutions that Winograd's method computes, one of them read twice, a 1x1 one and a product."""
    g = GraphBuilder("pictures")
    x = g.input("x", "float32", (1, 32, 20, 20))
    same = Conv(pads=(1, 1, 1, 1))
    x = g.add(Relu(), g.add(same, x, g.parameter("v0", weight(128, 32, 3, 3)), g.parameter("b", weight(128))))
    twice = g.parameter("v1", weight(128, 128, 3, 3))
    x = g.add(Relu(), g.add(same, g.add(Relu(), g.add(same, x, twice)), twice))
    x = g.add(Relu(), g.add(Conv(), x, g.parameter("v2", weight(16, 128, 1, 1))))
    g.output(g.add(MatMul(), g.add(Reshape((1, 6400)), x), g.parameter("m", weight(6400, 512)), name="y"))
    return g.finish()


GRAPH = pictures()
WEIGHTS = GRAPH.parameter_bytes
DATA = {"x": RANDOM.standard_normal((1, 32, 20, 20)).astype("float32")}


@pytest.fixture(scope="module")
def trained() -> Artifact:
    return build(GRAPH)


@pytest.fixture(scope="module")
def path(trained: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("packing") / "pictures.sateen"
    trained.save(made)
    return made


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    """What the same network gives whose parameters were packed by the compiler."""
    return runtime.load(build(GRAPH, parameters="packed")).run(DATA)["y"].numpy()


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Weights that are packed here and there differ by a rounding at most."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_a_file_is_as_small_as_its_weights(path: Path, trained: Artifact) -> None:
    assert path.stat().st_size <= 1.02 * WEIGHTS
    assert trained.packing is not None
    assert trained.packed_bytes > 3 * 128 * 128 * 9 * 4  # Winograd's weights are larger
    assert len(build(GRAPH, parameters="packed").parameters) > 1.1 * WEIGHTS
    assert "packed when loaded" in repr(trained)


def test_it_computes_what_a_packed_one_does(path: Path, expected: np.ndarray) -> None:
    for threads in (1, 2):
        close(runtime.load(path, threads=threads).run(DATA)["y"].numpy(), expected)


def test_an_artifact_that_was_just_built_runs(trained: Artifact, expected: np.ndarray) -> None:
    close(runtime.load(trained).run(DATA)["y"].numpy(), expected)
    close(runtime.load(trained.to_bytes()).run(DATA)["y"].numpy(), expected)


def test_models_of_one_file_share_what_is_packed(path: Path) -> None:
    first, second = runtime.load(path), runtime.load(path)
    shared = [{a.data for a in model._blocks} for model in (first, second)]
    assert len(shared[0] & shared[1]) == 1
    alone = first.run(DATA)["y"].numpy()
    first.close()
    assert np.array_equal(second.run(DATA)["y"].numpy(), alone)


def test_other_weights_of_the_same_size_are_packed_by_themselves(path: Path, tmp_path: Path) -> None:
    others = {v.name: weight(*a.shape) for v, a in GRAPH.parameters.items()}
    build(GRAPH, params=others).save(tmp_path / "others.sateen")
    first, second = runtime.load(path), runtime.load(tmp_path / "others.sateen")
    assert not np.array_equal(first.run(DATA)["y"].numpy(), second.run(DATA)["y"].numpy())


def test_a_changed_copy_shares_nothing_with_what_was_read(path: Path) -> None:
    artifact = runtime.read_artifact(path)
    kept = runtime.load(artifact)
    changed = runtime.load(replace(artifact, parameters=bytes(len(artifact.parameters))))
    assert kept.run(DATA)["y"].numpy().any()
    assert not changed.run(DATA)["y"].numpy().any()


def test_threads_that_load_at_one_time_wait_for_one_that_packs(path: Path, expected: np.ndarray) -> None:
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(runtime.load, [path] * 8))
        found = list(pool.map(lambda model: model.run(DATA)["y"].numpy(), models))
    packed_at = {frozenset(a.data for a in model._blocks) for model in models}
    assert len(frozenset.intersection(*packed_at)) == 1
    for y in found:
        close(y, expected)


def test_a_forked_child_goes_on_and_loads_anew(path: Path) -> None:
    model = runtime.load(path)
    before = model.run(DATA)["y"].numpy()
    child = os.fork()
    if child == 0:  # a failed assertion must not go up into pytest's copy
        signal.alarm(60)
        again = np.array_equal(model.run(DATA)["y"].numpy(), before)
        os._exit(0 if again and np.array_equal(runtime.load(path).run(DATA)["y"].numpy(), before) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(model.run(DATA)["y"].numpy(), before)


def test_a_session_packs_where_it_runs(trained: Artifact, expected: np.ndarray) -> None:
    with LocalSession() as session, session.load_model(trained) as model:
        close(model.run(DATA)["y"].numpy(), expected)


def test_a_device_packs_what_is_brought_to_it(trained: Artifact, expected: np.ndarray, tmp_path: Path) -> None:
    key = Key.new()
    with Server("127.0.0.1", 0, [key], tmp_path / "store", SessionLimits()) as server:
        Thread(target=server.serve, daemon=True).start()
        with RemoteSession(*server.address, key) as session, session.load_model(trained) as model:
            close(model.run(DATA)["y"].numpy(), expected)


def with_packing(artifact: Artifact, change: Callable[[Packing], Packing]) -> bytes:
    assert artifact.packing is not None
    return replace(artifact, packing=change(artifact.packing)).to_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: replace(p, kept=1 << 40), "the bytes of parameters that runs read"),
        (lambda p: replace(p, packed=0), "the size of packed parameters"),
        (lambda p: replace(p, packed=1 << 60), "the size of packed parameters"),
        (lambda p: replace(p, workspace=-1), "the workspace of the packing"),
        (lambda p: replace(p, packed=p.packed + 64), "it belongs to another artifact"),
        (lambda p: replace(p, workspace=p.workspace + 4096), "it belongs to another artifact"),
    ],
)
def test_sizes_are_checked_before_anything_runs(
    trained: Artifact, change: Callable[[Packing], Packing], words: str
) -> None:
    with pytest.raises(ArtifactError, match=words):
        runtime.load(with_packing(trained, change))


def sections_of(artifact: Artifact) -> dict[str, object]:
    return {"library": artifact.library, "packing": artifact.packing.to_json(), "parameters": artifact.parameters}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{}", "expected the packing of parameters to have packed, workspace, kept"),
        (b"not JSON", "the packing of parameters"),
        (b'{"packed":64,"workspace":0,"kept":0,"more":1}', "expected the packing of parameters to have"),
        (b" " * 5000, "expected a packing of at most 4096 bytes, found 5000"),
    ],
)
def test_another_text_is_refused(trained: Artifact, text: bytes, words: str) -> None:
    with pytest.raises(ArtifactError, match=words):
        runtime.load(packed(trained.fields(), {**sections_of(trained), "packing": text}))


def test_a_damaged_text_is_refused(trained: Artifact) -> None:
    content = bytearray(trained.to_bytes())
    content[content.index(trained.packing.to_json())] ^= 1
    with pytest.raises(ArtifactError, match="section 'packing' does not have its digest"):
        runtime.load(bytes(content))


def test_a_packing_needs_its_function(trained: Artifact) -> None:
    library = build(GRAPH, parameters="packed").library
    with pytest.raises(ArtifactError, match="belongs to another artifact"):
        runtime.load(replace(trained, library=library).to_bytes())


def test_readers_that_do_not_know_it_refuse_it(trained: Artifact) -> None:
    content = trained.to_bytes()
    manifest = json.loads(content[64 : content.index(b"\0", 64)])
    assert manifest["sections"]["packing"]["required"] is True


def test_too_little_memory_is_told(trained: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("sateen.runtime.packing.mmap.mmap", none_left)
    with pytest.raises(OutOfMemoryError, match="for packed parameters, found less memory"):
        runtime.load(trained.to_bytes())
    monkeypatch.undo()
    runtime.load(trained.to_bytes()).run(DATA)


def test_networks_without_larger_forms_have_no_packing() -> None:
    g = GraphBuilder("plain")
    g.output(g.add(MatMul(), g.input("x", "float32", (4, 64)), g.parameter("m", weight(64, 128)), name="y"))
    assert build(g.finish()).packing is None


def test_a_weight_that_is_read_in_two_orders_is_stored_once() -> None:
    g = GraphBuilder("tied")
    table = g.parameter("table", weight(4096, 64))
    rows = g.add(Gather(0), table, g.input("i", "int64", (3,)))
    g.output(g.add(MatMul(), rows, g.add(Transpose((1, 0)), table), name="y"))
    graph, data = g.finish(), {"i": np.array([5, 0, 4095])}
    artifact = build(graph)
    assert len(artifact.parameters) <= 1.02 * graph.parameter_bytes
    (found,), (there,) = (runtime.load(a).run(data).values() for a in (artifact, build(graph, parameters="packed")))
    close(found.numpy(), there.numpy())


@pytest.mark.parametrize(("target", "options"), [("c", {}), ("llvm", {"static": True}), ("opencl", {})])
def test_other_kinds_of_code_have_packed_parameters(target: str, options: dict[str, bool]) -> None:
    assert build(GRAPH, target, **options).packing is None


MAIN = """
#include <stdio.h>
#include "libpictures.h"

static _Alignas(64) unsigned char workspace[PICTURES_WORKSPACE_BYTES], packed[PICTURES_PACKED_BYTES];
static float x[PICTURES_X_ELEMENTS], y[PICTURES_Y_ELEMENTS];

int main(void) {
  FILE *file = fopen("x", "rb");
  if (!file || fread(x, sizeof *x, PICTURES_X_ELEMENTS, file) != PICTURES_X_ELEMENTS) return 1;
  int32_t status = pictures_pack(NULL, packed, workspace);
  for (int i = 0; status == 0 && i < 2; ++i) status = pictures_run(NULL, x, y, packed, workspace);
  if (status != 0) fprintf(stderr, "%s\\n", pictures_sateen_status_message(status));
  file = fopen("y", "wb");
  return status != 0 || !file || fwrite(y, sizeof *y, PICTURES_Y_ELEMENTS, file) != PICTURES_Y_ELEMENTS || fclose(file);
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_program_in_c_packs_by_itself(trained: Artifact, tmp_path: Path, expected: np.ndarray) -> None:
    library = tmp_path / "libpictures.so"
    trained.export_library(library, "pictures")
    assert library.stat().st_size <= 1.02 * WEIGHTS
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "x").write_bytes(DATA["x"].tobytes())
    include = Path(runtime.__file__).parent / "include"
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    command = ["gcc", *warnings, f"-I{include}", "main.c", str(library), f"-Wl,-rpath,{tmp_path}", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True, timeout=60)
    close(np.frombuffer((tmp_path / "y").read_bytes(), np.float32).reshape(expected.shape), expected)


def test_a_module_alone_does_not_pack() -> None:
    with pytest.raises(ArtifactError, match="compile the model again: sateen export MODEL --as wasm"):
        build(GRAPH, "wasm32").export_module("never.wasm")


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected parameters trained or packed, found 'small'"):
        build(GRAPH, parameters="small")
