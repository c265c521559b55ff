"""What the verifier refuses, and that it names the pass and the line."""

import re

import pytest

from sateen.runtime.dtype import DType
from sateen.runtime.errors import LoweringError
from sateen.tensor_ir import te
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Var, const
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import (
    EMPTY,
    Allocate,
    Evaluate,
    For,
    Function,
    If,
    Invoke,
    Let,
    LoopKind,
    Prefetch,
    Seq,
    Store,
    Timestamp,
    While,
    invoke,
)
from sateen.tensor_ir.ir.types import BOOL, FLOAT32, INDEX, INT64
from sateen.tensor_ir.ir.verifier import verify

A = Buffer("A", (const(4),), FLOAT32)
ZERO, ONE, FOUR, HALF = const(0), const(1), const(4), const(0.5)
i, j = Var("i"), Var("j")
store = Store(A, (ZERO,), HALF)


def loop(var, body, kind=LoopKind.SERIAL, extent=FOUR, thread=None):
    return For(var, ZERO, extent, kind, body, thread)


def refused(message, body, parameters=(A,)):
    with pytest.raises(LoweringError, match=re.escape(message)):
        verify(Function("f", tuple(parameters), frozenset({A}), body))


def put(value, index=ZERO):
    return Store(A, (index,), value)


def test_a_well_formed_function_passes():
    verify(
        parse_function(
            """
function f[n](x: float32[n, 4], y: out float32[n])
  constant w: float32[2] = "AACAPwAAAEA="
  parallel i in [0, n):
    allocate acc: register float32[4]
    vectorized v in [0, 4):
      acc[v] = x[i, v] * w[v % 2]
    let t = exp(acc[0])
    if t > 0.0f and i > 2:
      y[i] = t
    else:
      y[i] = select(i < 1, 0.0f, piecewise[i % 2](t, max(t, 1.0f)))
  thread blockIdx.x b in [0, n):
    thread threadIdx.x t_1 in [0, 4):
      prefetch x[b, t_1]
      while y[b] / 2.0f > 0.0f:
        pass
""".strip()
        )
    )


def test_the_error_names_the_pass_and_the_line():
    with pytest.raises(LoweringError) as caught:
        verify(Function("f", (A,), frozenset({A}), loop(i, put(HALF, j))), after="simplify")
    assert (
        str(caught.value)
        == "function 'f' after simplify: variable 'j' is used where nothing binds it\n  in A[j] = 0.5f"
    )


def test_variables():
    refused("function 'f': variable 'j' is used where nothing binds it\n  in A[j] = 0.5f", put(HALF, j))
    refused("variable 'i' is used where nothing binds it", Seq((loop(i, store), put(HALF, i))))
    refused("variable 'i' is bound twice\n  in for i in [0, 4):", loop(i, loop(i, store)))
    refused("variable 'i' is bound twice", Seq((loop(i, store), loop(i, store))))
    refused("variable 'i' is bound twice\n  in let i = 0", loop(i, Let(i, ZERO, store)))
    refused("variable 'i' is used where nothing binds it\n  in let i = i + 1", Let(i, i + 1, store))


def test_buffers():
    t = Buffer("t", (const(1),), FLOAT32)
    use = Store(t, (ZERO,), HALF)
    refused("buffer 't' is used outside of its allocation\n  in t[0] = 0.5f", use)
    refused("buffer 't' is used outside of its allocation", Seq((Allocate(t, use), use)))
    refused("buffer 't' is used outside of its allocation\n  in prefetch t[0]", Prefetch(t, (ZERO,)))
    refused("buffer 't' is allocated inside of its own scope", Allocate(t, Allocate(t, use)))
    refused("buffer 'A' is allocated inside of its own scope", Allocate(A, store))
    verify(Function("f", (A,), frozenset({A}), Seq((Allocate(t, use), Allocate(t, use)))))


def test_how_denormals_are_taken():
    with pytest.raises(LoweringError, match="denormals expects keep or flush, found 'flsh'"):
        verify(Function("f", (A,), frozenset({A}), store, denormals="flsh"))


def test_calls_and_timestamps():
    unknown = Buffer("t", (FOUR,), FLOAT32)
    refused("buffer 't' is used outside of its allocation", invoke("kernel", (unknown, 0)))
    refused("variable 'i' is used where nothing binds it", invoke("kernel", (A, i)))
    refused("the offset of buffer 'A' expects index", invoke("kernel", (A, HALF)))
    with pytest.raises(LoweringError, match="expects an offset for each buffer, found 0 offsets for 1 buffers"):
        Invoke("kernel", (A,), ())
    refused("buffer 't' is used outside of its allocation", Timestamp(unknown, 0))
    index = Buffer("index", (const(4),), INDEX)
    refused("buffer 'index' has elements of index, which memory does not hold", Allocate(index, EMPTY))
    refused("a call of 'f' takes and gives data, found index", Evaluate(ex.Call("f", (ZERO,), FLOAT32)))
    refused("a call of 'f' takes and gives data, found index", Evaluate(ex.Call("f", (), INDEX)))
    refused("a timestamp expects int64, found float32", Timestamp(A, 0))


def test_what_may_be_stored_to():
    x = Buffer("x", (const(4),), FLOAT32)
    refused("buffer 'x' is stored to, but is no output\n  in x[0] = 0.5f", Store(x, (ZERO,), HALF), [A, x])
    w = te.constant([1.0, 2.0]).op.data.astype("float32")
    constant = Buffer("w", (const(2),), FLOAT32, data=w)
    refused("buffer 'w' is stored to, but is no output", Store(constant, (ZERO,), HALF))
    refused("buffer 'w' is allocated, but is a constant", Allocate(constant, EMPTY))


