"""Networks on machines without a system: they are linked into programs that have no library at all, and run under an
emulator of Cortex-M4 and -M7."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sateen import frontends
from sateen.graph_ir import GraphBuilder, build, ops, workloads
from sateen.graph_ir.ir import Graph
from sateen.runtime import Artifact, load

SHARED = Path(__file__).parents[2] / "shared" / "models"
PARTS = Path(__file__).parent / "cortex_m"
MACHINES = {"cortex-m4": ("mps2-an386", "fpv4-sp-d16"), "cortex-m7": ("mps2-an500", "fpv5-d16")}
COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"
MISSING = [tool for tool in (COMPILER, EMULATOR) if shutil.which(tool) is None]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed here: {', '.join(MISSING)}")

SLACK = 128
"""Bytes by which a run may take less of the stack than counted: what rounding its pointer down may take at most."""

ON_BOTH = pytest.mark.parametrize("processor", sorted(MACHINES))


@dataclass(frozen=True, slots=True)
class Part:
    """A network of a program by name: its code, and the inputs that the program runs it on."""

    name: str
    artifact: Artifact
    inputs: Mapping[str, np.ndarray]


def c_array(name: str, values: np.ndarray) -> str:
    data = ", ".join(map(str, np.ascontiguousarray(values).view(np.uint8).ravel().tolist()))
    return f"static const _Alignas(8) unsigned char {name}[] = {{{data}}};"


def text_of(part: Part) -> tuple[list[str], list[str]]:
    """The declarations of a network's arrays, and the statements that run it and write its outputs."""
    name, artifact = part.name, part.artifact
    arrays = [f'#include "{name}.h"']
    arrays += [c_array(f"{name}_input{i}", part.inputs[p.name]) for i, p in enumerate(artifact.inputs)]
    sizes = [int(np.prod([int(e) for e in p.shape])) * p.dtype.bytes for p in artifact.outputs]
    arrays += [f"static _Alignas(8) unsigned char {name}_output{i}[{size}];" for i, size in enumerate(sizes)]
    arrays += [f"static _Alignas(64) unsigned char {name}_workspace[{name.upper()}_WORKSPACE_BYTES];"]
    given = [f"(const void *){name}_input{i}" for i in range(len(artifact.inputs))]
    given += [f"(void *){name}_output{i}" for i in range(len(sizes))]
    call = f"{name}_run(NULL, {', '.join(given)}, {name}_workspace)"
    arrays += [f"MEASURED({name}_sateen_run)"]
    statements = [f'if ({call} != 0) write_text("failed\\n");']
    statements += [f"write_bytes((const unsigned char *)&{name}_sateen_run_taken, sizeof(uint32_t));"]
    statements += [f"write_bytes({name}_output{i}, {size});" for i, size in enumerate(sizes)]
    return arrays, statements


