"""Transposed convolutions by phases, on the first OpenCL device."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import Machine, build_functions, lower, te
from sateen.topi.computations.convolution import conv_transpose
from sateen.topi.computations.windows import Window
from sateen.topi.types import View, compute

ONES = (1, 1)
CASES = {
    "whole strides": ((1, 32, 7, 9), 32, Window((2, 2), (2, 2), (0,) * 4, ONES), (0, 0), 1),
    "overlapping": ((2, 32, 5, 9), 16, Window((4, 4), (2, 2), (1, 1, 1, 1), ONES), (0, 0), 1),
    "output padding": ((1, 16, 4, 8), 16, Window((5, 5), (2, 2), (2,) * 4, ONES), (1, 1), 1),
    "gaps between": ((1, 16, 3, 5), 48, Window((2, 2), (3, 3), (0,) * 4, ONES), (0, 0), 1),
    "dilation without strides": ((1, 16, 5, 7), 16, Window((3, 3), (1, 1), (1,) * 4, (2, 2)), (0, 0), 1),
    "dilation and strides": ((1, 6, 5, 7), 4, Window((3, 3), (2, 2), (1,) * 4, (2, 2)), (1, 0), 1),
    "groups": ((1, 16, 4, 5), 32, Window((3, 3), (2, 2), (0,) * 4, ONES), (0, 0), 2),
    "depthwise": ((1, 9, 6, 5), 9, Window((4, 4), (2, 2), (1,) * 4, ONES), (0, 0), 9),
    "one dimension": ((1, 16, 9), 16, Window((3,), (2,), (0, 0), (1,)), (0,), 1),
    "unlike sides": ((2, 6, 5, 7), 4, Window((3, 2), (2, 3), (1, 0, 0, 1), ONES), (0, 0), 2),
    "three dimensions": ((1, 4, 3, 4, 5), 6, Window((3,) * 3, (2, 1, 2), (1,) * 6, (1,) * 3), (0,) * 3, 1),
    "sums of parts": ((1, 128, 1, 1), 64, Window((4, 4), (1, 1), (0,) * 4, ONES), (0, 0), 1),
}


def relu(x: View) -> View:
    return compute(x.shape, lambda *i: te.maximum(x(*i), 0.0), "relu")


@pytest.mark.parametrize("name", CASES)
def test_values(on_device: Any, run_views: Any, view: Any, random: Any, error: Any, name: str) -> None:
    """Equal to what processors compute, with a bias and a fused function of the result."""
    shape, outputs, window, extra, groups = CASES[name]
    out = window.transposed_output(shape[2:], extra)
    shapes = (shape, (shape[1], outputs // groups, *window.kernel), (outputs,))
    arrays = [random.standard_normal(s).astype(np.float32) for s in shapes]

    def computation(*views: View) -> Any:
        return conv_transpose(*views, window, out, groups)

    (found,) = on_device(computation, *arrays, epilogue=relu)
    views = [view(a, f"x{i}") for i, a in enumerate(arrays)]
    (expected,) = run_views(computation(*views), views, arrays, epilogue=relu)
    assert error(found, expected) < 1e-5


def test_a_thread_takes_the_kernel_elements_of_its_phase_only(view: Any) -> None:
    """A quarter of 4x4, from shared memory."""
    given = [view(np.zeros(s, np.float32), name) for name, s in (("data", (1, 64, 16, 16)), ("w", (64, 32, 4, 4)))]
    machine, window = Machine.of("opencl"), Window((4, 4), (2, 2), (1, 1, 1, 1), ONES)
    computation = conv_transpose(*given, None, window, (32, 32)).on(machine)
    output = computation.view.tensor
    schedule = te.create_schedule(output)
    computation.schedule_on(machine)(schedule, output, machine)
    module = build_functions([lower(schedule, [*(v.tensor for v in given), output], "f")], "opencl")
    (kernel,) = module.program.kernels
    assert machine.gpu is not None
    assert machine.gpu.warp <= prod(kernel.block) <= machine.gpu.block_threads
    assert 0 < kernel.shared_bytes <= machine.gpu.shared_bytes
    assert "k0 < 2" in module.source
    assert "k1 < 2" in module.source
