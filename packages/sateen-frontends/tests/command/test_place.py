"""Networks for a device with nodes on the host, on the command line."""

import json

import pytest

from sateen import runtime

PLACE = ("--target", "opencl", "--place", "out=cpu")


@pytest.fixture
def opencl() -> None:
    try:
        runtime.open_device("opencl")
    except runtime.DeviceError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("opencl")
def test_a_network_with_a_part_on_the_host_is_compiled_run_and_verified(sateen, dense, tmp_path):
    assert sateen("compile", dense, *PLACE, "-o", "net.sateen").status == 0
    assert [str(m.device) for m in runtime.read_artifact(tmp_path / "net.sateen").placed] == ["opencl(0)", "cpu(0)"]
    assert sateen("run", "net.sateen", "--random", 0).status == 0
    assert sateen("verify", dense, *PLACE, "--against", "definitions").status == 0
    shown = sateen("inspect", "net.sateen").out
    assert "\n  on          opencl(0): parameters " in shown
    assert "\n  on          cpu(0): parameters " in shown
    assert "\n  option      target_host = llvm " in shown
    refused = sateen("export", "net.sateen", "--as", "kernels", "-o", "folder")
    assert (refused.status, "found one with functions of the host" in refused.err) == (1, True)


@pytest.mark.usefixtures("opencl")
def test_steps_of_the_host_have_no_share_of_the_device(sateen, dense):
    ran = sateen("profile", dense, *PLACE, "--samples", 1, "--json")
    steps = {step["kernel"]: step for step in json.loads(ran.out)["steps"]}
    assert "copy_to" in steps
    assert sum("occupancy" in step for step in steps.values()) == len(steps) - 2
    assert sateen("profile", dense, *PLACE, "--samples", 1).status == 0


def test_the_kernel_of_the_host_is_shown_as_its_code(sateen, dense):
    summary = json.loads(sateen("inspect", dense, *PLACE, "--json").out)
    *_, name = (step["kernel"] for step in summary["steps"] if step["kernel"] != "copy_to")
    assert summary["code_bytes"][name] > 0
    assert ".text" in sateen("inspect", dense, *PLACE, "--kernel", name, "--show", "asm").out


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--place", "out=cpu"], 2, "--place: expected the --target of a device, whose network may have parts"),
        (["--target", "opencl", "--place", "out"], 2, "expected a kind of device, one of cpu"),
        (
            ["--target", "opencl", "--place", "=cpu"],
            2,
            "expected a node and its device such as conv1=cpu, found",
        ),
        (["--target", "opencl", "--place", "ouch=cpu"], 1, "placed: expected a node of graph "),
        (
            ["--target", "opencl", "--place", "out=webgpu"],
            1,
            "expected cpu(0) or a device of kind opencl, found",
        ),
        ([*PLACE, "--target-host", "c"], 2, "target_host: expected a target of kind llvm, found c"),
    ],
)
def test_places_that_can_not_be_are_refused(sateen, dense, tmp_path, options, status, words):
    ran = sateen("compile", dense, *options, "-o", "net.sateen")
    assert ran.status == status
    assert words in " ".join(ran.err.split())
    assert not (tmp_path / "net.sateen").exists()


def test_a_place_is_for_models(sateen, artifact):
    ran = sateen("run", artifact, "--random", 0, *PLACE)
    assert ran.status == 2
    assert "--target and --place: expected a model to compile so" in " ".join(ran.err.split())
