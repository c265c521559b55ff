"""What is no hybrid script is refused with its line and column, and with what to write."""

import re
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir import hybrid, te
from sateen.tensor_ir.hybrid import ScriptError

A, M = te.placeholder((8,), name="a"), te.placeholder((2, 4), name="m")
HEAD = """
import math
import numpy as np
from sateen.tensor_ir import hybrid, te
from sateen.tensor_ir.hybrid import *

T = te.placeholder((4,), name="T")
"""


def module(folder, text):
    """What a file with this text defines."""
    file = folder / "scripts.py"
    file.write_text(text, encoding="utf-8")
    defined = {"__name__": "scripts"}
    exec(compile(text, str(file), "exec"), defined)
    return SimpleNamespace(**defined)


# the lines of a script over a and m, with a mark before the place that the error names, and what it says
REFUSED = {
    "break": ("for i in range(4):\n  @break", "a script has no break; use while with a condition, or if"),
    "continue": ("for i in range(4):\n  @continue", "a script has no continue; put the rest of the loop under an if"),
    "with": ("@with a:\n  pass", "a script has no with; write its lines without it"),
    "try": ("@try:\n  pass\nfinally:\n  pass", "a script has no try; test with if before"),
    "lambda": ("f = @lambda x: x", "a script has no lambda; define a function outside"),
    "def": ("@def g(): pass", "a script has no function; define it outside"),
    "comprehension": ("b = @[x for x in a]", "a script has no comprehension; use a loop"),
    "slice": ("b = a[@1:2]", "a script has no slice; use a loop over the elements"),
    "annotation": ("@x: int = 0", "a script has no annotation; convert the value: x = float32(0)"),
    "walrus": ("if (@x := 1) > 0:\n  pass", "a script has no ':='; assign before"),
    "product": ("x = @a @@ m", "a script has no '@'; write the loops of the product"),
    "star": ("x = max(@*a)", "a script has no '*'; name each item"),
    "double star": ("x = max(@**a)", "a script has no '**'; name each argument"),
    "else of a loop": ("for i in range(4):\n  pass\nelse:\n  @pass", "a script has no else of a loop"),
    "early return": ("if len(a) > 1:\n  @return a", "a script returns once, in its last line"),
    "unused value": ("@a[0]", "a script computes a value here that nothing uses; assign it"),
    "attribute": ("@a.x = 1", "a script assigns to names and elements, found an attribute"),
    "two variables": ("for @i, j in a:\n  pass", "a loop of a script expects one name as its variable"),
    "formatted text": ('assert len(a) == 8, @f"{a}"', "a script has no formatted text; use a plain text"),
    "raise": ("@raise ValueError", "a script has no raise; use assert"),
    "read too early": ("x = @y + 1\ny = 2", "'y' is read before it is assigned"),
    "read too late": ("for i in range(4):\n  y = a[i]\nx = @y", "'y' is read after the block that assigned it"),
    "loop variable": ("for i in range(4):\n  @i = 0", "'i' is the variable of a loop, which nothing else assigns"),
    "same loop variable": ("for i in range(4):\n  for @i in a:\n    pass", "a loop expects a new name, found 'i'"),
    "unknown name": ("x = @what", "'what' is no name here"),
    "captured tensor": ("x = @T[0]", "tensor 'T' is no argument of the script; give it as one"),
    "rank": ("x = @m[0]", "buffer 'm' has 2 dimensions, found 1 indices"),
    "rank of a store": ("b = output_tensor((2, 4))\n@b[0] = 0", "buffer 'b' has 2 dimensions, found 1 indices"),
    "index": ("x = @a[a[0]]", "an index of buffer 'a' expects an integer, found float32"),
    "element of a number": ("x = a[0]\ny = @x[0]", "a number has no elements"),
    "whole tensor": ("x = @a + 1.0", "an operand expects a number, found tensor 'a'; use an element, such as a[i]"),
    "compared tensors": ("x = @a == m", "a comparison expects numbers, found a tensor"),
    "types": ("x = @a[0] + float64(1)", "operands of '+' have types float32 and float64; convert one"),
    "type of a variable": ("x = 0\n@x = a[0]", "variable 'x' is of int64, found float32; convert with .astype"),
    "fraction": ("x = 0\n@x = 0.5", "expected an integer for a literal of type int64, found 0.5"),
    "bool": ("x = 0.0\n@x = True", "variable 'x' is of float32, found bool"),
    "tensor as a variable": ("x = 0.0\n@x = a",
                             "'x' is assigned several times, so that it holds numbers, found tensor 'a'"),
    "type of an element": ("b = output_tensor(4)\n@b[0] = len(a) > 9", "'b' holds float32, found bool"),
    "store to an input": ("@a[0] = 1.0", "'a' is an input, which a script only reads; write to an output_tensor"),
    "augmented store to an input": ("@a[0] += 1.0", "'a' is an input, which a script only reads"),
    "condition": ("if @a[0]:\n  pass", "a condition expects a comparison, found float32; compare it with something"),
    "while": ("while @True:\n  pass", "while expects a condition that changes, found one that always holds"),
    "assert": ("@assert a[0] > 0", "this depends on what it runs on"),
    "false assert": ('@assert len(a) == 9, "nine"', "assert does not hold: nine"),
    "race": ("x = 0.0\nfor i in parallel(8):\n  @x += a[i]", "variable 'x' is one for all iterations"),
    "values": ("@x, y = 1, 2, 3", "an assignment to several names: expected 2 values, found 3"),
    "iterable": ("for i in @a:\n  pass", "a loop expects range, parallel"),
    "range": ("for i in @range(0.5):\n  pass", "expected an integer for a literal of type index, found 0.5"),
    "step": ("for i in @range(0, 4, len(a) - 8):\n  pass", "range expects a number other than 0 as its step, found 0"),
    "const_range": ("for i in @const_range(te.cast('int32', a[0])):\n  pass",
                    "const_range expects numbers that are known when the script is called; use range"),
    "long const_range": ("for i in @const_range(20000):\n  pass", "expects at most 10000 rounds, found 20000"),
    "loop without for": ("x = @parallel(4)", "parallel(...) stands in a for"),
    "thread axis": ("for i in @bind('threadIdx.w', 4):\n  pass", "found 'threadIdx.w'"),
    "function": ("x = @str(a[0])", "str is no function of expressions"),
    "int": ("x = @int(a[0])", "int(x) of an expression names no type of te; use int32(x) or int64(x)"),
    "function of tensors": ("x = @math.exp(a)", "exp expects numbers, found a tensor"),
    "operands": ("x = @math.exp(a[0], 1)", "exp expects 1 operand, found 2"),
    "arguments of a word": ("x = @allocate()", "allocate expects (shape:"),
    "dtype": ("x = @allocate(4, 'float3')", "float3"),
    "item": ("x = @(1, 2)[te.cast('int32', a[0])]", "expects a number as index, found an expression"),
    "division": ("x = @1 // 0", "ZeroDivisionError"),
    "returned input": ("@return a", "a script that is called with tensors returns output_tensors, found 'a'"),
    "returned number": ("@return a[0]", "a script that is called with tensors returns output_tensors, found"),
    "returned memory": ("b = allocate(4)\n@return b", "returns output_tensors, found 'b', which is none"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_has_line_and_column(tmp_path, name):
    marked, message = REFUSED[name]
    body = marked.replace("@@", "\0").split("@")
    assert len(body) == 2
    lines = body[0].split("\n")
    text = "".join(body).replace("\0", "@")
    program = f"{HEAD}@hybrid.script\ndef f(a, m):\n{textwrap.indent(text, '  ')}\n"
    with pytest.raises(ScriptError) as caught:
        module(tmp_path, program).f(A, M)
    line, column = HEAD.count("\n") + 2 + len(lines), len(lines[-1]) + 3
    assert message in str(caught.value)
    found = (caught.value.file, caught.value.line, caught.value.column)
    assert found == (str(tmp_path / "scripts.py"), line, column), str(caught.value)


def test_the_line_is_shown_with_the_place_below(tmp_path):
    text = (
        "from sateen.tensor_ir import hybrid\n\nif True:\n\t@hybrid.script\n\tdef f(a):\n\t\täöü = '→' if a[0] else 1\n"
    )
    f = module(tmp_path, text).f
    with pytest.raises(ScriptError) as caught:
        f(A)
    assert str(caught.value).splitlines() == [
        "a condition expects a comparison, found float32; compare it with something",
        f"  in {tmp_path / 'scripts.py'}:6:16, script 'f'",
        "    \t\täöü = '→' if a[0] else 1",
        "    \t\t             ^",
    ]


def test_an_error_in_a_script_that_is_called_names_the_call(tmp_path):
    text = f"{HEAD}@hybrid.script\ndef g(x):\n  return x.real\n@hybrid.script\ndef f(a):\n  return g(a[0])\n"
    with pytest.raises(ScriptError, match="a number in a script has astype and dtype, found 'real'") as caught:
        module(tmp_path, text).f(A)
    assert caught.value.line == HEAD.count("\n") + 3
    assert caught.value.__notes__ == [f"called in {tmp_path / 'scripts.py'}:{HEAD.count(chr(10)) + 6}, script 'f'"]


NESTED = {
    "recursion": ("b = f(a, m)", "script 'f' calls itself; write a loop"),
    "statements in a condition": ("x = 1\nwhile first(a) > x:\n  x += 1", "call it in a line before, or in an if"),
    "arguments": ("b = first(a, 1)", "script 'first' expects (t): too many positional arguments"),
    "effect in an expression": ("b = output_tensor(4)\nb[0] = fill(b) + 1.0", "'t' belongs to the caller"),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_call_of_a_script_where_it_can_not_stand(tmp_path, name):
    body, message = NESTED[name]
    scripts = (
        "@hybrid.script\ndef first(t):\n  x = t[0]\n  x += 1\n  return x\n\n"
        "@hybrid.script\ndef fill(t):\n  t[0] = 1\n  return t[0]\n\n"
    )
    text = f"{HEAD}{scripts}@hybrid.script\ndef f(a, m):\n{textwrap.indent(body, '  ')}\n"
    message = message.replace("'t' belongs", "'b' belongs")
    loaded = module(tmp_path, text)
    with pytest.raises(ScriptError, match=re.escape(message)):
        loaded.f(A, M)
    if name in ("recursion", "arguments"):
        with pytest.raises(ExpressionError, match=re.escape(message)):
            loaded.f(np.ones(8, "float32"), np.ones((2, 4), "float32"))


def wraps(function):
    def wrapped(a):
        return function(a)

    wrapped.__wrapped__ = function
    return wrapped


def test_functions_without_source_are_refused():
    defined = {}
    exec("def f(a): return a", defined)
    for function, message in (
        (defined["f"], "expects the source of 'f', found none in '<string>'; put it in a file"),
        (lambda a: a, "found a lambda; give it a name"),
        (wraps(test_functions_without_source_are_refused), "expects a function directly above its def"),
        (len, "expects a function directly above its def, found builtin_function_or_method 'len'"),
        (3, "expects a function directly above its def, found int 3"),
    ):
        with pytest.raises(ExpressionError, match=re.escape(message)):
            hybrid.script(function)


def test_a_file_that_has_changed_is_no_source(tmp_path):
    loaded = module(tmp_path, "def f(a):\n  return a\n")
    (tmp_path / "scripts.py").write_text("\n\ndef f(a):\n  return a\n", encoding="utf-8")
    with pytest.raises(ExpressionError, match="found another text; load the file again"):
        hybrid.script(loaded.f)


def test_async_and_open_parameters_are_refused(tmp_path):
    with pytest.raises(ExpressionError, match="expects a function without async, found 'f'"):
        module(tmp_path, f"{HEAD}@hybrid.script\nasync def f(a):\n  return a\n")
    with pytest.raises(ScriptError, match=r"expects parameters with names, found '\*\*'"):
        module(tmp_path, f"{HEAD}@hybrid.script\ndef f(**a):\n  return a\n")


def test_arrays_and_tensors_do_not_mix(tmp_path):
    f = module(tmp_path, f"{HEAD}@hybrid.script\ndef f(a, b):\n  return a\n").f
    with pytest.raises(ExpressionError, match="script 'f' expects arrays or tensors, found both"):
        f(A, np.zeros(4))
    with pytest.raises(ExpressionError, match=r"script 'f' expects \(a, b\): missing a required argument: 'b'"):
        f(A)


def test_python_refuses_what_te_refuses(tmp_path):
    lines = {
        "x = a[0] + i.astype('float64')": "operands of '+' have types float32 and float64",
        "a[0] = 1.0": "a script only reads its inputs",
        "x = a[0, 0]": "a tensor of 1 dimensions, found 2 indices",
        "b = allocate(4, 'int32')\n    b[0] = a[0]": "an element holds int32, found float32",
        "x = 0\n    x = a[0]": "this variable holds int64, found float32",
        "x = 1 if a[0] else 2": "a condition expects a comparison, found float32",
        "x = i // (i - i)": "division by zero",
    }
    for body, message in lines.items():
        text = f"{HEAD}@hybrid.script\ndef f(a):\n  for i in range(1, 2):\n    {body}\n"
        with pytest.raises(Exception, match=re.escape(message)):
            module(tmp_path, text).f(np.ones(8, "float32"))
