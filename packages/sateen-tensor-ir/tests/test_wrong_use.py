"""Wrong use of te, schedules and build: the error says what was expected, what was found, and what to do."""

import re

import numpy as np
import pytest

from sateen.runtime.errors import CodegenError, ExpressionError, ScheduleError
from sateen.tensor_ir import DEFAULT_RULES, build, build_functions, explain, lower, te
from sateen.tensor_ir.ir.buffer import decl_buffer
from sateen.tensor_ir.ir.parser import parse_function

A = te.placeholder((8, 4), name="A")
B = te.compute((8, 4), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((8, 4), lambda i, j: B[i, j] + 1.0, name="C")
OTHER = te.compute((8, 4), lambda i, j: A[i, j] + 1.0, name="C")
k = te.reduce_axis(4, "k")
R = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="R")
i, j = C.op.axis
LOOPS = "loops are i, j, each an axis that op.axis, op.reduce_axis, split, tile or fuse has given"


def s():
    return te.create_schedule(C)


SCHEDULES = {
    "a path": (
        lambda: build("net.onnx", [A, C]),
        (
            "lower expects a schedule, found str; a model's file is compiled by sateen.frontends and "
            "sateen.graph_ir.build, or the command sateen"
        ),
    ),
    "a pair": (
        lambda: build((s(), [A, C]), []),
        ("lower expects a schedule, found tuple; give the schedule and the list of arguments one after the other"),
    ),
    "a tensor": (
        lambda: lower(C, [A, C]),
        "lower expects a schedule, found Tensor; te.create_schedule(C) makes one",
    ),
    "a class": (
        lambda: lower(te.Schedule, [A, C]),
        "lower expects a schedule, found type; te.create_schedule(tensor) makes one",
    ),
    "a tensor to explain": (
        lambda: explain(C, [A, C]),
        "lower expects a schedule, found Tensor",
    ),
    "one argument": (
        lambda: lower(s(), C),
        "lower expects a list of tensors as arguments, found Tensor",
    ),
    "an array": (
        lambda: lower(s(), [np.zeros((8, 4)), C]),
        ("lower expects tensors as arguments, found ndarray; arrays are given to the function that build returns"),
    ),
    "no outputs": (
        lambda: lower(s(), [A]),
        "lower: output 'C' is not among the arguments",
    ),
    "no name": (
        lambda: lower(s(), [A, C], 3),
        "lower expects a text as the function's name, found int",
    ),
    "buffers in a list": (
        lambda: lower(s(), [A, C], buffers=[decl_buffer((8, 4))]),
        "lower expects buffers= to give a buffer (te.decl_buffer) for a tensor: {A: buffer}",
    ),
    "arrays for buffers": (
        lambda: lower(s(), [A, C], buffers={A: np.zeros(4)}),
        "lower expects buffers= to give a buffer",
    ),
    "an aliased tensor": (
        lambda: lower(s(), [A, C], aliased=A),
        "lower expects aliased= to be a list of tensors, found Tensor(A: float32[8, 4])",
    ),
    "nothing to compute": (
        lambda: te.create_schedule([]),
        "create_schedule expects at least one tensor, found none",
    ),
    "a class to compute": (
        lambda: te.create_schedule(te.Tensor),
        "create_schedule expects tensors that te.compute or te.extern made, found type: <class",
    ),
    "another's tensor": (
        lambda: s()[OTHER],
        "'C' is no tensor of this schedule: another tensor of that name is",
    ),
    "an unknown tensor": (
        lambda: s()[R],
        "'R' is no tensor of this schedule: those are A, B, C",
    ),
    "a number for a tensor": (
        lambda: s()[3],
        "expected a tensor of this schedule (A, B, C), found int: 3",
    ),
    "a class for a tensor": (
        lambda: s()[te.Tensor],
        "expected a tensor of this schedule (A, B, C), found type: ",
    ),
    "another's stage": (
        lambda: s()[B].compute_at(s()[C], i),
        (
            "compute_at: stage 'C' is of another schedule than 'B'; create_schedule makes new stages each "
            "time, so take both from one"
        ),
    ),
    "another's axis": (
        lambda: s()[C].vectorize(OTHER.op.axis[0]),
        (
            "vectorize in stage 'C', axis 'i': it is no loop of this stage, whose loops are i, j; that one is"
            " of another tensor"
        ),
    ),
    "another's axis to compute at": (
        lambda: s()[B].compute_at(C, OTHER.op.axis[0]),
        "compute_at: 'i' is no loop of stage 'C', whose loops are i, j; that one is of another tensor",
    ),
    "a stage that is given": (
        lambda: s()[A].split(i, 2),
        "split in stage 'A': 'A' is given, not computed, so it has no loops; schedule what reads it",
    ),
    "a name for an axis": (
        lambda: s()[C].split("i", 2),
        f"split in stage 'C': expects an axis, found str; {LOOPS}",
    ),
    "a text as factor": (
        lambda: s()[C].split(i, "4"),
        "factor expects an integer of at least 1, found '4'",
    ),
    "a tuple as factor": (
        lambda: s()[C].tile(i, j, (2, 2), 2),
        "factor expects an integer of at least 1, found (2, 2)",
    ),
    "a truth as parts": (
        lambda: s()[C].split(i, nparts=True),
        "nparts expects an integer of at least 1, found True",
    ),
    "an axis as factor": (
        lambda: s()[C].split(i, j),
        ("factor expects an integer of at least 1, found IterVar(j), which differs from iteration to iteration"),
    ),
    "no axis": (
        s()[C].reorder,
        "reorder in stage 'C': expects at least one axis, found none",
    ),
    "text as thread": (
        lambda: s()[C].bind(i, "threadIdx.x"),
        "expects an axis made by te.thread_axis, found str",
    ),
    "an array to prefetch": (
        lambda: s()[C].prefetch(np.zeros(3), i),
        "prefetch in stage 'C', axis 'i': expects a tensor, found ndarray",
    ),
    "half a distance": (
        lambda: s()[C].prefetch(B, i, 1.5),
        "expects an integer of at least 1 as distance, found 1.5",
    ),
    "text as alignment": (
        lambda: s()[B].storage_align(B.op.axis[0], "4"),
        "expects integers, factor >= 1 and 0 <= offset < factor, found '4' and 0",
    ),
    "text as place": (
        lambda: te.create_schedule(R).rfactor(R, k, "0"),
        "factor_axis expects 0 to 1, found '0'",
    ),
}

