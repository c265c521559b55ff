"""The loop interpreter executes kernels that a function invokes, on places in its memory, and traps their faults."""

import re

import numpy as np
import pytest

from sateen.runtime.errors import ExecutionError
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.parser import parse_function

DOUBLE = """
function double(x: float32[4] align 4, y: out float32[4] align 4)
  for i in [0, 4):
    y[i] = x[i] * 2.0f
"""
IN_PLACE = DOUBLE.replace("x:", "x: aliased").replace("out", "inout")
INPUT, OUTPUT = "x: float32[8] align 4", "y: out float32[8] align 4"


def execute(body, *arrays, kernels=(DOUBLE,), parameters=f"{INPUT}, {OUTPUT}"):
    text = f"function run({parameters})\n  " + body.replace("\n", "\n  ")
    run(parse_function(text), arrays, kernels=[parse_function(kernel) for kernel in kernels])
    return arrays[-1]


def trapped(message, body, *arrays, **options):
    with pytest.raises(ExecutionError, match=re.escape(message)):
        execute(body, *arrays, **options)


@pytest.fixture
def x():
    return np.arange(8, dtype="float32")


@pytest.fixture
def y():
    return np.full(8, -1, "float32")


def test_a_kernel_sees_a_part_of_the_memory(x, y):
    assert execute("invoke double(x + 16, y + 4)", x, y).tolist() == [-1, 8, 10, 12, 14, -1, -1, -1]


def test_offsets_may_be_of_a_loop(x, y):
    assert execute("for i in [0, 2):\n  invoke double(x + i * 16, y + (16 - i * 16))", x, y).tolist() == [
        8, 10, 12, 14, 0, 2, 4, 6
    ]  # fmt: skip


def test_memory_between_kernels_is_bytes_of_any_type(x, y):
    narrow = """
function narrow(x: float32[2, 4] align 4, y: out float16[4, 2] strides [3, 1] align 2)
  for i in [0, 4):
    y[i, 0] = float16(x[0, i])
    y[i, 1] = float16(x[1, i])
"""
    wide = """
function wide(x: float16[4, 2] strides [3, 1] align 2, y: out float32[8] align 4)
  for i in [0, 4):
    y[i] = float32(x[i, 1])
    y[i + 4] = float32(x[i, 0])
"""
    body = "allocate w: uint8[64]\ninvoke narrow(x + 0, w + 6)\ninvoke wide(w + 6, y + 0)"
    assert execute(body, x, y, kernels=(narrow, wide)).tolist() == [4, 5, 6, 7, 0, 1, 2, 3]


def test_what_the_function_and_its_kernels_store_is_one_memory(x, y):
    body = "y[0] = 5.0f\ny[1] = x[7]\ny[2] = 1.0f\ny[3] = 1.0f\ninvoke double(y + 0, y + 16)\ny[0] = y[4] + y[5]"
    assert execute(body, x, y).tolist() == [24, 7, 1, 1, 10, 14, 2, 2]


def test_memory_that_was_not_written_is_not_read(x, y):
    body = "allocate w: float32[8] align 4\nw[0] = 0.0f\nw[1] = 1.0f\ninvoke double(w + 0, y + 0)"
    trapped("double: load from x[2], which has not been written\n  in y[i] = x[i] * 2.0f\n  i = 2", body, x, y)
    trapped("double: load from x[0], which has not been written", "invoke double(y + 0, y + 16)", x, y)
    body = "allocate w: float16[8] align 4\nfor i in [0, 7):\n  w[i] = float16(0.0)\ninvoke double(w + 0, y + 0)"
    trapped("double: load from x[3], which has not been written", body, x, y)


def test_a_kernel_may_overwrite_what_is_aliased_alone(x, y):
    body = "for i in [0, 8):\n  y[i] = x[i]\ninvoke double(y + 0, y + {})"
    assert execute(body.format(0), x, y, kernels=(IN_PLACE,)).tolist() == [0, 2, 4, 6, 4, 5, 6, 7]
    trapped("'x' and 'y' of kernel 'double' overlap, but are not aliased", body.format(0), x, y)
    trapped("'x' and 'y' of kernel 'double' overlap, but are not aliased", body.format(12), x, y)
    assert execute(body.format(16), x, y).tolist() == [0, 1, 2, 3, 0, 2, 4, 6]


def test_calls_that_do_not_fit(x, y):
    message = "run: kernel 'other' is not among those that are given\n  in invoke other(x + 0)"
    trapped(message, "invoke other(x + 0)", x, y)
    trapped("kernel 'double' expects 2 arguments, found 1", "invoke double(x + 0)", x, y)
    trapped("'y' is from byte 20 to 36 of 32", "invoke double(x + 0, y + 20)", x, y)
    trapped("'x' is from byte -4 to 12 of 32", "invoke double(x + (0 - 4), y + 0)", x, y)
    message = "'x' of kernel 'double' expects a place that is a multiple of 4 bytes, found 2"
    trapped(message, "invoke double(x + 2, y + 0)", x, y)
    symbolic = "function double[n](x: float32[n] align 4, y: out float32[n] align 4)\n  y[0] = x[0]"
    trapped("kernel 'double' expects constant shapes, found x: float32[n]", "invoke double(x + 0, y + 0)", x, y,
            kernels=(symbolic,))  # fmt: skip


def test_arrays_may_have_strides_and_no_elements(y):
    parameters = "x: float32[2, 3] strides [4, 1] align 4, y: out float32[8] align 4"
    x = np.arange(6, dtype="float32").reshape(2, 3)
    copy = "function row(x: float32[3] align 4, e: float32[0, 3] align 4, y: out float32[3] align 4)\n  y[0] = x[2]"
    body = "invoke row(x + 16, x + 0, y + 0)"
    assert execute(body, x, y, parameters=parameters, kernels=(copy,)).tolist() == [5, -1, -1, -1, -1, -1, -1, -1]


def test_timestamps_grow():
    clock = np.zeros(3, "int64")
    execute("timestamp c[0]\nparallel i in [0, 2):\n  pass\ntimestamp c[1]\ntimestamp c[2]", clock,
            parameters="c: out int64[3]")  # fmt: skip
    assert 0 < clock[0] < clock[1] < clock[2]
