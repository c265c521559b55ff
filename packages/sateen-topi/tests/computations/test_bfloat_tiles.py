"""Products and 1x1 convolutions of bfloat16 by tile registers (AMX), by an emulator where the processor has none."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sateen.runtime import Target
from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, build, lower, te
from sateen.tensor_ir.interpret import run
from sateen.topi.computations.convolution import ConvolutionShapes, PointwiseTiles, conv_candidates, tile_layouts
from sateen.topi.computations.products import (
    PackedTiles,
    bfloat_matmul,
    fills_tiles,
    has_whole_tiles,
    matmul_candidates,
    tile_rows_layout,
    tile_weight_layout,
)
from sateen.topi.computations.windows import Window, plain
from sateen.topi.types import compute, pack, placeholder, unpack

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
AMX = "+amx-tile,+amx-bf16"
SAPPHIRE_RAPIDS = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids"
LOSS = 2.0**-19
"""The most that a sum loses in an instruction, as a part of the sum of magnitudes (intrinsics.tile)."""
LOOP = re.compile(r"^(\.LBB\w+):\n((?:\t.*\n)*?)\tj\w+\t\1$", re.MULTILINE)
"""An innermost loop: from a label to a jump back to it."""
FUNCTION = re.compile(r"^([\w.]+):\n(.*?)^\.Lfunc_end", re.MULTILINE | re.DOTALL)

PRODUCTS = [
    ((64, 96), 64, PackedTiles(2, 2)),
    ((112, 32), 20, PackedTiles(2, 1)),
    ((3, 67, 64), 83, PackedTiles(2, 2)),
    ((2, 2, 19, 32), 33, PackedTiles(1, 4)),
    ((1, 35, 64), 100, PackedTiles(1, 5)),
    ((90, 32), 40, PackedTiles(5, 1)),
    ((1, 64), 40, PackedTiles(1, 2)),
    ((3, 5, 32), 7, PackedTiles(1, 1)),
]
CONVOLUTIONS = [
    ((1, 64, 7, 7), 32, PackedTiles(2, 2)),
    ((2, 32, 3, 14), 40, PackedTiles(2, 2)),
    ((1, 64, 3, 32), 64, PackedTiles(2, 1)),
    ((1, 96, 2, 35), 100, PackedTiles(1, 4)),
    ((1, 32, 56), 20, PackedTiles(4, 1)),
    ((3, 64, 9), 16, PackedTiles(1, 1)),
    ((1, 32, 2, 3, 5), 16, PackedTiles(2, 1)),
]


def here():
    """The target of code that this machine runs with an emulator: its own features, and AMX."""
    host = Target.host()
    if host.architecture != "x86_64":
        pytest.skip("tile registers are of x86-64")
    return replace(host, features=(*host.features, *AMX.split(",")))


def product(random, shape, columns, method):
    a = random.standard_normal(shape).astype(ml_dtypes.bfloat16)
    b = random.standard_normal((shape[-1], columns)).astype(ml_dtypes.bfloat16)
    rows = None if has_whole_tiles(shape) else tile_rows_layout(len(shape))
    views = [
        placeholder(shape, "bfloat16", "a", rows),
        placeholder(b.shape, "bfloat16", "b", tile_weight_layout(method)),
    ]
    arrays = [pack(x, view.layout) for x, view in zip((a, b), views, strict=True)]
    x, y = a.astype(np.float64), b.astype(np.float64)
    return bfloat_matmul(*views, method), views, arrays, x @ y, np.abs(x) @ np.abs(y)


def convolution(random, shape, outputs, method):
    rank = len(shape)
    layouts = tile_layouts(rank, shape[-1], method)
    data = random.standard_normal(shape).astype(ml_dtypes.bfloat16)
    weight = random.standard_normal((outputs, shape[1], *[1] * (rank - 2))).astype(ml_dtypes.bfloat16)
    bias = random.standard_normal(outputs).astype("float32")
    views, arrays = [], []
    for name, x in (("data", data), ("weight", weight), ("bias", bias)):
        views.append(placeholder(x.shape, str(x.dtype), name, getattr(layouts, name)))
        arrays.append(pack(x, views[-1].layout))
    x, w, b = (a.astype(np.float64) for a in (data, weight.reshape(outputs, -1), bias.reshape(-1, *[1] * (rank - 2))))
    assert PointwiseTiles.suits(*views[:2], method)
    exact, magnitudes = (np.einsum("nc...,oc->no...", f(x), f(w)) + f(b) for f in (np.asarray, np.abs))
    return PointwiseTiles(*views, method).computation(), views, arrays, exact, magnitudes


def scheduled(computation, views, machine, epilogue=None):
    output = computation.view if epilogue is None else compute(computation.view.shape, epilogue, "epilogue")
    schedule = te.create_schedule(output.tensor)
    computation.schedule_on(machine)(schedule, output.tensor, machine)
    return schedule, [*(v.tensor for v in views), output.tensor]


def require_sums(found, terms, exact, magnitudes):
    """Each element is within what its instructions may lose of its own sum of magnitudes."""
    assert np.all(np.abs(found - exact) <= LOSS * (terms / 32) ** 0.5 * magnitudes + 1e-30)


@pytest.mark.parametrize(("shape", "columns", "method"), PRODUCTS)
def test_products_are_those_of_the_definition(random, shape, columns, method):
    computation, views, arrays, exact, magnitudes = product(random, shape, columns, method)
    function = lower(*scheduled(computation, views, Machine.of(SAPPHIRE_RAPIDS)))
    run(function, [*arrays, found := np.zeros(exact.shape, np.float32)])
    assert "intrinsic tile_16x16x32_bf16" in str(function)
    require_sums(found, shape[-1], exact, magnitudes)


@pytest.mark.parametrize(("shape", "outputs", "method"), CONVOLUTIONS)
def test_convolutions_are_those_of_the_definition(random, shape, outputs, method):
    computation, views, arrays, exact, magnitudes = convolution(random, shape, outputs, method)
    function = lower(*scheduled(computation, views, Machine.of(SAPPHIRE_RAPIDS)))
    found = np.zeros(computation.view.layout.physical_shape(exact.shape), np.float32)
    run(function, [*arrays, found])
    assert "intrinsic tile_16x16x32_bf16" in str(function)
    require_sums(unpack(found, exact.shape, computation.view.layout), shape[1], exact, magnitudes)


@pytest.mark.parametrize(("shape", "outputs", "method"), CONVOLUTIONS)
def test_code_of_convolutions_multiplies_tiles(random, call_in_c, run_with_tiles, shape, outputs, method):
    computation, views, arrays, exact, magnitudes = convolution(random, shape, outputs, method)
    module = build(*scheduled(computation, views, Machine.of(SAPPHIRE_RAPIDS)), here(), name="f")
    found = np.zeros(computation.view.layout.physical_shape(exact.shape), np.float32)
    call_in_c(module, {"f": [*arrays, found]}, run_with_tiles)
    require_sums(unpack(found, exact.shape, computation.view.layout), shape[1], exact, magnitudes)


@pytest.mark.parametrize("kind", ["alone", "with a maximum", "with a function"])
@pytest.mark.parametrize(("shape", "columns", "method"), PRODUCTS)
def test_code_multiplies_tiles(random, call_in_c, run_with_tiles, shape, columns, method, kind):
    computation, views, arrays, exact, magnitudes = product(random, shape, columns, method)
    epilogue = {
        "alone": None,
        "with a maximum": lambda *i: te.maximum(computation.view(*i), 0.0),
        "with a function": lambda *i: te.tanh(computation.view(*i)),
    }[kind]
    module = build(*scheduled(computation, views, Machine.of(SAPPHIRE_RAPIDS), epilogue), here(), name="f")
    call_in_c(module, {"f": [*arrays, found := np.zeros(exact.shape, np.float32)]}, run_with_tiles)
    if kind == "with a maximum":
        exact = np.maximum(exact, 0)
    if kind == "with a function":
        exact, magnitudes = np.tanh(exact), magnitudes + 1
    require_sums(found, shape[-1], exact, magnitudes)


def test_rows_keep_infinities_and_nan_to_themselves(random, call_in_c, run_with_tiles):
    computation, views, arrays, _, _ = product(random, (32, 64), 32, PackedTiles(2, 2))
    arrays[0][3, 5], arrays[0][20, 40] = np.inf, np.nan
    module = build(*scheduled(computation, views, Machine.of(SAPPHIRE_RAPIDS)), here(), name="f")
    call_in_c(module, {"f": [*arrays, found := np.zeros((32, 32), np.float32)]}, run_with_tiles)
    assert np.isfinite(np.delete(found, [3, 20], axis=0)).all()
    assert not np.isfinite(found[3]).any()
    assert np.isnan(found[20]).all()


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (1, 4), (4, 1), (1, 5), (5, 1)])
@pytest.mark.parametrize("whole", [True, False])
def test_sums_stay_in_tile_registers(random, rows, columns, whole):
    """Neither is the configuration loaded in a loop over blocks, nor a tile of sums stored in one over terms."""
    shape = (2 * 16 * rows + (0 if whole else 3), 768)
    computation, views, *_ = product(random, shape, 2 * 16 * columns, PackedTiles(rows, columns))
    arguments = scheduled(computation, views, Machine.of(SAPPHIRE_RAPIDS))
    assembly = build(*arguments, SAPPHIRE_RAPIDS, name="f").assembly()
    loops = [body for _, body in LOOP.findall(assembly) if body.count("tdpbf16ps") == rows * columns]
    assert loops
    assert all("tilestored" not in body and body.count("tileload") <= rows * columns + 2 for body in loops)
    tasks = [body for name, body in FUNCTION.findall(assembly) if "task" in name and "tdpbf16ps" in body]
    assert tasks
    assert all(body.index("ldtilecfg") < body.index("\n.LBB") for body in tasks)
    assert all(body.count("ldtilecfg") == 1 for body in tasks)


def methods(a, b, target=SAPPHIRE_RAPIDS, dtype="float32"):
    return [c.method for c in matmul_candidates(a, b, DType.of(dtype), Machine.of(target))]


def test_the_estimate_prefers_tiles_where_arithmetic_is_the_limit():
    best, *others = methods((1, 128, 768), (768, 768))
    assert best == PackedTiles(2, 2)
    assert PackedTiles(1, 4) in others


@pytest.mark.parametrize(
    ("a", "b", "target"),
    [
        ((128, 40), (40, 64), SAPPHIRE_RAPIDS),
        ((128, 64), (64, 64), f"{SAPPHIRE_RAPIDS} -mattr=-amx-bf16"),
        ((128, 64), (64, 64), SAPPHIRE_RAPIDS.replace("unknown-linux-gnu", "pc-windows-msvc")),
        ((128, 64), (64, 64), SAPPHIRE_RAPIDS.replace("sapphirerapids", f"znver4 -mattr={AMX}")),
    ],
    ids=["terms", "no bfloat16", "another system", "an unknown rate"],
)
def test_others_take_none(a, b, target):
    assert not any(isinstance(method, PackedTiles) for method in methods(a, b, target))


def pointwise(channels=64, outputs=64, width=14, groups=1, window=None, target=SAPPHIRE_RAPIDS):
    data, weight = (1, channels, width, width), (outputs, channels // groups, 1, 1)
    shapes = ConvolutionShapes(data, weight, window or plain(2), groups)
    return [c.method for c in conv_candidates(shapes, Machine.of(target))]


@pytest.mark.parametrize(("width", "rows"), [(56, 4), (28, 2), (14, 5), (7, 5)])
def test_blocks_have_tiles_along_a_line_or_along_neighbouring_lines(width, rows):
    methods = [method for method in pointwise(width=width) if isinstance(method, PackedTiles)]
    assert max(method.rows for method in methods) == rows


@pytest.mark.parametrize(
    "other",
    [
        {"channels": 40},
        {"outputs": 8},
        {"groups": 2},
        {"window": Window((1, 1), (2, 2), (0,) * 4, (1, 1))},
        {"target": f"{SAPPHIRE_RAPIDS} -mattr=-amx-tile"},
        {"target": f"{SAPPHIRE_RAPIDS} -mattr=-avx512f"},
    ],
    ids=["channels", "few outputs", "groups", "strides", "no tiles", "narrow vectors"],
)
def test_other_convolutions_take_none(other):
    assert not any(isinstance(method, PackedTiles) for method in pointwise(**other))


def test_operands_of_other_layouts_are_computed_element_by_element(random):
    method = PackedTiles(2, 2)
    a = random.standard_normal((19, 32)).astype(ml_dtypes.bfloat16)
    b = random.standard_normal((32, 32)).astype(ml_dtypes.bfloat16)
    views = [placeholder(a.shape, "bfloat16", "a"), placeholder(b.shape, "bfloat16", "b")]
    assert fills_tiles(a.shape, b.shape)
    function = lower(*scheduled(bfloat_matmul(*views, method), views, Machine.of(SAPPHIRE_RAPIDS)))
    run(function, [a, b, found := np.zeros((19, 32), np.float32)])
    x, y = a.astype(np.float64), b.astype(np.float64)
    require_sums(found, 32 * 32, x @ y, np.abs(x) @ np.abs(y))
