"""Mathematical functions: how fast and how exact those of te are, and how to add one of your own."""

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


def main() -> None:
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
