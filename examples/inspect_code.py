"""What became of a schedule: its regions, its loops, the LLVM text and the machine code."""

import re

import numpy as np

from sateen.tensor_ir import Machine, build, explain, lower, te

N = 512
LANES = Machine.of("llvm").lanes("float32")


def main() -> None:
    A, B = te.placeholder((N, N), name="A"), te.placeholder((N, N), name="B")
    k = te.reduce_axis(N, name="k")
    C = te.compute((N, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    T = s.cache_write(C, "register")
    i, j = C.op.axis
    _, jo, ii, ji = s[C].tile(i, j, 4, LANES)
    s[C].unroll(ii)
    s[C].vectorize(ji)
    s[T].compute_at(s[C], jo)
    i, j = T.op.axis
    (k,) = T.op.reduce_axis
    s[T].reorder(k, i, j)
    s[T].unroll(i)
    s[T].vectorize(j)

    print("Where each stage is computed, which part of it, and by which loops:\n")
    explanation = explain(s, [A, B, C])
    print(explanation, "\n")
    tile = next(stage for stage in explanation.stages if stage.name == "C.register")
    assert tile.bytes == 4 * LANES * 4
    assert explanation.code.gathers == explanation.code.masked == explanation.code.scalarised == 0

    print("As loops:\n")
    print(lower(s, [A, B, C], name="matmul"), "\n")

    matmul = build(s, [A, B, C], target="llvm", name="matmul")
    a, b = np.random.default_rng(0).standard_normal((2, N, N), dtype=np.float32)
    c = np.empty((N, N), np.float32)
    matmul(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=0, atol=1e-3)

    print("The innermost loop as LLVM text and as machine code:\n")
    print(innermost_loop(matmul.llvm_text()), "\n")
    print(innermost_loop(matmul.assembly()))


def innermost_loop(text: str) -> str:
    """The block with the most multiply-adds, from its label to the jump back to it."""
    block = max(re.split(r"\n(?=\S+:)", text), key=lambda block: len(re.findall("fmul|fma|fmla|mulps", block)))
    lines = block.splitlines()
    label = lines[0].partition(":")[0]
    end = max(i for i, line in enumerate(lines) if label in re.findall(r"[\w.]+", line))
    return "\n".join(lines[: end + 1])


if __name__ == "__main__":
    main()
