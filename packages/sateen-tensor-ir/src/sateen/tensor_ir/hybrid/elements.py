"""Tensors of a script that runs as Python: arrays of NumPy that are read and written by element, with every access
checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExecutionError, ExpressionError
from sateen.tensor_ir.hybrid.numbers import Number, evaluate, stored
from sateen.tensor_ir.interpret.scalars import Value
from sateen.tensor_ir.ir.expr import as_expr
from sateen.tensor_ir.ir.types import INDEX, element_type


class Elements:
    """An array: `t[i, j]` loads an element, `t[i, j] = x` stores one. Memory of the script itself is `written` where an
    element has been stored; an input, which has none, is only read."""

    __slots__ = ("array", "dtype", "is_result", "written")

    def __init__(self, array: np.ndarray[Any, Any], written: np.ndarray[Any, Any] | None, is_result: bool) -> None:
        self.array = array
        self.dtype = DType.of(array.dtype)
        self.written = written
        self.is_result = is_result

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, indices: Any) -> Number:
        place = self._place(indices, "load from")
        if self.written is not None and not self.written[place]:
            raise ExecutionError(f"load from {list(place)}, which has not been written")
        return Number(_value(self.array[place], self.dtype), self.dtype)

    def __setitem__(self, indices: Any, value: Any) -> None:
        if self.written is None:
            raise ExpressionError("a script only reads its inputs; write to an output_tensor or an allocate")
        place = self._place(indices, "store to")
        self.array[place] = stored(value, self.dtype, "an element holds")
        self.written[place] = True

    def _place(self, indices: Any, what: str) -> tuple[int, ...]:
        listed = indices if isinstance(indices, tuple) else (indices,)
        if len(listed) != self.array.ndim:
            raise ExpressionError(f"a tensor of {self.array.ndim} dimensions, found {len(listed)} indices")
        place = []
        for index, extent in zip(listed, self.array.shape, strict=True):
            e = as_expr(index, INDEX)
            if not e.dtype.is_int:
                raise ExpressionError(f"an index expects an integer, found {e.dtype}")
            place.append(int(evaluate(e).value))
            if not 0 <= place[-1] < extent:
                found = [str(i.value if isinstance(i, Number) else i) for i in listed]
                raise ExecutionError(f"{what} [{', '.join(found)}], outside of the shape {list(self.array.shape)}")
        return tuple(place)

    def __repr__(self) -> str:
        return f"Elements({self.array!r})"


def new_elements(shape: Any, dtype: DType | str, is_result: bool) -> Elements:
    """Memory of which nothing is written."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes = tuple(int(evaluate(as_expr(n)).value) for n in extents)
    if any(n < 0 for n in sizes):
        raise ExpressionError(f"a shape expects integers of at least 0, found {list(sizes)}")
    return Elements(np.zeros(sizes, element_type(dtype).numpy), np.zeros(sizes, bool), is_result)


def _value(x: Any, dtype: DType) -> Value:
    if dtype.is_float:
        return np.float64(x) if dtype.bits == 64 else np.float32(x)
    return bool(x) if dtype.is_bool else int(x)
