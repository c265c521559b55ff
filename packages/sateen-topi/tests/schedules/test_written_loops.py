"""What loops write, and the loops that a machine gets."""

import numpy as np
import pytest

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.te import ir_builder
from sateen.topi.schedules import Computation, blocks, each_thread, one_thread, shared_out, written
from sateen.topi.types import placeholder

GPU = Machine.of("opencl").gpu


def reversed_rows(x):
    """Each row from its end to its begin: by a loop, or by a block that keeps the row in shared memory."""
    rows, length = x.shape

    def body(ins, outs):
        ib = ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, rows, "row") as row, ib.for_range(0, length, "i") as i:
            result[row, i] = source[row, length - 1 - i]
        return ib.get()

    def by_blocks(ins, outs, gpu):
        ib = ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with blocks(ib, rows) as row:
            held = ib.allocate(x.dtype, (length,), "shared", "held")
            with shared_out(ib, length, gpu.warp) as i:
                held[i] = source[row, i]
            with shared_out(ib, length, gpu.warp) as i:
                result[row, i] = held[length - 1 - i]
        return ib.get()

    return written("reversed", [(x.shape, x.dtype)], [x], body, by_blocks)


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (2, 37)])
def test_threads_wait_for_what_others_have_stored(by_threads, shape):
    x = np.arange(shape[0] * shape[1], dtype="float32").reshape(shape)
    np.testing.assert_array_equal(by_threads(reversed_rows, x)[0], x[:, ::-1])


@pytest.mark.parametrize("count", [1, 7, 8, 9, 50])
def test_each_iteration_has_one_thread(by_threads, count):
    def added(x):
        def by_blocks(ins, outs, gpu):
            ib = ir_builder.create()
            source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
            with each_thread(ib, count, gpu) as i:
                result[i] = source[i] + 1
            return ib.get()

        return written("added", [(x.shape, x.dtype)], [x], lambda ins, outs: by_blocks(ins, outs, GPU), by_blocks)

    x = np.arange(count, dtype="int32")
    np.testing.assert_array_equal(by_threads(added, x)[0], x + 1)


def test_one_thread_does_what_the_others_wait_for(by_threads):
    def totals(x):
        def by_blocks(ins, outs, gpu):
            ib = ir_builder.create()
            source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
            with blocks(ib, 1):
                total = ib.allocate("int32", (1,), "shared", "total")
                with one_thread(ib):
                    total[0] = te.const(0, "int32")
                    with ib.for_range(0, 9, "i") as i:
                        total[0] = total[0] + source[i]
                with shared_out(ib, 9, gpu.block_threads) as i:
                    result[i] = total[0]
            return ib.get()

        return written("totals", [(x.shape, x.dtype)], [x], lambda ins, outs: by_blocks(ins, outs, GPU), by_blocks)

    assert by_threads(totals, np.arange(9, dtype="int32"))[0].tolist() == [36] * 9


@pytest.mark.parametrize(
    ("target", "is_by_blocks"),
    [
        ("llvm", False),
        ("opencl -mcpu=processor", False),
        ("opencl", True),
        ("cuda -mcpu=sm_90", True),
        ("webgpu", True),
    ],
)
def test_blocks_of_threads_are_for_devices_whose_threads_run_in_step(target, is_by_blocks):
    computation = reversed_rows(placeholder((3, 4), "float32", "x"))
    assert (computation.on(Machine.of(target)) is not computation) == is_by_blocks


def test_loops_by_blocks_give_the_same_types():
    x, y = (placeholder((4,), dtype, "x") for dtype in ("float32", "float16"))
    narrow = Computation((reversed_rows(placeholder((1, 4), "float16", "x")).view,))
    computation = Computation((x,), by_blocks=lambda _: narrow)
    with pytest.raises(
        ExpressionError, match=r"x: expected a computation by blocks of float32\[4\], found one of float16"
    ):
        computation.on(Machine.of("opencl"))
    assert Computation((x,), by_blocks=lambda _: Computation((x,))).on(Machine.of("opencl")).outputs == (x,)
    assert Computation((y,)).on(Machine.of("opencl")).outputs == (y,)
