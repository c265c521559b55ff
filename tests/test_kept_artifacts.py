"""Artifacts that were compiled once run for ever (tests/kept): each gives the outputs that are kept beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import Target

FOLDER = Path(__file__).parent / "kept"
NAMES = sorted(path.stem for path in FOLDER.glob("*.sateen"))
MISSING = Target.host().missing_features(Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v2"))
FLOAT_ERROR, HALF_ERROR = 1e-5, 1e-3
"""Of the largest output."""

pytestmark = pytest.mark.skipif(
    bool(MISSING) or "linux" not in Target.host().triple,
    reason=f"kept artifacts are for x86-64-v2 on Linux; this machine is {Target.host()}",
)

Arrays = dict[str, np.ndarray[Any, Any]]


def kept(name: str) -> tuple[Arrays, Arrays]:
    """The inputs and the outputs."""
    with np.load(FOLDER / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file}
    inputs = {key.removeprefix("in/"): a for key, a in arrays.items() if key.startswith("in/")}
    return inputs, {key.removeprefix("out/"): a for key, a in arrays.items() if key.startswith("out/")}


def assert_right(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind != "f":
        assert np.array_equal(found, expected)
        return
    limit = HALF_ERROR if expected.dtype == np.float16 else FLOAT_ERROR
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    assert difference.max() <= limit * np.abs(expected).max()


def test_artifacts_of_all_features_are_kept() -> None:
    assert NAMES == [
        "branches", "depthwise_convolution", "direct_convolution", "half_precision", "inputs_and_outputs",
        "integers_and_booleans", "loop", "lstm_with_state", "packed_at_load", "parallel_kernels", "resizing",
        "running_sum", "sorting",
        "transformer_block", "unknown_section", "winograd_convolution",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_artifact_gives_its_outputs(name: str) -> None:
    inputs, expected = kept(name)
    outputs = runtime.load(FOLDER / f"{name}.sateen").run(inputs)
    assert outputs.keys() == expected.keys()
    for key, array in expected.items():
        assert_right(outputs[key].numpy(), array)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    inputs, _ = kept(name)
    one = runtime.load(FOLDER / f"{name}.sateen", threads=1).run(inputs)
    three = runtime.load(FOLDER / f"{name}.sateen", threads=3).run(inputs)
    for key, array in one.items():
        assert array.numpy().tobytes() == three[key].numpy().tobytes()


def test_states_of_a_kept_network_are_handed_on() -> None:
    inputs, _ = kept("lstm_with_state")
    with runtime.load(FOLDER / "lstm_with_state.sateen") as model:
        first = model.run(inputs)
        second = model.run({**inputs, "state": first["next_state"], "cell": first["next_cell"]})
        again = model.run(inputs)
    assert np.array_equal(again["outputs"].numpy(), first["outputs"].numpy())
    assert not np.allclose(second["outputs"].numpy(), first["outputs"].numpy(), atol=1e-3)


WITHOUT_THREADS = """
import ctypes, os, resource, sys, threading
import numpy as np
from sateen import runtime

artifacts = [open(f"{name}.sateen", "rb").read() for name in sys.argv[1:]]
arrays = [dict(np.load(f"{name}.npz")) for name in sys.argv[1:]]
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
if os.getuid() == 0:
    os.setuid(65534)  # the superuser has no such limit
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: /proc/self stays its own
try:
    threading.Thread(target=int).start()
except RuntimeError:
    pass
else:
    sys.exit("threads start all the same")
for artifact, kept in zip(artifacts, arrays):
    inputs = {key.removeprefix("in/"): array for key, array in kept.items() if key.startswith("in/")}
    for key, found in runtime.load(artifact).run(inputs).items():
        assert np.allclose(found.numpy(), kept[f"out/{key}"], rtol=1e-4, atol=1e-5)
"""


@pytest.mark.skipif(os.name != "posix", reason="the limit is POSIX's")
def test_models_load_and_run_where_no_thread_can_be_started() -> None:
    command = [sys.executable, "-c", WITHOUT_THREADS, "parallel_kernels", "winograd_convolution"]
    result = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
    if "threads start all the same" in result.stderr:
        pytest.skip("this system does not limit the number of threads")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
