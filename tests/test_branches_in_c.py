"""A network that branches on its input, as a C program: it takes the branch that the network takes here."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sateen.frontends import from_onnx
from sateen.graph_ir import build
from sateen.runtime import load

MODEL = Path(__file__).parents[2] / "shared" / "models" / "onnx" / "silero_vad.onnx"
COMPILER = shutil.which("cc")
PROGRAM = """
#include <stdio.h>
#include "vad.h"
static double workspace[VAD_WORKSPACE_BYTES / 8 + 1];
static float input[VAD_INPUT_ELEMENTS], state[VAD_STATE_ELEMENTS];
static float output[VAD_OUTPUT_ELEMENTS], next[VAD_STATEN_ELEMENTS];
int main(int count, char **words)
{
    const int64_t rate = count == 2 && words[1][0] == '8' ? 8000 : 16000;
    for (int i = 0; i < VAD_INPUT_ELEMENTS; ++i) input[i] = (float)(i % 13) / 13 - 0.5f;
    if (vad_run(NULL, input, state, &rate, output, next, workspace) != 0) return 1;
    printf("%.9g\\n", (double)output[0]);
    for (int i = 0; i < VAD_STATEN_ELEMENTS; ++i) printf("%.9g\\n", (double)next[i]);
    return 0;
}
"""


@pytest.mark.skipif(COMPILER is None, reason="no C compiler here: expected cc")
def test_both_branches_run(tmp_path: Path) -> None:
    if not MODEL.exists():
        pytest.skip(f"{MODEL} is absent")
    graph, parameters = from_onnx(MODEL, shapes={"input": (1, 256), "state": (2, 1, 128)})
    build(graph, "c", parameters).export_source(tmp_path / "vad.c", "vad")
    (tmp_path / "main.c").write_text(PROGRAM, encoding="utf-8")
    assert COMPILER is not None
    checks = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
    include = f"-I{files('sateen.runtime') / 'include'}"
    command = [COMPILER, *checks, include, "main.c", "vad.c", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    network = load(build(graph, params=parameters))
    data = (np.arange(256, dtype=np.float32) % 13 / 13 - 0.5).reshape(1, 256)
    outputs = []
    for rate in (16000, 8000):
        run = [str(tmp_path / "main"), str(rate)]
        shown = subprocess.run(run, check=True, capture_output=True, text=True, timeout=60).stdout
        found = np.array([float(word) for word in shown.split()], np.float32)
        ran = network.run({"input": data, "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(rate)})
        expected = np.concatenate([ran[v.name].numpy().ravel() for v in graph.outputs])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        outputs.append(found)
    assert not np.allclose(*outputs)
