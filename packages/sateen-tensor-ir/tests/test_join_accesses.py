"""Vectorized loops in the text of kernels: accesses of neighbours are one, and others stay those of single elements."""

from __future__ import annotations

import re
from textwrap import dedent, indent

import numpy as np
import pytest
from text_devices import TRAPS, open_text_device

from sateen.runtime import DeviceError, Target
from sateen.tensor_ir import build, build_functions, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir import verify
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering.join_accesses import join_accesses
from sateen.tensor_ir.targets import Gpu

SCALED = """
    for i in [0, 8):
      vectorized j in [0, 4):
        C[i * 4 + j] = A[i * 4 + j] * 2.0f
"""
MOVES = re.compile(r"\*\((?:__\w+ |device |thread |threadgroup )?(?:const )?(\w+\d) \*\)")


def function(body, *, align=64, dtype="float32", count=32):
    head = f"function f(A: {dtype}[{count}] align {align}, C: out {dtype}[{count}] align {align})\n"
    return parse_function(head + indent(dedent(body).strip("\n"), "  "))


def joined(body, most_bytes=16, **options):
    given = function(body, **options)
    found = join_accesses(given, most_bytes)
    verify(found, after="join_accesses")
    dtype, count = options.get("dtype", "float32"), options.get("count", 32)
    a, expected, c = np.arange(count, dtype=dtype), np.zeros(count, dtype), np.zeros(count, dtype)
    run(given, [a, expected])
    run(found, [a, c])
    np.testing.assert_array_equal(c, expected)
    return re.sub(r"j_\d", "j", str(found.body))


def test_accesses_of_neighbours_are_moves_around_what_lanes_compute():
    assert (
        joined(SCALED)
        == dedent("""
        for i in [0, 8):
          allocate A_lanes: local float32[4] align 16
          allocate C_lanes: local float32[4] align 16
          vectorized j in [0, 4):
            A_lanes[j] = A[i * 4 + j]
          unrolled j in [0, 4):
            C_lanes[j] = A_lanes[j] * 2.0f
          vectorized j in [0, 4):
            C[i * 4 + j] = C_lanes[j]
    """).strip()
    )


def test_a_copy_is_one_move():
    assert joined(SCALED.replace(" * 2.0f", "")) == SCALED.replace(" * 2.0f", "").replace("\n    ", "\n").strip()


def test_more_lanes_than_an_access_has_are_several_moves():
    text = joined("vectorized j in [0, 32):\n  C[j] = A[j]")
    assert text == "unrolled j in [0, 8):\n  vectorized j in [0, 4):\n    C[j * 4 + j] = A[j * 4 + j]"


def test_tiles_that_overlap_at_the_end_begin_at_multiples_as_well():
    text = joined("for i in [0, 4):\n  vectorized j in [0, 4):\n    C[min(i * 8, 20) + j] = A[min(i * 8, 20) + j]")
    assert "vectorized" in text
    text = joined("for i in [0, 4):\n  vectorized j in [0, 4):\n    C[min(i * 8, 21) + j] = A[min(i * 8, 21) + j]")
    assert "vectorized" not in text


def test_statements_of_a_body_are_done_for_all_lanes_one_after_the_other():
    text = joined("vectorized j in [0, 4):\n  C[j] = A[j]\n  C[j + 4] = A[j + 4] * 2.0f")
    assert text.count("vectorized") == 3
    assert text.index("C[j] = A[j]") < text.index("A_lanes[j] = A[")


@pytest.mark.parametrize(
    ("body", "options", "moves"),
    [
        (SCALED, {"align": 4}, []),
        (SCALED, {"align": 8}, ["A_lanes[j * 2 + j]", "C[i * 4 + (j * 2 + j)]"]),
        (SCALED.replace("A[i * 4 + j]", "A[i * 3 + j]"), {}, ["C[i * 4 + j]"]),
        (SCALED.replace("A[i * 4 + j]", "A[i * 4 + 3 - j]"), {}, ["C[i * 4 + j]"]),
        (SCALED.replace("A[i * 4 + j]", "A[(i * 4 + j) // 2]"), {}, ["C[i * 4 + j]"]),
        (SCALED.replace("A[i * 4 + j] * 2.0f", "select(i + j < 9, A[i * 4 + j], 0.0f)"), {},
         ["A_lanes[j]", "C[i * 4 + j]"]),
        (SCALED.replace("A[i * 4 + j] * 2.0f", "select(i * 4 + j < 28, A[i * 4 + j + 4], 0.0f)"), {}, ["C[i * 4 + j]"]),
        (SCALED.replace("        C[", "        if i + j < 9:\n          C["), {}, []),
        (SCALED, {"most_bytes": 4}, []),
    ],
    ids=["place", "half", "steps", "backwards", "shared", "condition", "bounds", "guard", "none"],
)  # fmt: skip
def test_other_accesses_stay_those_of_elements(body, options, moves):
    text = joined(body, **options)
    found = re.findall(r"vectorized.*\n *(.*) = ", text)
    assert found == moves, text
    assert "unrolled j" in text


@pytest.mark.parametrize(("dtype", "most"), [("int8", 16), ("float16", 8), ("float64", 2), ("int64", 2), ("int32", 4)])
def test_a_move_has_as_many_bytes_as_a_thread_accesses_at_once(dtype, most):
    text = joined("vectorized j in [0, 32):\n  C[j] = A[j]", dtype=dtype)
    assert f"vectorized j in [0, {most}):" in text


