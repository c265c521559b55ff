"""Products and convolutions of bfloat16, against exact ones of what is multiplied."""

import numpy as np
import pytest

from sateen.runtime import Target
from sateen.tensor_ir import Machine, build, lower, te
from sateen.tensor_ir.interpret import run
from sateen.topi.computations.convolution import Direct, bfloat_weight_layout, conv
from sateen.topi.computations.products import PackedBfloat, bfloat_layout, bfloat_matmul
from sateen.topi.computations.windows import Window
from sateen.topi.types import FLOAT32, Block, Layout, compute, pack, placeholder, unpack

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
ZEN_4 = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"
LOSS = 2.0**-20
"""The most that a sum of pairs loses, as a part of the sum of magnitudes (intrinsics.dot), and one addition."""


def short(random, *shape):
    return random.standard_normal(shape).astype(ml_dtypes.bfloat16)


def scheduled(computation, views, machine, epilogue):
    """The loops for a machine, their arguments, and the output's view."""
    output = computation.view if epilogue is None else epilogue(computation.view)
    schedule = te.create_schedule(output.tensor)
    computation.schedule_on(machine)(schedule, output.tensor, machine)
    return schedule, [*(v.tensor for v in views), output.tensor], output


def interpreted(computation, views, arrays, machine, epilogue=None):
    """The row-major output by the interpreter, with instructions by their definitions."""
    schedule, arguments, output = scheduled(computation, views, machine, epilogue)
    result = np.zeros(output.layout.physical_shape(output.shape), np.float32)
    run(lower(schedule, arguments), [*(pack(a, v.layout) for a, v in zip(arrays, views, strict=True)), result])
    return unpack(result, output.shape, output.layout)


def compiled(computation, views, arrays, epilogue=None):
    """The row-major output of machine code, and its assembly; skipped without the instruction."""
    machine = Machine.of("llvm")
    if not machine.multiplies_pairs:
        pytest.skip("this processor multiplies bfloat16 no faster than float32")
    schedule, arguments, output = scheduled(computation, views, machine, epilogue)
    module = build(schedule, arguments)
    result = np.zeros(output.layout.physical_shape(output.shape), np.float32)
    module(*(pack(a, v.layout) for a, v in zip(arrays, views, strict=True)), result)
    return unpack(result, output.shape, output.layout), module.assembly()


def require_sums(found, terms, exact, magnitudes):
    """Each element is within what `terms` additions may lose of its own sum of magnitudes."""
    assert found.shape == exact.shape
    assert np.all(np.abs(found - exact) <= LOSS * terms**0.5 * magnitudes + 1e-30)


def product(random, shape, columns, method, lanes):
    a, b = short(random, *shape), short(random, shape[-1], columns)
    layout = None if method is None else bfloat_layout(lanes, method.vectors)
    views = [placeholder(a.shape, "bfloat16", "a"), placeholder(b.shape, "bfloat16", "b", layout)]
    x, y = a.astype(np.float64), b.astype(np.float64)
    return bfloat_matmul(*views, method), views, [a, b], x @ y, np.abs(x) @ np.abs(y)


PRODUCTS = [
    ((5, 8), 33, PackedBfloat(2, 1)),
    ((2, 3, 12), 40, PackedBfloat(3, 2)),
    ((7, 6), 16, None),
]


@pytest.mark.parametrize(("shape", "columns", "method"), PRODUCTS)
@pytest.mark.parametrize("target", [ZEN_4, "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1"])
def test_products_are_those_of_the_definition(random, target, shape, columns, method):
    machine = Machine.of(target)
    computation, views, arrays, exact, magnitudes = product(random, shape, columns, method, machine.lanes())
    require_sums(interpreted(computation, views, arrays, machine), shape[-1], exact, magnitudes)


@pytest.mark.parametrize(("shape", "columns", "method"), [((65, 64), 200, PackedBfloat(6, 4)), *PRODUCTS[:2]])
def test_code_of_products_has_the_instruction(random, lanes, shape, columns, method):
    computation, views, arrays, exact, magnitudes = product(random, shape, columns, method, lanes)
    found, assembly = compiled(computation, views, arrays)
    require_sums(found, shape[-1], exact, magnitudes)
    assert "vdpbf16ps" in assembly or "bfdot" in assembly


