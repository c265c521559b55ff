"""tensorize: an instruction in the place of the loops that its definition describes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime import Target, array
from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir import build, te
from sateen.tensor_ir.codegen.object_code import generate
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.intrinsics import INTRINSICS, TensorIntrinsic
from sateen.tensor_ir.intrinsics.element import element_of
from sateen.tensor_ir.ir.stmt import Intrinsic
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering import lower

DOT = INTRINSICS["dot4_u8s8_x16"]
BROADCAST = INTRINSICS["dot4_u8s8_x16_broadcast"]
SERVER = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -mattr=+avx512vnni"


def product(m: int = 3, n: int = 32, depth: int = 8, packed: bool = True, kinds: str = "uint8 int8") -> Any:
    """C[i, j] = Σ A[i, k]·B[k, j] of bytes, where B is in blocks of 16 columns and 4 rows if it is `packed`."""
    one, other = kinds.split()
    a = te.placeholder((m, depth), one, name="A")
    b = te.placeholder((n // 16, depth // 4, 16, 4) if packed else (depth, n), other, name="B")
    k = te.reduce_axis(depth, "k")

    def element(i: te.IterVar, j: te.IterVar) -> te.Expr:
        right = b[j // 16, k // 4, j % 16, k % 4] if packed else b[k, j]
        return te.sum(a[i, k].astype("int32") * right.astype("int32"), axis=k)

    return a, b, te.compute((m, n), element, name="C")


def tensorized(c: te.Tensor, *, outside: bool = True, columns: int = 16, depth: int = 4) -> te.Schedule:
    """The product by tiles of 16 columns and 4 terms; the reduce loop over tiles is `outside` of the columns."""
    s = te.create_schedule(c)
    i, j = c.op.axis
    jo, ji = s[c].split(j, factor=columns)
    ko, ki = s[c].split(c.op.reduce_axis[0], factor=depth)
    s[c].reorder(i, jo, *((ko, ji, ki) if outside else (ji, ki, ko)))
    s[c].tensorize(ji, BROADCAST)
    return s


def instructions(function: Any) -> list[Intrinsic[Any]]:
    return [node for node in walk(function.body) if isinstance(node, Intrinsic)]


def bytes_of(m: int, n: int, depth: int) -> tuple[Any, Any, Any]:
    """A, B in blocks, and C."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 256, (m, depth)).astype(np.uint8)
    b = rng.integers(-128, 128, (depth, n)).astype(np.int8)
    blocks = b.reshape(depth // 4, 4, n // 16, 16).transpose(2, 0, 3, 1)
    return a, np.ascontiguousarray(blocks), a.astype(np.int32) @ b.astype(np.int32)


@pytest.mark.parametrize("depth", [4, 8], ids=["all terms inside", "terms outside"])
def test_a_product_of_bytes_becomes_dot_products(depth: int) -> None:
    a, b, c = product(depth=depth)
    function = lower(tensorized(c), [a, b, c])
    assert [s.instruction for s in instructions(function)] == [BROADCAST]
    *inputs, expected = bytes_of(3, 32, depth)
    result = np.zeros_like(expected)
    run(function, [*inputs, result])
    np.testing.assert_array_equal(result, expected)


def test_the_code_is_the_instruction_with_a_repeated_operand_and_sums_in_a_register() -> None:
    a, b, c = product(m=1, n=16, depth=64)
    s = te.create_schedule(c)
    sums = s.cache_write(c, "register")
    s[c].vectorize(c.op.axis[1])
    _, j = sums.op.axis
    ko, ki = s[sums].split(sums.op.reduce_axis[0], factor=4)
    s[sums].reorder(ko, j, ki)
    s[sums].tensorize(j, BROADCAST)
    function = lower(s, [a, b, c])
    text = generate([function], Target.parse(SERVER)).text
    assert text.count("call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(") == 1
    assert "shufflevector <16 x i32>" in text
    *inputs, expected = bytes_of(1, 16, 64)
    result = np.zeros_like(expected)
    run(function, [*inputs, result])
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("target", "lanes", "broadcast"),
    [(SERVER, 16, "vpbroadcastd"), ("llvm -mtriple=aarch64-linux-gnu -mattr=+i8mm", 4, "ld1r")],
)
def test_a_repeated_operand_is_broadcast_from_memory(target: str, lanes: int, broadcast: str) -> None:
    s, arguments = product_of_any_size(lanes, 2 * lanes)
    assembly = build(s, arguments, target, name="f").assembly()
    assert broadcast in assembly
    assert not any(word in assembly for word in ("vpshufb", "ushll", "uzp1", "tbl"))


def test_the_inner_loop_of_a_product_of_any_size_is_loads_and_dot_products() -> None:
    assembly = build(*product_of_any_size(16, 64), SERVER, name="f").assembly()
    loops = re.findall(r"^(\.LBB\w+):\n((?:\t.*\n)*?)\tj\w+\t\1$", assembly, re.MULTILINE)
    words = next(re.findall(r"^\t([a-z]\w*)", body, re.MULTILINE) for _, body in loops if "vpdpbusd" in body)
    counts = Counter(words)
    assert counts["vpdpbusd"] == 8
    assert counts["vpbroadcastd"] == 2
    assert counts.total() <= 8 + 2 + 4 + 4  # four vectors of B, and what counts the iterations


