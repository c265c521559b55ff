"""The ways for matrix products."""

import pytest

from sateen.runtime import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations.products import Packed, Strassen, Tiled, matmul_candidates, packed
from sateen.topi.computations.products.shapes import ProductShapes
from sateen.topi.computations.strips import Strips

FLOAT32 = DType.of("float32")
MACHINE = Machine.of("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")


def test_a_matrix_on_the_right_is_packed_and_large_products_take_strassen_too():
    kinds = {type(c.method) for c in matmul_candidates((1, 2048, 2048), (2048, 2048), FLOAT32, MACHINE)}
    assert kinds == {Packed, Strassen}


def test_methods_of_equal_products_are_weighed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> tuple[object, object]:
        shapes = ProductShapes(1, 129, 771, 1283, FLOAT32)
        return packed.packed_candidates(shapes, MACHINE), packed.packed_layout(shapes, MACHINE)

    first = asked()
    monkeypatch.setattr(packed, "packed_cycles", None)
    assert asked() == first


def test_a_stack_of_matrices_on_the_right_is_not_packed():
    assert not matmul_candidates((2, 2048, 2048), (2, 2048, 2048), FLOAT32, MACHINE)


@pytest.mark.parametrize("target", ["opencl", "cuda -mcpu=sm_90", "cuda", "metal", "webgpu", "rocm"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 1000), (49, 512), (3136, 64), (4096, 4096)])
def test_tiles_of_a_device_are_within_the_product_and_its_limits(target: str, shape: tuple[int, int]) -> None:
    machine = Machine.of(target)
    gpu = machine.gpu
    assert gpu is not None
    rows, columns = shape
    found = matmul_candidates((rows, 4096), (4096, columns), FLOAT32, machine)
    assert 1 <= len({c.method for c in found}) == len(found) <= 48
    assert found == sorted(found, key=lambda c: c.cycles)
    for c in found:
        assert isinstance(c.method, Tiled)
        tile = c.method.tile
        assert tile.height <= rows
        assert tile.width <= columns
        assert tile.fits(gpu)
        assert 4 * (tile.height + tile.width) * c.method.terms <= gpu.shared_bytes


@pytest.mark.parametrize("target", ["opencl", "cuda -mcpu=sm_90", "metal"])
def test_more_work_gets_larger_tiles_of_whole_warps(target: str) -> None:
    machine = Machine.of(target)
    gpu = machine.gpu
    assert gpu is not None
    small, large = (matmul_candidates((n, n), (n, n), FLOAT32, machine)[0].method for n in (128, 4096))
    assert isinstance(small, Tiled)
    assert isinstance(large, Tiled)
    assert large.rows * large.columns > small.rows * small.columns
    assert large.tile.threads % gpu.warp == 0


def test_all_rows_of_a_stack_are_one_matrix_for_a_device_if_the_right_operand_is_one() -> None:
    machine = Machine.of("opencl")
    stack = matmul_candidates((2, 5, 20, 64), (64, 32), FLOAT32, machine)
    assert stack == matmul_candidates((200, 64), (64, 32), FLOAT32, machine)
    assert stack != matmul_candidates((2, 5, 20, 64), (5, 64, 32), FLOAT32, machine)


def test_a_thread_of_a_processor_gets_a_strip_that_its_registers_hold() -> None:
    machine = Machine.of("opencl -mcpu=processor")
    assert machine.gpu is not None
    found = [c.method for c in matmul_candidates((512, 64), (64, 512), FLOAT32, machine)]
    assert found[0] == Strips(4, 32)
    assert all(isinstance(m, Strips) and m.rows * m.columns <= machine.gpu.thread_registers for m in found)
    halves = matmul_candidates((512, 64), (64, 512), DType.of("float16"), machine)
    assert halves[0].method == Strips(4, 4)


def test_a_product_without_terms_has_no_tiles() -> None:
    assert matmul_candidates((4, 0), (0, 4), FLOAT32, Machine.of("opencl")) == []


def test_rows_that_end_in_parts_of_vectors_make_lower_strips() -> None:
    machine = Machine.of("opencl -mcpu=processor")
    for columns, rows in ((7, 8), (8, 16), (15, 4), (16, 8)):
        found = [c.method for c in matmul_candidates((512, 64), (64, columns), FLOAT32, machine)]
        assert max(m.rows for m in found if isinstance(m, Strips) and m.columns == columns) == rows
