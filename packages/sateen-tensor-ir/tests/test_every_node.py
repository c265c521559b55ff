"""Every class of nodes goes through every walker of loop IR, or is refused by it in words; so is one that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sateen.runtime.device import opencl
from sateen.runtime.dtype import DType
from sateen.runtime.errors import CodegenError, ExecutionError, LoweringError
from sateen.runtime.target import Target
from sateen.tensor_ir import build_functions, ir
from sateen.tensor_ir.arith.structure import StructuralKeys
from sateen.tensor_ir.codegen.object_code import generate
from sateen.tensor_ir.interpret import loop_oracle
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir import buffer, tensor_expr
from sateen.tensor_ir.ir import device_work as dw
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir import stmt as st
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load, Scope
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.equal import why_different
from sateen.tensor_ir.ir.expr import Expr, Var, const
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function, LoopKind, Stmt, Store
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.types import FLOAT32, INT64
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.ir.visit import walk

TRIPLE = "x86_64-unknown-linux-gnu"
X, Y, N = (Buffer(name, (const(4),), dtype) for name, dtype in (("x", FLOAT32), ("y", FLOAT32), ("n", INT64)))
ZERO, FOUR = const(0), const(4)
NUMBER = Load(X, (ZERO,), FLOAT32)
COUNT = Load(N, (ZERO,), INT64)
HOLDS = ex.LT(NUMBER, const(2.0))
WRITE = Store(Y, (ZERO,), NUMBER)
I, V = Var("i"), Var("v", FLOAT32)
ONLY = Buffer("only", (const(1),), FLOAT32, Scope.REGISTER)
SMALL = Buffer("small", (FOUR,), FLOAT32, Scope.LOCAL)
DOT = INTRINSICS["dot4_u8s8_x16"]
SUMS = Buffer("sums", DOT.outputs[0].shape, DOT.outputs[0].dtype, Scope.LOCAL)
OPERANDS = [Buffer(t.name, t.shape, t.dtype, data=np.ones(DOT.shape_of(t), t.dtype.numpy)) for t in DOT.inputs]


QUEUE, ONE = dw.Queue(opencl()), const(1)
D = Buffer("D", (FOUR,), FLOAT32, device=opencl())
LAUNCH = dw.Launch("work", QUEUE, (FOUR, ONE, ONE), (1, 1, 1), (D,), (ZERO,), (FOUR,))


def on_device(s: Stmt) -> Stmt:
    """A statement with memory there."""
    return st.Allocate(D, s)


def whole(vector: Buffer) -> st.Region:
    """All of a vector."""
    (extent,) = vector.shape
    assert isinstance(extent, ex.Const)
    return st.Region(vector, (ZERO,), (int(extent.value),))


def put(value: Expr) -> Stmt:
    """A statement with a value of any type."""
    return Store(Y, (ZERO,), ex.cast(FLOAT32, value) if value.dtype != FLOAT32 else value)


EXPRESSIONS: dict[type[Expr], Stmt] = {
    ex.Const: put(const(0.5)),
    Var: st.For(I, ZERO, FOUR, LoopKind.SERIAL, Store(Y, (I,), NUMBER)),
    ex.Cast: put(ex.Cast(COUNT, FLOAT32)),
    ex.Reinterpret: put(ex.Cast(ex.Reinterpret(NUMBER, DType.of("int32")), FLOAT32)),
    ex.Not: put(ex.Not(HOLDS)),
    ex.Select: put(ex.Select(HOLDS, NUMBER, const(1.0))),
    ex.Call: put(ex.Call("sqrt", (NUMBER,), FLOAT32)),
    ex.Piecewise: st.For(I, ZERO, const(2), LoopKind.UNROLLED, put(ex.Piecewise((NUMBER, const(1.0)), I, FLOAT32))),
    Load: put(NUMBER),
    Address: st.sequence(WRITE, st.Evaluate(ex.Call("extern.f", (Address(Y, const(1), "w"), NUMBER), FLOAT32))),
    **{kind: put(kind(NUMBER, const(2.0))) for kind in (ex.Add, ex.Sub, ex.Mul, ex.Div, ex.Min, ex.Max)},
    **{kind: put(kind(COUNT, const(3, INT64))) for kind in (ex.FloorDiv, ex.FloorMod)},
    **{kind: put(kind(NUMBER, const(2.0))) for kind in (ex.EQ, ex.NE, ex.LT, ex.LE, ex.GT, ex.GE)},
    **{kind: put(kind(HOLDS, ex.GE(COUNT, const(0, INT64)))) for kind in (ex.And, ex.Or)},
}  # fmt: skip
STATEMENTS: dict[type[Stmt], Stmt] = {
    st.For: st.For(I, ZERO, FOUR, LoopKind.PARALLEL, Store(Y, (I,), NUMBER)),
    st.If: st.If(HOLDS, WRITE, put(const(1.0))),
    st.While: st.sequence(put(const(0.0)), st.While(ex.LT(Load(Y, (ZERO,), FLOAT32), const(2.0)), put(const(3.0)))),
    st.Let: st.Let(V, NUMBER, put(ex.add(V, V))),
    st.Allocate: st.Allocate(SMALL, st.sequence(Store(SMALL, (ZERO,), NUMBER), put(Load(SMALL, (ZERO,), FLOAT32)))),
    Store: WRITE,
    st.Evaluate: st.sequence(WRITE, st.Evaluate(ex.Call("sqrt", (NUMBER,), FLOAT32))),
    st.Invoke: st.sequence(WRITE, st.For(I, ZERO, FOUR, LoopKind.SERIAL, st.invoke("kernel", (X, 0), (Y, I * 4)))),
    st.Intrinsic: st.Allocate(SUMS, st.sequence(WRITE, st.intrinsic(DOT, [whole(SUMS)], [*map(whole, OPERANDS)]))),
    st.Timestamp: st.sequence(WRITE, st.Timestamp(N, 1)),
    dw.Launch: st.sequence(WRITE, on_device(LAUNCH)),
    dw.Copy: st.sequence(WRITE, on_device(dw.Copy(QUEUE, D, ZERO, X, ZERO, const(16)))),
    dw.Wait: st.sequence(WRITE, dw.Wait(QUEUE, dw.Queue(opencl(), 1))),
    st.Prefetch: st.sequence(WRITE, st.Prefetch(X, (ZERO,))),
    st.Barrier: st.sequence(WRITE, st.Barrier(Scope.SHARED)),
    st.Shuffle: st.Allocate(ONLY, st.sequence(WRITE, st.Shuffle(ONLY, (ZERO,), NUMBER, ZERO, 32))),
    st.Seq: st.sequence(WRITE, put(const(1.0))),
}  # fmt: skip
ONLY_TENSOR_EXPRESSIONS = {ex.IterVar, Read, Reduce}
"""Of te; lowering leaves none, and the verifier refuses them (test_verify)."""
BASES = {ex.Binary, ex.Compare}


def function(body: Stmt) -> Function:
    written = {N, Y} if any(isinstance(node, st.Timestamp) for node in walk(body)) else {Y}
    return Function("f", (X, Y, N), frozenset(written), body)


def interpreted(f: Function) -> None:
    arrays = [np.ones(4, np.float32), np.zeros(4, np.float32), np.ones(4, np.int64)]
    kernel = parse_function("function kernel(a: float32[1], b: out float32[1] align 4)\n  b[0] = a[0]")
    n, i = Var("n"), Var("i")
    d = replace(D, device=None)
    fill = Store(d, (i,), ex.cast(FLOAT32, n))
    work = Kernel("work", (d,), frozenset({d}), frozenset(), (n,), {"blockIdx.x": i}, (n, ONE, ONE), (1, 1, 1), fill)
    loop_oracle.run(f, arrays, functions={"f": lambda y, x: y.fill(x)}, kernels=[kernel, work])


def to_kernels(f: Function, kind: str) -> None:
    launched = replace(f, body=st.For(Var("block"), ZERO, const(1), LoopKind.THREAD, f.body, "blockIdx.x"))
    build_functions([launched], kind)


WALKERS: dict[str, Callable[[Function], object]] = {
    "the verifier": verify,
    "the printer": str,
    "the digest": digest,
    "the interpreter": interpreted,
    "the LLVM emitter": lambda f: generate([f], Target.parse(f"llvm -mtriple={TRIPLE}")),
    "the emitter of C99": lambda f: build_functions([f], "c"),
    "the emitter of OpenCL C": lambda f: to_kernels(f, "opencl"),
    "the emitter of WGSL": lambda f: to_kernels(f, "webgpu"),
}
OF_KERNELS = ("the emitter of OpenCL C", "the emitter of WGSL")
GIVES_NO_WORK = "gives no work to devices, found work of opencl\\(0\\); build for llvm"
REFUSED = {
    **{("the emitter of C99", kind): "C99 has no memory of devices, found 'D'" for kind in (dw.Launch, dw.Copy)},
    ("the emitter of C99", dw.Wait): GIVES_NO_WORK,
    **{(emitter, dw.Wait): GIVES_NO_WORK for emitter in OF_KERNELS},
    **{(e, kind): "'D' is computed inside of a kernel" for e in OF_KERNELS for kind in (dw.Launch, dw.Copy)},
    ("the LLVM emitter", st.Barrier): "barrier",
    ("the interpreter", st.Shuffle): "is executed by threads along threadIdx.x, found none",
    ("the LLVM emitter", st.Shuffle): "a shuffle needs threads in warps that the target does not have",
    ("the emitter of C99", st.Shuffle): "C99 has no threads of a warp that give values to each other",
    **{(e, st.Shuffle): "expects whole warps of 32 threads along threadIdx.x, found 1" for e in OF_KERNELS},
    (
        "the LLVM emitter",
        st.Intrinsic,
    ): f"f: {TRIPLE} has no code for intrinsic 'dot4_u8s8_x16', only for processors with avx512vnni",
    ("the emitter of WGSL", st.Intrinsic): "f_0: WGSL has no code for intrinsic 'dot4_u8s8_x16'",
    ("the emitter of C99", st.Invoke): "C99 has each kernel on its own, found a call of 'kernel'; build for llvm",
    ("the emitter of C99", st.Timestamp): "C99 has no clock to read; build for llvm",
    ("the emitter of C99", st.Barrier): "barrier",
    **{(e, Address): "(OpenCL C|WGSL) calls no functions of others, found a call of 'f'" for e in OF_KERNELS},
    **{(e, st.Invoke): "each kernel on its own, found a call of 'kernel'" for e in OF_KERNELS},
    **{(e, st.Timestamp): "(OpenCL C|WGSL) has no clock to read; build for llvm" for e in OF_KERNELS},
}
"""What a walker can't do, and what it says of it."""
CASES = {**EXPRESSIONS, **STATEMENTS}


