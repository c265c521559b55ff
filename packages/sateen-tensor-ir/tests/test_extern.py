"""te.extern and the builder of its body."""

import re

import pytest

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir import lower, te
from sateen.tensor_ir.ir.buffer import Scope
from sateen.tensor_ir.ir.stmt import Barrier, LoopKind
from sateen.tensor_ir.te import ir_builder


def copy(n, write):
    """An extern over float32[n] whose body `write(ib, source, result)` writes."""
    a = te.placeholder((n,), name="a")

    def body(ins, outs):
        ib = ir_builder.create()
        write(ib, ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]))
        return ib.get()

    return te.extern((n,), [a], body, name="copy")


def text(write, n=4):
    return str(copy(n, write).op.program)


def refused(message, write):
    with pytest.raises(TypeError, match=re.escape(message)):
        copy(4, write)


def test_statements_nest_as_they_are_written():
    def write(ib, source, result):
        with ib.for_range(0, 4, "i", "parallel") as i:
            total = ib.allocate("float32", (1,), name="total")
            total[0] = source[i]
            with ib.while_scope(total[0] > 1.0):
                total[0] = total[0] / 2.0
            kept = ib.let("kept", total[0])
            with ib.if_scope(kept < 0.5):
                result[i] = kept
            with ib.else_scope():
                result[i] = 0

    assert text(write).splitlines() == [
        "parallel i in [0, 4):",
        "  allocate total: local float32[1]",
        "  total[0] = a[i]",
        "  while total[0] > 1.0f:",
        "    total[0] = total[0] / 2.0f",
        "  let kept = total[0]",
        "  if kept < 0.5f:",
        "    copy[i] = kept",
        "  else:",
        "    copy[i] = 0.0f",
    ]


def test_statements_after_an_inner_scope_stay_in_the_scope_of_a_let():
    def write(ib, source, result):
        x = ib.let("x", source[0])
        with ib.for_range(0, 4) as i:
            result[i] = x
        result[0] = x

    assert text(write) == "let x = a[0]\nfor i in [0, 4):\n  copy[i] = x\ncopy[0] = x"


def test_lets_and_memory_of_a_scope_end_with_it():
    def write(ib, source, result):
        for k in range(2):
            with ib.new_scope():
                x = ib.let("x", source[k])
                result[k] = x

    assert text(write) == "let x = a[0]\n  copy[0] = x\nlet x_1 = a[1]\ncopy[1] = x_1"


def test_an_index_is_stored_as_int64():
    def write(ib, _, result):
        places = ib.allocate("int64", 4, name="places")
        with ib.for_range(0, 4, "i") as i:
            k = ib.let("k", i * 2)
            places[i] = k
            held = ib.let("held", places[i])
            places[held] = held + k
            result[held] = 0

    assert text(write).splitlines() == [
        "allocate places: local int64[4]",
        "for i in [0, 4):",
        "  let k = i * 2",
        "  places[i] = int64(k)",
        "  let held = places[i]",
        "  places[index(held)] = held + int64(k)",
        "  copy[index(held)] = 0.0f",
    ]
    refused("'copy' holds float32, found a value of index", lambda ib, _, result: ib.store(result, 0, te.var("n")))


def test_an_extern_has_as_many_outputs_as_shapes():
    a = te.placeholder((4,), name="a")

    def body(ins, outs):
        ib = ir_builder.create()
        values, places = map(ib.buffer_ptr, outs)
        values[0, 0] = ib.buffer_ptr(ins[0])[0]
        places[0] = 0
        return ib.get()

    values, places = te.extern([(4, 1), (2,)], [a], body, name="split", dtype=["float32", "int32"])
    assert (values.name, str(values.dtype), len(values.shape)) == ("split.0", "float32", 2)
    assert (places.name, str(places.dtype), len(places.shape)) == ("split.1", "int32", 1)
    assert values.op.inputs == (a,)


def test_a_loop_runs_over_an_axis_or_its_tag():
    def write(kind):
        def body(ib, source, result):
            with ib.for_range(0, 4, "t", kind) as t:
                result[t] = source[t]

        return text(body)

    assert write(te.thread_axis("threadIdx.x")) == write(te.thread_axis((0, 4), "threadIdx.x")) == write("threadIdx.x")
    assert write(te.thread_axis("vthread")) == write("vthread")


def test_loops_of_every_kind_and_other_statements():
    def write(ib, _, result):
        with ib.for_range(1, 3, "t", "threadIdx.x") as t, ib.for_range(0, 1, "u", LoopKind.UNROLLED) as u:
            ib.emit(Barrier())
            ib.store(result, t + u, ib.allocate("float32", 2, Scope.SHARED)[u])
        ib.call("notify", 1)

    assert text(write).splitlines() == [
        "thread threadIdx.x t in [1, 3):",
        "  unrolled u in [0, 1):",
        "    barrier shared",
        "    allocate buffer: shared float32[2]",
        "    copy[t + u] = buffer[u]",
        "notify:int32(int64(1))",
    ]


