"""Executes an instruction on the interpreter's memory by its te definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from sateen.tensor_ir.interpret.memory import Indices, SharedMemory, Worker
from sateen.tensor_ir.interpret.scalars import elements
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import Intrinsic


class Execution:
    """One instruction: reads all elements of its inputs, evaluates the definition, writes all elements of the outputs.

    `contested` says of each region, outputs first, whether concurrent workers may access its buffer, one of them
    storing.
    """

    def __init__(self, s: Intrinsic[Instruction], contested: Sequence[bool]) -> None:
        self.instruction = s.instruction
        self.extents = [region.extents for region in s.regions]
        self.contested = tuple(contested)

    def __call__(self, worker: Worker, memories: Sequence[SharedMemory], starts: Sequence[Indices]) -> None:
        count = len(self.instruction.outputs)
        arrays = {}
        for position, tensor in enumerate(self.instruction.inputs, start=count):
            memory, is_contested = memories[position], self.contested[position]
            places = self._places(position, starts[position])
            values = [memory.load_by(worker, place) if is_contested else memory[place] for place in places]
            arrays[tensor] = np.array(values, tensor.dtype.numpy).reshape(self.instruction.shape_of(tensor))
        for position, result in enumerate(self.instruction.evaluate(arrays)):
            memory, is_contested = memories[position], self.contested[position]
            values = elements(result, self.instruction.outputs[position].dtype)
            for place, value in zip(self._places(position, starts[position]), values, strict=True):
                if is_contested:
                    memory.store_by(worker, place, value)
                else:
                    memory.store(place, value)

    def _places(self, position: int, start: Indices) -> Iterator[Indices]:
        """The indices of a region's elements, in order."""
        return product(*(range(i, i + extent) for i, extent in zip(start, self.extents[position], strict=True)))