def test_an_epilogue_is_computed_on_tiles(random):
    machine = Machine.of(ZEN_4)
    computation, views, arrays, exact, magnitudes = product(random, (2, 3, 12), 40, PackedBfloat(3, 2), 16)

    def relu(v):
        return compute(v.shape, lambda *i: te.maximum(v(*i), 0.0), "relu", v.layout)

    found = interpreted(computation, views, arrays, machine, relu)
    require_sums(found, 12, np.maximum(exact, 0), magnitudes)


def test_infinities_and_nan_stay_in_their_row(random):
    a, b = short(random, 4, 8), short(random, 8, 16)
    a[1, 3], a[2, 0] = np.inf, np.nan
    views = [placeholder(a.shape, "bfloat16", "a"), placeholder(b.shape, "bfloat16", "b", bfloat_layout(16, 1))]
    found = interpreted(bfloat_matmul(*views, PackedBfloat(2, 1)), views, [a, b], Machine.of(ZEN_4))
    assert np.isfinite(found[[0, 3]]).all()
    assert not np.isfinite(found[1]).any()
    assert np.isnan(found[2]).all()


def convolution(random, channels, outputs, size, kernel, method, lanes, **window):
    data, weight = short(random, 1, channels, size, size), short(random, outputs, channels, kernel, kernel)
    bias = random.standard_normal(outputs).astype("float32")
    arrays = [data, weight, bias]
    layouts = [
        Layout.blocked(4, 1, lanes), bfloat_weight_layout(4, lanes, method.vectors), Layout.blocked(1, 0, lanes)
    ]  # fmt: skip
    views = [
        placeholder(x.shape, str(x.dtype), n, k)
        for x, n, k in zip(arrays, ("data", "weight", "bias"), layouts, strict=True)
    ]
    stride, pad = window.get("stride", 1), window.get("pad", 0)
    shape = Window((kernel, kernel), (stride, stride), (pad,) * 4, (1, 1))
    computation = conv(*views, shape, 1, Layout.blocked(4, 1, lanes), method, FLOAT32)
    x = np.pad(data.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]
    w = weight.astype(np.float64)
    exact = np.einsum("nchwij,ocij->nohw", windows, w) + bias[:, None, None]
    magnitudes = np.einsum("nchwij,ocij->nohw", np.abs(windows), np.abs(w)) + np.abs(bias)[:, None, None]
    return computation, views, arrays, exact, magnitudes


CONVOLUTIONS = [
    (2, 2, 5, 1, Direct(1, 3, 2), {}),
    (1, 3, 6, 3, Direct(1, 4, 1), {"pad": 1}),
    (2, 1, 7, 3, Direct(1, 2, 1), {"pad": 1, "stride": 2}),
]
"""Blocks of channels of the input and of the output, extents, and the method."""


@pytest.mark.parametrize(("inputs", "outputs", "size", "kernel", "method", "window"), CONVOLUTIONS)
def test_convolutions_are_those_of_the_definition(random, inputs, outputs, size, kernel, method, window):
    machine = Machine.of("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1")
    computation, views, arrays, exact, magnitudes = convolution(
        random, 4 * inputs, 4 * outputs, size, kernel, method, 4, **window
    )
    require_sums(interpreted(computation, views, arrays, machine), 36 * inputs, exact, magnitudes)


@pytest.mark.parametrize(("inputs", "outputs", "size", "kernel", "method", "window"), CONVOLUTIONS)
def test_code_of_convolutions_has_the_instruction(random, lanes, inputs, outputs, size, kernel, method, window):
    computation, views, arrays, exact, magnitudes = convolution(
        random, lanes * inputs, lanes * outputs, size, kernel, method, lanes, **window
    )
    found, assembly = compiled(computation, views, arrays)
    require_sums(found, 9 * lanes * inputs, exact, magnitudes)
    assert "vdpbf16ps" in assembly or "bfdot" in assembly


def test_code_for_other_processors_has_the_instruction(random):
    machine = Machine.of(target := "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1")
    computation, views, *_ = product(random, (8, 16), 32, PackedBfloat(4, 4), 4)
    schedule, arguments, _ = scheduled(computation, views, machine, None)
    assert build(schedule, arguments, target=Target.of(target)).assembly().count("bfdot") >= 16


def test_layouts_put_pairs_beside_each_other():
    assert str(bfloat_layout(16, 3)) == "BA48b2a"
    assert bfloat_weight_layout(4, 16, 2).order[-3:] == (Block(1, 8), Block(0, 32), Block(1, 2))
