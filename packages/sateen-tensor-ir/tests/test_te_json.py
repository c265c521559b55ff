"""Definitions and functions as JSON: equal after the round trip, and hostile texts are refused in words."""

import json
import random

import numpy as np
import pytest

from sateen.runtime.errors import ExpressionError, SateenError
from sateen.tensor_ir import build, hybrid, load_json, lower, save_json, te
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir import digest, walk
from sateen.tensor_ir.ir.expr import AxisKind
from sateen.tensor_ir.te.operations import PlaceholderOp

n, m, factor = te.var("n"), te.var("m"), te.var("factor", "float32")
A = te.placeholder((n, 4), name="A")
r = te.reduce_axis(4, "r")


def argmax():
    reducer = te.comm_reducer(
        lambda x, y: (te.select(x[0] >= y[0], x[0], y[0]), te.select(x[0] >= y[0], x[1], y[1])),
        lambda value, index: (te.min_value(value), te.const(0, index)),
        name="argmax",
    )
    return list(te.compute((n,), lambda i: reducer((A[i, r], r), axis=r, where=r % 2 == 1), name="M"))


def cumulated():
    x = te.placeholder((m, n), name="x")
    state = te.placeholder((m, n), name="s")
    first = te.compute((1, n), lambda t, i: x[t, i], name="first")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    return [te.scan(first, update, state, inputs=[x], name="S", tag="sums", attrs={"over": "time"})]


def running():
    def body(ins, outs):
        ib = te.ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, "i") as i:
            last = ib.let("last", source[i, 3])
            with ib.if_scope(te.all(i > 0, last > 0)):
                result[i] = result[i - 1] + last * last
            with ib.else_scope():
                result[i] = te.max_value("float32")
        return ib.get()

    return [te.extern((n,), [A], body, name="R")]


