"""A thread for a few neighbouring elements, where all that it reads are neighbours as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import For, LoopKind, walk
from sateen.topi.schedules import Computation
from sateen.topi.types import View, compute

SHAPE = (16, 64, 4, 32)


def of_elements(x: View) -> Computation:
    return Computation((compute(x.shape, lambda *i: te.maximum(x(*i), 0.0), "relu"),))


def beside_channels(x: View) -> Computation:
    return Computation((compute(x.shape, lambda n, c, y, z: x(n, c, y, z) + x(0, c, 0, 0), "sum"),))


def transposed(x: View) -> Computation:
    return Computation((compute((16, 64, 32, 4), lambda n, c, y, z: x(n, c, z, y), "turned"),))


def shifted(x: View) -> Computation:
    return Computation((compute((16, 64, 4, 28), lambda n, c, y, z: x(n, c, y, z + 3), "part"),))


def cut(x: View) -> Computation:
    return Computation((compute((16, 64, 4, 28), lambda n, c, y, z: x(n, c, y, z + 4), "part"),))


def padded(x: View) -> Computation:
    def element(n: te.Expr, c: te.Expr, y: te.Expr, z: te.Expr) -> te.Expr:
        return te.if_then_else(z < 32, x(n, c, y, z), te.const(0.0))

    return Computation((compute((16, 64, 4, 36), element, "padded"),))


def lanes_of(nests: list[For]) -> list[int]:
    loops = [n for nest in nests for n in walk(nest) if isinstance(n, For) and n.kind is LoopKind.VECTORIZED]
    return [int(str(loop.extent)) for loop in loops]


@pytest.mark.parametrize(
    ("function", "lanes"),
    [(of_elements, [4]), (beside_channels, [4]), (transposed, []), (shifted, []), (cut, [4]), (padded, [])],
)
def test_threads_have_neighbours_where_memory_does(kernels: Any, function: Any, lanes: list[int]) -> None:
    assert lanes_of(kernels(function, "opencl", SHAPE)) == lanes


def test_few_elements_have_a_thread_each(kernels: Any) -> None:
    gpu = Machine.of("opencl").gpu
    assert gpu is not None
    assert lanes_of(kernels(of_elements, "opencl", (gpu.units * gpu.unit_threads,))) == []


@pytest.mark.parametrize("target", ["webgpu", "opencl -mcpu=processor"])
def test_devices_without_vectors_in_memory_have_a_thread_for_each(kernels: Any, target: str) -> None:
    assert lanes_of(kernels(of_elements, target, SHAPE)) == []


@pytest.mark.parametrize("function", [of_elements, beside_channels, transposed, shifted, cut, padded])
def test_they_compute_the_same(on_device: Any, random: Any, function: Any) -> None:
    x = random.standard_normal(SHAPE).astype(np.float32)
    expected = {
        of_elements: lambda: np.maximum(x, 0),
        beside_channels: lambda: x + x[:1, :, :1, :1],
        transposed: lambda: x.transpose(0, 1, 3, 2),
        shifted: lambda: x[..., 3:31],
        cut: lambda: x[..., 4:],
        padded: lambda: np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 4))),
    }[function]()
    (found,) = on_device(function, x)
    np.testing.assert_array_equal(found, expected)
