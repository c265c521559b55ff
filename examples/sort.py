"""The three best scores of each row: a sort, which is no formula per element, written as loops with `te.extern`."""

import numpy as np

from sateen import runtime
from sateen.tensor_ir import build, lower, te

ROWS, LENGTH, BEST = 512, 64, 3


def insertion_sort(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
    """Sort each row, largest first: every element moves left past those that are smaller. Rows run in parallel."""
    ib = te.ir_builder.create()
    source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    with ib.for_range(0, ROWS, "row", kind="parallel") as row:
        place = ib.allocate("int64", (1,), name="place")
        with ib.for_range(0, LENGTH, "i") as i:
            x = ib.let("x", source[row, i])
            place[0] = i
            with ib.while_scope(te.all(place[0] > 0, result[row, place[0] - 1] < x)):
                result[row, place[0]] = result[row, place[0] - 1]
                place[0] = place[0] - 1
            result[row, place[0]] = x
    return ib.get()


def main() -> None:
    scores = te.placeholder((ROWS, LENGTH), name="scores")
    ranked = te.extern((ROWS, LENGTH), [scores], insertion_sort, name="ranked")
    best = te.compute((ROWS, BEST), lambda row, i: ranked[row, i], name="best")  # externs are tensors like any other
    s = te.create_schedule(best)
    print(lower(s, [scores, best]), "\n")

    top = build(s, [scores, best], target="llvm", name="top")
    data = np.random.default_rng(0).standard_normal((ROWS, LENGTH), dtype=np.float32)
    result = runtime.empty((ROWS, BEST))
    top(data, result)
    assert np.array_equal(result.numpy(), -np.sort(-data)[:, :BEST])
    print(f"the {BEST} best of {LENGTH}, {ROWS} times: {runtime.time_evaluator(top['top'].bind(data, result))}")


if __name__ == "__main__":
    main()
