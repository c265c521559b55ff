from __future__ import annotations

import ctypes
import json
import shutil
import subprocess

import click
import numpy as np
import pytest

from sateen import runtime
from sateen.frontends.command.memory_limits import byte_count


def run_in_node(sateen, dense, tmp_path, program):
    """What a program of Node prints as JSON, of the network on numbers that it is given, and the expected output."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    sateen("compile", dense, "-o", "here.sateen")
    model = runtime.load(tmp_path / "here.sateen")
    data = np.linspace(-1, 1, int(np.prod(model.inputs[0].shape)), dtype=np.float32).reshape(model.inputs[0].shape)
    expected = model.run({model.inputs[0].name: data})[0].numpy()
    (tmp_path / "main.mjs").write_text(program)
    command = ["node", "main.mjs", json.dumps(data.ravel().tolist())]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return (*json.loads(done.stdout), expected)


def test_a_model_becomes_a_shared_library(sateen, dense, tmp_path):
    ran = sateen("export", dense, "--as", "shared", "--prefix", "small", "-o", "libsmall.so")
    assert ran.status == 0
    assert ran.out.startswith("libsmall.so: ")
    assert ran.out.endswith(", and libsmall.h\n")
    assert ctypes.CDLL(str(tmp_path / "libsmall.so")).small_sateen_abi_version() == 2
    assert "small_run(" in (tmp_path / "libsmall.h").read_text()


def test_an_artifact_gives_the_library_that_its_model_gives(sateen, dense, tmp_path):
    sateen("compile", dense, "-o", "dense.sateen")
    sateen("export", "dense.sateen", "--as", "shared", "-o", "lib.so")
    first = (tmp_path / "lib.so").read_bytes()
    sateen("export", dense, "--as", "shared", "-o", "lib.so")
    assert (tmp_path / "lib.so").read_bytes() == first


def test_a_model_becomes_a_static_archive(sateen, dense, tmp_path):
    ran = sateen("export", dense, "--as", "static", "--prefix", "small", "-o", "libsmall.a", "--json")
    assert json.loads(ran.out)["header"] == "libsmall.h"
    assert (tmp_path / "libsmall.a").read_bytes().startswith(b"!<arch>\n")
    assert "int32_t small_sateen_run(" in (tmp_path / "libsmall.h").read_text()


def test_an_artifact_for_a_machine_without_a_system_becomes_an_archive(sateen, dense, tmp_path):
    ran = sateen("compile", dense, "-o", "dense.sateen", "--target", "cortex-m4")
    assert "\nflash " in ran.out
    assert "\nmemory " in ran.out
    assert ", stack " in ran.out
    assert "\n  stack       " in sateen("inspect", "dense.sateen").out
    assert sateen("export", "dense.sateen", "--as", "static", "-o", "lib.a").status == 0
    ran = sateen("export", "dense.sateen", "--as", "shared", "-o", "lib.so")
    assert ran.status == 1
    assert "expected code that is a library, found a static archive" in ran.err
    assert not (tmp_path / "lib.so").exists()


def test_an_artifact_with_a_library_says_how_to_get_an_archive(sateen, dense, tmp_path):
    sateen("compile", dense, "-o", "dense.sateen")
    ran = sateen("export", "dense.sateen", "--as", "static", "-o", "lib.a")
    assert ran.status == 1
    assert "found a library" in ran.err
    assert not (tmp_path / "lib.a").exists()


def test_a_network_that_does_not_fit_is_refused_before_anything_is_written(sateen, dense, tmp_path):
    for verb in (["compile", dense, "-o", "out"], ["export", dense, "--as", "static", "-o", "out"]):
        ran = sateen(*verb, "--target", "cortex-m4", "--flash", "1K")
        assert ran.status == 1
        assert "TargetError: --flash: expected a network of at most 1024 bytes, found " in ran.err
        assert ": code " in ran.err
        ran = sateen(*verb, "--target", "cortex-m4", "--ram", "16")
        assert ran.status == 1
        assert "TargetError: --ram: expected a network of at most 16 bytes, found " in ran.err
        assert not (tmp_path / "out").exists()
        assert sateen(*verb, "--target", "cortex-m4", "--flash", "1M", "--ram", "64K").status == 0
        (tmp_path / "out").unlink()


def test_limits_are_for_code_that_programs_link(sateen, dense, tmp_path):
    ran = sateen("compile", dense, "-o", "out", "--flash", "1M")
    assert ran.status == 2
    assert "--flash and --ram are for code that programs link" in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "found"),
    [("4096", 4096), ("64k", 65536), ("64KiB", 65536), ("64KB", 64000), ("1.5M", 3 << 19), ("13.1 KB", 0), ("0", 0)],
)
def test_a_size_has_the_units_that_sizes_are_shown_in(text, found):
    if found:
        assert byte_count(text) == found
    else:
        with pytest.raises(click.BadParameter, match=r"expected a size such as 512K, 1\.5M or 64KB \(K is 1024 bytes"):
            byte_count(text)


def test_flash_is_of_machines_without_a_system(sateen, dense):
    ran = sateen("compile", dense, "-o", "out", "--target", "llvm -mtriple=x86_64-unknown-freebsd")
    assert ran.status == 0
    assert "flash" not in ran.out
    assert "workspace 64 B" in ran.out


def test_a_prefix_that_is_no_name_is_refused(sateen, dense, tmp_path):
    ran = sateen("export", dense, "--as", "static", "-o", "lib.a", "--prefix", "1st")
    assert ran.status == 2
    assert "--prefix: expected a C identifier as the name of the network, which the header doesn't use " in ran.err
    assert not (tmp_path / "lib.a").exists()


def test_the_model_is_never_overwritten(sateen, dense):
    before = dense.read_bytes()
    ran = sateen("export", dense, "--as", "static", "-o", dense)
    assert ran.status == 2
    assert dense.read_bytes() == before


PROGRAM = """
import { load, Tensor } from "./small/index.js";
const model = await load();
const [{ name, shape, dtype }] = model.inputs;
const [output] = Object.values(await model.run({ [name]: Tensor.of(JSON.parse(process.argv[2]), shape, dtype) }));
console.log(JSON.stringify([output.shape, output.numbers()]));
"""


def test_a_model_becomes_a_package_that_node_imports(sateen, dense, tmp_path):
    ran = sateen("export", dense, "--as", "npm", "--prefix", "small-net", "-o", "small")
    assert ran.status == 0
    assert ran.out.startswith("small: ")
    assert ran.out.endswith(", package small-net\n")
    package = json.loads((tmp_path / "small/package.json").read_text())
    assert package["name"] == "small-net"
    assert [name for name in package["files"] if not (tmp_path / "small" / name).exists()] == []
    assert not (tmp_path / "small/sateen/device").exists()
    assert "/** The network small-net, ready to run: from " in (tmp_path / "small/index.d.ts").read_text()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".small")] == []
    shape, numbers, expected = run_in_node(sateen, dense, tmp_path, PROGRAM)
    np.testing.assert_allclose(np.array(numbers).reshape(shape), expected, rtol=1e-5, atol=1e-6)


def test_a_package_of_both_kinds_runs_on_webassembly_where_there_is_no_webgpu(sateen, dense, tmp_path):
    assert sateen("export", dense, "--as", "npm", "--webgpu", "-o", "small", "--prefix", "net").status == 0
    package = json.loads((tmp_path / "small/package.json").read_text())
    assert [name for name in package["files"] if not (tmp_path / "small" / name).exists()] == []
    artifacts = [runtime.read_artifact(tmp_path / f"small/{name}") for name in ("net.sateen", "net.webgpu.sateen")]
    assert [bool(artifact.kernels) for artifact in artifacts] == [False, True]
    program = PROGRAM.replace("[output.shape, ", "[model.device, model.refusal.message, ")
    device, reason, numbers, expected = run_in_node(sateen, dense, tmp_path, program)
    assert device == "wasm"
    assert reason.startswith("expected WebGPU, found no navigator.gpu: ")
    np.testing.assert_allclose(np.array(numbers).reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)


def test_a_package_for_webgpu_alone(sateen, dense, tmp_path):
    ran = sateen("export", dense, "--as", "npm", "--target", "webgpu", "-o", "small", "--json")
    assert json.loads(ran.out)["package"] == "network"
    assert runtime.read_artifact(tmp_path / "small/network.sateen").launches


@pytest.mark.parametrize("options", [["--as", "c"], ["--as", "npm", "--target", "webgpu"]])
def test_webgpu_besides_webassembly_is_for_packages(sateen, dense, options):
    ran = sateen("export", dense, "-o", "out.c", "--webgpu", *options)
    assert ran.status == 2
    assert "--webgpu is for --as npm, of a model that is compiled for WebAssembly, too" in ran.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--target", "aarch64"], "expected a network for WebAssembly or WebGPU, found one for "),
        (["--prefix", "Small"], "--prefix: expected the name of a package of npm"),
    ],
)
def test_what_is_no_package_is_refused_before_anything_is_written(sateen, dense, tmp_path, options, words):
    ran = sateen("export", dense, "--as", "npm", "-o", "small", *options)
    assert ran.status == (2 if "--prefix" in options else 1)
    assert words in ran.err
    assert [path.name for path in tmp_path.iterdir() if "small" in path.name] == []


@pytest.mark.parametrize(
    ("target", "suffix"), [("metal", "metal"), ("cuda-c", "cu"), ("cuda", "ptx"), ("opencl", "cl")]
)
def test_a_network_of_a_device_becomes_its_kernels_launches_and_parameters(sateen, dense, tmp_path, target, suffix):
    ran = sateen("export", dense, "--as", "kernels", "--target", target, "-o", "folder")
    assert (ran.status, ran.out.endswith(", 1 launched kernel\n")) == (0, True)
    folder = tmp_path / "folder"
    assert sorted(path.name for path in folder.iterdir()) == [f"kernels.{suffix}", "network.json", "parameters.bin"]
    described = json.loads((folder / "network.json").read_text())
    assert described["target"] == target
    assert [block["name"] for block in described["blocks"]] == ["data", "out", "parameters", "workspace"]
    (launch,) = described["launches"]
    assert launch["kernel"] in (folder / f"kernels.{suffix}").read_text()
    parameters = (folder / "parameters.bin").stat().st_size
    for block, offset, size in launch["places"]:
        assert offset + size <= (parameters if block == 2 else described["blocks"][block]["bytes"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--as", "kernels", "--prefix", "net"], "--prefix: expected no name for kernels, which have those of the"),
        (["--as", "kernels", "--target", "haswell"], "is for targets of kind opencl and other devices, found one of"),
        (["--as", "c", "--target", "metal"], "--as c is for targets of kind c, found one of kind metal"),
    ],
)
def test_what_is_no_network_of_a_device_is_refused(sateen, dense, tmp_path, options, words):
    ran = sateen("export", dense, "-o", "folder", *options)
    assert ran.status == 2
    assert words in ran.err
    assert not (tmp_path / "folder").exists()


def test_kernels_of_a_processor_are_no_kernels_of_a_device(sateen, artifact, tmp_path):
    ran = sateen("export", artifact, "--as", "kernels", "-o", "folder")
    assert ran.status == 1
    assert "expected a network for a device, found one for llvm" in ran.err
    assert not (tmp_path / "folder").exists()


def test_kernels_go_to_a_new_folder(sateen, dense, tmp_path):
    (tmp_path / "folder").mkdir()
    ran = sateen("export", dense, "--as", "kernels", "-o", "folder")
    assert "expected a file to write, found folder folder" in ran.err


MODULE = """
import { readFileSync } from "node:fs";
const { instance } = await WebAssembly.instantiate(readFileSync("small.wasm"));
const { inputs: [data], outputs: [result] } = JSON.parse(readFileSync("small.json", "utf8"));
const { memory, run } = instance.exports;
new Float32Array(memory.buffer, data.offset, data.bytes / 4).set(JSON.parse(process.argv[2]));
const status = run();
const numbers = new Float32Array(memory.buffer, result.offset, result.bytes / 4);
console.log(JSON.stringify([status, result.shape, [...numbers]]));
"""


def test_a_model_becomes_a_module_that_needs_nothing(sateen, dense, tmp_path):
    ran = sateen("export", dense, "--as", "wasm", "--prefix", "small", "-o", "small.wasm")
    assert ran.status == 0
    assert ran.out.startswith("small.wasm: ")
    assert ran.out.endswith(", and small.json\n")
    assert json.loads((tmp_path / "small.json").read_text())["name"] == "small"
    first = (tmp_path / "small.wasm").read_bytes()
    sateen("compile", dense, "--target", "wasm32", "-o", "dense.sateen")
    ran = sateen("export", "dense.sateen", "--as", "wasm", "-o", "small.wasm", "--json")
    assert json.loads(ran.out)["description"] == "small.json"
    assert (tmp_path / "small.wasm").read_bytes() == first
    status, shape, numbers, expected = run_in_node(sateen, dense, tmp_path, MODULE)
    assert status == 0
    np.testing.assert_allclose(np.array(numbers).reshape(shape), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (
            "aarch64",
            "expected code that is a module of WebAssembly, found a library for aarch64-linux-gnu; --as",
        ),
        ("wasm32-threads", "expected a network for one thread, found one whose threads share its memory; compile the "),
    ],
)
def test_what_is_no_module_of_its_own_is_refused(sateen, dense, tmp_path, target, words):
    ran = sateen("export", dense, "--as", "wasm", "--target", target, "-o", "small.wasm")
    assert ran.status == 1
    assert words in ran.err
    assert not (tmp_path / "small.wasm").exists()


def test_a_package_replaces_nothing(sateen, dense, tmp_path):
    (tmp_path / "small").write_text("mine")
    ran = sateen("export", dense, "--as", "npm", "--target", "wasm32", "-o", "small")
    assert ran.status == 1
    assert "small: expected a new folder to write the package to, found one that exists" in ran.err
    assert (tmp_path / "small").read_text() == "mine"


def test_a_model_becomes_c(sateen, dense, tmp_path):
    assert sateen("export", dense, "--as", "c", "--prefix", "small", "-o", "small.c").status == 0
    first = (tmp_path / "small.c").read_bytes()
    assert "int32_t small_sateen_run(" in (tmp_path / "small.h").read_text()
    sateen("compile", dense, "--target", "c", "-o", "dense.sateen")
    sateen("export", "dense.sateen", "--as", "c", "--prefix", "small", "-o", "small.c")
    assert (tmp_path / "small.c").read_bytes() == first
    assert "found C text, which programs are built with" in sateen("run", "dense.sateen", "--random", "1").err
    assert "\n  runs here   no: C text" in sateen("inspect", "dense.sateen").out


def test_a_form_has_its_kind_of_target(sateen, dense):
    ran = sateen("export", dense, "--as", "c", "--target", "cortex-m4", "-o", "small.c")
    assert ran.status == 2
    assert "--as c is for targets of kind c, found one of kind llvm" in ran.err
