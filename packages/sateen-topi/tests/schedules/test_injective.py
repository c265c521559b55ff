"""The schedule of injective groups: contiguous axes are one, transposed ones go in squares."""

from dataclasses import replace

import numpy as np
import pytest

from sateen.tensor_ir import Machine, lower, te
from sateen.topi.computations import element_wise, shape
from sateen.topi.computations.broadcast import combine as broadcast
from sateen.topi.schedules import Computation, schedule_injective
from sateen.topi.types import compute, placeholder

MACHINE = Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4")


def loops(computation, views):
    result = computation.view.tensor
    schedule = te.create_schedule(result)
    schedule_injective(schedule, result, MACHINE)
    text = str(lower(schedule, [*(v.tensor for v in views), result]))
    return [line.strip().replace(" partition", "") for line in text.splitlines() if " in [" in line]


def test_axes_that_lie_together_are_one_loop():
    x = placeholder((2, 3, 5, 7), "float32", "x")
    found = loops(element_wise.unary(x, element_wise.relu, "relu"), [x])  # the last is the masked rest
    assert [line.split(" in ")[1] for line in found] == ["[0, 13):", "[0, 16):", "[0, 16):"]


def test_axes_are_one_only_as_far_as_a_broadcast_operand_allows():
    x, y = placeholder((2, 3, 5, 7), "float32", "x"), placeholder((3, 1, 1), "float32", "y")
    found = loops(broadcast((x, y), lambda a, b: a + b, "add"), [x, y])
    assert [line.split(" in ")[1] for line in found] == ["[0, 2):", "[0, 3):", "[0, 2):", "[0, 16):", "[0, 16):"]


def test_an_axis_in_a_condition_is_a_loop_of_its_own():
    x = placeholder((4, 8, 30), "float32", "x")
    found = loops(shape.pad(x, (0, 1, 1), (0, 1, 1)), [x])
    assert [line.split(" in ")[1] for line in found[:2]] == ["[0, 4):", "[0, 10):"]


def test_a_transposition_goes_in_squares_with_fewer_of_them_in_the_inner_loop():
    x = placeholder((64, 48), "float32", "x")
    found = loops(shape.transpose(x, (1, 0)), [x])
    assert [line.split(" in ")[1] for line in found] == ["[0, 4):", "[0, 3):", "[0, 16):", "[0, 16):"]
    assert found[-2].startswith("unrolled")
    assert found[-1].startswith("vectorized")


@pytest.mark.parametrize(("columns", "kind"), [(100, "unrolled"), (16 * 257, "for")])
def test_vectors_at_places_of_a_table_are_written_out_unless_they_are_many(columns, kind):
    x, places = placeholder((8, 64), "float32", "x"), te.constant(np.arange(columns) % 64 // 3, "places")
    found = loops(Computation((compute((8, columns), lambda i, j: x(i, places(j)), "taken"),)), [x])
    assert found[1].startswith(kind)


@pytest.mark.parametrize("extents", [(64, 48), (19, 37), (2, 5, 21, 18), (3, 200), (1, 56, 56, 64)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_transpositions_of_any_extent(computed, extents, dtype):
    x = np.arange(np.prod(extents)).reshape(extents).astype(dtype)
    order = (0, *range(2, len(extents)), 1) if len(extents) > 2 else (1, 0)
    np.testing.assert_array_equal(computed(lambda v: shape.transpose(v, order), x), x.transpose(order))


def test_a_period_that_vectors_would_straddle_is_a_loop_of_its_own():
    x = placeholder((40,), "float32", "x")
    found = loops(shape.tile(x, (6,)), [x])
    assert [line.split(" in ")[1] for line in found][:2] == ["[0, 6):", "[0, 2):"]


def test_large_outputs_are_shared_among_threads():
    x = placeholder((1, 4, 100, 100), "float32", "x")
    assert loops(element_wise.unary(x, element_wise.relu, "relu"), [x])[0].startswith("parallel")


@pytest.mark.parametrize("extents", [(0, 3), (3, 0), (), (1, 1)], ids=str)
def test_degenerate_shapes(extents):
    x = placeholder(extents, "float32", "x")
    loops(element_wise.unary(x, element_wise.relu, "relu"), [x])


@pytest.mark.parametrize(
    ("serial_elements", "cores", "parallel"), [(1 << 20, 4, []), (64, 4, ["[0, 24):"]), (64, 1, ["[0, 4):"])]
)
def test_what_is_worth_threads_and_shared_evenly_is_the_machines(serial_elements, cores, parallel):
    machine = replace(MACHINE, cores=cores, rates=replace(MACHINE.rates, serial_elements=serial_elements))
    x, y = placeholder((4, 6, 5, 7), "float32", "x"), placeholder((4, 6, 1, 7), "float32", "y")
    result = broadcast((x, y), lambda a, b: a + b, "add").view.tensor
    schedule = te.create_schedule(result)
    schedule_injective(schedule, result, machine)
    lines = str(lower(schedule, [x.tensor, y.tensor, result])).splitlines()
    assert [line.split(" in ")[1] for line in lines if line.strip().startswith("parallel ")] == parallel