EXPRESSIONS = {
    "a slice": (
        lambda: te.compute((8,), lambda i: A[i, :]),
        "an index of tensor 'A' expects an integer, found a slice; use its elements, such as A[i, j] in te.compute(",
    ),
    "a number as name": (
        lambda: te.placeholder((3,), name=3),
        "expected a text as the name of a tensor, found int: 3",
    ),
    "a number as symbol": (
        lambda: te.var(3),
        "var expects a name, found int: 3",
    ),
    "operands of cast": (
        lambda: te.cast(A[0, 0], "int32"),
        "expected an element type such as 'float32', found Read: A[0, 0]",
    ),
    "no body": (
        lambda: te.extern((3,), [A], 3),
        "extern 'extern' expects a function of its buffers, found int",
    ),
    "one input": (
        lambda: te.extern((3,), A, lambda ins, outs: None),
        "extern 'extern' expects a list of tensors as inputs, found Tensor",
    ),
    "text as alignment": (
        lambda: te.decl_buffer((3,), alignment="x"),
        "expected an alignment of a power of two, found 'x'",
    ),
    "a number as bodies": (
        lambda: te.piecewise(3, i),
        "piecewise expects a list of expressions, found int",
    ),
    "no combiner": (
        lambda: te.comm_reducer(3, min),
        "comm_reducer expects a function as combine, found int",
    ),
    "no identity": (
        lambda: te.comm_reducer(min, 0),
        "comm_reducer expects a function as identity, found int",
    ),
}

