"""Networks on devices: `--device`, and `sateen rpc`."""

import json
import platform
import threading
from contextlib import ExitStack

import numpy as np
import onnx
import pytest

from sateen import runtime
from sateen.graph_ir.tune import Records
from sateen.rpc import Key, Registration, Server, SessionLimits, Tracker, add_key, read_key
from sateen.runtime import DeviceError, Target
from sateen.topi.computations.products import Tiled


@pytest.fixture
def key_file(tmp_path):
    add_key(Key.new(), tmp_path / "key")
    return tmp_path / "key"


@pytest.fixture
def server(tmp_path, key_file):
    with Server("127.0.0.1", 0, [read_key(key_file)], tmp_path / "store", SessionLimits()) as opened:
        threading.Thread(target=opened.serve, daemon=True).start()
        yield opened


@pytest.mark.parametrize("kind", ["model", "artifact"])
def test_a_network_runs_there_and_gives_what_it_gives_here(sateen, dense, artifact, server, key_file, kind):
    path = dense if kind == "model" else artifact
    place = "rpc://{}:{}".format(*server.address)
    here = sateen("run", path, "--random", 0)
    there = sateen("run", path, "--random", 0, "--device", place, "--key-file", key_file)
    assert (there.status, there.out) == (0, here.out), there.err


def test_a_tracker_finds_the_device_whose_key_it_does_not_have(sateen, artifact, server, key_file, tmp_path):
    key, tracker_key_file = Key.new(), tmp_path / "tracker_key"
    add_key(key, tracker_key_file)
    with Tracker("127.0.0.1", 0, [key]) as tracker:
        threading.Thread(target=tracker.serve, daemon=True).start()
        registration = Registration(server, "pi", tracker.address, key)
        place = "tracker://{}:{}/pi".format(*tracker.address)
        keys = ("--key-file", key_file, "--tracker-key-file", tracker_key_file)
        ran = sateen("run", artifact, "--random", 0, "--device", place, *keys)
        assert ran.status == 0, ran.err
        asked = sateen("rpc", "query", "{}:{}".format(*tracker.address), "--key-file", tracker_key_file)
        assert asked.out.splitlines()[1].startswith("pi    {}:{}".format(*server.address))
        registration.close()


def test_the_wait_for_a_device_that_nobody_has_is_told_and_ends(sateen, artifact, key_file):
    with Tracker("127.0.0.1", 0, [read_key(key_file)]) as tracker:
        threading.Thread(target=tracker.serve, daemon=True).start()
        place = "tracker://{}:{}/typo".format(*tracker.address)
        ran = sateen("run", artifact, "--random", 0, "--device", place, "--key-file", key_file, "--wait", 0.1)
    assert ran.status == 1
    assert f"{place}: no device has this name now; waiting up to 0.1 s" in ran.err
    assert "SessionRefusedError" in ran.err


@pytest.fixture
def opencl():
    try:
        runtime.open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("opencl")
def test_a_device_of_this_machine_or_of_a_server_runs_it(sateen, dense, server, key_file):
    here = sateen("run", dense, "--random", 0)
    for place in ("opencl(0)", "opencl(0)@rpc://{}:{}".format(*server.address)):
        keys = () if place == "opencl(0)" else ("--key-file", key_file)
        ran = sateen("run", dense, "--random", 0, "--device", place, *keys)
        assert (ran.status, ran.out) == (0, here.out), ran.err
    missing = sateen("run", dense, "--random", 0, "--device", "opencl(99)")
    assert (missing.status, "expected opencl(99), found" in missing.err) == (1, True)


