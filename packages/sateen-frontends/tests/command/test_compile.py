from __future__ import annotations

import errno
import json
import os
import subprocess
from contextlib import nullcontext

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sateen import runtime
from sateen.frontends.command import artifacts, files
from sateen.frontends.command.parameter_growth import ParameterGrowth
from sateen.graph_ir.kernels import KernelPool


def test_the_artifact_computes_what_the_model_says(sateen, dense, tmp_path):
    ran = sateen("compile", dense, "-o", "dense.sateen")
    assert ran.status == 0
    assert ran.out.startswith("dense.sateen: ")
    assert ran.err == ""
    outputs = runtime.load(tmp_path / "dense.sateen").run({"data": np.array([[1, 2, 3]], np.float32)})
    np.testing.assert_allclose(outputs["out"].numpy(), [[0.5, 0.25, 6.0, 0.0]])


def test_json_tells_target_and_sizes(sateen, dense, tmp_path):
    summary = json.loads(sateen("compile", dense, "-o", "dense.sateen", "--json").out)
    assert summary["bytes"] == (tmp_path / "dense.sateen").stat().st_size
    assert summary["target"].startswith("llvm -mtriple=")


def test_the_target_is_told_without_a_long_list_of_features(sateen, dense):
    long = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3 -mattr=+avx512bf16,+avx512bw,+avx512f,+avx512vl"
    ran = sateen("compile", dense, "-o", "dense.sateen", "--target", long)
    assert ran.out.endswith("\nfor llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3 and 4 more features\n")
    ran = sateen("compile", dense, "-o", "dense.sateen", "--target", long, "--verbose")
    assert ran.out.endswith(f"\nfor {long}\n")
    assert "\nfor this machine (" in sateen("compile", dense, "-o", "dense.sateen").out


def test_kernels_are_cached_and_give_the_same_file(sateen, dense, tmp_path):
    sateen("compile", dense, "-o", "first.sateen")
    cached = sorted((tmp_path / "cache").rglob("*"))
    assert any(p.is_file() for p in cached)
    sateen("compile", dense, "-o", "second.sateen")
    assert sorted((tmp_path / "cache").rglob("*")) == cached
    sateen("compile", dense, "-o", "third.sateen", "--no-cache")
    first, second, third = ((tmp_path / f"{name}.sateen").read_bytes() for name in ("first", "second", "third"))
    assert first == second == third


def test_workers_start_at_once_only_for_a_model_that_was_not_compiled_with_these_options(
    sateen, dense, monkeypatch, shared_compilers
):
    asked = []
    monkeypatch.setattr(
        artifacts, "KernelPool", lambda _most, *, at_once: asked.append(at_once) or nullcontext(shared_compilers)
    )
    compile_ = ("compile", dense, "-o", "dense.sateen")
    for options in ((), (), ("--numerics", "strict"), ("--no-cache",), ()):
        assert sateen(*compile_, *options).status == 0
    os.utime(dense, ns=(0, 0))
    assert sateen(*compile_).status == 0
    assert asked == [True, False, True, True, False, True]


def test_a_model_that_was_compiled_before_starts_no_process(sateen, dense, monkeypatch):
    assert sateen("compile", dense, "-o", "first.sateen").status == 0
    monkeypatch.setattr(artifacts, "KernelPool", KernelPool)
    monkeypatch.setattr(subprocess, "Popen", None)
    assert sateen("compile", dense, "-o", "second.sateen").status == 0


def test_an_open_dimension_is_refused_with_what_to_do(sateen, open_batch, tmp_path):
    ran = sateen("compile", open_batch, "-o", "open.sateen")
    assert ran.status == 1
    assert "found data: float32[?batch, 3]; say what they are, such as" in ran.err
    assert ran.err.endswith(f"  sateen compile {open_batch} -o open.sateen --dim batch=1\n")
    options = ("--numerics", "strict", "-o", "a b.sateen")
    again = sateen("compile", *options, open_batch)
    assert again.err.endswith(f"  sateen compile --numerics strict -o 'a b.sateen' {open_batch} --dim batch=1\n")
    assert sateen("check", "--", open_batch).out.endswith(f"  sateen check --dim batch=1 -- {open_batch}\n")
    assert not (tmp_path / "open.sateen").exists()


