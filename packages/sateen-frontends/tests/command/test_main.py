from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sateen.frontends.command import main as entry
from sateen.frontends.command.main import main
from sateen.frontends.command.main import sateen as group


def test_help_tells_every_verb(sateen):
    ran = sateen("--help")
    assert ran.status == 0
    for verb in ("bench", "check", "compile", "doctor", "inspect", "profile", "run", "verify"):
        assert f"\n  {verb} " in ran.out


@pytest.mark.parametrize("arguments", [["nonsense"], ["run"], ["run", "absent.sateen"], ["compile", "absent.onnx"]])
def test_wrong_usage_exits_with_2_and_says_so_on_stderr(sateen, arguments):
    ran = sateen(*arguments)
    assert ran.status == 2
    assert ran.out == ""
    assert "Error:" in ran.err


def test_a_fault_of_sateen_exits_with_3_and_shows_where(sateen, monkeypatch):
    def fail(**_):
        raise RuntimeError("broken inside")

    monkeypatch.setattr(group.commands["doctor"], "callback", fail)
    ran = sateen("doctor")
    assert ran.status == 3
    assert "RuntimeError: broken inside" in ran.err
    assert ran.err.endswith("This is a fault of sateen itself, not of your model; please report it.\n")


def test_an_interrupt_exits_as_shells_expect(sateen, monkeypatch):
    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(group.commands["doctor"], "callback", interrupt)
    assert sateen("doctor").status == 130


def test_a_reader_that_goes_away_is_no_fault():
    program = "import sys; from sateen.frontends.command.main import main; sys.exit(main(['--help']))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_the_entry_point_of_the_distribution_is_the_command():
    assert entry.main is main


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b"\x89HDF\r\n\x1a\nrest", "an HDF5 file, as Keras writes"),
        (b"\x1c\0\0\0TFL3rest", "a TensorFlow Lite model"),
        (b"PK\x03\x04rest", "a zip archive, as PyTorch and Keras write"),
        (b'{"nodes": []}', "JSON, as MXNet writes"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "run", "inspect", "verify"])
def test_a_file_is_known_by_its_content_whatever_its_name(sateen, tmp_path, verb, content, found):
    (tmp_path / "model.onnx").write_bytes(content)
    ran = sateen(verb, "model.onnx")
    assert ran.status == 1
    assert ran.err == f"FrontendError: model.onnx: expected an ONNX model or an artifact of sateen, found {found}\n"


def test_bytes_that_are_no_model_are_refused(sateen, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"no protobuf message")
    ran = sateen("check", "model.onnx")
    assert ran.status == 1
    assert "expected an ONNX model" in ran.err


@pytest.mark.parametrize("verb", ["check", "run", "verify", "inspect"])
def test_a_pipe_or_a_device_in_place_of_a_file_is_refused(sateen, tmp_path, verb):
    os.mkfifo(tmp_path / "pipe.onnx")
    for path in ("pipe.onnx", "/dev/zero"):
        ran = sateen(verb, path)
        assert ran.status == 1
        assert f"expected a file with an ONNX model or an artifact of sateen, found '{path}'" in ran.err