@pytest.mark.usefixtures("opencl")
def test_methods_are_measured_on_a_device_of_a_server_and_used(sateen, dense, tmp_path, server, key_file):
    place = "opencl(0)@rpc://{}:{}".format(*server.address)
    options = ("--trials", 2, "--device", place, "--key-file", key_file)
    ran = sateen("tune", dense, "-o", "log.jsonl", *options)
    assert ran.status == 0, ran.err
    log = Records.read(tmp_path / "log.jsonl")
    name = runtime.open_device("opencl").description.name
    assert {(r.target, r.machine.startswith(f"{name}, 16 units")) for r in log.records} == {("opencl", True)}
    assert all(isinstance(r.method, Tiled) for r in log.records)
    measured = {(r.problem, r.method) for r in log.records}  # what is fastest may be measured again
    assert len(measured) == 2 * len(log.of("opencl"))
    again = sateen("tune", dense, "-o", "log.jsonl", *options)
    assert again.status == 0
    assert Records.read(tmp_path / "log.jsonl").records == log.records
    tuned = ("--target", "opencl", "--records", "log.jsonl")
    assert sateen("verify", dense, *tuned, "--against", "reference").status == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "cuda-c"], "kernels for cuda-c are text for nvcc and no driver"),
        (["--target", "opencl", "--device", "webgpu(0)"], "webgpu(0) can't run code for opencl"),
        (["--target", "opencl", "--device", "opencl(99)"], "opencl(99)"),
    ],
)
def test_tuning_on_a_device_that_is_not_there_is_refused(sateen, dense, options, message):
    ran = sateen("tune", dense, "-o", "log.jsonl", *options)
    assert ran.status == 1
    assert message in ran.err


def test_methods_are_measured_on_all_devices_of_a_name(sateen, convolution, tmp_path, key_file):
    key = read_key(key_file)
    with ExitStack() as stack:
        tracker = stack.enter_context(Tracker("127.0.0.1", 0, [key]))
        threading.Thread(target=tracker.serve, daemon=True).start()
        for name in ("a", "b"):
            server = stack.enter_context(Server("127.0.0.1", 0, [key], tmp_path / name))
            threading.Thread(target=server.serve, daemon=True).start()
            stack.callback(Registration(server, "pi", tracker.address, key).close)
        place = "tracker://{}:{}/pi".format(*tracker.address)
        options = ("--trials", 2, "--device", place, "--key-file", key_file)
        ran = sateen("tune", convolution, "-o", "log.jsonl", *options)
    assert ran.status == 0, ran.err
    assert ran.out.startswith("convolution.onnx: 2 operators with a choice of methods, 1 different\n")
    (problem,) = {record.problem for record in Records.read(tmp_path / "log.jsonl").records}
    assert len(Records.read(tmp_path / "log.jsonl").of(Target.host())[problem]) == 2
    assert all(r.machine.startswith(f"{platform.machine()}, ") for r in Records.read(tmp_path / "log.jsonl").records)


def test_a_target_that_a_device_does_not_run_is_told_before_anything_is_measured(sateen, dense, server, key_file):
    place = ("--device", "rpc://{}:{}".format(*server.address), "--key-file", key_file)
    ran = sateen("tune", dense, "-o", "log.jsonl", "--target", "llvm -mtriple=armv7a-linux-gnueabihf", *place)
    assert ran.status == 1
    assert f"TargetError: {place[1]} has " in ran.err


def test_a_network_is_measured_and_verified_there(sateen, dense, artifact, server, key_file):
    place = ("--device", "rpc://{}:{}".format(*server.address), "--key-file", key_file)
    measured = sateen("bench", artifact, "--against", artifact, "--samples", 3, *place)
    assert measured.status == 0, measured.err
    assert measured.out.count(artifact.name) >= 2
    judged = sateen("verify", dense, *place)
    assert judged.status == 0, judged.err
    assert "right" in judged.out.splitlines()[-1]
    profiled = json.loads(sateen("profile", dense, "--samples", 3, "--json", *place).out)
    here = json.loads(sateen("profile", dense, "--samples", 3, "--json").out)
    assert [s["kernel"] for s in profiled["steps"]] != []
    assert {s["kernel"] for s in profiled["steps"]} == {s["kernel"] for s in here["steps"]}
    assert profiled["peak_gflops"] > 0


