"""Some of the schedules, scripts, graphs and connections that `nox -s fuzz` draws."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("run.py")
GRAPHS = Path(__file__).with_name("graphs.py")
CONNECTIONS = Path(__file__).with_name("connections.py")
PAGES = Path(__file__).with_name("pages.py")
DEVICES = Path(__file__).parents[2] / "packages" / "sateen-tensor-ir" / "tests" / "devices"
SCRIPTS = Path(__file__).with_name("scripts.py")


@pytest.mark.timeout(300)
def test_random_schedules_compute_what_their_definitions_say_and_illegal_ones_are_refused() -> None:
    command = [sys.executable, str(PROGRAM), "--count", "100", "--refusals", "100"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(DEVICES), os.environ.get("PYTHONPATH", "")])}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "100 schedules" in result.stdout


def test_random_scripts_give_the_same_compiled_interpreted_and_by_python() -> None:
    command = [sys.executable, str(SCRIPTS), "--count", "20"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "20 scripts, 0 at fault" in result.stdout


@pytest.mark.timeout(300)
def test_random_graphs_give_what_onnxruntime_gives() -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    command = [sys.executable, str(GRAPHS), "--first", "4", "--count", "20"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "20 graphs, 0 at fault" in result.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of processes in /proc")
@pytest.mark.timeout(300)
def test_hostile_connections_run_nothing_and_take_no_memory() -> None:
    command = [sys.executable, str(CONNECTIONS), "--count", "1000", "--seed", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1000 hostile connections" in result.stdout


@pytest.mark.timeout(300)
def test_a_page_outlives_hostile_clients() -> None:
    pytest.importorskip("websockets", reason="the package websockets is not installed")
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if subprocess.run([node, "-e", "WebSocket"], capture_output=True, check=False).returncode:
        pytest.skip("node is older than 22, the first with WebSocket")
    command = [sys.executable, str(PAGES), "--count", "90", "--seed", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "90 hostile clients" in result.stdout