def test_a_dimension_or_a_shape_is_given(sateen, open_batch, tmp_path):
    for option in ("--dim=batch=2", "--shape=data=2x3"):
        assert sateen("compile", open_batch, "-o", "open.sateen", option).status == 0
        (data,) = runtime.read_artifact(tmp_path / "open.sateen").inputs
        assert data.shape == (2, 3)


def test_a_bound_input_is_a_constant(sateen, dense, tmp_path):
    np.save(tmp_path / "data.npy", np.array([[1, 2, 3]], np.float32))
    for text in ("data.npy", "1,2,3"):
        options = () if text.endswith("npy") else ("--shape=data=1x3",)
        assert sateen("compile", dense, "-o", "bound.sateen", f"--bind=data={text}", *options).status == 0
        model = runtime.load(tmp_path / "bound.sateen")
        assert model.inputs == ()
        np.testing.assert_allclose(model.run({})["out"].numpy(), [[0.5, 0.25, 6.0, 0.0]])


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--bind=data=one", "--bind data: expected numbers, FILE.npy or FILE.npz:KEY, found 'one'"),
        ("--bind=other=1", "--bind other: the model's inputs are data"),
        ("--dim=other=1", "dims (--dim) names 'other'"),
        ("--target=lvm", "did you mean llvm?"),
        ("--target=llvm -mtriple=x86_64-linux -mcpu=haswel", "LLVM knows no processor 'haswel' for x86_64"),
        ("--target=llvm -mcpu=", "expected a value behind -mcpu= in target 'llvm -mcpu=', found none"),
        ("--target=rocm", ", for which networks are compiled, found 'rocm'"),
    ],
)
def test_options_that_do_not_fit_the_model_are_refused(sateen, dense, option, words):
    ran = sateen("compile", dense, "-o", "dense.sateen", option)
    assert ran.status == (2 if "--target" in option else 1)
    assert words in ran.err
    if "--target" in option:
        assert words in sateen("check", dense, option).err


def test_a_scalar_is_bound_to_one_number(sateen, tmp_path):
    shapes = {"x": [4], "s": [], "y": [4]}
    x, s, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items())
    graph = helper.make_graph([helper.make_node("Mul", ["x", "s"], ["y"])], "scaled", [x, s], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "scaled.onnx")
    ran = sateen("compile", "scaled.onnx", "-o", "scaled.sateen", "--bind=s=2,3")
    assert (ran.status, ran.err) == (1, "ArgumentError: --bind s: expected one number, for float32[], found 2: '2,3'\n")
    assert sateen("compile", "scaled.onnx", "-o", "scaled.sateen", "--bind=s=2").status == 0
    ran = sateen("compile", "scaled.onnx", "-o", "scaled.sateen", f"--bind=s=1{'0' * 400}")
    assert (ran.status, ran.err) == (1, f"ArgumentError: --bind s: expected numbers of float64, found 1{'0' * 39}…\n")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--shape=data", "expected a shape such as NAME=1x3x224x224, found 'data'"),
        ("--shape=data=1x0", "expected a shape such as NAME=1x3x224x224, found 'data=1x0'"),
        ("--shape=data=(1, 3)", "found 'data=(1, 3)'; did you mean data=1x3?"),
        ("--dim=batch", "expected a dimension and its extent such as batch=1, found 'batch'"),
        ("--bind=data", "expected NAME=VALUE, found 'data'"),
    ],
)
def test_malformed_options_are_wrong_usage(sateen, dense, option, words):
    ran = sateen("compile", dense, "-o", "dense.sateen", option)
    assert ran.status == 2
    assert words in ran.err


def test_gaps_are_on_stderr(sateen, unsupported):
    ran = sateen("compile", unsupported, "-o", "x.sateen")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("FrontendError: ")
    assert "Multinomial" in ran.err


