"""A sum over a vector: `rfactor` makes one chain of additions into many that a processor can do at once.

Floating-point additions are never reordered unless a schedule says so; `rfactor` is how it says so.
"""

from collections.abc import Callable

import numpy as np

from sateen import runtime
from sateen.tensor_ir import Machine, build, lower, te

N = 1 << 22
LANES = Machine.of("llvm").lanes("float32")


def in_order() -> tuple[te.Schedule, list[te.Tensor]]:
    """One addition after the other, each waiting for the one before."""
    A = te.placeholder((N,), name="A")
    k = te.reduce_axis(N, name="k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    return te.create_schedule(S), [A, S]


def by_lane(chains: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """`chains` sums of every `chains`-th element, a vector of them at a time, added up in the end."""
    s, [A, S] = in_order()
    _, chain = s[S].split(S.op.reduce_axis[0], factor=chains)
    P = s.rfactor(S, chain)
    (block,) = P.op.reduce_axis
    vector, lane = s[P].split(P.op.axis[0], factor=LANES)
    s[P].set_scope("register")
    s[P].reorder(block, vector, lane)
    s[P].unroll(vector)
    s[P].vectorize(lane)
    s[S].unroll(s[S].op.reduce_axis[0])  # registers have no index that is known only at run time
    return s, [A, S]


def main() -> None:
    a = np.random.default_rng(0).standard_normal(N, dtype=np.float32)
    A, S = runtime.array(a), runtime.empty(())
    print(lower(*by_lane(LANES)), "\n")

    runs: dict[str, Callable[[], object]] = {"NumPy": a.sum}
    for name, (s, arguments) in {
        "in order": in_order(),
        f"{LANES} chains": by_lane(LANES),
        f"{8 * LANES} chains": by_lane(8 * LANES),
    }.items():
        total = build(s, arguments, target="llvm", name="total")
        total(A, S)
        np.testing.assert_allclose(S.numpy(), a.sum(dtype=np.float64), rtol=0, atol=1e-6 * np.abs(a).sum())
        runs[name] = total["total"].bind(A, S)

    print(f"the sum of {N:,} float32:")
    for name, run in runs.items():
        seconds = runtime.time_evaluator(run, repeat=15).median
        print(f"{name:12} {a.nbytes / seconds / 1e9:6.1f} GB/s")


if __name__ == "__main__":
    main()
