"""Measuring this machine, and what measured numbers say."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.runtime import Target, array
from sateen.tensor_ir import MachineMeter, build_functions
from sateen.tensor_ir.ir import verify
from sateen.tensor_ir.machine_meter import _fewest, _rounded, _third
from sateen.tensor_ir.probes import (
    ADDITION,
    CYCLES,
    MULTIPLY_ADD,
    PADDING,
    TICKS,
    chains,
    elements_of,
    handed_over,
    reads,
    writes,
)
from sateen.tensor_ir.targets import Machine, machine_json, parse_machine

MB = 1 << 20


def run(function, *shapes_or_arrays):
    verify(function)
    given = [array(a) if isinstance(a, np.ndarray) else array(np.zeros(a, np.int32)) for a in shapes_or_arrays]
    build_functions([function], "llvm")(*given)
    return [a.numpy() for a in given]


@pytest.mark.parametrize("streams", [1, 2, 8])
@pytest.mark.parametrize("cores", [1, 2])
def test_every_element_of_every_stream_and_core_is_read_once(streams, cores):
    lanes, size = 4, 4096
    x = np.random.default_rng(0).integers(0, 1 << 30, elements_of(size, lanes, streams, cores), np.int32)
    function = reads("f", size, 3, lanes=lanes, streams=streams, cores=cores)
    result = run(function, x, tuple(int(str(e)) for e in function.parameters[1].shape))[1]
    parts = x.reshape(cores, streams, -1)[:, :, :-PADDING]
    assert parts.size * 4 == size * cores
    expected = np.bitwise_xor.reduce(parts.reshape(cores, -1), axis=1)  # three rounds leave one
    assert np.array_equal(np.bitwise_xor.reduce(result, axis=1), expected)


def test_every_element_is_written():
    written, _ = run(writes("f", 4096, 2, lanes=4), elements_of(4096, 4), np.arange(1, 5, dtype=np.int32))
    assert np.array_equal(written[:-PADDING], np.tile(np.arange(1, 5), 256))


@pytest.mark.parametrize("to", [0, 1])
def test_what_is_handed_over_is_what_was_written(to):
    a = np.arange(1, 5, dtype=np.int32)
    _, _, result = run(handed_over("f", 4096, 2, lanes=4, to=to), (2, elements_of(4096, 4)), a, (2, 32))
    assert not result.any()  # each vector an even number of times


@pytest.mark.parametrize(("step", "expected"), [(MULTIPLY_ADD, 0.9375), (ADDITION, 2.0)])
def test_chains_of_arithmetic_compute_what_they_say(step, expected):
    (_, result) = run(
        chains("f", step, lanes=4, count=2, rounds=3), np.full(4, 0.5, np.float32), np.zeros(8, np.float32)
    )
    assert np.array_equal(result, np.full(8, expected, np.float32))


def test_the_clock_is_of_operations_that_wait_for_each_other():
    assert TICKS.count("bitwise_xor") + TICKS.count(" + ") == CYCLES
    (_, result) = run(chains("f", TICKS, lanes=1, count=1, rounds=1, dtype="int64"), np.array([3]), np.array([0]))
    x = 3
    for _ in range(CYCLES // 2):
        x = (x ^ 3) + 3
    assert result[0] == x


@pytest.mark.parametrize(
    ("memory", "streams"),
    [({1: 8.4, 2: 8.5, 4: 8.6, 8: 7.0}, 1), ({1: 4.5, 2: 6.5, 4: 7.5, 8: 6.6}, 4), ({1: 4.0, 2: 6.0, 4: 6.1}, 2)],
)
def test_the_fewest_streams_that_are_hardly_slower_are_taken(memory, streams):
    assert _fewest(memory) == streams


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([(2 * MB, 24.0), (4 * MB, 23.0), (8 * MB, 21.0), (16 * MB, 14.0)], (23.0, 8 * MB)),
        ([(4 * MB, 11.0), (8 * MB, 9.0), (16 * MB, 7.0)], (10.0, 8 * MB)),
        ([(4 * MB, 5.0), (8 * MB, 4.8)], (4.5, 0)),
        ([], (4.5, 0)),
        ([(2 * MB, 70.0), (4 * MB, 20.0)], (32.0, 2 * MB)),
    ],
)
def test_the_third_cache_ends_where_reading_gets_slower(sizes, found):
    assert _third(sizes, 4.5, 32.0) == found


def test_numbers_have_two_digits():
    assert [_rounded(v) for v in (62.58, 0.4567, 3.71e9, 1.0)] == [63.0, 0.46, 3.7e9, 1.0]


@pytest.mark.skipif(Target.host().architecture not in ("x86_64", "aarch64"), reason="measured where CI runs")
def test_this_machine_is_measured_and_its_file_is_read():
    found = MachineMeter(1).measure(samples=1)
    table, rates = Machine.of("llvm"), found.machine.rates
    assert found.machine.vector_bytes == table.vector_bytes
    assert table.rates.multiply_add_bytes / 8 < rates.multiply_add_bytes < table.rates.multiply_add_bytes * 8
    assert rates.memory <= rates.memory_in_streams <= rates.memory_together
    read = parse_machine(machine_json(found.machine, Target.host(), {"clock_hz": found.clock}), "llvm")
    assert (read.rates, read.l3_bytes) == (rates, found.machine.l3_bytes)