def classes(base: type) -> set[type]:
    """All of loop IR that derive from a class."""
    named = [value for module in (ex, buffer, tensor_expr, st, dw) for value in vars(module).values()]
    return {c for c in named if isinstance(c, type) and issubclass(c, base)} - {base}


def test_every_class_of_nodes_has_a_case() -> None:
    assert EXPRESSIONS.keys() == classes(Expr) - BASES - ONLY_TENSOR_EXPRESSIONS
    assert STATEMENTS.keys() == classes(Stmt)


def test_the_face_has_every_class_of_nodes_for_passes_of_users() -> None:
    assert classes(Expr) | classes(Stmt) <= {getattr(ir, name) for name in ir.__all__}


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("walker", WALKERS)
def test_every_walker_has_a_rule_for_it(walker: str, kind: type) -> None:
    f = function(CASES[kind])
    refusal = REFUSED.get((walker, kind))
    if refusal is None:
        WALKERS[walker](f)
    else:
        with pytest.raises((CodegenError, ExecutionError, LoweringError), match=refusal):
            WALKERS[walker](f)


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)
def test_its_text_is_read_back_and_its_digest_stays(kind: type) -> None:
    f = function(CASES[kind])
    again = parse_function(str(f), INTRINSICS)
    assert why_different(f, again) is None
    assert str(again) == str(f)
    assert digest(again) == digest(f)


