"""The choice between ways to convolve."""

from dataclasses import replace

import pytest

from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution import ConvolutionShapes, Direct, Winograd
from sateen.topi.computations.convolution.methods import cpu_candidates as candidates
from sateen.topi.computations.windows import Window

AVX512 = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4"), l2_bytes=1 << 20, l3_bytes=32 << 20)
WASM = Machine.of("wasm32")
AVX2 = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"), l3_bytes=16 << 20)


def problem(channels, outputs, size, kernel=3, stride=1, dilation=1):
    pad = kernel // 2 * dilation
    window = Window((kernel,) * 2, (stride,) * 2, (pad,) * 4, (dilation,) * 2)
    return ConvolutionShapes((1, channels, size, size), (outputs, channels, kernel, kernel), window)


@pytest.mark.parametrize(
    ("given", "tile"),
    [
        (problem(64, 64, 56), 6),
        (problem(16, 64, 55), 6),
        (problem(256, 256, 14), 4),
        (problem(512, 512, 7), 2),
        (problem(64, 128, 56, stride=2), 2),
        (problem(3, 64, 224), None),
        (problem(512, 512, 1), None),
        (problem(64, 64, 56, kernel=5), None),
        (problem(64, 64, 56, kernel=1), None),
        (problem(64, 64, 56, dilation=2), None),
    ],
)
def test_winograd_is_chosen_where_it_saves_more_than_it_costs(given, tile):
    best = candidates(given, AVX512)[0].method
    assert (best.tile if isinstance(best, Winograd) else None) == tile


def test_blocks_that_cores_share_evenly_are_preferred():
    cycles = {str(c.method): c.cycles for c in candidates(problem(64, 64, 56), AVX512)}
    assert cycles[str(Winograd(4, 1, 14, 2))] < cycles[str(Winograd(4, 2, 14, 2))]  # 14 blocks and 7


@pytest.mark.parametrize("machine", [AVX512, AVX2])
def test_tiles_fit_into_the_registers(machine):
    for c in candidates(problem(64, 96, 28), machine):
        if isinstance(c.method, Direct):
            tile = c.method
            assert (tile.rows * tile.columns + 1) * tile.vectors + 1 <= machine.vector_registers


def test_rows_are_taken_together_only_where_no_window_reads_padding():
    assert any(c.method.rows > 1 for c in candidates(problem(64, 64, 7, kernel=1), AVX512))
    direct = [c.method for c in candidates(problem(64, 64, 7), AVX512) if isinstance(c.method, Direct)]
    assert all(m.rows == 1 for m in direct)


def test_fewer_outputs_than_lanes_leave_no_choice():
    assert candidates(problem(64, 8, 28), AVX512) == []


@pytest.mark.parametrize(("channels", "most"), [(16, 28), (17, 17), (32, 28), (33, 17)])
def test_tiles_are_smaller_where_the_sum_ends_in_a_loop_of_its_own(channels, most):
    tiles = [c.method for c in candidates(problem(channels, 48, 84), AVX512) if isinstance(c.method, Direct)]
    assert max(tile.columns * tile.vectors for tile in tiles) == most


def test_where_each_byte_counts_a_larger_weight_must_save_more():
    deep, flat = problem(512, 512, 7), problem(64, 64, 56)
    free = replace(WASM, enlargement_cycles=0.0)
    chosen = {
        (name, given): min(candidates(given, machine), key=lambda c: c.cycles).method
        for name, machine in (("free", free), ("priced", WASM))
        for given in (deep, flat)
    }
    assert chosen["free", deep] != chosen["priced", deep]
    assert isinstance(chosen["free", deep], Winograd)
    assert chosen["free", flat] == chosen["priced", flat]
    assert isinstance(chosen["free", flat], Winograd)


@pytest.mark.parametrize("target", ["cortex-m7", "llvm -mtriple=riscv64-none-elf -mattr=+v,+zvl256b"])
def test_no_weight_is_larger_in_flash(target):
    methods = [c.method for c in candidates(problem(64, 64, 56), Machine.of(target)) if c.cycles < float("inf")]
    assert not any(isinstance(method, Winograd) for method in methods)
