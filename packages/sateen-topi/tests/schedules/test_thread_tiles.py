"""Tiles of threads."""

from __future__ import annotations

import pytest

from sateen.tensor_ir import Machine
from sateen.topi.schedules import fitting_tiles, shared_terms


@pytest.mark.parametrize("target", ["opencl", "cuda -mcpu=sm_90", "cuda", "metal"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 1000), (49, 512), (4096, 4096)])
def test_tiles_are_within_the_product_and_the_limits_of_the_device(target: str, shape: tuple[int, int]) -> None:
    gpu = Machine.of(target).gpu
    assert gpu is not None
    tiles = [*fitting_tiles(*shape, gpu)]
    assert tiles
    for tile in tiles:
        assert tile.height <= shape[0]
        assert tile.width <= shape[1]
        assert tile.threads <= gpu.block_threads
        assert tile.rows * tile.columns < gpu.thread_registers


def test_a_step_has_as_many_terms_as_several_blocks_have_place_for_or_half_of_that() -> None:
    gpu = Machine.of("opencl").gpu
    assert gpu is not None
    assert shared_terms(128, 4, 4096, gpu) == (16, 8)
    assert shared_terms(128, 4, 10, gpu) == (8, 4)
    assert shared_terms(128, 4, 1, gpu) == (1,)
    assert shared_terms(1 << 20, 4, 4096, gpu) == (1,)


def test_a_processor_has_no_blocks() -> None:
    assert Machine.of("llvm").gpu is None
    assert Machine.of("c").gpu is None
