"""A model of TensorFlow Lite that is checked as a file: networks of operators over tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sateen.graph_ir.ir import Array
from sateen.runtime.dtype import DType

DTYPES: Mapping[str, DType] = {
    name: DType.of(name.lower())
    for name in (
        "FLOAT32", "FLOAT16", "FLOAT64", "BFLOAT16", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32",
        "UINT64", "BOOL",
    )
} | {"INT4": DType.of("int8")}  # fmt: skip
"""The element types of tensors here; packed integers of 4 bits are unpacked while reading."""
QUANTISED = frozenset({"INT4", "INT8", "UINT8", "INT16"})
"""The types that stand for real numbers if a tensor has a scale. Scales of wider integers are ignored, as kernels do;
those of a bias follow from data and weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """How integers stand for real numbers, (integer - zero point) · scale: one for all, or one per index of `axis`."""

    scales: Array
    zero_points: Array
    axis: int

    @property
    def is_single(self) -> bool:
        return self.scales.size == 1

    def equals(self, other: Scaling | None) -> bool:
        """Whether the same integers stand for the same numbers."""
        return (
            other is not None
            and np.array_equal(self.scales, other.scales)
            and np.array_equal(self.zero_points, other.zero_points)
            and (self.is_single or self.axis == other.axis)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor of a network. `name` is unique there; `shape` has -1 for unknown extents, and is None if the rank is
    unknown. `scaling` is that of a quantised tensor, `data` that of a constant. `gap` says why the tensor can't be
    read, if so."""

    name: str
    type: str
    shape: tuple[int, ...] | None
    scaling: Scaling | None = None
    data: Array | None = None
    is_variable: bool = False
    gap: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operator of a network. `custom` is the data of a custom operator, None for a built-in one."""

    operator: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    options: Mapping[str, Any]
    custom: memoryview | None = None

    @property
    def bodies(self) -> list[int]:
        """The numbers of the networks that it runs."""
        return [number for name, number in self.options.items() if name.endswith("_subgraph_index")]

    def reads(self) -> list[str]:
        return [tensor.name for tensor in self.inputs if tensor is not None]

    def gives(self) -> list[str]:
        return [tensor.name for tensor in self.outputs]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A subgraph of the file, with its operators in order. `data` is that of its constants, and zeros for variables,
    which a run begins with."""

    name: str
    tensors: Sequence[Tensor]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    operations: Sequence[Operation]
    data: Mapping[str, Array]


def data_of(
    tensors: Sequence[Tensor], inputs: Sequence[Tensor], operations: Sequence[Operation]
) -> Mapping[str, Array]:
    """The data of a network."""
    found = {}
    for tensor in tensors:
        if tensor.data is not None:
            found[tensor.name] = tensor.data
        elif tensor.is_variable and not tensor.gap and tensor.shape is not None and -1 not in tensor.shape:
            found[tensor.name] = np.zeros(tensor.shape, DTYPES[tensor.type].numpy)
        elif tensor.shape == (0,) and not tensor.gap:
            found[tensor.name] = np.zeros(0, DTYPES[tensor.type].numpy)
    computed = {name for operation in operations for name in operation.gives()}
    given = {tensor.name for tensor in inputs}
    return {name: data for name, data in found.items() if name not in computed and name not in given}
