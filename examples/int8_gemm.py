"""Exact products of bytes in int32, of any sizes, by dot products (`vpdpbusd` on x86-64): packing, padding, tensorize.

The instruction multiplies unsigned by signed bytes. A signed left operand gets an offset of 128, which makes it
unsigned; 128 times the sum of a column is then too much in each of its sums.
"""

import numpy as np

from sateen import runtime
from sateen.tensor_ir import Machine, build, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.intrinsics import INTRINSICS


def product_of_bytes(left: str, machine: Machine) -> tuple[te.Schedule, list[te.Tensor]]:
    """C = A B, int32[m, n] of A, uint8 or int8 as `left` says, [m, k] and B, int8[k, n]."""
    lanes = machine.lanes("int32")
    dot = INTRINSICS[f"dot4_u8s8_x{lanes}_broadcast"]
    blocks = 4
    rows, columns = machine.tile_positions(blocks), blocks * lanes  # the sums that registers hold

    m, n, k = te.var("m"), te.var("n"), te.var("k")
    a, b = te.placeholder((m, k), left, name="A"), te.placeholder((k, n), "int8", name="B")
    bands, panels, steps = (m + rows - 1) // rows, (n + columns - 1) // columns, (k + 3) // 4

    def unsigned(x: te.Expr) -> te.Expr:
        return te.bitwise_xor(te.reinterpret("uint8", x), 128) if left == "int8" else x

    # Both operands are padded with zeros to whole tiles.
    padded = te.compute(
        (bands * rows, steps * 4),
        lambda i, p: te.select(te.all(i < m, p < k), unsigned(a[i, p]), te.const(0, "uint8")),
        name="padded",
    )
    fours = te.compute(
        (panels, steps, 4, columns),
        lambda o, q, r, j: te.select(
            te.all(columns * o + j < n, 4 * q + r < k), b[4 * q + r, columns * o + j], te.const(0, "int8")
        ),
        name="fours",
    )
    # In a panel of B the four terms of a column are neighbours.
    packed = te.compute((panels, steps, columns, 4), lambda o, q, j, r: fours[o, q, r, j], name="packed")
    q, r, p = te.reduce_axis(steps, "q"), te.reduce_axis(4, "r"), te.reduce_axis(k, "p")
    sums = te.compute(
        (bands, panels, rows, columns),
        lambda i, o, ii, j: te.sum(
            padded[rows * i + ii, 4 * q + r].astype("int32") * packed[o, q, j, r].astype("int32"), axis=[q, r]
        ),
        name="sums",
    )
    excess = te.compute((n,), lambda j: te.sum(b[p, j].astype("int32") * 128, axis=p), name="excess")

    def element(i: te.Expr, j: te.Expr) -> te.Expr:
        total: te.Expr = sums[i // rows, j // columns, i % rows, j % columns]
        corrected: te.Expr = total - excess[j]
        return corrected if left == "int8" else total

    c = te.compute((m, n), element, name="C")

    s = te.create_schedule(c)
    i, j = c.op.axis
    io, jo, i, j = s[c].tile(i, j, rows, columns, tail="partition")
    s[c].reorder(jo, io)
    block, lane = s[c].split(j, lanes)
    s[c].unroll(i)
    s[c].unroll(block)
    s[c].vectorize(lane)
    s[c].parallel(jo)
    s[sums].set_scope("register")
    s[sums].compute_at(s[c], io)
    *_, i, j = sums.op.axis
    block, lane = s[sums].split(j, lanes)
    s[sums].reorder(q, i, block, lane, r)
    s[sums].unroll(i)
    s[sums].unroll(block)
    s[sums].tensorize(lane, dot)
    s[padded].vectorize(s[padded].split(padded.op.axis[1], machine.lanes("int8"))[1])
    *_, j, r = packed.op.axis
    block, lane = s[packed].split(j, lanes)
    s[packed].vectorize(s[packed].fuse(lane, r))
    s[fours].compute_at(s[packed], packed.op.axis[1])
    s[fours].vectorize(fours.op.axis[3])
    if left == "int8":
        s[excess].reorder(p, excess.op.axis[0])
    return s, [a, b, c]


def main() -> None:
    host = runtime.Target.host()
    machine = Machine.of(host)
    rng = np.random.default_rng(0)
    for left in ("uint8", "int8"):
        a = rng.integers(0, 256, (27, 37)).astype(np.uint8).view(left)
        b = rng.integers(-128, 128, (37, 70)).astype(np.int8)
        c = np.zeros((27, 70), np.int32)
        s, arguments = product_of_bytes(left, machine)
        lanes = machine.lanes("int32")
        name = f"dot4_u8s8_x{lanes}_broadcast"
        if name not in INTRINSICS:
            print(f"no dot product of bytes has {lanes} lanes, as vectors of this processor have")
            return
        if INTRINSICS[name].code_for(host.enabled_features) is None:
            run(lower(s, arguments), [a, b, c])
            print(f"{left}: this processor has no such instruction; the interpreter has followed its definition")
        else:
            module = build(s, arguments, host)
            module(a, b, c)
            count = module.assembly().count("vpdpbusd")
            print(f"{left}: {count} dot products of {lanes} sums each in the code of all tiles")
        np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


if __name__ == "__main__":
    main()