def elements():
    table = te.constant(
        np.array([[1.5, float("nan")], [-0.0, float("inf")]], "float32"), name="A"
    )  # the name of another
    flags = te.constant(np.array([True, False, True, True]), name="flags")
    part = te.compute(
        (n, 4), lambda A_1, j: te.select(flags[j], te.exp(A[A_1, j]) * factor, table[j // 2, j % 2]), name="n"
    )
    deep = part[0, 0] * part[1, 1] + 1.0
    for _ in range(8):
        deep = deep * deep  # shared, so that its tree would be large
    return [
        te.compute(
            (4,),
            lambda j: deep + te.piecewise([part[0, j], te.const(1.0)], j % 2) + A[n - 1, j],
            "D",
            "t",
            {"k": 1, "order": (0, 1)},
        )
    ]


@hybrid.script
def steps(a):
    state = output_tensor((4, a.shape[1]), a.dtype)  # noqa: F821
    for t in range(1, 4):
        for i in range(a.shape[1]):
            state[t, i] = state[t - 1, i] * 0.5 + a[t, i]
    return state


def stepped():
    return [steps(te.placeholder((4, m), name="x"))]


DEFINITIONS = {f.__name__: f() for f in (argmax, cumulated, running, elements, stepped)}


def operations(outputs):
    found, waiting = {}, [t.op for t in outputs]
    while waiting:
        op = waiting.pop()
        found |= {op: None}
        waiting += [t.op for t in op.needed if t.op not in found]
    return list(found)


def arguments(outputs):
    """Placeholders of a definition in the order of their names, then its outputs, and the factor that it may have."""
    factors = {v for op in operations(outputs) for e in op.body for v in walk(e) if getattr(v, "name", "") == "factor"}
    given = sorted((op.output(0) for op in operations(outputs) if isinstance(op, PlaceholderOp)), key=lambda t: t.name)
    return [*given, *outputs, *factors]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_is_equal_after_the_round_trip(name):
    outputs = DEFINITIONS[name]
    text = save_json(outputs)
    loaded = load_json(text)
    assert save_json(loaded) == text
    assert [(t.op.tag, t.op.attrs) for t in loaded] == [(t.op.tag, t.op.attrs) for t in outputs]
    lowered = [lower(te.create_schedule(o), arguments(o)) for o in (outputs, loaded)]
    assert digest(lowered[0]) == digest(lowered[1])
    assert str(lowered[0]) == str(lowered[1])


def test_the_axes_of_a_script_are_found_again():
    (made,) = DEFINITIONS["stepped"]
    (loaded,) = load_json(save_json(made))
    assert [(a.name, a.kind) for a in loaded.op.axis] == [("t", AxisKind.ORDERED), ("i", AxisKind.DATA)]
    texts = []
    for result in (made, loaded):
        s = te.create_schedule(result)
        s[result].parallel(s[result].split(result.op.axis[1], 4)[0])
        texts.append(str(lower(s, [*result.op.inputs, result])))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("place", [{"offset_factor": 2}, {"elem_offset": 3}, {"strides": [te.var("step")]}])
def test_where_a_declared_buffer_may_lie_is_kept(place):
    v = te.placeholder((m,), name="v")
    declared = te.decl_buffer((m,), name="v", **place)

    def body(ins, outs):
        ib = te.ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, m, "i") as i:
            result[i] = source[i]
        return ib.get()

    copied = te.extern((m,), [v], body, name="copied", in_buffers=declared)
    (loaded,) = load_json(save_json(copied))
    (found,) = loaded.op.input_buffers
    assert found.alignment == declared.alignment
    assert str(found.stride_exprs()) == str(declared.stride_exprs())
    s = te.create_schedule(copied)
    function = lower(s, [v, copied], buffers={v: declared})
    assert digest(load_json(save_json(function))) == digest(function)


def test_what_was_loaded_is_built():
    (loaded,) = load_json(save_json(DEFINITIONS["cumulated"][0]))
    x = np.arange(6, dtype="float32").reshape(3, 2)
    result = np.empty_like(x)
    (given,) = [t for t in arguments([loaded]) if t.name == "x"]
    build(te.create_schedule(loaded), [given, loaded])(x, result)
    np.testing.assert_array_equal(result, np.cumsum(x, axis=0))


def test_a_function_is_equal_after_the_round_trip():
    outputs = DEFINITIONS["argmax"]
    function = lower(te.create_schedule(outputs), [A, *outputs])
    assert digest(load_json(save_json(function))) == digest(function)


def test_what_is_no_definition_is_not_saved():
    for value in (3, [], [A, 3], A.op):
        with pytest.raises(ExpressionError, match="save_json expects tensors or a function of loop IR"):
            save_json(value)


def test_expressions_of_any_depth_are_read_back():
    left = right = A[0, 0]
    for _ in range(1000):
        left, right = te.exp(left) + 1.0, 1.0 - right
    B = te.compute((4,), lambda j: left * right + A[0, j], name="B")
    text = save_json(B)
    (loaded,) = load_json(text)
    assert save_json(loaded) == text
    function = lower(te.create_schedule(B), [A, B])
    assert digest(function) == digest(lower(te.create_schedule(loaded), [loaded.op.inputs[0], loaded]))
    assert digest(load_json(save_json(function))) == digest(function)


def test_instructions_are_read_by_name():
    dot = INTRINSICS["dot4_u8s8_x4"]

    def body(ins, outs):
        ib = te.ir_builder.create()
        a, b, c = map(ib.buffer_ptr, (*ins, *outs))
        with ib.for_range(0, 4, "i") as i:
            c[i] = 0
        sums = c.region(0, (4,))
        ib.intrinsic(dot, [sums], [sums, a.region(0, (16,)), b.region(0, (16,))])
        return ib.get()

    X, Y = te.placeholder((16,), "uint8", name="X"), te.placeholder((16,), "int8", name="Y")
    C = te.extern((4,), [X, Y], body, name="C", dtype="int32", tag="dot", attrs={"lanes": 4})
    (loaded,) = load_json(save_json(C), INTRINSICS)
    assert (loaded.op.tag, dict(loaded.op.attrs)) == ("dot", {"lanes": 4})
    function = lower(te.create_schedule(C), [X, Y, C])
    assert digest(load_json(save_json(function), INTRINSICS)) == digest(function)
    with pytest.raises(
        ExpressionError, match=r"operation 2: line \d, column 11: expected an intrinsic \(none is known\)"
    ):
        load_json(save_json(C))


def changed(path, value):
    """The text of a sum in which one field has another value."""
    total = te.compute((n,), lambda i: te.sum(A[i, r], axis=r), name="T")
    whole = json.loads(save_json(te.compute((n,), lambda i: total[i] + 1.0, name="C")))
    *outer, last = path
    place = whole
    for key in outer:
        place = place[key]
    place[last] = value
    return json.dumps(whole)


OPERATION = "operations"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "load_json expects JSON"),
        ("{", "load_json expects JSON"),
        ("[1]", "load_json expects an object with 'sateen.tensor_ir': 1, found [1]"),
        (3, "load_json expects a text of at most"),
        (changed(["sateen.tensor_ir"], 2), "load_json expects an object with 'sateen.tensor_ir': 1"),
        (changed([OPERATION, 0, "kind"], "matmul"), "operation 0: expected a kind of placeholder, constant, compute"),
        (changed([OPERATION, 0, "dtype"], "float31"), "operation 0: "),
        (changed([OPERATION, 0, "shape"], ["-1"]), "operation 0: expected an extent of at least 0, found -1 (index)"),
        (changed([OPERATION, 0, "shape"], ["unknown"]), "expected a variable or an element of a buffer"),
        (changed([OPERATION, 0, "shape"], ["9" * 5000]), "operation 0: "),
        (changed([OPERATION, 0, "shape"], ["9" * 30]), "expected a literal of index, found 999"),
        (changed([OPERATION, 0, "shape"], ["n // 0"]), "'//' by the constant 0"),
        (changed([OPERATION, 0, "shape"], ["4"] * 65), "expected at most 64 dimensions, found 65"),
        (changed([OPERATION, 1, "reads"], [["A", 1, 0]]), "expected an operation before this one"),
        (changed([OPERATION, 1, "reads"], [["A", 0, True]]), "expected an operation before this one"),
        (changed([OPERATION, 1, "axes"], [["A", "n"]]), "expected names of their own for tensors, axes and symbols"),
        (changed([OPERATION, 1, "reduction", "where"], "k"), "expected a variable"),
        (changed([OPERATION, 1, "reduction", "where"], "r"), "where a condition holds"),
        (changed([OPERATION, 1, "reduction", "sources"], ["A[i]"]), "has 2 dimensions, found 1 indices"),
        (changed([OPERATION, 1, "reduction", "identity"], ["0"]), "expected a reducer of float32, found other types"),
        (changed([OPERATION, 2, "body"], ["T[i] + 1"]), "'+' has operands of float32 and index"),
        (changed([OPERATION, 2, "body"], ["T[i + 0.5f]"]), "operation 2: function 'C': "),
        (changed([OPERATION, 2, "body"], ["(" * 5000 + "i" + ")" * 5000]), "operation 2: line 1, column 1"),
        (changed([OPERATION, 2, "body"], []), "operation 2: expected a body, found none"),
        (changed([OPERATION, 2, "body"], [3]), "expected an expression as text, found int: 3"),
        (changed([OPERATION, 2, "body"], ["float32x4(T[i])"]), "expected a single value, found float32x4"),
        (changed([OPERATION, 2, "tag"], 3), "operation 2: 'C' expects a text as its tag, found int: 3"),
        (changed([OPERATION, 2, "attrs"], {"k": [[]]}), "operation 2: 'C' expects attrs= of texts, numbers and lists"),
        (changed(["outputs"], []), "the outputs: expected a tensor, found none"),
        (changed(["outputs"], [[7, 0]]), "the outputs: expected an operation before this one"),
        (changed(["symbols"], 3), "the symbols: expected 'symbols' of type list, found int"),
        (changed(["function"], "function f()\n  x[0] = 1"), "the function: line 2, column 3: expected"),
    ],
)  # fmt: skip
def test_hostile_texts_are_refused_in_words(text, message):
    with pytest.raises(ExpressionError) as error:
        load_json(text)
    assert message in str(error.value)


def test_texts_changed_at_random_are_read_or_refused():
    rng = random.Random(14)
    for outputs in DEFINITIONS.values():
        text = save_json(outputs)
        for _ in range(150):
            start = rng.randrange(len(text))
            stop = start + rng.choice((0, 1, 1, 2, 8))
            other = rng.choice(("", "0", "n", "[", '"', "-1", text[start : start + 9], "1e999", "null", ", "))
            try:
                loaded = load_json(text[:start] + other + text[stop:])
                lower(te.create_schedule(loaded), arguments(loaded))
            except SateenError:
                pass
