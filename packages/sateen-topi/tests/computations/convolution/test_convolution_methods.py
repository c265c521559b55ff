"""The choice between ways to convolve."""

from dataclasses import replace

import pytest

from sateen.runtime import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution import (
    ConvolutionShapes,
    Direct,
    Rectangles,
    Winograd,
    WinogradTiles,
    transposed_candidates,
)
from sateen.topi.computations.convolution import conv_candidates as candidates
from sateen.topi.computations.strips import Strips
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


def test_direct_and_winograd_are_for_float32_and_winograd_for_one_group():
    given = problem(64, 64, 28)
    assert {type(c.method) for c in candidates(given, AVX512)} == {Direct, Winograd}
    assert candidates(replace(given, dtype=DType.of("float16")), AVX512) == []
    assert {type(c.method) for c in candidates(replace(given, weight=(64, 32, 3, 3), groups=2), AVX512)} == {Direct}
    assert candidates(replace(given, weight=(64, 8, 3, 3), groups=8), AVX512) == []  # a group fills no vector


@pytest.mark.parametrize("machine", [AVX512, AVX2])
def test_panels_of_a_group_have_channels_of_no_other(machine):
    given = replace(problem(96, 96, 14), weight=(96, 48, 3, 3), groups=2)
    vectors = {c.method.vectors for c in candidates(given, machine)}
    assert vectors
    assert all(48 // machine.lanes() % v == 0 for v in vectors)


@pytest.mark.parametrize("machine", [AVX512, AVX2])
def test_columns_of_a_depthwise_convolution_leave_registers_for_what_they_share(machine):
    found = candidates(replace(problem(64, 64, 112), weight=(64, 1, 3, 3), groups=64), machine)
    assert len({c.method.columns for c in found}) == len(found) > 3
    assert all((c.method.rows, c.method.vectors) == (1, 1) for c in found)
    assert all(2 * c.method.columns + 2 <= machine.vector_registers for c in found)


def test_tiles_of_a_transposed_convolution_are_whole_strides():
    window = Window((4, 4), (2, 2), (1,) * 4, (1, 1))
    given = ConvolutionShapes((1, 64, 14, 14), (64, 96, 4, 4), window)
    found = [c.method for c in transposed_candidates(given, (28, 28), AVX512)]
    assert {m.vectors for m in found} == {1, 2, 3, 6}
    assert all(m.columns % 2 == 0 for m in found)
    assert all((m.columns + 1) * m.vectors + 1 <= AVX512.vector_registers for m in found)
    assert transposed_candidates(replace(given, weight=(64, 12, 4, 4)), (28, 28), AVX512) == []
    assert transposed_candidates(given, (28, 28), Machine.of("opencl")) == []


@pytest.mark.parametrize("target", ["opencl", "cuda -mcpu=sm_90", "cuda", "metal", "webgpu", "rocm"])
@pytest.mark.parametrize("given", [problem(64, 64, 56), problem(3, 64, 224, 7, 2), problem(512, 1000, 7, 1)])
def test_rectangles_are_within_the_result_and_the_limits_of_the_device(target, given):
    machine = Machine.of(target)
    gpu, (*outer, width) = machine.gpu, given.on_a_line.output
    height = outer[-1] if outer else 1
    found = [c for c in candidates(given, machine) if not isinstance(c.method, WinogradTiles)]
    assert 20 <= len({c.method for c in found}) == len(found) <= 48
    assert found == sorted(found, key=lambda c: c.cycles)
    for c in found:
        m = c.method
        assert isinstance(m, Rectangles)
        assert (m.rows * m.columns) % m.positions == 0
        assert m.groups == 1
        assert m.rows <= height
        assert m.columns <= width
        assert m.tile.height <= given.weight[0]
        assert m.tile.fits(gpu)
        area = ((m.rows - 1) * given.window.strides[0] + 1) * ((m.columns - 1) * given.window.strides[1] + 1)
        assert 4 * area * m.channels <= gpu.shared_bytes


def test_kernels_without_place_have_no_rectangles():
    opencl = Machine.of("opencl")
    assert candidates(problem(2, 3, 96, kernel=31), opencl)
    assert candidates(problem(2, 3, 96, kernel=95), opencl) == []


def test_a_rectangle_has_a_part_of_a_group_or_several_groups():
    opencl, given = Machine.of("opencl"), problem(64, 64, 28)
    two = [c.method for c in candidates(replace(given, weight=(64, 32, 3, 3), groups=2), opencl)]
    assert {m.groups for m in two} == {1}
    assert all(m.tile.height <= 32 for m in two)
    depthwise = [c.method for c in candidates(replace(given, weight=(64, 1, 3, 3), groups=64), opencl)]
    assert max(m.groups for m in depthwise) > 1
    assert all(m.tile.height == m.groups for m in depthwise)


def test_strips_are_for_any_groups():
    processor = Machine.of("opencl -mcpu=processor")
    given = problem(64, 64, 28)
    for one in (given, replace(given, weight=(64, 1, 3, 3), groups=64)):
        best = candidates(one, processor)[0].method
        assert best == Strips(4, 28)
