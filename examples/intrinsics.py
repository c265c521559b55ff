"""Mathematical functions: what each target makes of them, how fast and exact they are, and how to add one of your own.

A function is a call by name until the target is known. Then the target's own spelling takes its place, or a rule: a
function from the call to an expression. Rules are an argument of `build`, so another target may get other ones.
"""

from collections.abc import Callable

import numpy as np

from sateen import runtime
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir import DEFAULT_RULES, IntrinsicRules, Machine, build, te

N = 1 << 20
Doubles = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def mish(call: te.Call) -> te.Expr:
    """x · tanh(log(1 + e^x)) (Misra 2019, arXiv:1908.08681), which is x · n / (n + 2) with n = e^x · (e^x + 2)."""
    (x,) = call.args
    power = te.exp(te.minimum(x, 20.0))  # beyond 20 the quotient is 1, but n would overflow
    n = power * (power + 2.0)
    return x * (n / (n + 2.0))


def rough_sigmoid(call: te.Call) -> te.Expr:
    """1/2 + x / (2 + 2·|x|): no exponential, for a target where that is too slow, within 0.09 of the sigmoid."""
    (x,) = call.args
    return 0.5 + x / (2.0 + 2.0 * te.abs(x))


EXACT: dict[str, Callable[[Doubles], Doubles]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sin": np.sin,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
}


def elementwise(name: str, rules: IntrinsicRules = DEFAULT_RULES) -> runtime.CompiledFunction:
    """y[i] = name(x[i]), a vector at a time. Raises CodegenError where no rule says what `name` is."""
    x = te.placeholder((N,), name="x")
    y = te.compute((N,), lambda i: te.call(name, x[i]), name="y")
    s = te.create_schedule(y)
    _, lane = s[y].split(y.op.axis[0], factor=Machine.of("llvm").lanes())
    s[y].vectorize(lane)
    return build(s, [x, y], target="llvm", name="f", rules=rules)["f"]


def show_targets() -> None:
    """One expression for three targets, one of them with a rule of its own."""
    x = te.placeholder((64,), name="x")
    y = te.compute((64,), lambda i: te.sigmoid(x[i]) * te.exp(x[i]), name="y")
    for target, rules in (
        ("c", DEFAULT_RULES),
        ("opencl", DEFAULT_RULES),
        ("opencl", DEFAULT_RULES.with_rule("sigmoid", rough_sigmoid)),
    ):
        s = te.create_schedule(y)
        if target == "opencl":
            s[y].bind(y.op.axis[0], te.thread_axis("threadIdx.x"))
        source = build(s, [x, y], target=target, rules=rules).source
        (line,) = (line.strip() for line in source.splitlines() if line.strip().startswith("y["))
        assert ("expf(" if target == "c" else "exp(") in line
        assert ("fabs" in line) is (rules is not DEFAULT_RULES)
        print(f"{target:6} {line}")
    print()


def main() -> None:
    show_targets()
    try:
        elementwise("mish")
    except CodegenError as missing:
        print(f"{missing}\n")

    with_mish = DEFAULT_RULES.with_rule("mish", mish)
    x = np.random.default_rng(0).uniform(-8, 8, N).astype(np.float32)
    source, result = runtime.array(x), runtime.empty((N,))
    print("function    GB/s   largest error, in units of the last place")
    for name, exact in EXACT.items():
        function = elementwise(name, with_mish)
        function(source, result)
        expected = exact(x.astype(np.float64))
        error = np.max(np.abs(result.numpy() - expected) / np.spacing(np.abs(expected).astype(np.float32)))
        assert error < 8 if name == "mish" else error < 4
        seconds = runtime.time_evaluator(function.bind(source, result), repeat=15).median
        print(f"{name:8} {2 * x.nbytes / seconds / 1e9:7.1f} {error:6.1f}")


if __name__ == "__main__":
    main()
