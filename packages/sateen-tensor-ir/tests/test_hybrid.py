"""Hybrid scripts: compiled and as Python they give the same."""

import math
import textwrap

import numpy as np
import pytest

from sateen.runtime.errors import ExecutionError, ExpressionError, ScheduleError
from sateen.tensor_ir import build, hybrid, lower, te
from sateen.tensor_ir.hybrid import allocate, bind, const_range, output_tensor, parallel, serial, unroll, vectorize
from sateen.tensor_ir.intrinsics import INTRINSICS
from sateen.tensor_ir.ir.expr import AxisKind

FACTORS = np.array([1.5, -2, 0.25, 4], "float32")
BIAS = 3


def compiled(script, *arguments):
    """What the loops of a script compute; arrays among the arguments become placeholders."""
    arrays = []

    def tensor(x):
        if isinstance(x, (list, tuple)):
            return [tensor(item) for item in x]
        if not isinstance(x, np.ndarray):
            return x
        arrays.append(x)
        return te.placeholder(x.shape, str(x.dtype), name=f"t{len(arrays)}")

    operands = [tensor(x) for x in arguments]
    outputs = script(*operands)
    listed = outputs if isinstance(outputs, tuple) else (outputs,)
    inputs = [t for t in listed[0].op.inputs if t.op.is_given and t.op.data is None]
    results = [np.zeros([int(str(n)) for n in t.shape], str(t.dtype)) for t in listed]
    by_name = {f"t{i + 1}": a for i, a in enumerate(arrays)}
    build(te.create_schedule(list(listed)), [*inputs, *listed])(*(by_name[t.name] for t in inputs), *results)
    return results


