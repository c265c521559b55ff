from __future__ import annotations

import json
from math import prod

import pytest

from sateen import runtime
from sateen.frontends.command.output import decimal


@pytest.fixture
def timed(sateen, two_products, tmp_path):
    assert sateen("compile", two_products, "-o", "timed.sateen", "--timed", "--no-cache").status == 0
    return tmp_path / "timed.sateen"


def test_a_model_is_profiled_step_by_step(sateen, two_products):
    ran = sateen("profile", two_products, "--samples", 2, "--order", "network")
    assert ran.status == 0
    head, titles, first, second = ran.out.splitlines()
    assert head.startswith("two.onnx: 2 steps in ")
    assert titles.split()[:3] == ["step", "us", "share"]
    assert "first + rectify (mat_mul, relu)" in first
    assert "second (mat_mul)" in second


def test_one_step_is_counted_as_one(sateen, two_products):
    ran = sateen("profile", two_products, "--samples", 2, "--to", "rectified")
    assert ran.out.startswith("two.onnx: 1 step in ")


def test_an_artifact_that_was_compiled_with_timed_steps_is_profiled(sateen, timed):
    answer = json.loads(sateen("profile", timed, "--samples", 2, "--json").out)
    steps = answer["steps"]
    assert sorted(s["position"] for s in steps) == [0, 1]
    assert [s["median_seconds"] for s in steps] == sorted((s["median_seconds"] for s in steps), reverse=True)
    assert sum(s["share"] for s in steps) == pytest.approx(1)
    assert {tuple(s["nodes"]) for s in steps} == {("first", "rectify"), ("second",)}
    assert all(s["gflops"] > 0 for s in steps)


@pytest.mark.parametrize("verb", ["profile", "bench", "run"])
def test_more_threads_than_any_machine_has_are_wrong_usage(sateen, two_products, verb):
    ran = sateen(verb, two_products, "--threads", 100000)
    assert ran.status == 2
    assert "'--threads': expected an integer from" in ran.err
    assert "to 1024, found '100000'" in ran.err


def test_an_artifact_without_timed_steps_is_refused_with_what_to_do(sateen, artifact):
    ran = sateen("profile", artifact)
    assert ran.status == 1
    assert "found one without; compile it again with them: `sateen compile --timed`" in ran.err


def test_a_timed_artifact_says_so_and_runs_like_any_other(sateen, timed):
    assert "  steps       2, timed\n" in sateen("inspect", timed).out
    assert sateen("run", timed, "--random", 0).status == 0


def test_a_step_that_memory_limits_is_measured_in_bytes(sateen, picture_network):
    (step,) = json.loads(sateen("profile", picture_network, "--samples", 2, "--json").out)["steps"]
    assert step["gflops"] is None
    assert step["bytes"] == 4 * (3 * 4 + 3)
    assert step["gigabytes_per_second"] > 0


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.000"), (1234.5, "1234.500"), (0.123, "0.123"), (0.0123, "0.0123"), (4.2e-4, "0.000420")],
)
def test_small_numbers_are_told_with_three_digits(value, text):
    assert decimal(value, 3) == text


@pytest.fixture
def opencl():
    try:
        runtime.open_device("opencl")
    except runtime.DeviceError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("opencl")
def test_a_device_is_profiled_by_its_own_clock(sateen, two_products):
    answer = json.loads(sateen("profile", two_products, "--target", "opencl", "--samples", 2, "--json").out)
    assert answer["peak_gflops"] > 0
    assert answer["peak_gigabytes_per_second"] > 0
    steps = answer["steps"]
    assert {tuple(s["nodes"]) for s in steps} == {("first", "rectify"), ("second",)}
    for s in steps:
        assert s["median_seconds"] > 0
        assert s["threads"] >= 1
        assert 0 < s["occupancy"] <= 1
        assert s["of_peak"] > 0
        assert sum(prod(launch["grid"]) * prod(launch["block"]) for launch in s["launches"]) == s["threads"]
    assert answer["device"]["launches"] == sum(len(s["launches"]) for s in steps)
    assert answer["device"]["seconds"] == answer["seconds"]
    assert answer["device"]["peak_gflops"] == answer["peak_gflops"]
    assert 0 < answer["device"]["occupancy"] <= 1


@pytest.mark.usefixtures("opencl")
def test_the_peak_of_a_device_is_the_device_s(sateen, two_products):
    ran = sateen("bench", two_products, "--target", "opencl", "--samples", 2)
    assert ran.status == 0
    assert "1 thread, peak " in ran.out
    name = runtime.open_device("opencl").description.name
    assert ran.out.splitlines()[1].startswith(f"{name}: 2 kernels in 2 launches, ")
    _, use, titles, *_ = sateen("profile", two_products, "--target", "opencl", "--samples", 1).out.splitlines()
    assert use.startswith(f"{name}: 2 kernels in 2 launches, ")
    expected = ["step", "us", "share", "GFLOP/s", "GB/s", "of", "peak", "launches", "threads", "occupancy"]
    assert titles.split()[:10] == expected


@pytest.mark.usefixtures("opencl")
def test_bench_says_what_a_network_makes_of_a_device(sateen, two_products):
    answer = json.loads(sateen("bench", two_products, "--device", "opencl(0)", "--samples", 2, "--json").out)
    use = answer["device"]
    assert use["name"] == runtime.open_device("opencl").description.name
    assert (use["kernels"], use["launches"]) == (2, 2)
    assert use["peak_gflops"] == answer["peak_gflops"]
    assert min(use["seconds"], use["occupancy"], use["gflops"], use["gigabytes_per_second"]) > 0
    assert use["peak_gigabytes_per_second"] > 0


def test_an_artifact_for_a_device_says_how_many_steps_it_has(sateen, two_products):
    assert sateen("compile", two_products, "-o", "there.sateen", "--target", "opencl", "--no-cache").status == 0
    assert "  steps       2, which sateen profile measures\n" in sateen("inspect", "there.sateen").out