def test_wrong_numbers_of_a_device_are_found(sateen, dense, server, key_file, tmp_path):
    place = ("--device", "rpc://{}:{}".format(*server.address), "--key-file", key_file)
    ran = sateen("run", dense, "--random", 0, "--output", "out.npz", *place)
    assert ran.status == 0, ran.err
    with np.load(tmp_path / "out.npz") as outputs:
        recorded = {f"out/{name}": outputs[name] + 1 for name in outputs.files}
    (parameter,) = [line.split()[0] for line in ran.out.splitlines()[1:2]]
    assert f"out/{parameter}" in recorded
    np.savez(tmp_path / "recorded.npz", **recorded, **inputs_of(dense))
    judged = sateen("verify", dense, "--against", "recorded", "--inputs", "recorded.npz", *place)
    assert judged.status == 1, judged.err
    assert "wrong" in judged.out


def inputs_of(model):
    """Ones for each input of an ONNX model."""
    graph = onnx.load(model).graph
    return {
        f"in/{i.name}": np.ones([d.dim_value for d in i.type.tensor_type.shape.dim], np.float32) for i in graph.input
    }


def test_a_device_is_compared_with_this_machine(sateen, dense, artifact, server, key_file):
    place = ("--device", "rpc://{}:{}".format(*server.address), "--key-file", key_file)
    ran = sateen("bench", dense, "--against", "here", "--samples", 3, "--json", *place)
    assert ran.status == 0, ran.err
    there, here = json.loads(ran.out)["results"]
    assert (there["name"], here["name"]) == ("sateen", "here")
    assert there["right"]
    assert here["right"]
    assert len(there["samples"]) == len(here["samples"]) == 3
    assert "--against here is for --device" in sateen("bench", dense, "--against", "here").err
    assert sateen("bench", artifact, "--against", "here", *place).status == 2


def test_peers_stay_here(sateen, dense, server, key_file):
    place = ("--device", "rpc://{}:{}".format(*server.address), "--key-file", key_file)
    ran = sateen("bench", dense, "--against", "onnxruntime", *place)
    assert ran.status == 2
    assert "onnxruntime run here; on a device, --against takes artifacts and here" in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--device", "ssh://a:1"],
            "or one there: opencl(0)@rpc://HOST:PORT, found 'ssh://a:1'",
        ),
        (["--device", "rpc://a:1/b"], "expected rpc://HOST:PORT, tracker://HOST:PORT/NAME or proxy://HOST:PORT/NAME"),
        (["--device", "tracker://a:1"], "expected rpc://HOST:PORT, tracker://HOST:PORT/NAME or proxy://HOST:PORT/NAME"),
        (["--device", "rpc://a:1", "--wait", "1"], "--wait is for devices of a tracker"),
        (["--wait", "1"], "--wait is for --device"),
        (["--device", "rpc://127.0.0.1:99999"], "expected rpc://HOST:PORT, tracker://HOST:PORT/NAME"),
        (["--device", "rpc://127.0.0.1:1"], "--device needs --key-file FILE"),
        (["--device", "opencl(0)@rpc://127.0.0.1:1"], "--device needs --key-file FILE"),
        (["--device", "@rpc://127.0.0.1:1"], "found '@rpc://127.0.0.1:1': expected a device such as 'cpu' or 'opencl("),
        (
            ["--device", "opencl(0)@board"],
            "expected rpc://HOST:PORT, tracker://HOST:PORT/NAME or proxy://HOST:PORT/NAME",
        ),
        (["--device", "opncl(0)"], "expected a kind of device, one of cpu, cuda, opencl"),
        (["--device", "opencl(0)", "--wait", "1"], "--wait is for rpc://HOST:PORT"),
    ],
)
def test_wrong_places_are_wrong_usage(sateen, artifact, options, message):
    ran = sateen("run", artifact, "--random", 0, *options)
    assert ran.status == 2
    assert message in ran.err


def test_keys_are_for_devices(sateen, artifact, key_file):
    assert "--key-file is for --device" in sateen("run", artifact, "--random", 0, "--key-file", key_file).err
    ran = sateen("run", artifact, "--random", 0, "--device", "rpc://127.0.0.1:1", "--key-file", key_file)
    assert ran.status == 1
    assert "127.0.0.1:1: expected a server of sateen-rpc: Connection refused" in ran.err


def test_verbs_of_rpc_are_those_of_its_own_command(sateen, tmp_path):
    assert sateen("rpc", "key", "--key-file", tmp_path / "new").status == 0
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    assert sateen("rpc", "server", "--key-file", tmp_path / "none").status == 1
