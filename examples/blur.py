"""A Gaussian blur in two stages, along rows and then columns: store the first stage, or compute it again?"""

import numpy as np

from sateen import runtime
from sateen.tensor_ir import Machine, build, explain, te

HEIGHT, WIDTH = 4096, 2048
WEIGHTS = [0.03, 0.07, 0.12, 0.18, 0.2, 0.18, 0.12, 0.07, 0.03]
MARGIN = len(WEIGHTS) - 1

image = te.placeholder((HEIGHT + MARGIN, WIDTH + MARGIN), name="image")
rows = te.compute(
    (HEIGHT + MARGIN, WIDTH), lambda y, x: sum(w * image[y, x + t] for t, w in enumerate(WEIGHTS)), name="rows"
)
blur = te.compute((HEIGHT, WIDTH), lambda y, x: sum(w * rows[y + t, x] for t, w in enumerate(WEIGHTS)), name="blur")


def in_vectors(*tensors: te.Tensor) -> te.Schedule:
    """These stages a vector of a row at a time."""
    s = te.create_schedule(blur)
    for tensor in tensors:
        _, lane = s[tensor].split(tensor.op.axis[1], factor=Machine.of("llvm").lanes())
        s[tensor].vectorize(lane)
    return s


def at_root() -> te.Schedule:
    """Store the whole first stage: nothing is computed twice, everything goes through memory."""
    return in_vectors(rows, blur)


def inlined() -> te.Schedule:
    """Store nothing: every sum along a row is computed as often as it is used."""
    s = in_vectors(blur)
    s[rows].compute_inline()
    return s


def in_strips(height: int) -> te.Schedule:
    """Store what a strip of the result needs. Neighbouring strips share MARGIN rows, which both compute."""
    s = at_root()
    strip, _ = s[blur].split(blur.op.axis[0], factor=height)
    s[rows].compute_at(s[blur], strip)
    return s


def main() -> None:
    pixels = np.random.default_rng(0).random((HEIGHT + MARGIN, WIDTH + MARGIN), dtype=np.float32)
    along_rows = np.apply_along_axis(np.convolve, 1, pixels, WEIGHTS, "valid")
    expected = np.apply_along_axis(np.convolve, 0, along_rows, WEIGHTS, "valid")

    source, result = runtime.array(pixels), runtime.empty((HEIGHT, WIDTH))
    print(f"{HEIGHT}×{WIDTH} pixels, {len(WEIGHTS)} weights\n")
    print("rows               milliseconds   bytes stored   computed")
    for name, s, times in (
        ("at root", at_root(), 1 + MARGIN / HEIGHT),
        ("inlined", inlined(), len(WEIGHTS)),
        ("in strips of 8", in_strips(8), 1 + MARGIN / 8),
        ("in strips of 32", in_strips(32), 1 + MARGIN / 32),
    ):
        run = build(s, [image, blur], target="llvm", name="blur")["blur"].bind(source, result)
        run()
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)
        seconds = runtime.time_evaluator(run, repeat=15).median
        stored = explain(s, [image, blur]).stages[0].bytes
        print(f"{name:18} {seconds * 1e3:12.2f} {stored:14,} {times:8.2f} ×")


if __name__ == "__main__":
    main()