def test_symbolic_extents_may_be_used():
    n = te.var("n")

    def write(ib, source, result):
        with ib.for_range(0, n) as i:
            result[i] = source[n - 1 - i]

    assert text(write, n) == "for i in [0, n):\n  copy[i] = a[n - 1 - i]"


def test_misuse_of_the_builder_is_refused():
    def lone_else(ib, _, result):
        result[0] = 0
        with ib.else_scope():
            pass

    def double_else(ib, source, result):
        with ib.if_scope(source[0] > 0.0):
            pass
        with ib.else_scope():
            result[0] = 1
        with ib.else_scope():
            result[0] = 2

    refused("else_scope expects an if_scope directly before it, found none", lone_else)
    refused("else_scope expects an if_scope directly before it, found none", double_else)
    refused(
        "buffer 'a' has 1 dimensions, found 2 indices",
        lambda ib, source, result: ib.store(result, 0, source[0, 1]),
    )
    refused(
        "an index of buffer 'copy' expects an integer, found float32",
        lambda ib, source, result: ib.store(result, te.const(0.5), 1.0),
    )
    refused(
        "buffer 'copy' holds float32, found a value of int32; convert with .astype(...)",
        lambda ib, source, result: ib.store(result, 0, te.const(1, "int32")),
    )
    refused(
        "if_scope expects a condition (bool), found float32; compare it with something first",
        lambda ib, source, result: ib.if_scope(source[0]).__enter__(),
    )
    refused(
        "while_scope expects a condition (bool), found index; compare it with something first",
        lambda ib, source, result: ib.while_scope(1).__enter__(),
    )
    refused(
        "for_range expects a kind of serial, parallel, unrolled, vectorized, vthread, blockIdx.x, blockIdx.y, "
        "blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z; found 'fast'",
        lambda ib, source, result: ib.for_range(0, 4, kind="fast").__enter__(),
    )
    refused(
        "for_range over threadIdx.x expects 8 iterations, found 4",
        lambda ib, source, result: ib.for_range(0, 4, kind=te.thread_axis((0, 8), "threadIdx.x")).__enter__(),
    )
    refused(
        "the end of a loop expects an integer, found float32",
        lambda ib, source, result: ib.for_range(0, te.const(4.0)).__enter__(),
    )
    refused(
        "the shape of 'buffer' expects an integer, found float32",
        lambda ib, source, result: ib.allocate("float32", te.const(1.0)),
    )
    refused("emit expects a statement, found Load", lambda ib, source, result: ib.emit(source[0]))
    refused("buffer_ptr expects a buffer, found BufferPointer", lambda ib, source, result: ib.buffer_ptr(source))


def test_get_inside_of_a_scope_is_refused():
    def write(ib, *_):
        with ib.for_range(0, 4):
            ib.get()

    refused("get expects all scopes to be closed, found 1 open", write)


def test_a_body_that_uses_what_it_was_not_given_is_refused():
    foreign = te.decl_buffer((4,), name="foreign")
    tensor = te.placeholder((4,), name="tensor")

    def leak(ib, _, result):
        with ib.for_range(0, 4, "i") as i:
            result[i] = 1.0
        result[i] = 2.0

    result = copy(4, leak)
    with pytest.raises(LoweringError, match="variable 'i' is used where nothing binds it"):
        lower(te.create_schedule(result), [*result.op.inputs, result])
    refused(
        "extern 'copy': the body uses buffer 'foreign', which it was not given",
        lambda ib, source, result: ib.store(foreign, 0, 1.0),
    )
    refused(
        "extern 'copy': the body uses tensor 'tensor'; it may use only the buffers that it is given",
        lambda ib, source, result: ib.store(result, 0, tensor[0]),
    )
    refused("extern 'copy': the body stores to input 'a'", lambda ib, source, result: ib.store(source, 0, 1.0))


def test_shapes_and_dtypes_that_disagree_are_refused():
    a, b = te.placeholder((4,), "int32"), te.placeholder((4,), "float32")
    with pytest.raises(TypeError, match="extern 'e' has 2 shapes, but 3 dtypes"):
        te.extern([(4,), (4,)], [a], lambda ins, outs: None, "e", ["int32"] * 3)
    with pytest.raises(TypeError, match="expects dtype=, as its inputs do not agree on one: float32, int32"):
        te.extern((4,), [a, b], lambda ins, outs: None, "e")
    with pytest.raises(TypeError, match="expects dtype=, as its inputs do not agree on one: no inputs"):
        te.extern((4,), [], lambda ins, outs: None, "e")
    with pytest.raises(TypeError, match="expects a statement from its function"):
        te.extern((4,), [a], lambda ins, outs: None, "e")
