"""A loaded network: names, types, reuse of memory, threads, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import FrameType
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
from sateen.runtime.ndarray import compact

KEPT = Path(__file__).parent / "running_sum.sateen"
"""y = max(x W, 0) and next_total = total + y, of float32[2, 3]: a copy of the file in tests/kept."""

WEIGHT = np.array([[1, 2, 0], [0, 1, -1], [3, 0, 1]], np.float32)
X = np.array([[1, -2, 3], [0, 5, -1]], np.float32)
TOTAL = np.array([[10, 20, 30], [1, 2, 3]], np.float32)
Y = np.maximum(X @ WEIGHT, 0)

pytestmark = pytest.mark.usefixtures("runs_kept")


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
    for x in (array(X), Foreign(X), X):
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
    with pytest.raises(ArgumentError, match=r"expected outputs y: float32\[2, 3\], .*; found 'z'"):
        model.get_output("z")
    with pytest.raises(ArgumentError, match=r"expected inputs x: float32\[2, 3\], total: float32\[2, 3\]; found 'z'"):
        model.set_input("z", X)


def test_a_name_that_is_mistyped_is_told_with_the_closest(model: Model) -> None:
    with pytest.raises(ArgumentError, match=r"found 'totl'; did you mean total\?"):
        model.set_input("totl", TOTAL)
    with pytest.raises(ArgumentError, match=r"found 'totl'; did you mean total\?"):
        model.run({"x": X, "totl": TOTAL})
    with pytest.raises(ArgumentError, match=r"found 'next_totl'; did you mean next_total\?"):
        model.run(arguments(), out={"next_totl": empty((2, 3))})
    with pytest.raises(ArgumentError, match=r"found 'next_totl'; did you mean next_total\?"):
        model.run(arguments())["next_totl"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, r"input x: float32\[2, 3\] is missing; found no inputs"),
        ({"x": X}, r"input total: float32\[2, 3\] is missing; found x"),
        (arguments(data=X), r"expected inputs x: float32\[2, 3\], total: float32\[2, 3\]; found 'data'"),
        (
            arguments(x=X.astype(np.float64)),
            r"run: argument 0 \(x\): expected float32, found float64; runtime\.array\(…, 'float32'\) converts a copy",
        ),
        (arguments(total=X[:1]), r"argument 1 \(total\): expected 2 in dimension 0 of shape \(2, 3\), found shape"),
        (arguments(x=X[None]), r"argument 0 \(x\): expected 2 dimensions, shape \(2, 3\), found shape \(1, 2, 3\)"),
        (arguments(x=[[1.0]]), r"argument 0 \(x\): expected an array that speaks DLPack, found list; numpy\.asarray\("),
        (arguments(x=None), r"argument 0 \(x\): expected an array that speaks DLPack, found NoneType$"),
    ],
)
def test_wrong_inputs_are_refused(model: Model, given: dict[str, Any], error: str) -> None:
    with pytest.raises(ArgumentError, match=error):
        model.run(given)


class Foreign:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)  # type: ignore[arg-type]

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def read_only(source: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    result = source.copy()
    result.flags.writeable = False
    return result


def unaligned(source: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    memory = np.zeros(source.nbytes + 1, np.uint8)
    result = memory[1:].view(source.dtype).reshape(source.shape)
    result[...] = source
    return result


def field_of_records(source: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    records = np.zeros(source.shape, [("flag", "u1"), ("value", source.dtype)])
    records["value"] = source
    return records["value"]


ODD = {
    "in Fortran order": np.asfortranarray(X),
    "every second column": np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
    "broadcast": np.broadcast_to(X[:1], (2, 3)),
    "of the other byte order": X.astype(X.dtype.newbyteorder()),
    "of the other byte order in Fortran order": np.asfortranarray(X.astype(X.dtype.newbyteorder())),
    "read-only in Fortran order": read_only(X.T).T,
    "not aligned": unaligned(X),
    "a field of records": field_of_records(X),
    "of sateen, with strides": NDArray.of(np.asfortranarray(X)),
    "of others, with strides": Foreign(np.asfortranarray(X)),
}


@pytest.mark.parametrize("x", ODD.values(), ids=ODD)
def test_an_input_of_any_strides_and_byte_order_is_copied(model: Model, x: Any) -> None:
    values = x.array if isinstance(x, Foreign) else np.asarray(x)
    expected = np.maximum(values.astype(np.float32) @ WEIGHT, 0)
    np.testing.assert_array_equal(model.run(arguments(x=x))["y"].numpy(), expected)
    model.set_input("x", x)
    model.set_input("total", TOTAL)
    np.testing.assert_array_equal(model.run()["y"].numpy(), expected)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("in Fortran order", r"compact strides, found strides \(1, 2\); runtime\.array makes a compact copy"),
        ("of others, with strides", r"compact strides, found strides \(1, 2\); runtime\.array makes a compact copy"),
        ("of the other byte order", r"numbers in the byte order of this mach.*; runtime\.array makes a copy in it"),
        ("not aligned", r"memory aligned to \d+ bytes, found \d+; runtime\.array makes an aligned copy"),
        ("a field of records", r"strides of whole elements of float32, .*; copy it with runtime\.array"),
    ],
)
def test_without_copying_such_an_input_is_refused(model: Model, kind: str, error: str) -> None:
    with pytest.raises(ArgumentError, match=rf"run: argument 0 \(x\): expected {error}"):
        model.run(arguments(x=ODD[kind]), copy=False)
    np.testing.assert_array_equal(model.run(arguments(), copy=False)["y"].numpy(), Y)


def test_an_input_that_lies_well_is_not_copied() -> None:
    for lies_well in (X, read_only(X), array(X), X[:, None, :][:, 0], np.zeros((0, 3), np.float32)):
        assert compact(lies_well, 4).data == NDArray.of(lies_well).data


def test_an_output_is_never_a_copy(model: Model) -> None:
    with pytest.raises(ArgumentError, match=r"\(y\): expected compact .*; runtime\.empty makes a compact array"):
        model.run(arguments(), out={"y": np.empty((3, 2), np.float32).T})


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


class Interrupted:
    """An input that is read while the model is already held by the thread that runs it."""

    def __dlpack__(self, **options: object) -> object:
        raise KeyboardInterrupt

    def __dlpack_device__(self) -> tuple[int, int]:
        return X.__dlpack_device__()


def test_a_model_runs_again_after_a_run_that_was_interrupted(model: Model) -> None:
    with pytest.raises(KeyboardInterrupt):
        model.run(arguments(x=Interrupted()))
    np.testing.assert_array_equal(model.run(arguments())["y"].numpy(), Y)


FORKED_MEANWHILE = """
import os, sys, threading
import numpy as np
from sateen import runtime

