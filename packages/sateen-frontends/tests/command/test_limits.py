"""What a network makes of a device."""

from __future__ import annotations

import pytest

from sateen.frontends.command.limits import Occupancy, occupancy_of, use_of
from sateen.runtime import Artifact, Step, TimeResult
from sateen.runtime.launches import NetworkLaunch

DESCRIBED = {"name": "Example", "units": 100, "shared_bytes": 48 << 10}


def network(*launches: tuple[int, int, int, int], target: str = "cuda -mcpu=sm_90") -> Artifact:
    """One of two steps; launches are blocks, threads of a block, bytes of shared memory, step."""
    steps = tuple(Step(name, (name,), (name,), (), (), 2_000_000, 1_000_000) for name in ("first", "second"))
    made = [
        NetworkLaunch(f"k{step}", (blocks, 1, 1), (threads, 1, 1), (), (), step, shared)
        for blocks, threads, shared, step in launches
    ]
    return Artifact("test 1", target, (), (), 0, b"", b"", steps=steps, kernels=b"code", actions=tuple(made))


@pytest.mark.parametrize(
    ("launch", "threads", "share"),
    [
        ((100, 1024, 0, 0), 102_400, 0.5),  # a unit holds 2048 threads
        ((200, 1024, 0, 0), 204_800, 1.0),
        ((1000, 64, 0, 0), 64_000, 1000 * 64 / 204_800),
        ((100_000, 128, 24 << 10, 0), 12_800_000, 2 * 128 / 2048),  # two blocks have place
        ((100_000, 128, 100 << 10, 0), 12_800_000, 128 / 2048),
    ],
)
def test_blocks_fill_a_device_by_their_number_threads_and_shared_memory(
    launch: tuple[int, int, int, int], threads: int, share: float
) -> None:
    found = occupancy_of(network(launch), 0, DESCRIBED)
    assert found == Occupancy(threads, pytest.approx(share))


def test_the_largest_launch_of_a_step_counts() -> None:
    artifact = network((1, 32, 0, 0), (200, 1024, 0, 0))
    assert occupancy_of(artifact, 0, DESCRIBED) == Occupancy(204_832, 1.0)
    assert occupancy_of(artifact, 1, DESCRIBED) is None


def test_processors_have_no_occupancy() -> None:
    assert occupancy_of(network((1, 32, 0, 0), target="llvm"), 0, DESCRIBED) is None


def test_the_use_of_a_device_is_that_of_steps_by_their_time() -> None:
    artifact = network((200, 1024, 0, 0), (100, 1024, 0, 1), (100, 1024, 0, 1))
    times = [TimeResult((0.001,), 1), TimeResult((0.003,), 1)]
    use = use_of(artifact, times, DESCRIBED, 10.0, 5.0)
    assert (use.kernels, use.launches, use.seconds) == (2, 3, 0.004)
    assert use.occupancy == pytest.approx((1.0 * 0.001 + 0.5 * 0.003) / 0.004)
    assert (use.gflops, use.gigabytes_per_second) == pytest.approx((1.0, 0.5))
    assert str(use) == (
        "Example: 2 kernels in 3 launches, 4 ms, occupancy 62%, 1 GFLOP/s (10% of 10), 0.5 GB/s (10% of 5)"
    )


def test_steps_on_the_host_are_no_use_of_a_device() -> None:
    artifact = network((200, 1024, 0, 0))
    use = use_of(artifact, [TimeResult((0.001,), 1), TimeResult((0.003,), 1)], DESCRIBED, 10.0, 5.0)
    assert (use.seconds, use.occupancy) == (0.001, 1.0)
    assert (use.gflops, use.gigabytes_per_second) == pytest.approx((2.0, 1.0))