def test_without_a_place_for_the_cache_a_model_compiles_and_runs_all_the_same(sateen, dense, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    ran = sateen("compile", dense, "-o", "dense.sateen")
    assert ran.status == 0
    assert ran.err.startswith(f"compiled kernels are not kept in {tmp_path / 'cache' / 'sateen' / 'objects'}: ")
    assert "set XDG_CACHE_HOME to a folder of yours that has it, or give --no-cache" in ran.err
    ran = sateen("run", "dense.sateen", "--random", 0)
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("absent/dense.sateen", "there is no folder absent to write dense.sateen to"),
        ("folder", "expected a file to write, found folder folder"),
    ],
)
def test_a_place_that_can_not_be_written_to_is_refused_before_anything_is_compiled(sateen, tmp_path, place, words):
    (tmp_path / "folder").mkdir()
    (tmp_path / "model.onnx").write_bytes(b"no model")
    ran = sateen("compile", "model.onnx", "-o", place)
    assert ran.status == 2
    assert words in ran.err


def test_what_is_no_regular_file_is_not_replaced(sateen, dense, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.sateen").symlink_to("dense.sateen")
    for place, found in [("pipe", "no regular file"), ("link.sateen", "a symbolic link")]:
        ran = sateen("compile", dense, "-o", place)
        assert ran.status == 2
        assert f"expected a new or a regular file, found {place}, {found}" in ran.err
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link.sateen").is_symlink()


def test_the_model_is_read_once_where_an_artifact_is_replaced(sateen, dense, monkeypatch):
    opened, open_model = [], files.open_model
    monkeypatch.setattr(files, "open_model", lambda path, *more: opened.append(path) or open_model(path, *more))
    for _ in range(2):
        assert sateen("compile", dense, "-o", "dense.sateen").status == 0
    assert opened == [dense, dense]


def test_the_model_itself_is_not_replaced(sateen, dense, tmp_path):
    model = dense.read_bytes()
    os.link(dense, tmp_path / "other.name")
    for place in ("dense.onnx", "other.name"):
        ran = sateen("compile", dense, "-o", place)
        assert ran.status == 2
        assert f"expected another file than {dense}, which is read, found {place}\n" in ran.err
    assert dense.read_bytes() == model


@pytest.mark.skipif(os.getuid() == 0, reason="root may write to every folder")
def test_a_folder_that_may_not_be_written_to_is_refused(sateen, dense, tmp_path):
    (tmp_path / "folder").mkdir(mode=0o500)
    ran = sateen("compile", dense, "-o", "folder/dense.sateen")
    assert ran.status == 2
    assert "folder folder may not be written to" in ran.err


def test_a_disk_that_takes_no_file_is_told_with_the_file(sateen, dense, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), ".dense.sateen.1")

    monkeypatch.setattr(runtime.Artifact, "save", fail)
    ran = sateen("compile", dense, "-o", "dense.sateen")
    assert ran.status == 1
    assert ran.err == "ArgumentError: can't write dense.sateen: No space left on device\n"


@pytest.mark.parametrize(
    ("kind", "text"),
    [("int32", "1e10"), ("int32", "nan"), ("int32", "1.5"), ("int32", "1" + "0" * 20), ("float", "1e300")],
)
def test_numbers_that_an_input_can_not_hold_are_refused_in_our_words_alone(sateen, tmp_path, kind, text):
    dtype = TensorProto.DataType.Value(kind.upper())
    graph = helper.make_graph(
        [helper.make_node("Neg", ["n"], ["m"])],
        "net",
        [helper.make_tensor_value_info("n", dtype, ())],
        [helper.make_tensor_value_info("m", dtype, ())],
    )
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    ran = sateen("compile", path, "-o", "net.sateen", f"--bind=n={text}")  # a warning would be an error here
    assert ran.status == 1
    assert ran.err.startswith(f"ArgumentError: --bind n: expected numbers of {kind}")


@pytest.mark.parametrize("option", ["--shape=data=1x3", "--dim=batch=1", "--bind=data=1,2,3"])
def test_a_name_that_is_given_twice_is_wrong_usage(sateen, dense, option):
    name, _, value = option.partition("=")
    ran = sateen("compile", dense, "-o", "dense.sateen", option, option)
    assert ran.status == 2
    assert f"{name} {value.partition('=')[0]} is given twice" in ran.err


