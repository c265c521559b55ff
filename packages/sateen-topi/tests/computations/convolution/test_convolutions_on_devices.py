"""Row-major convolutions by tiles of threads, on the first OpenCL device."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from sateen.runtime import LoweringError
from sateen.tensor_ir import Machine, build_functions, lower, te
from sateen.topi.computations.convolution import Rectangles, conv
from sateen.topi.computations.strips import Strips
from sateen.topi.computations.windows import Window
from sateen.topi.methods import Method
from sateen.topi.types import View, compute

CASES = [
    ((1, 20, 14, 14), (24, 20, 3, 3), {"pads": (1, 1, 1, 1)}),
    ((1, 20, 13, 11), (24, 20, 3, 3), {"pads": (1, 0, 2, 1), "strides": (2, 2)}),
    ((2, 3, 33, 35), (10, 3, 7, 7), {"pads": (3, 3, 3, 3), "strides": (2, 2)}),
    ((1, 16, 29, 9), (33, 16, 3, 3), {"pads": (2, 2, 2, 2), "dilations": (2, 2)}),
    ((1, 16, 9, 9), (33, 16, 1, 1), {}),
    ((1, 16, 9, 9), (33, 16, 1, 1), {"strides": (2, 2)}),
    ((1, 256, 4, 4), (12, 256, 1, 1), {}),
    ((2, 3, 2, 3, 4), (5, 3, 1, 1, 1), {}),
    ((1, 1, 29, 9), (7, 1, 3, 3), {}),
    ((1, 8, 29, 9), (8, 1, 3, 3), {"pads": (1, 1, 1, 1), "groups": 8}),
    ((1, 8, 9, 9), (12, 4, 3, 3), {"pads": (1, 1, 1, 1), "groups": 2}),
    ((2, 9, 13, 11), (18, 1, 3, 3), {"pads": (1, 0, 2, 1), "strides": (2, 1), "groups": 9}),
    ((1, 33, 7, 7), (33, 1, 5, 5), {"pads": (4, 4, 4, 4), "dilations": (2, 2), "groups": 33}),
    ((1, 30, 9, 8), (60, 3, 3, 3), {"pads": (1, 1, 1, 1), "groups": 10}),
    ((1, 6, 40), (6, 1, 7), {"pads": (3, 3), "groups": 6}),
    ((1, 5, 6, 7, 8), (5, 1, 3, 3, 3), {"pads": (1,) * 6, "groups": 5}),
    ((1, 3, 50, 50), (3, 1, 31, 31), {"pads": (15,) * 4, "groups": 3}),
    ((1, 256, 7, 7), (70, 256, 3, 3), {"pads": (1, 1, 1, 1)}),
    ((1, 128, 9), (6, 64, 3), {"pads": (1, 1), "groups": 2}),
    ((1, 64, 3, 4, 3), (9, 64, 3, 1, 3), {"pads": (1, 0, 1) * 2}),
    ((1, 8, 50), (12, 8, 5), {"pads": (2, 2)}),
    ((1, 4, 6, 7, 8), (5, 4, 3, 3, 3), {"pads": (1,) * 6, "strides": (1, 2, 1)}),
    ((1, 2, 40, 40), (3, 2, 31, 31), {"pads": (15,) * 4}),
]


def window(weight: tuple[int, ...], options: dict[str, Any]) -> Window:
    rank = len(weight) - 2
    ones = (1,) * rank
    return Window(
        weight[2:], options.get("strides", ones), options.get("pads", (0, 0) * rank), options.get("dilations", ones)
    )


@pytest.mark.parametrize(("data", "weight", "options"), CASES)
def test_convolutions_of_any_size(
    on_device: Any, run_views: Any, view: Any, random: Any, data: Any, weight: Any, options: Any
) -> None:
    """Equal to what processors compute, with a bias and a fused function of the result."""
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in (data, weight, weight[:1])]

    def computation(*views: View) -> Any:
        return conv(*views, window(weight, options), options.get("groups", 1))

    (found,) = on_device(computation, *arrays, epilogue=relu)
    views = [view(a, f"x{i}") for i, a in enumerate(arrays)]
    (expected,) = run_views(computation(*views), views, arrays, epilogue=relu)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    "method",
    [Rectangles(3, 4, 2, 2, 4, 2), Rectangles(1, 6, 1, 8, 1, 4), Rectangles(3, 4, 2, 2, 4, 2, parts=3), Strips(4, 5)],
)
@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
def test_every_method_gives_the_convolution(
    on_device: Any, run_views: Any, view: Any, random: Any, method: Method, strides: tuple[int, int]
) -> None:
    options = {"pads": (1, 0, 2, 1), "strides": strides}
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in ((1, 6, 17, 16), (9, 6, 3, 3))]

    def computation(*views: View) -> Any:
        return conv(*views, None, window(arrays[1].shape, options), method=method)

    (found,) = on_device(computation, *arrays)
    views = [view(a, f"x{i}") for i, a in enumerate(arrays)]
    (expected,) = run_views(computation(*views), views, arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("method", [Rectangles(1, 12, 4, 2, 4, 4), Rectangles(1, 7, 1, 8, 1, 2, parts=2)])
def test_tiles_of_a_line_give_convolutions_of_1x1(
    on_device: Any, run_views: Any, view: Any, random: Any, method: Method
) -> None:
    """Rectangles of one row, which go on in the next row of the image."""
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in ((2, 8, 6, 10), (9, 8, 1, 1), (9,))]

    def computation(*views: View) -> Any:
        return conv(*views, window(arrays[1].shape, {}), method=method)

    (found,) = on_device(computation, *arrays, epilogue=relu)
    views = [view(a, f"x{i}") for i, a in enumerate(arrays)]
    (expected,) = run_views(computation(*views), views, arrays, epilogue=relu)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_rectangles_larger_than_the_result_are_refused(on_device: Any, random: Any) -> None:
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in ((1, 4, 6, 6), (9, 4, 3, 3))]

    def computation(*views: View) -> Any:
        return conv(*views, None, window(arrays[1].shape, {}), method=Rectangles(1, 8, 1, 8, 1, 2))

    with pytest.raises(LoweringError, match=r"^conv: expected rectangles within 4 x 4, found rectangles\(rows=1, col"):
        on_device(computation, *arrays)


def relu(x: View) -> View:
    return compute(x.shape, lambda *i: te.maximum(x(*i), 0.0), "relu")


@pytest.mark.parametrize("target", ["opencl", "cuda -mcpu=sm_90", "metal"])
@pytest.mark.parametrize("groups", [1, 4, 64])
def test_a_block_is_within_the_limits_of_the_device(view: Any, target: str, groups: int) -> None:
    """Also of depthwise convolutions, and of those in groups: they share what they read."""
    data, weight = (1, 64, 56, 56), (64, 64 // groups, 3, 3)
    views = [view(np.zeros(shape, np.float32), name) for name, shape in (("data", data), ("weight", weight))]
    computation = conv(*views, None, window(weight, {"pads": (1, 1, 1, 1)}), groups)
    machine, output = Machine.of(target), computation.view.tensor
    schedule = te.create_schedule(output)
    computation.schedule_on(machine)(schedule, output, machine)
    tensors = [*(v.tensor for v in views), output]
    (kernel,) = build_functions([lower(schedule, tensors, "f")], "opencl").program.kernels
    assert machine.gpu is not None
    assert machine.gpu.warp <= prod(kernel.block) <= machine.gpu.block_threads
    assert 0 < kernel.shared_bytes <= machine.gpu.shared_bytes


def test_few_positions_of_many_channels_are_summed_in_parts(view: Any) -> None:
    """The 7x7 layers of a ResNet at batch 1: the units of a device get a block each, and a second kernel adds."""
    data, weight = (1, 512, 7, 7), (512, 512, 3, 3)
    views = [view(np.zeros(shape, np.float32), name) for name, shape in (("data", data), ("weight", weight))]
    computation = conv(*views, None, window(weight, {"pads": (1, 1, 1, 1)}))
    machine, output = Machine.of("cuda -mcpu=sm_90"), relu(computation.view).tensor
    schedule = te.create_schedule(output)
    computation.schedule_on(machine)(schedule, output, machine)
    partial, whole = build_functions(
        [lower(schedule, [*(v.tensor for v in views), output], "f")], "opencl"
    ).program.kernels
    assert machine.gpu is not None
    assert int(str(partial.grid[0])) >= machine.gpu.units * 9 // 10
    assert whole.shared_bytes == 0