def test_a_condition_that_all_lanes_share_is_decided_once():
    text = joined(SCALED.replace("        C[", "        if i < 5:\n          C["))
    assert text.index("if i < 5:") < text.index("vectorized")
    assert re.findall(r"vectorized.*\n *(.*) = ", text) == ["A_lanes[j]", "C[i * 4 + j]"]


def test_an_index_by_a_let_of_the_loop_stays():
    text = joined("for i in [0, 8):\n  vectorized j in [0, 4):\n    let n = i * 4 + j\n    C[n] = A[i * 4 + j] * 2.0f")
    assert re.findall(r"vectorized.*\n *(.*) = ", text) == ["A_lanes[j]"]


def kernel(dtype, lanes, count, shift=0):
    """C = 2·A by blocks of 16 threads, each of which has so many lanes; A goes through shared memory."""
    a = te.placeholder((count + 16,), dtype, name="A")
    c = te.compute((count,), lambda i: a[i + shift] + a[i + shift], name="C")
    s = te.create_schedule(c)
    copy = s.cache_read(a, "shared", [c])
    block, rest = s[c].split(c.op.axis[0], 16 * lanes)
    thread, lane = s[c].split(rest, lanes)
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    s[c].bind(thread, te.thread_axis("threadIdx.x"))
    s[c].vectorize(lane)
    s[copy].compute_at(s[c], block)
    thread, lane = s[copy].split(copy.op.axis[0], lanes)
    _, thread = s[copy].split(thread, 16)
    s[copy].bind(thread, te.thread_axis("threadIdx.x"))
    s[copy].vectorize(lane)
    buffers = {t: te.decl_buffer(t.shape, t.dtype, name=t.name, alignment=64) for t in (a, c)}
    return lower(s, [a, c], "f", buffers=buffers)


KINDS = [("float32", 4), ("float16", 8), ("float16", 4), ("int8", 16), ("int8", 4), ("int64", 2), ("uint32", 2)]


@pytest.mark.parametrize(("dtype", "lanes"), KINDS)
def test_kernels_compute_the_same_in_each_language(launch_any, dtype, lanes):
    count = 64 * lanes
    a, c = np.arange(count + 16).astype(dtype), np.zeros(count, dtype)
    compiled = launch_any(kernel(dtype, lanes, count), a, c)
    np.testing.assert_array_equal(c, a[:count] + a[:count])
    assert len(MOVES.findall(compiled.source)) == 6, compiled.source


@pytest.mark.parametrize("target", ["cuda-c", "metal"])
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_places_are_as_aligned_as_the_text_says(target, shift):
    """UndefinedBehaviorSanitizer ends the process at a vector that is not."""
    try:
        device = open_text_device(target, TRAPS)
    except DeviceError as error:
        pytest.skip(str(error))
    f = kernel("float32", 4, 256, shift)
    compiled = build_functions([f], target)
    a, c = np.arange(272, dtype="float32"), np.zeros(256, "float32")
    kernels, (k,) = device.load(compiled.source.encode()), compiled.program.kernels
    memory = [device.allocate(x.nbytes) for x in (a, c)]
    device.write(memory[0].part(), a.ctypes.data)
    device.launch(device.prepare(kernels, k.name, (4, 1, 1), k.block, [m.part() for m in memory], ()))
    device.read(c.ctypes.data, memory[1].part())
    np.testing.assert_array_equal(c, 2 * a[shift : 256 + shift])


def test_ptx_has_moves_in_tiles_that_overlap():
    a = te.placeholder((100,), name="A")
    c = te.compute((100,), lambda i: a[i] + 1.0, name="C")
    s = te.create_schedule(c)
    block, rest = s[c].split(c.op.axis[0], 64, tail="shift")
    thread, lane = s[c].split(rest, 4)
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    s[c].bind(thread, te.thread_axis("threadIdx.x"))
    s[c].vectorize(lane)
    buffers = {t: te.decl_buffer(t.shape, t.dtype, name=t.name, alignment=16) for t in (a, c)}
    source = build(s, [a, c], target="cuda", buffers=buffers).source
    assert source.count("ld.global.nc.v4") == source.count("st.global.v4") == 1


def test_ptx_has_the_same_moves():
    a = te.placeholder((256,), name="A")
    c = te.compute((256,), lambda i: a[i] + 1.0, name="C")
    s = te.create_schedule(c)
    thread, lane = s[c].split(c.op.axis[0], 4)
    s[c].bind(thread, te.thread_axis("threadIdx.x"))
    s[c].vectorize(lane)
    for alignment, found in ((16, 1), (4, 0)):
        buffers = {t: te.decl_buffer(t.shape, t.dtype, name=t.name, alignment=alignment) for t in (a, c)}
        source = build(s, [a, c], target="cuda", buffers=buffers).source
        assert source.count("ld.global.nc.v4") == source.count("st.global.v4") == found


def test_devices_without_vectors_in_memory_keep_loops():
    assert Gpu.of(Target.of("webgpu")).access_bytes == Gpu.of(Target.of("opencl -mcpu=processor")).access_bytes == 4
    source = build_functions([kernel("float32", 4, 256)], "webgpu").source
    assert "vec4" not in source
