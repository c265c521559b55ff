"""Whether the indices of a function fit into fewer bits: all that it computes of them counts, offsets too."""

import pytest

from sateen.runtime.device import opencl
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.codegen.llvm import emit_module
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering.index_width import indices_fit, shorten_host_indices, shorten_indices
from sateen.tensor_ir.lowering.split_host_device import split_host_device
from sateen.tensor_ir.lowering.split_tasks import split_tasks

SMALL = "function f(x: float32[1000], p: int64[8], q: uint8[8], y: out float32[1000])\n  "
LARGE = "function f(x: float32[50000, 50000], y: out float32[50000])\n  "


def fits(text, bits=32):
    return indices_fit(parse_function(text).body, Analyzer(), bits)


@pytest.mark.parametrize(
    "body",
    [
        "for i in [0, 1000):\n    y[i] = x[i]",
        "for i in [0, 8):\n    y[index(q[i]) * 2] = x[index(min(max(p[i], int64(0)), int64(999)))]",
        "for i in [0, 8):\n    let k = i * 100\n    y[k] = x[k + 99]",
        "for i in [0, 40):\n    if i < 30:\n      y[i * 70000000 // 70000000] = 1.0f",
        "for i in [0, 8):\n    y[i] = float32(p[i] + int64(i) * int64(1000000000000))",
    ],
)
def test_what_is_small_fits(body):
    assert fits(SMALL + body)


@pytest.mark.parametrize(
    "body",
    [
        "for i in [0, 8):\n    y[index(p[i])] = x[i]",
        "for i in [0, 8):\n    y[i] = select(i * 400000000 > 5, 1.0f, 2.0f)",
        "for i in [0, 8):\n    y[i * 400000000 // 400000000] = x[i]",
        "for i in [0, 8):\n    prefetch x[i * 400000000]",
        "for i in [0, 8) + 2147483645:\n    y[0] = x[0]",
        "let k = 3000000000\n  y[0] = x[0]",
        "while x[1500000000 * 2] > 0.0f:\n    y[0] = x[0]",
    ],
)
def test_what_may_be_large_does_not(body):
    assert not fits(SMALL + body)


def test_an_offset_may_be_large_where_no_index_is():
    assert not fits(LARGE + "for i in [0, 50000):\n    y[i] = x[i, i]")
    assert not fits(LARGE + "for i in [0, 50000):\n    y[i] = x[0, 0] + x[i, 0]")
    assert fits(LARGE + "for i in [0, 40000):\n    y[i] = x[i, 0]")


def test_without_a_range_nothing_is_known():
    assert not fits("function f[n](x: float32[n], y: out float32[n])\n  for i in [0, n):\n    y[i] = x[i]")


def test_a_difference_of_indices_that_are_compared_counts():
    nest = "for i in [0, {0}):\n    for k in [0, {0}):\n      if i < 0 - k:\n        y[0] = 0.0f"
    loop = f"function f(y: out float32[8])\n  {nest}"
    assert fits(loop.format(1 << 29))
    assert not fits(loop.format((1 << 30) + 2))


def test_storage_counts_in_bytes():
    scratch = "function f(y: out float32[8])\n  allocate t: {}[1000000000]\n    t[0] = 1\n    y[0] = float32(t[0])"
    assert fits(scratch.format("int8"))
    assert not fits(scratch.format("int32"))


def test_the_ends_of_the_range_fit():
    loop = "function f(y: out float32[200])\n  for i in [0, {}):\n    y[i] = 0.0f"
    assert fits(loop.format(127), bits=8)
    assert not fits(loop.format(128), bits=8)


def test_each_kernel_has_the_width_that_its_threads_need():
    program = split_host_device(
        parse_function(
            "function f(A: float32[64], B: out float32[64], C: out float32[50000, 50000])\n"
            "  thread blockIdx.x b in [0, 64):\n    B[b] = A[b]\n"
            "  thread blockIdx.x i in [0, 50000):\n    C[i, 0] = 1.0f"
        ),
        opencl(),
    )
    assert [kernel.index_bits for kernel in program.kernels] == [64, 64]
    assert [kernel.index_bits for kernel in shorten_indices(program, 32).kernels] == [32, 64]


def shortened(text):
    return shorten_host_indices(split_tasks(parse_function(text)), 32)


def test_a_host_function_of_known_sizes_has_short_indices_if_they_fit():
    program = shortened(SMALL + "for i in [0, 1000):\n    y[i] = x[i]")
    assert (program.index_bits, program.greatest) == (32, {})
    assert shortened(LARGE + "for i in [0, 50000):\n    y[i] = x[i, i]").index_bits == 64


def test_a_symbolic_extent_is_bounded_by_the_memory_of_a_machine():
    copy = "function f[n](x: {0}[n, 3, 0], y: out {0}[n])\n  for i in [0, n):\n    y[i] = y[i]"
    program = shortened(copy.format("float32"))
    assert program.index_bits == 32
    assert list(program.greatest.values()) == [(2**31 - 1) // 12]
    assert shortened("function f[n](y: out int8[n])\n  for i in [0, n):\n    y[i] = int8(0)").index_bits == 32
    assert shortened("function f[n](y: out int8[n])\n  for i in [0, n + 1):\n    y[0] = int8(0)").index_bits == 64
    assert shortened("function f[n, m](y: out int8[n, m])\n  for i in [0, n):\n    y[i, 0] = int8(0)").index_bits == 64


def test_indices_stay_long_where_a_device_is_given_work():
    program = split_host_device(
        parse_function(
            "function f(A: float32[64], B: out float32[64])\n  thread blockIdx.x b in [0, 64):\n    B[b] = A[b]"
        ),
        opencl(),
    )
    assert shorten_host_indices(split_tasks(program.host), 32).index_bits == 64


def test_code_with_short_indices_has_no_others():
    text = "function f(A: float32[8, 8], B: out float32[64])\n  parallel i in [0, 64):\n    B[i] = A[i // 8, i % 8]"
    lines = emit_module([shortened(text)], "armv7-linux-gnueabihf").text.splitlines()
    begin = next(i for i, line in enumerate(lines) if "@f.task0.body(" in line)
    body = lines[begin : lines.index("}", begin)]
    assert any("phi i32" in line for line in body)
    assert not any("i64" in line for line in body)
