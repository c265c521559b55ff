"""Parameters are asked for ahead where a machine's memory needs that, and results are the same."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, build, lower, te
from sateen.topi.computations.convolution import conv, winograd, winograd_methods, winograd_transforms
from sateen.topi.computations.products import (
    Packed,
    ProductShapes,
    matmul,
    packed_layout,
    strassen_matmul,
    strassen_weight_layout,
)
from sateen.topi.computations.recurrent import Activation, Inputs, Settings, rnn, weight_layout
from sateen.topi.computations.windows import Window
from sateen.topi.types import Block, Layout

HOST = Machine.of("llvm")
AHEAD = replace(HOST, rates=replace(HOST.rates, streams=2, asks_ahead=True))
SILENT = replace(HOST, rates=replace(HOST.rates, asks_ahead=False))
WINDOW = Window((3, 3), (1, 1), (1, 1, 1, 1), (1, 1))
LANES = HOST.lanes()
FLOAT32 = DType.of("float32")
SHAPES = ProductShapes(1, 40, 8 * LANES, 96, FLOAT32)


def normal(random, *shape):
    return random.standard_normal(shape).astype("float32")


def product(view, random):
    x, y = normal(random, 40, 96), normal(random, 96, 8 * LANES)
    operands = [view(x, "a"), view(y, "b", packed_layout(SHAPES, HOST))]
    return matmul(*operands), operands, [x, y]


def strassen(view, random):
    x, y = normal(random, 1, 40, 96), normal(random, 7, 48, 4 * LANES)
    operands = [view(x, "a"), view(y, "w", strassen_weight_layout(LANES, 2))]
    return strassen_matmul(*operands), operands, [x, y]


def by_winograd(view, random):
    f = winograd_transforms.TRANSFORMS[2, 1]
    x, y = normal(random, 1, LANES, 24, 24), normal(random, 2 * LANES, LANES, 4, 4)
    layout = winograd_methods.winograd_weight_layout(LANES, 1)
    operands = [view(x, "x", Layout.blocked(4, 1, LANES)), view(y, "u", layout)]
    return winograd.winograd_conv(*operands, None, f, WINDOW), operands, [x, y]


def direct(view, random):
    x, y = normal(random, 1, LANES, 12, 12), normal(random, 4 * LANES, LANES, 3, 3)
    layout = Layout((0, 1, 2, 3, Block(1, LANES), Block(0, LANES)))
    operands = [view(x, "x", Layout.blocked(4, 1, LANES)), view(y, "w", layout)]
    return conv(*operands, None, WINDOW, layout=Layout.blocked(4, 1, LANES)), operands, [x, y]


def recurrent_layer(view, random):
    arrays = normal(random, 40, 1, 96), normal(random, 1, 8 * LANES, 96), normal(random, 1, 8 * LANES, 8 * LANES)
    layouts = None, *[weight_layout(HOST, FLOAT32)] * 2
    operands = [view(x, name, layout) for x, name, layout in zip(arrays, "xwr", layouts, strict=True)]
    return rnn(Inputs(*operands), Settings(((Activation("Tanh"),),), (False,))), operands, list(arrays)


@pytest.mark.parametrize("make", [product, strassen, by_winograd, direct, recurrent_layer])
def test_results_are_the_same_bit_for_bit(run_views, view, random, make):
    computation, operands, arrays = make(view, random)
    tensors = [v.tensor for v in computation.outputs]
    found = []
    for machine in (SILENT, AHEAD):
        schedule = te.create_schedule(tensors)
        computation.schedule_on(machine)(schedule, tensors[0], machine)
        loops = str(lower(schedule, [*(v.tensor for v in operands), *tensors]))
        assert ("prefetch" in loops) == (machine is AHEAD)
        found.append(run_views(computation, operands, arrays, None, machine)[0])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("cpu", ["sapphirerapids", "znver4", "znver5"])
@pytest.mark.parametrize("make", [product, by_winograd, direct, recurrent_layer])
def test_a_sum_asks_once_in_16_multiply_adds_or_more_and_spills_nothing(view, random, make, cpu):
    if HOST.lanes() != 16:
        pytest.skip("operands are in blocks of the host's vectors")
    target = f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}"
    machine = Machine.of(target)
    computation, operands, _ = make(view, random)
    tensors = [v.tensor for v in computation.outputs]
    schedule = te.create_schedule(tensors)
    computation.schedule_on(machine)(schedule, tensors[0], machine)
    text = build(schedule, [*(v.tensor for v in operands), *tensors], target).assembly()
    blocks = [block for block in re.split(r"\n\.LBB\w+:", text) if block.count("vfmadd") >= 16]
    assert blocks
    for block in blocks:
        assert 1 <= block.count("prefetcht0") <= block.count("vfmadd") / 16
        assert not re.search(r"\(%rsp\), %zmm|%zmm\d+, -?\d*\(%rsp\)", block)


def loops_of_product(view, random, rows, machine, method=None):
    """The loops of a product of `rows` rows with a constant."""
    x, y = normal(random, rows, 96), normal(random, 96, 8 * LANES)
    layout = packed_layout(replace(SHAPES, rows=rows), machine, 0 if method is None else method.vectors)
    operands = [view(x, "a"), view(y, "b", layout)]
    computation = matmul(*operands, method=method)
    schedule = te.create_schedule(computation.view.tensor)
    computation.schedule_on(machine)(schedule, computation.view.tensor, machine)
    return str(lower(schedule, [*(v.tensor for v in operands), computation.view.tensor]))


@pytest.mark.parametrize("least", [8, 16])
def test_weights_of_few_multiply_adds_are_not_asked_for(view, random, least):
    """A line that few rows use would take as many instructions to ask for as to use."""
    machine = replace(AHEAD, rates=replace(AHEAD.rates, least_uses=least))
    assert "prefetch" not in loops_of_product(view, random, least - 1, machine)
    assert "prefetch" in loops_of_product(view, random, least, machine)


def test_panels_that_are_read_together_are_not_asked_for(view, random):
    """The next panel is read already."""
    machine = replace(AHEAD, rates=replace(AHEAD.rates, least_uses=2))
    assert "prefetch" in loops_of_product(view, random, 2, machine, Packed(2, 2, 1, 96))
    assert "prefetch" not in loops_of_product(view, random, 2, machine, Packed(2, 2, 2, 96))


def test_a_panel_that_all_rows_read_at_once_is_asked_for(view, random):
    """An iteration asks for all lines of four terms."""
    machine = replace(AHEAD, vector_bytes=64, vector_registers=32, rates=replace(AHEAD.rates, least_uses=8, streams=1))
    if LANES != 16:
        pytest.skip("operands are in blocks of the host's vectors")
    loops = loops_of_product(view, random, 8, machine, Packed(8, 3, 1, 96))
    assert loops.count("prefetch") >= 12
