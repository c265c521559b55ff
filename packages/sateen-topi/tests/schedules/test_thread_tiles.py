"""The choice of tiles of threads."""

from __future__ import annotations

import pytest

from sateen.tensor_ir import Machine
from sateen.topi.schedules import shared_terms, thread_tile

TARGETS = ["opencl", "cuda -mcpu=sm_90", "cuda", "metal"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 1000), (49, 512), (3136, 64), (4096, 4096)])
def test_a_tile_is_within_the_product_and_the_limits_of_the_device(target: str, shape: tuple[int, int]) -> None:
    gpu = Machine.of(target).gpu
    assert gpu is not None
    tile = thread_tile(*shape, 1, gpu)
    assert tile.height <= shape[0]
    assert tile.width <= shape[1]
    assert tile.threads <= gpu.block_threads
    assert tile.rows * tile.columns < gpu.thread_registers
    assert 4 * (tile.height + tile.width) * shared_terms(tile.height + tile.width, 4, 4096, gpu) < gpu.shared_bytes


@pytest.mark.parametrize("target", TARGETS)
def test_more_work_gets_larger_tiles_of_whole_warps(target: str) -> None:
    gpu = Machine.of(target).gpu
    assert gpu is not None
    small, large = thread_tile(128, 128, 1, gpu), thread_tile(4096, 4096, 1, gpu)
    assert large.rows * large.columns > small.rows * small.columns
    assert large.threads % gpu.warp == 0


def test_a_processor_has_no_blocks() -> None:
    assert Machine.of("llvm").gpu is None
    assert Machine.of("c").gpu is None