CODE = {
    "a schedule": (
        lambda: build_functions(s()),
        "build_functions expects a list of functions of loop IR, found Schedule; lower makes one",
    ),
    "a function": (
        lambda: build_functions(lower(s(), [A, C])),
        "build_functions expects a list of functions of loop IR, found Function",
    ),
    "nothing": (
        lambda: build_functions([]),
        "build_functions expects a list of functions of loop IR, found none",
    ),
    "rules": (
        lambda: build(s(), [A, C], rules={}),
        "expected rules made from DEFAULT_RULES.with_rule(name, rule), found dict",
    ),
    "a cache": (
        lambda: build(s(), [A, C], cache="/tmp"),
        "expected a cache such as ObjectCache(folder), found str",
    ),
}


@pytest.mark.parametrize(
    ("error", "use", "message"),
    [
        pytest.param(error, *case, id=f"{error.__name__}-{name}")
        for error, cases in ((ScheduleError, SCHEDULES), (ExpressionError, EXPRESSIONS), (CodegenError, CODE))
        for name, case in cases.items()
    ],
)
def test_wrong_use_is_refused(error, use, message):
    with pytest.raises(error, match=re.escape(message)):
        use()


def test_what_one_prints_while_working_is_short():
    wide = te.create_schedule([te.compute((8,), lambda i: A[i, 0], name=f"tensor{t}") for t in range(60)])
    function = lower(s(), [A, C])
    found = [s(), wide, s()[C], A, A.op.outputs[0], decl_buffer((3,), name="b"), function, function.body]
    found += [build_functions([function]), DEFAULT_RULES.with_rule]
    texts = [repr(item) for item in found]
    assert texts[:1] == ["Schedule(A, B, C)"]
    assert texts[2:6] == [
        "Stage(C: i, j; at root, global)",
        "Tensor(A: float32[8, 4])",
        "Tensor(A: float32[8, 4])",
        "Buffer(b: float32[3] global)",
    ]
    assert texts[6] == "Function(run(A: float32[8, 4], C: float32[8, 4]))"
    assert texts[7] == "Allocate(allocate B: float32[8, 4])"
    assert texts[8] == "CompiledModule(run(A: float32[8, 4], C: float32[8, 4] out))"
    assert all(len(text) <= 200 and "\n" not in text for text in texts[:-1])


def test_a_deep_statement_prints_shortly():
    text = "function f(x: float32[8], y: out float32[8])\n  y[0] = x[0]" + " + x[1]" * 60
    assert len(repr(parse_function(text).body)) <= 120


TENSORS = {
    "a product of matrices": (lambda: A @ B, "a product of matrices is a sum, found 'A' @ …; write te.compute((m, n)"),
    "a function of NumPy": (lambda: np.exp(A), "numpy.exp computes values, and tensor 'A' has none while it is being"),
    "a comparison": (lambda: np.float32(2) < A, "this operator takes elements, found tensor 'A'; use its elements"),
}
VIRTUAL = te.thread_axis("vthread")
STAGES = {
    "a text as an instruction": (
        lambda stage: stage.tensorize(i, "dot4"),
        "tensorize in stage 'C', axis 'i': expects an instruction, of INTRINSICS or by te.decl_tensor_intrin, found 'd",
    ),
    "a loop of virtual threads": (
        lambda stage: [stage.bind(i, VIRTUAL), stage.bind(i, VIRTUAL)],
        "bind in stage 'C', axis 'i': it is bound to vthread already",
    ),
    "an output elsewhere": (
        lambda stage: stage.compute_at(stage, i),
        "'C' is an output of the schedule, which the caller gets as a whole; cache_write makes a stage before it",
    ),
}


@pytest.mark.parametrize(("use", "message"), TENSORS.values(), ids=TENSORS)
def test_a_tensor_is_no_array(use, message):
    with pytest.raises(ExpressionError, match=re.escape(message)):
        use()


@pytest.mark.parametrize(("use", "message"), STAGES.values(), ids=STAGES)
def test_what_no_loop_can_become_is_refused_at_once(use, message):
    with pytest.raises(ScheduleError, match=re.escape(message)):
        use(s()[C])