def run_program(folder: Path, processor: str, parts: Sequence[Part]) -> list[list[np.ndarray]]:
    """The outputs of networks that one program runs in turn, on an emulated machine of a processor.

    None takes more of the stack than its artifact says.
    """
    machine, unit = MACHINES[processor]
    texts = [text_of(part) for part in parts]
    (folder / "main.c").write_text(
        "\n".join(
            [
                '#include "stack.h"',
                "void write_text(const char *text);",
                *(line for arrays, _ in texts for line in arrays),
                "static void write_bytes(const unsigned char *bytes, int count) {",
                "  char text[3] = {0};",
                "  for (int i = 0; i < count; ++i) {",
                '    text[0] = "0123456789abcdef"[bytes[i] >> 4];',
                '    text[1] = "0123456789abcdef"[bytes[i] & 15];',
                "    write_text(text);",
                "  }",
                '  write_text("\\n");',
                "}",
                "int main(void) {",
                *(f"  {statement}" for _, statements in texts for statement in statements),
                "  return 0;",
                "}",
                "",
            ]
        )
    )
    for part in parts:
        part.artifact.export_archive(folder / f"lib{part.name}.a", part.name)
        (folder / f"lib{part.name}.h").rename(folder / f"{part.name}.h")
    code = [f"-mcpu={processor}", "-mthumb", "-mfloat-abi=hard", f"-mfpu={unit}", "-O1", "-ffreestanding"]
    checks = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fno-tree-loop-distribute-patterns"]
    sources = [str(PARTS / "start.c"), "main.c", *(f"lib{part.name}.a" for part in parts)]
    include = ["-I.", f"-I{PARTS}", f"-I{files('sateen.runtime') / 'include'}"]
    linked = [
        "-nostdlib",
        "-T",
        str(PARTS / "program.ld"),
        "-Wl,--fatal-warnings,--build-id=none,-z,noexecstack",
        *(f"-Wl,--wrap={part.name}_sateen_run" for part in parts),
        "-o",
        "program.elf",
    ]
    command = [COMPILER, *code, *checks, *include, *sources, *linked]
    subprocess.run(command, check=True, cwd=folder, timeout=120)
    emulator = [EMULATOR, "-M", machine, "-nographic", "-monitor", "none", "-serial", "none"]
    hosting = ["-semihosting-config", "enable=on,target=native", "-kernel", "program.elf"]
    shown = subprocess.run([*emulator, *hosting], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    lines = iter((shown.stdout + shown.stderr).split())
    outputs = []
    for part in parts:
        taken, counted = int.from_bytes(bytes.fromhex(next(lines)), "little"), part.artifact.stack_bytes
        assert counted is not None
        assert counted - SLACK <= taken <= counted
        found = [bytes.fromhex(next(lines)) for _ in part.artifact.outputs]
        outputs.append(
            [
                np.frombuffer(raw, p.dtype.numpy).reshape(p.shape)
                for raw, p in zip(found, part.artifact.outputs, strict=True)
            ]
        )
    return outputs


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return path


def mnist() -> tuple[Graph, Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    graph, parameters = frontends.from_onnx(shared("onnx/mnist-8.onnx"))
    return graph, parameters, dict(np.load(shared("onnx/mnist-8.ortio.npz")))


def keyword_spotting() -> tuple[Graph, Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    graph, parameters = frontends.from_tflite(shared("tflite/mlperftiny_kws_ref_model.tflite"))
    return graph, parameters, dict(np.load(shared("tflite/mlperftiny_kws_ref_model.tflite.liteio.npz")))


def part_of(name: str, processor: str) -> tuple[Part, list[np.ndarray]]:
    """A network of ../shared as a part of a program, and the outputs that its framework gave."""
    graph, parameters, kept = {"mnist": mnist, "kws": keyword_spotting}[name]()
    dims = {"input_1.0": 1} if name == "kws" else {}
    artifact = build(graph, processor, parameters, dims=dims)
    inputs = {p.name: next(v for k, v in kept.items() if k.startswith("in/")) for p in artifact.inputs}
    return Part(name, artifact, inputs), [next(v for k, v in kept.items() if k.startswith("out/"))]


@ON_BOTH
def test_two_networks_in_one_program_give_what_their_frameworks_give(processor: str, tmp_path: Path) -> None:
    (digits, digits_kept), (words, words_kept) = (part_of(name, processor) for name in ("mnist", "kws"))
    found = run_program(tmp_path, processor, [digits, words])
    np.testing.assert_allclose(found[0][0], digits_kept[0], rtol=1e-4, atol=1e-4 * np.abs(digits_kept[0]).max())
    assert np.array_equal(found[1][0], words_kept[0])


@ON_BOTH
@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_a_network_gives_what_it_gives_here(name: str, processor: str, tmp_path: Path) -> None:
    graph = {"mlp": workloads.mlp, "lstm": workloads.lstm}[name]()
    artifact = build(graph, processor)
    random = np.random.default_rng(0)
    inputs = {p.name: random.standard_normal([int(e) for e in p.shape]).astype("float32") for p in artifact.inputs}
    expected = load(build(graph)).run(inputs)
    (found,) = run_program(tmp_path, processor, [Part(name, artifact, inputs)])
    for p, values in zip(artifact.outputs, found, strict=True):
        np.testing.assert_allclose(values, expected[p.name].numpy(), rtol=1e-4, atol=1e-5)


def test_powers_and_remainders_of_float32_need_no_float64(tmp_path: Path) -> None:
    """Of more than squares: logarithms and quotients need more bits than float32 has."""
    builder = GraphBuilder("powers")
    x, y = (builder.input(name, "float32", (64,)) for name in "xy")
    builder.output(builder.add(ops.Power(), x, y), builder.add(ops.Modulo(fmod=True), x, y))
    random = np.random.default_rng(0)
    inputs = {"x": random.uniform(0, 50, 64).astype("float32"), "y": random.uniform(-9, 9, 64).astype("float32")}
    artifact = build(builder.finish(), "cortex-m4")
    ((powers, remainders),) = run_program(tmp_path, "cortex-m4", [Part("powers", artifact, inputs)])
    wide = inputs["x"].astype("float64") ** inputs["y"].astype("float64")
    np.testing.assert_allclose(powers, wide, rtol=2.0**-24)
    assert np.array_equal(remainders, np.fmod(inputs["x"], inputs["y"]))