def test_digests_and_structure_tell_all_cases_apart() -> None:
    assert len({digest(function(body)) for body in CASES.values()}) == len({str(function(b)) for b in CASES.values()})
    keys = StructuralKeys()
    values = [body.value for body in EXPRESSIONS.values() if isinstance(body, Store)]
    assert len({keys.of(value) for value in values}) == len({str(value) for value in values})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Strange(Expr):
    value: Expr
    dtype = FLOAT32


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StrangeStatement(Stmt):
    body: Stmt
    span: None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hidden(Expr):
    pairs: tuple[tuple[int, Expr], ...]
    dtype = FLOAT32


@pytest.mark.parametrize("walker", WALKERS)
@pytest.mark.parametrize("body", [put(Strange(NUMBER)), StrangeStatement(WRITE)], ids=["expression", "statement"])
def test_a_class_without_a_rule_is_refused(walker: str, body: Stmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_oracle, "verify", lambda *_, **__: None)
    with pytest.raises(LoweringError, match=f"{walker} has no rule for Strange"):
        WALKERS[walker](function(body))


def test_structure_of_a_class_without_a_rule_is_refused() -> None:
    with pytest.raises(LoweringError, match="the table of structural keys has no rule for Strange"):
        StructuralKeys().of(Strange(NUMBER))


def test_nodes_can_not_hide_in_fields_that_walks_do_not_see() -> None:
    with pytest.raises(TypeError, match=r"Hidden.pairs: walks see nodes in fields of .*; found 'tuple"):
        list(walk(Hidden(((1, NUMBER),))))
