"""Matrix products against NumPy in float64."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.tensor_ir import Machine, lower, te
from sateen.topi.computations.products import Packed, ProductShapes, matmul, matmul_shape, packed_layout
from sateen.topi.types import compute, placeholder

SHAPES = [
    ((128, 96), (96, 64)),
    ((37, 33), (33, 45)),
    ((7, 33), (33, 19)),
    ((1, 70), (70, 100)),
    ((5, 7), (7, 2)),
    ((1, 1), (1, 1)),
    ((37, 33), (33, 1)),
    ((3, 5, 64), (64, 33)),
    ((2, 3, 5, 16), (1, 16, 20)),
    ((2, 3, 5, 16), (2, 3, 16, 7)),
    ((37, 12), (3, 12, 20)),
    ((2, 3, 5, 64), (64, 1)),
]


def multiplied(run_views, view, random, a, b, packed, dtype="float32", epilogue=None, machine=None):
    x, y = random.standard_normal(a).astype(dtype), random.standard_normal(b).astype(dtype)
    rows, machine = int(np.prod(a[:-1])), machine or Machine.of("llvm")
    shapes = ProductShapes(1, rows, b[-1], b[-2], DType.of(dtype))
    layout = packed_layout(shapes, machine) if packed and len(b) == 2 else None
    operands = [view(x, "a"), view(y, "b", layout)]
    (found,) = run_views(matmul(*operands), operands, [x, y], epilogue, machine)
    return found, np.matmul(x.astype(np.float64), y.astype(np.float64))


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("packed", [True, False])
def test_values(run_views, view, error, random, a, b, packed):
    found, expected = multiplied(run_views, view, random, a, b, packed)
    assert error(found, expected) < 1e-5


@pytest.mark.parametrize(("a", "b"), [((3, 0), (0, 5)), ((2, 3, 0), (0, 5)), ((2, 3, 0), (2, 0, 5))])
def test_sums_of_no_terms_are_zero(run_views, view, random, a, b):
    found, _ = multiplied(run_views, view, random, a, b, packed=False, epilogue=plus_one)
    assert found.tolist() == np.ones((*a[:-1], 5)).tolist()


def plus_one(v):
    return compute(v.shape, lambda *i: v(*i) + 1.0, "plus_one", v.layout)


@pytest.mark.parametrize("packed", [True, False])
def test_an_epilogue_in_place_and_one_that_transposes(run_views, view, error, random, packed):
    def relu(v):
        return compute(v.shape, lambda *i: te.maximum(v(*i), 0.0), "relu")

    def transposed(v):
        return compute(v.shape[::-1], lambda i, j: v(j, i) * 2.0, "transposed")

    found, expected = multiplied(run_views, view, random, (37, 33), (33, 45), packed, epilogue=relu)
    assert error(found, np.maximum(expected, 0)) < 1e-5
    found, expected = multiplied(run_views, view, random, (37, 33), (33, 45), packed, epilogue=transposed)
    assert error(found, 2 * expected.T) < 1e-5


def test_terms_are_added_in_blocks_where_a_panel_is_larger_than_the_cache(run_views, view, error, random):
    small = replace(Machine.of("llvm"), vector_registers=32, l2_bytes=64 << 10)
    found, expected = multiplied(run_views, view, random, (29, 512), (512, 70), True, machine=small)
    assert error(found, expected) < 1e-5


def test_partial_sums_don_t_overwrite_an_operand_in_the_same_memory(view, random):
    """With an operand as large as the output, which may share its memory, terms are added in one go."""
    small = replace(Machine.of("llvm"), vector_registers=32, l2_bytes=64 << 10)
    x, y, r = (random.standard_normal(s).astype("float32") for s in ((29, 512), (512, 70), (29, 70)))
    layout = packed_layout(ProductShapes(1, 29, 70, 512, DType.of("float32")), small)
    operands = [view(x, "a"), view(y, "b", layout), view(r, "r")]
    product = matmul(*operands[:2])
    total = compute((29, 70), lambda i, j: product.view(i, j) + operands[2](i, j), "add")
    schedule = te.create_schedule(total.tensor)
    product.schedule_on(small)(schedule, total.tensor, small)
    assert not schedule[total.tensor].blocks


@pytest.mark.parametrize(("dtype", "bound"), [("float16", 1e-3), ("float64", 1e-13), ("int32", 0)])
def test_other_types(run_views, view, error, random, dtype, bound):
    x, y = ((random.standard_normal(s) * 4).astype(dtype) for s in ((17, 64), (64, 35)))
    operands = [view(x, "a"), view(y, "b")]
    (found,) = run_views(matmul(*operands), operands, [x, y])
    assert error(found, x.astype(np.float64) @ y.astype(np.float64)) <= bound


def test_operands_that_don_t_fit_are_refused():
    with pytest.raises(ArgumentError, match="expected 3 rows on the right, one per column on the left, found 4"):
        matmul_shape((2, 3), (4, 5))
    with pytest.raises(ArgumentError, match=r"expected operands of 2 or more axes, found \[3\] and \[3, 5\]"):
        matmul_shape((3,), (3, 5))


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float64"])
def test_panels_that_no_whole_vectors_fill_take_shorter_ones(dtype, target):
    machine = Machine.of(f"llvm -mtriple=x86_64-linux-gnu -mcpu={target}")
    layout = packed_layout(ProductShapes(1, 40, 65, 16, DType.of("float32")), machine)
    for given in (layout, None):
        a, b = placeholder((40, 16), dtype, "a"), placeholder((16, 65), dtype, "b", given)
        product = matmul(a, b)
        schedule = te.create_schedule(product.view.tensor)
        product.schedule_on(machine)(schedule, product.view.tensor, machine)
        lower(schedule, [a.tensor, b.tensor, product.view.tensor])


def test_panels_are_as_wide_as_a_register_tile():
    avx512, avx2 = (Machine.of(f"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-{level}") for level in ("v4", "v3"))

    def layout(rows, columns, machine, vectors=0):
        return str(packed_layout(ProductShapes(1, rows, columns, 1024, DType.of("float32")), machine, vectors))

    assert layout(1024, 1024, avx512) == "Ba64b"
    assert layout(1, 1024, avx512) == "Ba128b"
    assert layout(1024, 1024, avx512, vectors=3) == "Ba48b"
    assert layout(1024, 1024, avx2) == "Ba24b"
    assert layout(8, 1, avx512) == "None"


@pytest.mark.parametrize(("a", "function"), [((29, 60), None), ((2, 3, 5, 60), te.tanh)], ids=["alone", "with tanh"])
@pytest.mark.parametrize("columns", [64, 70])
@pytest.mark.parametrize(
    "method", [(4, 2, 1, 60), (6, 1, 1, 20), (5, 2, 1, 15), (2, 1, 3, 60), (29, 1, 1, 30), (1, 2, 8, 60)]
)
def test_every_method_gives_the_product(run_views, view, error, random, a, function, columns, method):
    """Tiles of whole rows and rests of them, sums in one part and in several, panels one by one and together."""
    packed, rows = Packed(*method), int(np.prod(a[:-1]))
    x, y = random.standard_normal(a).astype("float32"), random.standard_normal((60, columns)).astype("float32")
    layout = packed_layout(ProductShapes(1, rows, columns, 60, DType.of("float32")), Machine.of("llvm"), packed.vectors)
    operands = [view(x, "a"), view(y, "b", layout)]
    epilogue = function and (lambda v: compute(v.shape, lambda *i: function(v(*i)), "epilogue"))
    (found,) = run_views(matmul(*operands, None, packed), operands, [x, y], epilogue)
    expected = x.astype(np.float64) @ y
    assert error(found, expected if function is None else np.tanh(expected)) < 1e-5


@pytest.mark.parametrize(
    "target",
    [
        "x86_64-linux-gnu -mcpu=x86-64-v4",
        "x86_64-linux-gnu -mcpu=x86-64-v3",
        "x86_64-linux-gnu -mcpu=x86-64-v2",
        "aarch64-linux-gnu",
    ],
)
def test_a_register_tile_of_panels_that_are_made_while_running_fits_the_machine(target):
    machine = Machine.of(f"llvm -mtriple={target}")
    a, b = placeholder((128, 64), "float32", "a"), placeholder((64, 96), "float32", "b")
    product = matmul(a, b)
    schedule = te.create_schedule(product.view.tensor)
    product.schedule_on(machine)(schedule, product.view.tensor, machine)
    text = str(lower(schedule, [a.tensor, b.tensor, product.view.tensor]))
    rows, columns = map(int, re.search(r"register float32\[(\d+), (\d+)\]", text).groups())
    vectors = columns // machine.lanes()
    assert rows <= machine.tile_positions(vectors)
    assert rows * vectors >= machine.accumulators
