"""Two vectors added: from an expression and a schedule to a native function, and to a kernel for a device.

Start here. The expression says what, the schedule how; `lower` shows the loops, and `build` compiles them, once for all
lengths.
"""

import numpy as np

from sateen.tensor_ir import Machine, build, lower, te
from sateen.tensor_ir.interpret import run

n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")


def in_vectors() -> te.Schedule:
    """For a processor: a register full of elements at a time."""
    s = te.create_schedule(C)
    _, inner = s[C].split(C.op.axis[0], factor=Machine.of().lanes())
    s[C].vectorize(inner)
    return s


def on_threads() -> te.Schedule:
    """For a device: blocks of 64 threads, each of which adds one pair."""
    s = te.create_schedule(C)
    block, thread = s[C].split(C.op.axis[0], factor=64)
    s[C].bind(block, te.thread_axis("blockIdx.x"))
    s[C].bind(thread, te.thread_axis("threadIdx.x"))
    return s


def main() -> None:
    print(lower(te.create_schedule(C), [A, B, C], name="add"), "\n")
    print(lower(in_vectors(), [A, B, C], name="add"), "\n")
    add = build(in_vectors(), [A, B, C], name="add")

    for length in (1, 1000, 1 << 20):
        a, b = np.random.default_rng(0).standard_normal((2, length), dtype=np.float32)
        c = np.empty_like(a)
        add(a, b, c)
        assert np.array_equal(c, a + b)
        print(f"{length:8} elements: equal to NumPy's sum")

    print(f"\n{lower(on_threads(), [A, B, C], name='add')}\n")
    kernels = build(on_threads(), [A, B, C], target="opencl", name="add")
    print(kernels.source)
    a, b = np.random.default_rng(0).standard_normal((2, 100), dtype=np.float32)
    c = np.empty_like(a)
    run(kernels.program.host, [a, b, c], kernels=kernels.program.kernels)  # interpreted, so no device is needed
    assert np.array_equal(c, a + b)


if __name__ == "__main__":
    main()