def test_strict_numerics_leave_winograd_out(sateen, tmp_path):
    channels = 32
    weight = np.random.default_rng(0).standard_normal((channels, channels, 3, 3)).astype(np.float32)
    data, out = (onnx.helper.make_tensor_value_info(n, 1, [1, channels, 56, 56]) for n in ("data", "out"))
    node = onnx.helper.make_node("Conv", ["data", "weight"], ["out"], pads=[1, 1, 1, 1])
    graph = onnx.helper.make_graph([node], "conv", [data], [out], [onnx.numpy_helper.from_array(weight, "weight")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "conv.onnx")
    told = {}
    for choice in (("--numerics", "default"), ("--numerics", "strict"), ("--parameters", "packed")):
        ran = sateen("compile", "conv.onnx", "-o", "conv.sateen", *choice, "--json")
        assert ran.status == 0
        facts = json.loads(ran.out)
        told[choice[1]] = [facts[kind] for kind in ("parameter_bytes", "packed_bytes", "parameter_growth_bytes")]
    transformed = weight.nbytes * 64 // 9
    assert told["strict"] == [weight.nbytes, 0, 0]
    assert told["default"] == [weight.nbytes, transformed, transformed - weight.nbytes]
    assert told["packed"] == [transformed, 0, transformed - weight.nbytes]
    for verb in (
        ["compile", "conv.onnx", "-o", "conv.sateen", "--parameters", "packed"],
        ["export", "conv.onnx", "--as", "shared", "-o", "conv.so"],
    ):
        shown = sateen(*verb).out
        assert "\n225 KB of the parameters are for faster methods; --numerics strict does without\n" in shown
    shown = sateen("compile", "conv.onnx", "-o", "conv.sateen").out
    assert "parameters 36.9 KB as trained, 262 KB packed when loaded), workspace" in shown
    for form, told in (
        ("trained", "36.9 KB as trained, 262 KB packed when loaded"),
        ("packed", "262 KB as kernels read"),
    ):
        assert sateen("compile", "conv.onnx", "-o", "conv.sateen", "--parameters", form).status == 0
        assert f"  parameters  {told}" in sateen("inspect", "conv.sateen").out
        assert json.loads(sateen("inspect", "conv.sateen", "--json").out)["parameter_form"] == form
    assert "  parameters  36.9 KB as trained, 262 KB as kernels read them\n" in sateen("inspect", "conv.onnx").out


def test_denormals_are_flushed_where_that_is_asked_for(sateen, tmp_path):
    tiny = np.array([1e-30], np.float32)
    data, out = (onnx.helper.make_tensor_value_info(n, 1, [4]) for n in ("data", "out"))
    nodes = [onnx.helper.make_node("Mul", ["data", "tiny"], ["out"])]
    graph = onnx.helper.make_graph(nodes, "scale", [data], [out], [onnx.numpy_helper.from_array(tiny, "tiny")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "scale.onnx")
    np.save(tmp_path / "data.npy", np.full(4, 1e-10, np.float32))
    for choice, expected in (("keep", 1e-40), ("flush", 0)):
        options = ["--input", "data=data.npy", "--output", f"{choice}.npz", "--denormals", choice]
        assert sateen("run", "scale.onnx", *options).status == 0
        np.testing.assert_allclose(np.load(tmp_path / f"{choice}.npz")["out"], expected, atol=1e-44)
    assert sateen("compile", "scale.onnx", "-o", "scale.sateen", "--denormals", "flush").status == 0
    assert json.loads(sateen("inspect", "scale.sateen", "--json").out)["options"] == {"denormals": "flush"}


@pytest.mark.parametrize(
    ("growth", "told"),
    [
        (225_280, "225 KB of the parameters are for faster methods; --numerics strict does without\n"),
        (-98_304, ""),
        (0, ""),
    ],
)
def test_only_parameters_that_grow_are_told(capsys, growth, told):
    watched = ParameterGrowth()
    watched.bytes = growth
    watched.tell()
    assert "".join(capsys.readouterr()) == told