def check(script, *arguments):
    """The results by Python, which are those of compiled code."""
    found = script.run(*arguments)
    listed = found if isinstance(found, tuple) else (found,)
    for a, b in zip(listed, compiled(script, *arguments), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    return found


X = np.array([0.5, -1, 2, 3, 0.25, -4, 8, 1], "float32")
ROWS = X.reshape(2, 4)
INTEGERS = np.array([7, -7, 100, -128, 0, 3, -1, 127], "int8")


@hybrid.script
def loops(a):
    """Each kind of loop."""
    out = output_tensor((5, 8), a.dtype)
    for i in range(8):
        out[0, i] = a[i]
    for i in parallel(1, 8):
        out[1, i] = a[i]
    out[1, 0] = 0
    for i in vectorize(8):
        out[2, i] = a[i] * 2.0
    for i in unroll(0, 8, 2):
        out[3, i] = a[i]
        out[3, i + 1] = -a[i]
    for i in serial(7, -1, -1):
        for j in const_range(1):
            out[4 + j, 7 - i] = a[i]
    return out


@hybrid.script
def branches(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(len(a)):
        out[i] = 0
        if a[i] < 0 or i == 7:
            out[i] = -a[i]
        elif not 0.5 < a[i] <= 2:
            out[i] = a[i] if a[i] > 4 else a[i] * a[i]
        else:
            pass
        if BIAS > 2 and True:
            out[i] += BIAS
        else:
            out[i, 0] = 1  # is not reached, and so not compiled
    return out


@hybrid.script
def variables(a):
    total, largest = 0.0, a[0]
    count = 0
    seen = False
    out = output_tensor((4,), "float32")
    for i in range(a.shape[0]):
        x = a[i]
        total += x
        if x > largest:
            largest = x
            count += 1
            seen = seen or count > 2
    first = second = total * 0.5
    total = first + second
    out[0], out[1] = total, largest
    out[2] = count.astype("float32")
    out[3] = 1.0 if seen else 0.0
    return out


@hybrid.script
def bounds(a):
    """Ranges that the body changes."""
    out = output_tensor((4, 96), "int64")
    for row in range(4):
        for i in range(96):
            out[row, i] = a[row]
    x = a[0]
    for i in range(x, 20, 2):
        out[0, i] = -1
        x += 1
    for i in serial(out[1, 0], 0, -2):
        out[1, i - 1] = out[1, i - 1] + i
    for i in range(out[2, 0]):
        out[2, i] = 3
    for i in range(out[3, 0], 60):
        out[3, i - 2] = 5
    return out


@hybrid.script
def collatz(starts):
    steps = output_tensor(starts.shape, "int32")
    for i in range(len(starts)):
        x = abs(np.int64(starts[i])) + 1
        n = 0
        while x != 1:
            if x % 2 == 0:
                x //= 2
            else:
                x = 3 * x + 1
            n += 1
        steps[i] = n.astype("int32")
    return steps


@hybrid.script
def integers(a):
    out = output_tensor((len(a), 9), "int8")
    for i in range(len(a)):
        y = a[i]
        out[i, 0] = y // 3
        out[i, 1] = y % 3
        out[i, 2] = te.truncdiv(y, 3)
        out[i, 3] = y * 5 + 100
        out[i, 4] = -y
        out[i, 5] = ~y ^ 3
        out[i, 6] = (y << 2) | (y >> 1) & 7
        out[i, 7] = np.int8(np.float32(y) * 100.0)
        out[i, 8] = y**3
    return out


@hybrid.script
def functions(a):
    out = output_tensor((len(a), 9), "float64")
    for i in range(len(a)):
        y = np.float64(a[i])
        out[i, 0] = math.sqrt(abs(y))
        out[i, 1] = max(y, 0.0, -2.0)
        out[i, 2] = min(math.pi, y)
        out[i, 3] = np.float64(math.floor(y))
        out[i, 4] = te.trunc(y) + math.fmod(y, 0.75)
        out[i, 5] = math.exp(0) if y > math.inf else te.round(y)
        out[i, 6] = te.select(y > 0, y, y / 2)
        out[i, 7] = square(y) + np.maximum(y, 1.0)
        out[i, 8] = np.float64(near(y * 20.0))
    return out


def square(x):
    return x * x


def near(x):
    return x.astype("int8") + 100


@hybrid.script
def relu(x):
    return max(x, 0)


@hybrid.script
def scaled(a, by=2.0):
    result = output_tensor(a.shape, a.dtype)
    for i in range(len(a)):
        result[i] = a[i] * by
    return result


@hybrid.script
def clear(t):
    for i in range(len(t)):
        t[i] = 0


@hybrid.script
def power(x, n):
    result = np.float32(1)
    for _ in range(n):
        result *= x
    return result


@hybrid.script
def nested(a):
    doubled = scaled(a)
    out = output_tensor(a.shape, a.dtype)
    clear(out)
    for i in range(1, len(a)):
        out[i] += relu(doubled[i]) if relu(a[i - 1]) > 0.25 else power(a[i], 0) if False else -1.0
        cube = power(a[i], 3)
        out[i] = out[i] + cube
    return out, scaled(out, by=0.5)


@hybrid.script
def lists(tensors, weights):
    assert len(tensors) == len(weights), "a weight for each"
    out = output_tensor(tensors[0].shape, tensors[0].dtype)
    for i in range(out.shape[0]):
        out[i] = 0
        for k in const_range(len(tensors)):
            out[i] += tensors[k][i] * weights[k]
        for t in tensors:
            out[i] += t[i]
    return out


@hybrid.script
def table(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] * FACTORS[j] + FACTORS[0]
    return out


@hybrid.script
def memory(a):
    n, m = a.shape
    sums = allocate((n,), "float64")
    out = output_tensor((m, n), "float64")
    for i in range(n):
        part = allocate((m,), "float32", "local")
        sums[i] = 0
        for j in range(m):
            part[j] = a[i, m - 1 - j]
        for j in range(m):
            sums[i] += np.float64(part[j])
    for i in range(n):
        for j in range(m):
            out[j, i] = sums[i]
    return out


@hybrid.script
def conditions(a):
    out = output_tensor((len(a), 4), "bool")
    for i in range(len(a)):
        out[i, 0] = a[i] > 0
        out[i, 1] = (a[i] > 0 and a[i] < 2) or False
        out[i, 2] = bool(a[i])
        out[i, 3] = te.const(True) if BIAS in (1, 3) and FACTORS is not None else a[i] == 0
    return out


@hybrid.script
def programs_of_2018(a):
    """Words that nothing imports."""
    out = output_tensor((len(a), 3), "float64")
    for i in range(len(a)):
        out[i, 0] = float64(a[i])  # noqa: F821
        out[i, 1] = sqrt(float64(max(a[i], 1.0)))  # noqa: F821
        if likely(i < 7):  # noqa: F821
            out[i, 2] = float64(popcount(int32(a[i])))  # noqa: F821
        else:
            out[i, 2] = -1
    return out


CASES = {
    loops: X,
    branches: X,
    variables: X,
    bounds: np.array([3, 11, 37, 2]),
    collatz: INTEGERS,
    integers: INTEGERS,
    functions: X,
    programs_of_2018: X,
    nested: X,
    table: ROWS,
    memory: ROWS,
    conditions: X,
}  # fmt: skip


@pytest.mark.parametrize("script", CASES, ids=lambda s: s.__name__)
def test_compiled_and_as_python_a_script_gives_the_same(script):
    check(script, CASES[script])


def test_lists_of_tensors_are_walked_when_the_script_is_called():
    check(lists, [X, -X * 4], (2.0, 0.5))
    with pytest.raises(ExpressionError, match="assert does not hold: a weight for each"):
        lists([te.placeholder((4,))], [])


def test_results_are_what_numpy_computes():
    found, halves = check(nested, X)
    np.testing.assert_array_equal(halves, found * np.float32(0.5))
    np.testing.assert_array_equal(check(table, ROWS), ROWS * FACTORS + FACTORS[0])


def test_extents_and_numbers_may_be_variables():
    n, by = te.var("n"), te.var("by", "float32")
    a = te.placeholder((n,), name="a")
    b = scaled(a, by)
    f = build(te.create_schedule(b), [by, a, b])
    result = np.empty(8, "float32")
    f(3.0, X, result)
    np.testing.assert_array_equal(result, scaled(X, 3.0))
    np.testing.assert_array_equal(result, X * 3)


def test_a_script_of_numbers_alone_has_no_inputs():
    @hybrid.script
    def squares(n):
        out = output_tensor(n, "int64")
        for i in range(n):
            out[i] = i * i
        return out

    assert compiled(squares, 4)[0].tolist() == squares.run(4).tolist() == [0, 1, 4, 9]


def test_the_tensor_of_a_script_is_a_tensor_like_any_other():
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="b")
    c = scaled(b)
    d = te.compute((8,), lambda i: c[i] * 0.5, name="d")
    result = np.empty(8, "float32")
    build(te.create_schedule(d), [a, d])(X, result)
    np.testing.assert_array_equal(result, X + 1)


def test_threads_of_a_device_share_memory():
    @hybrid.script
    def turned(a):
        out = output_tensor((2, 4), "float32")
        for block in bind("blockIdx.x", 2):
            kept = allocate((4,), "float32", "shared")
            for t in bind("threadIdx.x", 4):
                kept[t] = a[block, t]
            for u in bind("threadIdx.x", 4):
                out[block, u] = kept[3 - u]
        return out

    a = te.placeholder((2, 4), name="a")
    b = turned(a)
    found = build(te.create_schedule(b), [a, b], target="opencl").source
    assert "__local float kept[4]" in found
    assert "barrier(" in found
    np.testing.assert_array_equal(turned(ROWS), ROWS[:, ::-1])


def test_names_that_change_are_memory_and_others_are_values():
    @hybrid.script
    def f(a):
        rest = output_tensor((4,), "float32")
        base = len(a) - 4
        for i in range(4):
            x = a[base + i]
            y = x
            if x > 0:
                y = 0.0
            rest[i] = x - y
        return rest

    a = te.placeholder((te.var("n"),), name="a")
    assert str(f(a).op.program).splitlines() == [
        "for i in [0, 4):",
        "  let x = a[n - 4 + i]",
        "  allocate y: local float32[1]",
        "  y[0] = x",
        "  if x > 0.0f:",
        "    y[0] = 0.0f",
        "  rest[i] = x - y[0]",
    ]


def test_statements_keep_the_lines_of_the_script():
    program = scaled(te.placeholder((4,))).op.program
    line = scaled.__wrapped__.__code__.co_firstlineno
    assert (program.span.file, program.span.line, program.body.span.line) == (__file__, line + 3, line + 4)


def test_python_executes_the_lines_of_the_script(capsys):
    @hybrid.script
    def f(a):
        x = a[0] * 0.1
        print("x is", x)  # noqa: T201
        return x

    assert f(X) == np.float32(0.5) * np.float32(0.1)
    assert capsys.readouterr().out.startswith("x is float32(0.05")
    with pytest.raises(ExpressionError, match="a call here expects a script"):
        f(te.placeholder((4,)))


def test_each_lane_of_a_vector_has_variables_of_its_own():
    @hybrid.script
    def f(a):
        out = output_tensor((8,), "float32")
        for i in vectorize(8):
            x = 0.0
            for k in range(4):
                x += a[k]
            if a[i] > 0.5:
                x = a[i]
            out[i] = x
        return out

    assert check(f, X).tolist() == [4.5, 4.5, 2, 3, 4.5, 4.5, 8, 1]


def test_a_value_is_what_it_was_when_it_was_named():
    @hybrid.script
    def ends(a):
        first = a[0]
        first += 1
        return first, a[7]

    @hybrid.script
    def f(a):
        out = output_tensor((5,), "float32")
        x = a[0]
        pair = (x, a[1])
        x = 9.0
        out[0], out[1] = pair
        found = ends(a)
        out[2] = found[0] + found[1]
        out[3] = out[4] = x
        out[3], out[4] = out[0], out[3]
        [out[0], out[1]] = [out[1], out[0]]
        return out

    assert check(f, X).tolist() == [-1, 0.5, 2.5, 0.5, 9]


def test_loops_that_are_written_out_nest_nothing():
    @hybrid.script
    def f(a):
        out = output_tensor((8,), "float32")
        for i in range(8):
            out[i] = 0
            for k in const_range(400):
                x = a[i]
                if True:
                    x += k
                out[i] += x
        return out

    check(f, X)


def test_python_notices_what_compiled_code_does_not():
    @hybrid.script
    def f(a, i, j):
        out = output_tensor((4,), "float32")
        out[i] = a[i]
        out[0] = out[j]
        return out

    with pytest.raises(ExecutionError, match=r"load from \[8\], outside of the shape \[8\]"):
        f(X, 8, 0)
    with pytest.raises(ExecutionError, match=r"store to \[5\], outside of the shape \[4\]"):
        f(X, 5, 0)
    with pytest.raises(ExecutionError, match=r"load from \[2\], which has not been written"):
        f(X, 1, 2)


def test_outside_of_a_script_its_words_mean_nothing():
    with pytest.raises(ExpressionError, match=r"found allocate\(4, 'float32', 'global'\) outside of one"):
        allocate(4)
    for word in (bind, const_range, output_tensor, parallel, serial, unroll, vectorize):
        with pytest.raises(ExpressionError, match=f"hybrid.{word.__name__} stands in a function of hybrid.script"):
            word(*["threadIdx.x", 4][-1 - (word is bind) :])


@hybrid.script
def product(a, b):
    result = output_tensor((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            result[i, j] = total
    return result


def scheduled(schedule, *extents):
    """The loops of the product of two matrices under a schedule, which is right."""
    n, m, k = extents
    x, y = np.arange(n * k).reshape(n, k) % 7, np.arange(k * m).reshape(k, m) % 5
    a, b = te.placeholder((n, k), name="a"), te.placeholder((k, m), name="b")
    c = product(a, b)
    s = te.create_schedule(c)
    schedule(s[c], *c.op.axis)
    found = np.empty((n, m), "float32")
    build(s, [a, b, c])(x.astype("float32"), y.astype("float32"), found)
    np.testing.assert_array_equal(found, x @ y)
    return str(lower(s, [a, b, c]))


def test_the_outer_loops_of_a_script_are_axes_of_its_stage():
    def tiles(stage, i, j):
        outer, inner = stage.split(i, 4)
        columns, lanes = stage.split(j, 4, tail="partition")
        stage.reorder(outer, columns, inner, lanes)
        stage.parallel(outer)
        stage.unroll(inner)
        stage.vectorize(lanes)

    text = scheduled(lambda stage, i, j: stage.parallel(stage.fuse(i, j)), 3, 5, 2)
    assert "parallel i_j in [0, 15):" in text
    with pytest.raises(ScheduleError, match=r"it is partitioned, and lanes can't be|lanes can't be partitioned"):
        scheduled(lambda stage, i, j: [stage.pragma(j, "partition"), stage.vectorize(j)], 3, 4, 2)
    text = scheduled(tiles, 10, 14, 6)
    assert "parallel io in [0, 3):" in text
    assert "allocate total: local float32[4, 1]" in text


def test_loops_whose_iterations_share_elements_keep_their_order():
    @hybrid.script
    def steps(a):
        state = output_tensor((5, 8), a.dtype)
        for t in range(5):
            for i in range(8):
                if t == 0:
                    state[0, i] = a[i]
                else:
                    state[t, i] = state[t - 1, i] * 0.5 + 1.0
        return state

    a = te.placeholder((8,), name="a")
    b = steps(a)
    t, i = b.op.axis
    assert (t.kind, i.kind) == (AxisKind.ORDERED, AxisKind.DATA)
    s = te.create_schedule(b)
    s[b].reorder(i, t)
    s[b].parallel(i)
    outer, inner = s[b].split(t, 2)
    found = np.empty((5, 8), "float32")
    build(s, [a, b])(X, found)
    np.testing.assert_array_equal(found, steps(X))
    for refused in (s[b].parallel, s[b].vectorize, lambda axis: s[b].bind(axis, te.thread_axis("threadIdx.x"))):
        with pytest.raises(
            ScheduleError, match=r"axis 'ti': its iterations follow one another, since they share elements"
        ):
            refused(inner)
    with pytest.raises(ScheduleError, match="its iterations follow those of 'to', since both share elements"):
        s[b].reorder(inner, outer)
    with pytest.raises(ScheduleError, match=r"'t' is a[a-z ]* axis and 'i' a data"):
        te.create_schedule(b)[b].fuse(t, i)


def test_a_number_among_the_arguments_may_be_negative():
    @hybrid.script
    def clamped(a, least):
        r = output_tensor((8,), a.dtype)
        for i in range(8):
            r[max(i, 0 - least)] = a[i]
        return r

    (axis,) = clamped(te.placeholder((8,), name="a"), te.var("least")).op.axis
    assert axis.kind is AxisKind.ORDERED


# the body of loops over i and j in [0, 4), and which of the two have elements of their own in each iteration
INDEPENDENT = {
    "r[i, j] = a[j, i]": "ij",
    "r[i, j] += a[i, j]": "ij",
    "r[3 - i, j + 1 - 1] = a[i, j]": "j",
    "r[i, 0] += a[i, j]": "i",
    "r[0, j] = a[i, j]": "j",
    "r[i, (j + 1) % 4] = a[i, j]": "i",
    "r[i, j] = r[i, j - 1] + 1.0": "i",
    "r[i, j] = r[i - 1, j - 1]": "",
    "r[i, r[i, j].astype('int64')] = 0.0": "i",
    "r[j, i] = 1.0": "ij",
    "r[i // 2 * 2, j] = 1.0": "j",
    "if i == j:\n  r[i, j] = 1.0": "ij",
    "for k in range(4):\n  r[i, k] = a[k, j]": "ik",
    "t = 0.0\nt += a[i, j]\nr[i, j] = t": "ij",
}


@pytest.mark.parametrize("body", INDEPENDENT)
def test_the_kind_of_an_axis_says_whether_its_iterations_are_independent(tmp_path, body):
    inner = textwrap.indent(body, "      ")
    file, names = tmp_path / "script.py", {"hybrid": hybrid}
    file.write_text(
        "@hybrid.script\ndef f(a):\n  r = output_tensor((4, 4))\n"
        f"  for i in range(4):\n    for j in range(4):\n{inner}\n  return r\n",
        encoding="utf-8",
    )
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    axes = names["f"](te.placeholder((4, 4), name="a")).op.axis
    assert "".join(axis.name for axis in axes if axis.kind is AxisKind.DATA) == INDEPENDENT[body]


def test_loops_that_something_is_between_or_that_run_in_a_way_of_their_own_are_no_axes():
    assert variables(te.placeholder((8,))).op.axis == ()

    @hybrid.script
    def triangle(a):
        out = output_tensor((4, 4), a.dtype)
        for i in range(4):
            for j in range(i, 4):
                out[i, j] = a[j]
        return out

    @hybrid.script
    def lanes(a):
        out = output_tensor((2, 4), a.dtype)
        for i in range(2):
            for j in vectorize(4):
                out[i, j] = a[j]
        return out

    for script in (triangle, lanes):
        assert [axis.name for axis in script(te.placeholder((4,))).op.axis] == ["i"]


def test_statements_run_once_and_as_they_are():
    a = te.placeholder((8,), name="a")
    b = scaled(a)
    s = te.create_schedule(b)
    (i,) = b.op.axis
    for primitive in (
        lambda: s[b].storage_align(i, 8),
        lambda: s[b].split(i, 3, tail="shift"),
        lambda: s[b].split(i, 3, tail="round_up"),
        lambda: s[b].prefetch(a, i),
        lambda: s[b].tensorize(i, INTRINSICS["dot4_u8s8_x16"]),
    ):
        with pytest.raises(ScheduleError, match="'scaled' is computed by statements, which run once and as they are"):
            primitive()
    with pytest.raises(ScheduleError, match=r"it is not computed by te\.compute"):
        s.cache_write(b, "local")


def test_nothing_is_computed_within_the_loops_of_a_script():
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="b")
    c = scaled(b)
    s = te.create_schedule(c)
    s[b].compute_at(s[c], c.op.axis[0])
    with pytest.raises(ScheduleError, match="compute_at: 'scaled' reads 'b' as a whole; compute it at root"):
        lower(s, [a, c])
    s = te.create_schedule(c)
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    assert "thread threadIdx.x i_1 in [0, 8):" in str(lower(s, [a, c]))
