"""A pass of your own over loops: read them, rewrite them, run it among the others, and see what each one changed.

A pass is a function of a statement. This file has two: one makes vectors of plain loops, one shows every array as soon
as it is computed.
"""

import difflib

import numpy as np

from sateen import runtime
from sateen.tensor_ir import PASSES, Machine, build, lower, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import (
    INDEX,
    Allocate,
    Const,
    For,
    Function,
    Load,
    LoopKind,
    StatementRewriter,
    Stmt,
    Store,
    Var,
    const,
    sequence,
    substitute,
    walk,
)

ROWS, COLUMNS = 4, 64
LANES = Machine.of("llvm").lanes("float32")


class Widener(StatementRewriter):
    """The method for a class of statements gets each of them, and returns what stands in its place."""

    def rewrite_For(self, s: For) -> Stmt:
        loop = self.descend(s)  # the loops inside it first
        if not is_wide(loop):
            return loop
        assert isinstance(loop.extent, Const)
        outer, lane = Var(f"{loop.var.name}o", INDEX), Var(f"{loop.var.name}v", INDEX)
        body = substitute(loop.body, {loop.var: loop.start + outer * LANES + lane})
        vector = For(lane, const(0), const(LANES), LoopKind.VECTORIZED, body)
        return For(outer, const(0), const(loop.extent.value // LANES), LoopKind.SERIAL, vector, span=loop.span)


def is_wide(loop: For) -> bool:
    """Whether a loop is whole vectors of stores to different elements, which nothing in it reads."""
    if loop.kind is not LoopKind.SERIAL or not isinstance(loop.extent, Const) or loop.extent.value % LANES:
        return False
    nodes = list(walk(loop.body))
    stores = [node for node in nodes if isinstance(node, Store)]
    return (
        not any(isinstance(node, For) for node in nodes)
        and all(any(index is loop.var for index in store.indices) for store in stores)
        and not {store.buffer for store in stores} & {node.buffer for node in nodes if isinstance(node, Load)}
    )


def widen_loops(body: Stmt, _analyzer: Analyzer) -> Stmt:
    """Innermost loops over whole vectors compute a vector at a time.

    for i in [0, 64): …  =>  for io in [0, 4): vectorized iv in [0, 16): …
    """
    return Widener().rewrite(body)


class Watcher(StatementRewriter):
    """Only outermost loops are met: the method for loops does not descend."""

    def rewrite_For(self, s: For) -> Stmt:
        written = dict.fromkeys(node.buffer for node in walk(s) if isinstance(node, Store))
        inside = {node.buffer for node in walk(s) if isinstance(node, Allocate)}
        return sequence(s, *(te.call_packed("example.watch", b) for b in written if b not in inside))


def watch_stages(body: Stmt, _analyzer: Analyzer) -> Stmt:
    """After each loop nest a function in Python gets the arrays that it wrote."""
    return Watcher().rewrite(body)


def softmax() -> tuple[te.Schedule, list[te.Tensor]]:
    """Three stages: the exponentials, their sum, the quotients."""
    A = te.placeholder((ROWS, COLUMNS), name="A")
    E = te.compute((ROWS, COLUMNS), lambda i, j: te.exp(A[i, j]), name="E")
    k = te.reduce_axis(COLUMNS, name="k")
    S = te.compute((ROWS,), lambda i: te.sum(E[i, k], axis=k), name="S")
    P = te.compute((ROWS, COLUMNS), lambda i, j: E[i, j] / S[i], name="P")
    return te.create_schedule(P), [A, P]


def print_change(name: str, before: Function, after: Function) -> None:
    """An observer gets the function before and after each pass; `after is before` where nothing changed."""
    if after is before:
        print(f"{name}: nothing")
        return
    print(f"{name}:")
    for line in difflib.unified_diff(str(before).splitlines(), str(after).splitlines(), lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            print("   ", line)


def main() -> None:
    s, arguments = softmax()
    widened = lower(s, arguments, "softmax", passes=[*PASSES, widen_loops], observe=print_change)
    kinds = [node.kind for node in walk(widened.body) if isinstance(node, For)]
    assert kinds.count(LoopKind.VECTORIZED) == 2, "the sum stays: its iterations all write to one element"

    seen: list[str] = []

    def watch(array: runtime.NDArray) -> None:
        values = array.numpy()
        seen.append(f"{values.shape}: from {values.min():.3f} to {values.max():.3f}")

    softmax_of = build(
        s, arguments, name="softmax", passes=[*PASSES, widen_loops, watch_stages], externals={"example.watch": watch}
    )
    data = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), dtype=np.float32)
    result = np.empty_like(data)
    softmax_of(data, result)
    expected = np.exp(data) / np.exp(data).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    print("\nwatched:", *seen, sep="\n    ")
    assert [line.partition(":")[0] for line in seen] == ["(4, 64)", "(4,)", "(4, 64)"]


if __name__ == "__main__":
    main()
