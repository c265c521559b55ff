"""What the command writes: no name of a model, an artifact or a file commands a terminal."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console

from sateen.frontends.command.main import sateen as group
from sateen.frontends.command.output import say
from sateen.frontends.command.progress import step, steps

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\r\u202e\0\x7f"
SHOWN = "\\x1b[2J\\x1b]0;title\\x07\\x9b31m\\r\\u202e\\x00\\x7f"


def controls(text: str) -> set[str]:
    return {c for c in text if not c.isprintable()} - {"\n"}


def _save(path, operator: str) -> None:
    nodes = [
        helper.make_node("MatMul", ["data", f"w{HOSTILE}"], [f"p{HOSTILE}"], f"product{HOSTILE}"),
        helper.make_node(operator, [f"p{HOSTILE}"], ["out"], f"last{HOSTILE}"),
    ]
    graph = helper.make_graph(
        nodes,
        f"net{HOSTILE}",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, (1, 3))],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones((3, 4), np.float32), f"w{HOSTILE}")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


@pytest.fixture
def hostile(tmp_path):
    """A model all of whose names would command a terminal, its file's own too."""
    path = tmp_path / f"model{HOSTILE}.onnx".replace("\0", "")
    _save(path, "Relu")
    return path


def test_names_of_a_model_and_its_file_are_escaped_by_every_verb(sateen, hostile):
    for arguments in (
        ("check", hostile),
        ("compile", hostile, "-o", "out.sateen", "--timed"),
        ("inspect", hostile),
        ("inspect", hostile, "--passes"),
        ("inspect", hostile, "--candidates"),
        ("inspect", hostile, "--kernel", "k0_mat_mul"),
        ("inspect", hostile, "--kernel", "k0_mat_mul", "--show", "graph"),
        ("inspect", hostile, "--json"),
        ("inspect", "out.sateen"),
        ("profile", hostile, "--samples", 1),
        ("profile", "out.sateen", "--samples", 1),
        ("run", hostile, "--random", 1),
        ("verify", hostile, "--against", "reference", "--layers"),
        ("bench", hostile, "--samples", 1),
    ):
        ran = sateen(*arguments)
        assert ran.status == 0, arguments
        assert controls(ran.out + ran.err) == set(), arguments
    assert SHOWN in sateen("profile", "out.sateen", "--samples", 1).out


@pytest.mark.parametrize("verb", ["check", "compile", "run", "inspect", "verify"])
def test_names_in_refusals_are_escaped(sateen, tmp_path, verb):
    _save(tmp_path / "model.onnx", f"Nonesuch{HOSTILE}")
    ran = sateen(verb, "model.onnx", *(["-o", "out"] if verb == "compile" else []))
    assert ran.status == 1
    assert f"Nonesuch{SHOWN}" in ran.out + ran.err
    assert controls(ran.out + ran.err) == set()


def test_wrong_usage_and_faults_are_escaped(sateen, dense, monkeypatch):
    name = HOSTILE.replace("\0", "")
    for arguments in (("run", f"absent{name}"), (f"verb{name}",), ("compile", dense, "-o", f"none{name}/out")):
        ran = sateen(*arguments)
        assert ran.status == 2
        assert controls(ran.err) == set()

    def fail(*_, **__):
        raise RuntimeError(HOSTILE)

    monkeypatch.setattr(group.commands["doctor"], "callback", fail)
    ran = sateen("doctor")
    assert ran.status == 3
    assert SHOWN in ran.err
    assert controls(ran.err) == set()


def test_progress_is_escaped():
    console = Console(force_terminal=True, color_system=None, width=200)
    with console.capture() as capture:
        with step(f"reading {HOSTILE}", console):
            pass
        with steps(2, console) as tell:
            tell(HOSTILE, 1)
    assert "\x1b]0;title" not in capture.get()
    assert "\x9b" not in capture.get()


def test_tabs_and_ends_of_lines_are_kept(capsys):
    say("\tmov\teax, 1\n\tret\x1b")
    assert capsys.readouterr().out == "\tmov\teax, 1\n\tret\\x1b\n"


def test_one_module_of_the_command_writes():
    modules = {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in files("sateen.frontends.command").iterdir()
        if entry.name.endswith(".py")
    }
    assert [name for name, text in modules.items() if re.search(r"click\.s?echo|print\(", text)] == ["output.py"]
