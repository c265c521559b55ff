"""Products of 16 x 16 tiles by the threads of a warp: `wmma` of NVIDIA's processors (PTX ISA 9.7.15).

The sums have the scope `warp`, where the threads keep them between steps: `wmma_…` is a product, whose `reset` clears
the sums and whose `update` adds to them, and `wmma_store_…` writes them to memory. Sums of integers are exact, and
wrap. Products of float16 and bfloat16 are exact, too; a sum of them is added up in an order of the processor's own, and
may be cut off instead of rounded (Fasi et al., "Numerical behavior of NVIDIA tensor cores", 2021, section 3).

Rows of an operand may lie apart, by a multiple of 16 bytes; a tile begins at a multiple of 32 bytes (9.7.15.3).
"""

from __future__ import annotations

from sateen.tensor_ir import te
from sateen.tensor_ir.intrinsics.code import WarpCall
from sateen.tensor_ir.intrinsics.definition import loops_of, reset_of, update_of
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.tensor_expr import Reduce

SIDE = 16
"""The rows and the columns of a tile."""
_ALIGNMENT = 32


def _product(kind: str, layout: str) -> TensorIntrinsic:
    """out[i, j] = Σ a[i, k]·b[k, j], or b[j, k] if its columns are neighbours."""
    factors, sums, words, feature = _KINDS[kind]
    a, b = (te.placeholder((SIDE, SIDE), factors, name=name) for name in "ab")
    k = te.reduce_axis(SIDE, "k")

    def term(i: te.Expr, j: te.Expr) -> te.Expr:
        left, right = a[i, k].astype(sums), (b[k, j] if layout == "row" else b[j, k]).astype(sums)
        return ex.multiply(left, right)

    out = te.compute((SIDE, SIDE), lambda i, j: te.sum(term(i, j), axis=k), name="out")
    held, left, right = _fragment(out), _in_memory(a), _in_memory(b)
    name = f"wmma_{SIDE}x{SIDE}x{SIDE}_{kind}{'' if layout == 'row' else '_columns'}"
    reduction = out.op.body[0]
    assert isinstance(reduction, Reduce)

    def part(
        suffix: str,
        step: str,
        outputs: tuple[te.Tensor, ...],
        states: tuple[te.Tensor, ...] = (),
        inputs: tuple[te.Tensor, ...] = (),
        reset: TensorIntrinsic | None = None,
        update: TensorIntrinsic | None = None,
    ) -> TensorIntrinsic:
        given = (*states, *inputs)
        storage = {**dict.fromkeys((*outputs, *states), held), **dict(zip(inputs, (left, right), strict=False))}
        return TensorIntrinsic(
            name + suffix,
            given,
            outputs,
            llvm=(WarpCall(step, *words, layout, (feature,)),),
            buffers=tuple(storage[t] for t in (*outputs, *given)),
            body=loops_of(outputs, storage),
            in_place=states,
            reset=reset,
            update=update,
        )

    before, added = update_of((out,), reduction)
    return part(
        "",
        "multiply",
        (out,),
        inputs=(a, b),
        reset=part("_reset", "fill", reset_of((out,), reduction)),
        update=part("_update", "multiply", added, before, (a, b)),
    )


def _store(sums: str, word: str, feature: str) -> TensorIntrinsic:
    """out[i, j] = sums[i, j]."""
    held = te.placeholder((SIDE, SIDE), sums, name="sums")
    out = te.compute((SIDE, SIDE), lambda i, j: held[i, j], name="out")
    buffers = _in_memory(out), _fragment(held)
    return TensorIntrinsic(
        f"wmma_store_{SIDE}x{SIDE}_{sums}",
        (held,),
        (out,),
        llvm=(WarpCall("store", "", word, "row", (feature,)),),
        buffers=buffers,
        body=loops_of((out,), dict(zip((out, held), buffers, strict=True))),
    )


def _fragment(operand: te.Tensor) -> Buffer:
    rows = te.var(f"row_{operand.name}")
    one = operand.dtype.bytes
    return Buffer(operand.name, operand.shape, operand.dtype, Scope.WARP, strides=(rows, te.const(1)), alignment=one)


def _in_memory(operand: te.Tensor) -> Buffer:
    rows = te.var(f"row_{operand.name}")
    return Buffer(operand.name, operand.shape, operand.dtype, strides=(rows, te.const(1)), alignment=_ALIGNMENT)


_KINDS = {
    "f16": ("float16", "float32", ("f16", "f32"), "sm_70"),
    "f16_f16": ("float16", "float16", ("f16", "f16"), "sm_70"),
    "bf16": ("bfloat16", "float32", ("bf16", "f32"), "sm_80"),
    "s8": ("int8", "int32", ("s8", "s32"), "sm_72"),
    "u8": ("uint8", "int32", ("u8", "s32"), "sm_72"),
}
"""By the word for them in names: elements of the factors and of the sums, PTX's words for both, the least processor."""

WARP_TILES = (
    *(_product(kind, layout) for kind in _KINDS for layout in ("row", "col")),
    _store("float32", "f32", "sm_70"),
    _store("float16", "f16", "sm_70"),
    _store("int32", "s32", "sm_72"),
)