model = runtime.load(sys.argv[1])
x = total = np.ones((2, 3), np.float32)
expected = model.run({"x": x, "total": total})["next_total"].numpy()
running, may_end = threading.Event(), threading.Event()

class Slow:
    def __dlpack__(self, **options):
        running.set()
        may_end.wait()
        return x.__dlpack__(**options)
    def __dlpack_device__(self):
        return x.__dlpack_device__()

other = threading.Thread(target=lambda: model.run({"x": Slow(), "total": total}))
other.start()
running.wait()
child = os.fork()
if child == 0:
    found = model.run({"x": x, "total": total})["next_total"].numpy()
    os._exit(0 if np.array_equal(found, expected) else 1)
assert os.waitpid(child, 0)[1] == 0
may_end.set()
other.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_is_forked_while_another_thread_runs_a_model_runs_it_too() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED_MEANWHILE, str(KEPT)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


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
    with pytest.raises(ArtifactError, match=r"running_sum\.sateen: compiled for llvm, which runs on cpu\(0\); fou"):
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
  if (n != 2 && n != 4 && n != 6) return 1;
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


def test_an_output_has_the_memory_of_its_own_input_only(compile_library: Callable[..., bytes]) -> None:
    states = tuple(Parameter(n, DType.of("float32"), (4,), None, 4) for n in ("k", "v"))
    following = tuple(replace(p, name=f"next_{p.name}", is_output=True) for p in states)
    aliases = {"next_k": "k", "next_v": "v"}
    artifact = Artifact("tests", str(Target.of("c")), states, following, 0, b"", bytes(64), aliases=aliases)
    library = compile_library(Metadata("tests", artifact.target, (artifact.signature,)).to_json(), more=RUN)
    model = runtime.load(replace(artifact, library=library))
    memory = np.zeros(12, np.float32)
    k, v = memory[:4], memory[4:8]
    model.run({"k": k, "v": v}, out={"next_k": k, "next_v": v})
    model.run({"k": k, "v": v}, out={"next_v": memory[8:]})
    for out, found in (
        ({"next_k": v, "next_v": memory[8:]}, "output 'next_k' expects .* of input 'k'; found memory of input 'v'"),
        ({"next_k": memory[2:6]}, "output 'next_k' expects .* of input 'k'; found memory of input '[kv]'"),
        ({"next_k": memory[8:], "next_v": memory[8:]}, "'next_[kv]' expects .*; found memory of output 'next_[kv]'"),
    ):
        with pytest.raises(ArgumentError, match=found):
            model.run({"k": k, "v": v}, out=out)


def test_a_run_makes_few_calls_of_python_around_the_kernels(model: Model) -> None:
    """66 with Python 3.11, of two inputs and two outputs; `nox -s bench -- graph` says what that takes."""
    given = arguments()
    model.run(given)
    calls: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event in {"call", "c_call"}:
            calls.append(frame.f_code.co_name if event == "call" else str(argument))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        model.run(given)
    finally:
        sys.setprofile(before)
    assert 20 < len(calls) < 100, calls