def test_parameters():
    refused("a buffer is a parameter twice", EMPTY, [A, A])
    refused("output 'A' is no parameter", EMPTY, [])
    with pytest.raises(LoweringError, match="aliased buffer 'A' is no parameter"):
        verify(Function("f", (), frozenset(), EMPTY, frozenset({A})))
    number = Buffer("n", (), INT64)
    for parameters, outputs in (((A,), ()), ((A, Buffer("n", (), FLOAT32)), ()), ((A, number), (number,))):
        held = ((i, number if number in parameters else parameters[-1]),)
        with pytest.raises(LoweringError, match="symbol 'i' expects an int64 of the host as its number, an input"):
            verify(Function("f", parameters, frozenset({A, *outputs}), EMPTY, numbers=held))


def test_indices():
    refused("buffer 'A' has 1 dimensions, found 2 indices", Store(A, (ZERO, ZERO), HALF))
    refused("buffer 'A' has 1 dimensions, found 0 indices", put(Load(A, (), FLOAT32)))
    narrow = const(0, "int32")
    refused("an index of buffer 'A' expects index, found int32(0) of int32", put(HALF, narrow))


def test_types():
    refused("buffer 'A' expects float32, found 1 of index\n  in A[0] = 1", put(ONE))
    refused("a load from buffer 'A' expects float32, found A[0] of int64", put(Load(A, (ZERO,), INT64)))
    refused("variable 'i' expects index, found 0.5f of float32", Let(i, HALF, store))
    refused("a condition expects bool, found index", If(ONE, store))
    refused("a condition expects bool, found index", While(ONE, store))
    refused("'+' has operands of float32 and index", put(ex.Add(HALF, ONE)))
    refused("'*' has operands of bool and bool", put(ex.Mul(ex.TRUE, ex.TRUE)))
    refused("'<' has operands of float32 and index", If(ex.LT(HALF, ONE), store))
    refused("'and' has operands of bool and index", If(ex.And(ex.TRUE, ONE), store))
    refused("'//' has operands of float32 and float32", put(ex.FloorDiv(HALF, HALF)))
    refused("'/' has operands of index and index", put(ex.Cast(ex.Div(ONE, ONE), FLOAT32)))
    refused("'not' expects bool, found 1 of index", If(ex.Not(ONE), store))
    refused("the condition of a select expects bool, found 1 of index", put(ex.Select(ONE, HALF, HALF)))
    refused("the second operand of a select expects float32, found 1 of index", put(ex.Select(ex.TRUE, HALF, ONE)))
    refused("the index of piecewise expects index, found 0.5f of float32", put(ex.Piecewise((HALF,), HALF, FLOAT32)))
    refused("a branch of piecewise expects float32, found 1 of index", put(ex.Piecewise((HALF, ONE), ZERO, FLOAT32)))


def test_loops():
    refused("the range of loop 'i' expects index, found 0.5f of float32", loop(i, store, extent=HALF))
    short = Var("s", ex.DType.of("int32"))
    refused("loop variable 's' expects index, found int32", loop(short, store))
    extent = j + 1
    for kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED):
        message = (
            f"the {kind.value} loop 'i' expects a constant extent, found j + 1\n  in {kind.value} i in [0, j + 1):"
        )
        refused(message, loop(j, loop(i, store, kind, extent)))
    vectorized = loop(i, loop(j, store, LoopKind.VECTORIZED), LoopKind.VECTORIZED)
    refused("the vectorized loop 'j' is inside of the vectorized loop 'i'", vectorized)


def test_thread_loops():
    thread = LoopKind.THREAD
    refused("thread loop 'i' expects an axis of blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, "
            "threadIdx.z; found warp", loop(i, store, thread, thread="warp"))  # fmt: skip
    refused("; found None", loop(i, store, thread))
    refused("the for loop 'i' has the thread axis threadIdx.x", loop(i, store, thread="threadIdx.x"))
    inner = loop(j, store, thread, thread="blockIdx.x")
    refused(
        "thread loop 'j' of blockIdx.x is inside of 'i' of the same axis", loop(i, inner, thread, thread="blockIdx.x")
    )
    block = loop(j, store, thread, thread="blockIdx.y")
    refused(
        "thread loop 'j' of blockIdx.y is inside of 'i' of threadIdx.x", loop(i, block, thread, thread="threadIdx.x")
    )


def test_registers_have_a_constant_shape():
    t = Buffer("t", (i,), FLOAT32, Scope.REGISTER)
    refused("register buffer 't' expects a constant shape, found extent i", loop(i, Allocate(t, EMPTY)))
    verify(Function("f", (A,), frozenset({A}), loop(i, Allocate(Buffer("t", (i,), FLOAT32), EMPTY))))


def test_no_tensor_expression_is_left():
    a, r = te.placeholder((4,), name="a"), te.reduce_axis(4, "r")
    refused("tensor 'a' is read: it should be a load by now\n  in A[0] = a[0]", put(a[0]))
    refused("reduction 'sum' is left: it should be loops by now", loop(r, put(te.sum(HALF, axis=r))))


def test_a_shared_node_is_checked_once():
    e = Load(A, (ZERO,), FLOAT32)
    for _ in range(60):
        e = e + e
    verify(Function("f", (A,), frozenset({A}), put(e)))


def test_bits_become_a_type_of_the_same_width():
    load = Load(A, (ZERO,), FLOAT32)
    message = "'reinterpret' expects types of equal width, found float32 as "
    refused(message + "float64", put(ex.cast(FLOAT32, ex.Reinterpret(load, DType.of("float64")))))
    refused(message + "bool", put(ex.cast(FLOAT32, ex.Reinterpret(load, BOOL))))
