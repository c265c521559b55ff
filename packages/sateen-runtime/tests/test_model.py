"""A loaded network: names, types, reuse of memory, threads, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any, cast

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import (
    ArgumentError,
    Artifact,
    ArtifactError,
    DType,
    Metadata,
    Model,
    NDArray,
    OutOfMemoryError,
    Parameter,
    Target,
    array,
    empty,
)

KEPT = Path(__file__).parent / "running_sum.sateen"
"""y = max(x W, 0) and next_total = total + y, of float32[2, 3]: a copy of the file in tests/kept."""

WEIGHT = np.array([[1, 2, 0], [0, 1, -1], [3, 0, 1]], np.float32)
X = np.array([[1, -2, 3], [0, 5, -1]], np.float32)
TOTAL = np.array([[10, 20, 30], [1, 2, 3]], np.float32)
Y = np.maximum(X @ WEIGHT, 0)

runs_kept = pytest.mark.skipif(
    bool(Target.host().missing_features(Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v2")))
    or "linux" not in Target.host().triple,
    reason="the artifact of these tests is for x86-64-v2 on Linux",
)
pytestmark = runs_kept


@pytest.fixture
def model() -> Model:
    return runtime.load(KEPT)


def arguments(**changed: Any) -> dict[str, Any]:
    return {"x": X, "total": TOTAL, **changed}


def test_a_run_gives_outputs_by_name(model: Model) -> None:
    outputs = model.run(arguments())
    assert list(outputs) == ["y", "next_total"]
    np.testing.assert_array_equal(outputs["y"].numpy(), Y)
    np.testing.assert_array_equal(outputs["next_total"].numpy(), Y + TOTAL)


def test_inputs_may_be_arrays_of_sateen_and_of_others(model: Model) -> None:
    class Foreign:
        def __dlpack__(self, **options: object) -> object:
            return X.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return X.__dlpack_device__()

    for x in (array(X), Foreign(), X):
        np.testing.assert_array_equal(model.run(arguments(x=x))["y"].numpy(), Y)


def test_a_read_only_input_is_taken(model: Model) -> None:
    fixed = X.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(model.run(arguments(x=fixed))["y"].numpy(), Y)


def test_each_run_gives_fresh_outputs(model: Model) -> None:
    first = model.run(arguments())
    second = model.run(arguments(x=np.zeros_like(X)))
    assert first["y"].data != second["y"].data
    np.testing.assert_array_equal(first["y"].numpy(), Y)


def test_given_outputs_are_written_and_the_others_are_fresh(model: Model) -> None:
    y = np.empty((2, 3), np.float32)
    outputs = model.run(arguments(), out={"y": y})
    np.testing.assert_array_equal(y, Y)
    assert outputs["y"].numpy() is y
    np.testing.assert_array_equal(outputs["next_total"].numpy(), Y + TOTAL)


def test_the_style_of_2017(model: Model) -> None:
    with pytest.raises(ArgumentError, match="get_output: the model has not run yet"):
        model.get_output(0)
    model.set_input("x", X)
    model.set_input("total", array(TOTAL))
    model.run()
    np.testing.assert_array_equal(model.get_output(0).numpy(), Y)
    np.testing.assert_array_equal(model.get_output("next_total").numpy(), Y + TOTAL)
    with pytest.raises(ArgumentError, match="expected an output from 0 to 1, found 2"):
        model.get_output(2)
    with pytest.raises(ArgumentError, match=r"expected outputs y: float32\[2, 3\] out, .*; found 'z'"):
        model.get_output("z")
    with pytest.raises(ArgumentError, match=r"expected inputs x: float32\[2, 3\], total: float32\[2, 3\]; found 'z'"):
        model.set_input("z", X)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, r"input x: float32\[2, 3\] is missing; given are none"),
        ({"x": X}, r"input total: float32\[2, 3\] is missing; given are x"),
        (arguments(data=X), r"expected inputs x: float32\[2, 3\], total: float32\[2, 3\]; found 'data'"),
        (arguments(x=X.astype(np.float64)), r"run: argument 0 \(x\): expected float32, found float64"),
        (arguments(x=X.astype(">f4")), r"run: argument 0 \(x\): expected numbers in the byte order of this machine"),
        (arguments(total=X[:1]), r"argument 1 \(total\): expected 2 in dimension 0 of shape \(2, 3\), found shape"),
        (arguments(x=X[None]), r"argument 0 \(x\): expected 2 dimensions, shape \(2, 3\), found shape \(1, 2, 3\)"),
        (
            arguments(x=np.asfortranarray(X)),
            r"expected compact strides, found strides \(1, 2\); runtime\.array makes a compact copy",
        ),
        (arguments(x=[[1.0]]), r"argument 0 \(x\): expected an array that speaks DLPack, found list"),
        (arguments(x=None), r"argument 0 \(x\): expected an array that speaks DLPack, found NoneType"),
    ],
)
def test_wrong_inputs_are_refused(model: Model, given: dict[str, Any], error: str) -> None:
    with pytest.raises(ArgumentError, match=error):
        model.run(given)


def test_arrays_without_names_are_refused(model: Model) -> None:
    unnamed: Any = X
    with pytest.raises(
        ArgumentError,
        match=r"run: expected a mapping from the names of inputs to arrays, for x: float32\[2, 3\], total: .*; found n",
    ):
        model.run(unnamed)
    with pytest.raises(
        ArgumentError, match=r"run: expected a mapping from the names of outputs to arrays, for y: .*; found list"
    ):
        model.run(arguments(), out=cast(Any, [X]))


@pytest.mark.parametrize("source", [None, 7])
def test_a_source_that_is_neither_artifact_nor_path_is_refused(source: Any) -> None:
    found = type(source).__name__
    with pytest.raises(ArgumentError, match=f"expected an artifact, its bytes or the path of its file, found {found}"):
        runtime.load(source)


@pytest.mark.parametrize("threads", ["2", None, 1.5])
def test_threads_that_are_no_number_are_refused(threads: Any) -> None:
    with pytest.raises(ArgumentError, match=f"expected a number of threads, 0 for all, found {threads!r}"):
        runtime.load(KEPT, threads=threads)


def test_an_input_on_another_device_is_refused(model: Model) -> None:
    elsewhere = NDArray(4096, (2, 3), (3, 1), DType.of("float32"), runtime.cuda(0), owner=None, read_only=False)
    with pytest.raises(ArgumentError, match=r"argument 0 \(x\): expected memory of device cpu, found cuda\(0\)"):
        model.run(arguments(x=elsewhere))


def test_wrong_outputs_are_refused(model: Model) -> None:
    with pytest.raises(ArgumentError, match=r"expected outputs y: .*; found 'z'"):
        model.run(arguments(), out={"z": empty((2, 3))})
    with pytest.raises(ArgumentError, match=r"argument 2 \(y\): expected float32, found float64"):
        model.run(arguments(), out={"y": empty((2, 3), "float64")})
    fixed = np.zeros((2, 3), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ArgumentError, match=r"expected memory to write the output to, found a read-only array"):
        model.run(arguments(), out={"y": fixed})


def test_an_output_in_the_memory_of_an_input_is_refused_where_the_artifact_does_not_allow_it(model: Model) -> None:
    x = array(X)
    with pytest.raises(ArgumentError, match=r"argument 2 \(y\): expected memory of its own, found memory that another"):
        model.run(arguments(x=x), out={"y": x})
    np.testing.assert_array_equal(x.numpy(), X)


def test_a_state_is_handed_from_run_to_run(model: Model) -> None:
    total: Any = TOTAL
    for _ in range(3):
        total = model.run(arguments(total=total))["next_total"]
    np.testing.assert_array_equal(total.numpy(), TOTAL + 3 * Y)


def test_models_of_one_file_do_not_disturb_each_other() -> None:
    one, other = runtime.load(KEPT, threads=1), runtime.load(KEPT)
    kept = one.run(arguments())["y"]
    other.run(arguments(x=-X))
    np.testing.assert_array_equal(kept.numpy(), Y)
    np.testing.assert_array_equal(one.run(arguments())["y"].numpy(), Y)


@pytest.mark.parametrize("shared", [True, False])
def test_threads_run_one_model_or_one_each(model: Model, shared: bool) -> None:
    def work(sign: int) -> bool:
        own = model if shared else runtime.load(KEPT)
        expected = np.maximum(sign * X @ WEIGHT, 0)
        return all(np.array_equal(own.run(arguments(x=sign * X))["y"].numpy(), expected) for _ in range(200))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, (1, -1, 2, -3)))


def test_a_closed_model_runs_no_more() -> None:
    with runtime.load(KEPT) as model:
        y = model.run(arguments())["y"]
    np.testing.assert_array_equal(y.numpy(), Y)
    with pytest.raises(ArgumentError, match="run: expected a model that is open, found one that was closed"):
        model.run(arguments())
    model.close()


def test_an_artifact_is_loaded_from_a_file_from_bytes_and_as_it_is() -> None:
    for source in (KEPT, str(KEPT), KEPT.read_bytes(), runtime.read_artifact(KEPT)):
        np.testing.assert_array_equal(runtime.load(source).run(arguments())["y"].numpy(), Y)


def test_parameters_that_are_not_aligned_are_copied() -> None:
    artifact = runtime.read_artifact(KEPT)
    shifted = memoryview(b"\0" + bytes(artifact.parameters))[1:]
    np.testing.assert_array_equal(runtime.load(replace(artifact, parameters=shifted)).run(arguments())["y"].numpy(), Y)


@pytest.mark.parametrize("device", ["cuda", "opencl(1)", "cpu(1)"])
def test_another_device_is_refused(device: str) -> None:
    with pytest.raises(ArtifactError, match=r"running_sum\.sateen: compiled for llvm .*, which runs on cpu\(0\); found"):
        runtime.load(KEPT, device=device)


@pytest.mark.parametrize(
    ("target", "error"),
    [
        (
            "llvm -mtriple=x86_64-unknown-linux-gnu -mattr=+avx99,+quantum",
            "found some that needs avx99, quantum; compile",
        ),
        ("llvm -mtriple=sparc-unknown-linux-gnu", "found some that needs sparc; compile the model again, here or with"),
        ("lvm -mcpu=none", "expected a kind of target, .*; renew sateen-runtime, or compile the model again"),
    ],
)
def test_an_artifact_for_another_processor_is_refused_before_its_library_is_mapped(target: str, error: str) -> None:
    broken = replace(runtime.read_artifact(KEPT), target=target, library=b"never looked at")
    with pytest.raises(ArtifactError, match=f"artifact: .*{error}"):
        runtime.load(broken)


def test_the_advice_for_another_processor_is_a_target_that_works() -> None:
    broken = replace(runtime.read_artifact(KEPT), target="llvm -mtriple=x86_64-unknown-linux-gnu -mattr=+quantum")
    with pytest.raises(ArtifactError) as caught:
        runtime.load(broken)
    advised = str(caught.value).split("--target '")[1].rstrip("'")
    assert Target.host().missing_features(Target.parse(advised)) == ()


@pytest.mark.parametrize("change", ["dtype", "shape", "order", "missing", "workspace", "parameters"])
def test_a_library_of_another_signature_than_the_manifest_says_is_refused(change: str) -> None:
    artifact = runtime.read_artifact(KEPT)
    x, total = artifact.inputs
    changed = {
        "dtype": replace(artifact, inputs=(replace(x, dtype=DType.of("int32")), total)),
        "shape": replace(artifact, inputs=(replace(x, shape=(3, 2)), total)),
        "order": replace(artifact, inputs=(x,), outputs=(*artifact.outputs, replace(total, is_output=True))),
        "missing": replace(artifact, inputs=(x,)),
        "workspace": replace(artifact, workspace_bytes=artifact.workspace_bytes + 128),
        "parameters": replace(artifact, parameters=bytes(len(artifact.parameters) + 64)),
    }[change]
    with pytest.raises(
        ArtifactError,
        match=r"expected a library of run\(.*\), as the manifest says, found run\(x: .*: it belongs to anoth",
    ):
        runtime.load(changed)


def test_a_workspace_beyond_all_memory_is_refused(compile_library: Callable[..., bytes]) -> None:
    workspace_bytes = 1 << 47
    promised = Artifact("tests", str(Target.of("c")), (), (), workspace_bytes, b"", bytes(64))
    library = compile_library(Metadata("tests", promised.target, (promised.signature,)).to_json(), more=RUN)
    with pytest.raises(OutOfMemoryError, match=rf"no memory for an array of uint8\[{workspace_bytes}\], \d+ bytes"):
        runtime.load(replace(promised, library=library))


RUN = """
int32_t run(const host *h, tensor *const *args, int32_t n) {
  (void)h;
  if (n != 2 && n != 4) return 1;
  if (n == 4) ((float *)args[1]->data)[0] = ((float *)args[0]->data)[0] + 1;
  return 0;
}
"""


def test_an_output_may_have_the_memory_of_an_input_where_code_and_artifact_allow_it(
    compile_library: Callable[..., bytes],
) -> None:
    state = Parameter("state", DType.of("float32"), (1,), None, 4)
    following = replace(state, name="next_state", is_output=True)
    artifact = Artifact(
        "tests", str(Target.of("c")), (state,), (following,), 0, b"", bytes(64), aliases={"next_state": "state"}
    )
    library = compile_library(Metadata("tests", artifact.target, (artifact.signature,)).to_json(), more=RUN)
    model = runtime.load(replace(artifact, library=library))
    memory = array(np.zeros(1, np.float32))
    for _ in range(3):
        outputs = model.run({"state": memory}, out={"next_state": memory})
    assert outputs["next_state"] is memory
    assert memory.numpy()[0] == 3


def test_a_call_costs_at_most_20_microseconds_beyond_the_kernels(model: Model) -> None:
    given = arguments()
    bound = model._function.bind(array(X), array(TOTAL), empty((2, 3)), empty((2, 3)), *model._blocks)  # type: ignore[union-attr]

    def microseconds(call: Callable[[], object]) -> float:
        start = thread_time()
        for _ in range(200):
            call()
        return (thread_time() - start) / 200 * 1e6

    pairs = [(microseconds(lambda: model.run(given)), microseconds(bound)) for _ in range(25)]
    assert median(whole - kernels for whole, kernels in pairs) < 20
