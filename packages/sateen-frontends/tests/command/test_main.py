from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from sateen import console, frontends
from sateen.frontends.command import main as entry
from sateen.frontends.command.files import MODEL_OR_ARTIFACT
from sateen.frontends.command.main import main
from sateen.frontends.command.main import sateen as group


def test_help_tells_every_verb(sateen):
    ran = sateen("--help")
    assert ran.status == 0
    for verb in ("bench", "check", "compile", "doctor", "inspect", "profile", "run", "verify"):
        assert f"\n  {verb} " in ran.out


def test_the_version_is_told(sateen):
    ran = sateen("--version")
    assert (ran.status, ran.out) == (0, f"sateen, version {frontends.__version__}\n")


def test_the_namespace_is_a_program():
    command = [sys.executable, "-m", "sateen", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == f"sateen, version {frontends.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_what_completes_the_command(shell):
    program = "import sys; from sateen.frontends.command.main import main; sys.exit(main())"
    environment = {**os.environ, "_SATEEN_COMPLETE": f"{shell}_source"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert "_SATEEN_COMPLETE" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["comple"], "tune, merge, doctor, rpc, found 'comple'; did you mean compile?"),
        (["RUN", "dense.onnx"], "found 'RUN'; did you mean run"),
        (["run", "dense.onnx", "--trials", "3"], " It is an option of sateen tune."),
        (["run", "dense.onnx", "--random", "some"], "expected an integer of 0 or more, found 'some'"),
        (["run", "dense.onnx", "--threads", "2000"], "expected an integer from 0 to 1024, found '2000'"),
        (["compile", "--numeric", "fast"], "No such option '--numeric'. Did you mean '--numerics'?"),
        (["compile", "dense.onnx", "-o", "out.sateen", "--target", "lvm"], "found 'lvm'; did you mean llvm?"),
        (
            ["run", "dense.onnx", "--numerics", "fsat"],
            "expected strict, default or fast, found 'fsat'; did you mean fast or",
        ),
        (["run", "dense.onnx", "--parameters", "PACKED"], "trained or packed, found 'PACKED'; did you mean packed?"),
        (["run", "Dens.onnx"], "expected a file to read, found none at 'Dens.onnx'; did you mean dense.onnx?"),
        (["run", "absent/dense.onnx"], "found none at 'absent/dense.onnx': there is no folder absent"),
        (["run", "dense.onnx", "--records", "dens.onnx"], "found none at 'dens.onnx'; did you mean dense.onnx?"),
    ],
)
@pytest.mark.usefixtures("dense")
def test_what_is_mistyped_is_told_with_the_closest_name(sateen, arguments, advice):
    assert advice in sateen(*arguments).err


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
    assert ran.err.endswith("This is a fault of sateen, not of your model; please report it.\n")


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


def test_the_entry_point_of_the_distribution_is_the_command(monkeypatch):
    (script,) = entry_points(group="console_scripts", name="sateen")
    monkeypatch.setattr(sys, "argv", ["sateen", "--help"])
    monkeypatch.setattr(entry, "main", lambda: main(["--help"]))
    before = signal.getsignal(signal.SIGINT)  # ignored, where the tests run in the background of a shell
    assert script.load() is console.main
    assert console.main() == 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("call", [("-m", "sateen"), ("-c", "from sateen.console import main; main()")])
def test_an_interrupt_while_the_command_is_imported_ends_it_without_a_traceback(call, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("""
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
""")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([sys.executable, *call], env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


def test_an_interrupt_that_the_shell_has_switched_off_stays_so():
    program = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from sateen import console
sys.argv = ["sateen", "--help"]
console.main()
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b"\x1c\0\0\0ORTMrest", "a model in onnxruntime's own format"),
        (b"\x89PNG\r\n\x1a\nrest", "a picture (PNG)"),
        (b"neither\n", "text"),
        (b'{"layers": []}', "JSON, as TensorFlow.js writes"),
        (b"\x1f\x8b\x08\0", "a gzip archive; unpack it, and give the model in it"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "run", "inspect", "verify"])
def test_a_file_is_known_by_its_content_whatever_its_name(sateen, tmp_path, verb, content, found):
    (tmp_path / "model.onnx").write_bytes(content)
    ran = sateen(verb, "model.onnx")
    assert ran.status == 1
    assert ran.err == f"FrontendError: model.onnx: expected a model, found {found}; known are {MODEL_OR_ARTIFACT}\n"


@pytest.mark.parametrize("verb", ["check", "run", "inspect", "verify"])
def test_a_model_that_is_cut_short_is_told_by_its_reader(sateen, tmp_path, verb):
    (tmp_path / "net").write_bytes(b"\x08\x08\x3a\x7fcut")
    ran = sateen(verb, "net")
    assert ran.status == 1
    found = "found one that is cut short: 7 bytes where 131 are announced; copy it again"
    assert ran.err == f"FrontendError: net: expected an ONNX model, {found}\n"


@pytest.mark.parametrize("verb", ["bench", "check", "inspect", "profile", "run", "verify"])
def test_a_folder_is_told_by_its_content(sateen, tmp_path, verb):
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "config.json").touch()
    ran = sateen(verb, "net")
    assert ran.status == 1
    found = "a folder with a model of Hugging Face; `optimum-cli export onnx` makes an ONNX model of it"
    assert ran.err == f"FrontendError: net: expected a model, found {found}; known are {MODEL_OR_ARTIFACT}\n"


def test_the_list_of_files_of_a_package_is_told_from_other_json(sateen, tmp_path):
    (tmp_path / "Manifest.json").write_text('{"itemInfoEntries": {}, "rootModelIdentifier": "1"}')
    found = "the list of files of a CoreML package (.mlpackage); give the folder around it"
    assert f"Manifest.json: expected a model, found {found};" in sateen("check", "Manifest.json").err


def test_bytes_that_are_no_model_are_refused(sateen, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"no protobuf message")
    ran = sateen("check", "model.onnx")
    assert ran.status == 1
    assert f"known are {MODEL_OR_ARTIFACT}" in ran.err


@pytest.mark.parametrize("verb", ["check", "run", "verify", "inspect"])
def test_a_pipe_or_a_device_in_place_of_a_file_is_refused(sateen, tmp_path, verb):
    os.mkfifo(tmp_path / "pipe.onnx")
    for path in ("pipe.onnx", "/dev/zero"):
        ran = sateen(verb, path)
        assert ran.status == 1
        assert f"{path}: expected {MODEL_OR_ARTIFACT}, found no regular file" in ran.err