def product_of_any_size(lanes: int, columns: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """C = A B of bytes for all sizes, in tiles of 2 rows x `columns`: A is padded with zeros, B packed with zeros."""
    m, n, k = te.var("m"), te.var("n"), te.var("k")
    a, b = te.placeholder((m, k), "uint8", name="A"), te.placeholder((k, n), "int8", name="B")
    bands, panels, steps = (m + 1) // 2, (n + columns - 1) // columns, (k + 3) // 4
    padded = te.compute(
        (2 * bands, 4 * steps),
        lambda i, p: te.select(te.all(i < m, p < k), a[i, p], te.const(0, "uint8")),
        name="padded",
    )
    packed = te.compute(
        (panels, steps, columns, 4),
        lambda o, q, j, r: te.select(
            te.all(columns * o + j < n, 4 * q + r < k), b[4 * q + r, columns * o + j], te.const(0, "int8")
        ),
        name="packed",
    )
    q, r = te.reduce_axis(steps, "q"), te.reduce_axis(4, "r")
    sums = te.compute(
        (bands, panels, 2, columns),
        lambda i, o, ii, j: te.sum(
            padded[2 * i + ii, 4 * q + r].astype("int32") * packed[o, q, j, r].astype("int32"), axis=[q, r]
        ),
        name="sums",
    )
    c = te.compute((m, n), lambda i, j: sums[i // 2, j // columns, i % 2, j % columns], name="C")
    s = te.create_schedule(c)
    _, jo, i, j = s[c].tile(*c.op.axis, 2, columns)
    block, lane = s[c].split(j, lanes)
    s[c].unroll(i)
    s[c].unroll(block)
    s[c].vectorize(lane)
    s[sums].set_scope("register")
    s[sums].compute_at(s[c], jo)
    *_, i, j = sums.op.axis
    block, lane = s[sums].split(j, lanes)
    s[sums].reorder(q, i, block, lane, r)
    s[sums].unroll(i)
    s[sums].unroll(block)
    s[sums].tensorize(lane, INTRINSICS[f"dot4_u8s8_x{lanes}_broadcast"])
    return s, [a, b, c]


@pytest.mark.parametrize(("m", "n", "k"), [(5, 20, 7), (1, 1, 1), (4, 32, 8)])
def test_padding_makes_whole_tiles_of_any_sizes(m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 256, (m, k)).astype(np.uint8), rng.integers(-128, 128, (k, n)).astype(np.int8)
    result = np.zeros((m, n), np.int32)
    run(lower(*product_of_any_size(4, 8)), [a, b, result])
    np.testing.assert_array_equal(result, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.skipif(
    BROADCAST.code_for(Target.host().enabled_features) is None, reason="this processor has no avx512vnni"
)
def test_machine_code_does_what_the_definition_says() -> None:
    a, b, c = product()
    *inputs, expected = bytes_of(3, 32, 8)
    result = array(np.zeros_like(expected))
    build(tensorized(c), [a, b, c], Target.host())(*map(array, inputs), result)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_an_instruction_on_flat_operands_matches_strides() -> None:
    a = te.placeholder((5, 64), "uint8", name="A")
    b = te.placeholder((64,), "int8", name="B")
    k = te.reduce_axis(4, "k")
    c = te.compute(
        (5, 16),
        lambda r, i: te.sum(b[4 * i + k].astype("int32") * a[r, 4 * i + k].astype("int32"), axis=k),
        name="C",
    )
    s = te.create_schedule(c)
    s[c].tensorize(c.op.axis[1], DOT)
    function = lower(s, [a, b, c])
    assert [str(e) for e in instructions(function)[0].extents] == ["1", "16", "1", "16", "1", "64", "64"]
    assert (
        str(function.body)
        == """\
for r in [0, 5):
  vectorized i in [0, 16):
    C[r, i] = int32(0)
  intrinsic dot4_u8s8_x16 C[r, 0:16] = C[r, 0:16], A[r, 0:64], B[0:64]"""
    )


def element_wise(instruction: TensorIntrinsic, function: Callable[[te.Expr], te.Expr], n: int = 8) -> te.Schedule:
    x = te.placeholder((n,), "float32", name="X")
    y = te.compute((n,), lambda i: function(x[i]), name="Y")
    s = te.create_schedule(y)
    s[y].tensorize(s[y].split(y.op.axis[0], factor=4)[1], instruction)
    lower(s, [x, y])
    return s


def times(factor: float) -> TensorIntrinsic:
    """out[i] = given[i]·factor, over four floats."""
    given = te.placeholder((4,), "float32", name="given")
    return TensorIntrinsic("times_x4", (given,), (te.compute((4,), lambda i: given[i] * factor, name="out"),))


def doubling() -> TensorIntrinsic:
    return times(2.0)


def test_an_instruction_may_compute_element_by_element() -> None:
    element_wise(doubling(), lambda x: 2.0 * x)


# What is refused, and in which words.


def of_product(**options: Any) -> Callable[[], object]:
    """The lowering of a product with these differences."""
    shape = {key: options.pop(key) for key in ("m", "n", "depth", "packed", "kinds") if key in options}
    tiles = {key[1:]: options.pop(key) for key in ("_outside", "_columns", "_depth") if key in options}

    def lowered() -> object:
        a, b, c = product(**shape)
        return lower(tensorized(c, **tiles), [a, b, c])

    return lowered


def marked(primitive: str, leaf: int | None = None) -> Callable[[], object]:
    """The lowering of a product one of whose loops is marked."""
    place = leaf if leaf is not None else -1 if primitive == "unroll" else -2

    def lowered() -> object:
        a, b, c = product()
        s = tensorized(c)
        getattr(s[c], primitive)(s[c].leaves[place])
        return lower(s, [a, b, c])

    return lowered


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (
            of_product(packed=False),
            r"_broadcast' computes: operand 'b' in dimension 0 of B\[.*expected ji \(its i\) after .* found ko",
        ),
        (of_product(kinds="int8 int8"), "operand 'a': expected uint8, found int8 of 'A'"),
        (of_product(_columns=8), "data loops: expected i of 16, found ji of 8"),
        (of_product(_depth=2), "reduce loops: expected k of 4, found ki of 2"),
        (of_product(_outside=False), "reduce loops: expected k of 4, found ki of 4, ko of 2"),
        (of_product(m=2, n=32, depth=12, _columns=24), "expects whole tiles, found iterations only where"),
        (marked("unroll"), "the instruction replaces loop 'ki', found it unrolled"),
        (marked("vectorize"), "the instruction replaces loop 'ji', found it vectorized"),
        (
            marked("vectorize", 0),
            "axis 'ji': expects no vectorized loop around, found",
        ),
        (lambda: element_wise(doubling(), lambda x: x * 3.0), "the computation: expected 2.0f, found 3.0f"),
        (lambda: element_wise(times(0.0), lambda x: x * -0.0), "the computation: expected 0.0f, found -0.0f"),
        (lambda: element_wise(doubling(), lambda x: x + 2.0), "the computation: expected given"),
        (lambda: element_wise(BROADCAST, lambda x: x * 2.0), "expected a reduction, found a stage that is element by"),
        (lambda: element_wise(doubling(), lambda x: x * 2.0, 10), "choose a factor that divides the extent"),
    ],
)
def test_a_mismatch_tells_the_first_difference(attempt: Callable[[], object], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        attempt()


def test_a_reduction_across_threads_is_refused() -> None:
    a, b, c = product()
    s = tensorized(c)
    s[c].bind(s[c].leaves[2], te.thread_axis("threadIdx.x"))
    with pytest.raises(ScheduleError, match="expects no reduction across threads, found loop 'ko' bound"):
        lower(s, [a, b, c])


def test_k_blocks_go_on_from_what_the_consumer_holds() -> None:
    a, b, c = product(depth=16)
    s = te.create_schedule(c)
    sums = s.cache_write(c, "local")
    i, j = c.op.axis
    jo, _ = s[c].split(j, factor=16)
    s[sums].compute_at(s[c], jo)
    block, rest = s[sums].split(sums.op.reduce_axis[0], factor=8)
    ko, ki = s[sums].split(rest, factor=4)
    s[sums].reorder(block, ko, sums.op.axis[1], ki)
    s[c].reorder(block, i)
    s[sums].tensorize(sums.op.axis[1], BROADCAST)
    *inputs, expected = bytes_of(3, 32, 16)
    result = np.zeros_like(expected)
    run(lower(s, [a, b, c]), [*inputs, result])
    np.testing.assert_array_equal(result, expected)


def test_a_loop_that_is_split_later_is_refused() -> None:
    a, b, c = product()
    s = tensorized(c)
    s[c].split(s[c].leaves[-2], factor=4)
    with pytest.raises(ScheduleError, match="no loop of the stage any more; call tensorize after split and fuse"):
        lower(s, [a, b, c])


def test_a_stage_has_one_instruction() -> None:
    _, _, c = product()
    s = tensorized(c)
    with pytest.raises(ScheduleError, match="'dot4_u8s8_x16_broadcast' replaces loop 'ji' already"):
        s[c].tensorize(s[c].leaves[0], DOT)


def test_a_definition_that_reads_where_data_says_is_refused() -> None:
    given, place = te.placeholder((4,), "float32", name="given"), te.placeholder((4,), "int32", name="place")
    out = te.compute((4,), lambda i: given[place[i]], name="out")
    with pytest.raises(
        ScheduleError, match="expects 'gather' to read its inputs at indices over its axes, found given"
    ):
        element_of(TensorIntrinsic("gather", (given, place), (out,)))
    with pytest.raises(ScheduleError, match="expects 'gather' to read input 'place', found no read"):
        element_of(TensorIntrinsic("gather", (given, place), (te.compute((4,), lambda i: given[i], name="out"),)))
