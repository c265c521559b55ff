"""Two vectors added: from an expression and a schedule to a native function, compiled once for every length."""

import numpy as np

from sateen.tensor_ir import Machine, build, lower, te


def main() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.placeholder((n,), name="B")
    C = te.compute((n,), lambda i: A[i] + B[i], name="C")

    s = te.create_schedule(C)
    _, inner = s[C].split(C.op.axis[0], factor=Machine.of().lanes())
    s[C].vectorize(inner)

    print(lower(s, [A, B, C], name="add"), "\n")
    add = build(s, [A, B, C], name="add")

    for length in (1, 1000, 1 << 20):
        a, b = np.random.default_rng(0).standard_normal((2, length), dtype=np.float32)
        c = np.empty_like(a)
        add(a, b, c)
        assert np.array_equal(c, a + b)
        print(f"{length:8} elements: equal to NumPy's sum")


if __name__ == "__main__":
    main()
