"""What a function goes through before an emitter writes it: the lists, observed pass by pass."""

import functools
import itertools

import numpy as np
import pytest

from sateen.runtime.errors import CodegenError, LoweringError, ScheduleError
from sateen.tensor_ir import PASSES, build, te
from sateen.tensor_ir.ir import LoopKind, StatementRewriter, Store, sequence
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.lowering import lower
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES
from sateen.tensor_ir.lowering.pipelines import LLVM, OPENCL, WEBGPU, C, Calls, Setting
from sateen.tensor_ir.targets import Machine

MACHINE = Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
SETTING = Setting(Calls(DEFAULT_RULES, frozenset()), MACHINE)
ON_DEVICE = Setting(Calls(DEFAULT_RULES, frozenset()), Machine.of("opencl"))
THREADS = """\
function f(A: float32[64], B: out float32[64])
  thread blockIdx.x b in [0, 8):
    allocate S: shared float32[8]
    thread threadIdx.x t in [0, 8):
      S[t] = sigmoid(A[b * 8 + t])
    thread threadIdx.x u in [0, 8):
      B[b * 8 + u] = S[7 - u]
"""


def observed(pipeline, function):
    """What the pipeline gives, and the functions before and after each of its passes."""
    seen = []
    setting = SETTING if pipeline in (LLVM, C) else ON_DEVICE
    result = pipeline.run(function, setting, lambda name, before, after: seen.append((name, before, after)))
    return result, seen


@pytest.mark.parametrize("pipeline", [LLVM, C, OPENCL, WEBGPU], ids=["llvm", "c", "opencl", "webgpu"])
def test_each_pass_takes_what_the_one_before_gives_and_the_verifier_agrees(pipeline):
    function = parse_function(THREADS)
    _, seen = observed(pipeline, function)
    assert [name for name, _, _ in seen] == [name for name, _ in pipeline.passes]
    assert seen[0][1] is function
    for (_, _, after), (_, before, _) in itertools.pairwise(seen):
        assert before is after
    for name, _, after in seen:
        verify(after, after=name)


def test_the_passes_of_a_schedule_are_observed_too():
    a = te.placeholder((10,), name="A")
    b = te.compute((10,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b)
    s[b].split(b.op.axis[0], 4)
    seen = []
    function = lower(s, [a, b], "f", observe=lambda name, before, after: seen.append((name, before, after)))
    assert [name for name, _, _ in seen] == [transform.__name__ for transform in PASSES]
    assert seen[-1][2] is function
    assert any(before is not after for _, before, after in seen)
    for (_, _, after), (_, before, _) in itertools.pairwise(seen):
        assert before is after


def test_barriers_are_in_the_list_of_what_has_threads():
    program, seen = observed(OPENCL, parse_function(THREADS))
    assert "barrier" not in str({name: after for name, _, after in seen}["expand_calls"])
    assert "barrier shared" in str({name: after for name, _, after in seen}["insert_barriers"])
    (kernel,) = program.kernels
    assert (program.host.name, kernel.name, kernel.block) == ("f", "f_0", (8, 1, 1))


def test_calls_that_an_emitter_spells_are_kept():
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: te.exp(a[i]), name="B")
    function = lower(te.create_schedule(b), [a, b], "f")
    assert "exp(" in str(LLVM.run(function, Setting(Calls(DEFAULT_RULES, frozenset({"exp"})), MACHINE)).function)
    assert "exp(" not in str(LLVM.run(function, SETTING).function)


@pytest.mark.parametrize("pipeline", [C, OPENCL, WEBGPU], ids=["c", "opencl", "webgpu"])
def test_languages_without_words_for_the_mode_refuse_denormals_to_be_flushed(pipeline):
    function = parse_function("function f(A: float32[4], B: out float32[4]) denormals flush\n  B[0] = A[0]")
    with pytest.raises(CodegenError, match="f: expected denormals to be kept, found denormals flush, which targets of"):
        pipeline.run(function, SETTING)


def doubled():
    """B = 2·A over ten elements."""
    a = te.placeholder((10,), name="A")
    b = te.compute((10,), lambda i: a[i] * 2.0, name="B")
    return te.create_schedule(b), [a, b]


class Plus(StatementRewriter):
    """Adds a number to all that is stored."""

    def __init__(self, number):
        self.number = number

    def rewrite_Store(self, s):
        return Store(s.buffer, s.indices, s.value + self.number, s.span)


def plus(body, _analyzer, number=1.0):
    return Plus(number).rewrite(body)


def test_a_users_pass_changes_what_is_built():
    s, arguments = doubled()
    names = []
    passes = [functools.partial(plus, number=3.0), *PASSES, plus]
    f = build(s, arguments, passes=passes, observe=lambda name, before, after: names.append(name))
    a, b = np.arange(10, dtype="float32"), np.empty(10, "float32")
    f(a, b)
    np.testing.assert_array_equal(b, 2 * a + 4)
    assert names == ["plus", *(transform.__name__ for transform in PASSES), "plus", *(name for name, _ in LLVM.passes)]


@pytest.mark.parametrize(("target", "pipeline"), [("c", C), ("opencl", OPENCL), ("webgpu", WEBGPU)])
def test_build_shows_the_passes_of_every_kind_of_target(target, pipeline):
    s, arguments = doubled()
    if target != "c":
        s[arguments[1]].bind(arguments[1].op.axis[0], te.thread_axis("threadIdx.x"))
    names = []
    build(s, arguments, target, observe=lambda name, before, after: names.append(name))
    assert names[len(PASSES) :] == [name for name, _ in pipeline.passes]


def test_what_a_users_pass_makes_is_verified():
    class Unbound(StatementRewriter):
        def rewrite_For(self, s):
            assert s.kind is LoopKind.SERIAL
            return s.body

    def twice(body, _analyzer):
        return sequence(body, body)

    s, arguments = doubled()
    for transform, message in (
        (lambda body, analyzer: Unbound().rewrite(body), "after <lambda>"),
        (twice, "after twice"),
        (lambda body, analyzer: None, "lower expects pass <lambda> to return a statement, found NoneType"),
    ):
        with pytest.raises(LoweringError, match=message):
            lower(s, arguments, passes=[transform])
    with pytest.raises(ScheduleError, match=r"lower expects passes= to be a list of functions .* found 'simplify'"):
        lower(s, arguments, passes="simplify")


def test_an_exception_names_the_pass_that_raised_it():
    def divide(_body, _analyzer):
        raise ZeroDivisionError

    s, arguments = doubled()
    with pytest.raises(ZeroDivisionError) as raised:
        lower(s, arguments, passes=[divide])
    assert raised.value.__notes__ == ["while running divide"]
