"""`build` makes code for each kind of target; what a kind does not give is refused."""

import shutil
import subprocess

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import ArtifactError, CodegenError, Target, TargetError
from sateen.tensor_ir import build, build_functions, lower, te
from sateen.tensor_ir.codegen import TARGET_KINDS


def doubled(bound=False):
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B)
    if bound:
        block, thread = s[B].split(B.op.axis[0], 16)
        s[B].bind(block, te.thread_axis("blockIdx.x"))
        s[B].bind(thread, te.thread_axis("threadIdx.x"))
    return s, [A, B]


def test_c_is_a_source_that_a_compiler_makes_a_library_of(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    module = build(*doubled(), target="c", name="twice")
    module.export_source(tmp_path / "twice.c")
    assert (tmp_path / "twice.c").read_text() == module.source
    assert "int32_t twice(" in (tmp_path / "twice.h").read_text()
    command = [compiler, "-std=c99", "-shared", "-fPIC", "-Wall", "-Werror", "twice.c", "-o", "twice.so"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=100)
    loaded = runtime.load_module(tmp_path / "twice.so")
    data, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    loaded["twice"](data, out)
    assert (out == 2 * data).all()


def test_a_source_of_c_asks_for_no_features_of_processors():
    text = build(*doubled(), target="c").source
    assert f"c -mtriple={Target.host().triple}" in text
    assert "-mcpu" not in text


def test_opencl_is_a_source_and_the_kernels_to_launch(tmp_path):
    module = build(*doubled(bound=True), target="opencl", name="twice")
    (kernel,) = module.program.kernels
    assert f"void {kernel.name}(" in module.source
    assert kernel.block == (16, 1, 1)
    module.export_source(tmp_path / "twice.cl")
    assert (tmp_path / "twice.cl").read_text() == module.source
    assert [path.name for path in tmp_path.iterdir()] == ["twice.cl"]


def test_object_code_has_no_source():
    module = build(*doubled(), name="twice")
    with pytest.raises(TargetError, match="which gives object code, not a source: see object_code, library and llvm_t"):
        module.source  # noqa: B018


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.object_code, lambda m: m.report, lambda m: m.library(), lambda m: m.export_library("lib.so"),
        lambda m: m.llvm_text(), lambda m: m.assembly(),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["c", "opencl", "webgpu"])
def test_a_source_is_not_object_code(kind, ask):
    module = build(*doubled(bound=kind != "c"), target=kind, name="twice")
    also = ", and host, which launches its kernels" if kind != "c" else ""
    with pytest.raises(
        TargetError, match=f"^compiled for {kind}.*, not object code: see source and export_source{also}$"
    ):
        ask(module)


@pytest.mark.parametrize("ask", [lambda m: m.module, lambda m: m(np.zeros(64, np.float32))])
def test_c_is_not_loaded(ask):
    with pytest.raises(TargetError, match=r"^compiled for c.*, not object code: see source and export_source$"):
        ask(build(*doubled(), target="c", name="twice"))


def test_c_launches_no_kernels_and_c_calls_none():
    with pytest.raises(TargetError, match="which launches no kernels"):
        build(*doubled(), target="c").program  # noqa: B018
    with pytest.raises(TargetError, match=r"^compiled for opencl, whose kernels C does not call$"):
        build(*doubled(bound=True), target="opencl").c_header()


def test_there_is_code_for_every_kind_that_the_text_of_a_target_may_have():
    with pytest.raises(TargetError) as caught:
        Target.parse("nothing")
    assert f"one of {', '.join(TARGET_KINDS)}, or the name of a machine" in str(caught.value)


def test_c_holds_several_functions_opencl_one():
    functions = [lower(*doubled(), name) for name in ("f", "g")]
    text = build_functions(functions, "c").source
    assert "int32_t f(" in text
    assert "int32_t g(" in text
    with pytest.raises(CodegenError, match=r"^expected one function for OpenCL C, found f, g$"):
        build_functions(functions, "opencl")


def test_a_source_goes_into_a_folder_that_exists(tmp_path):
    for kind in ("c", "opencl"):
        module = build(*doubled(bound=kind == "opencl"), target=kind)
        with pytest.raises(ArtifactError, match="expected a folder to write the source to, found no"):
            module.export_source(tmp_path / "missing" / "f.c")
        with pytest.raises(ArtifactError, match=r"expected a place to write the (library|source) to: it is no regular"):
            module.export_source(tmp_path)
