"""Evaluates nodes whose inputs are known and small while importing: the arithmetic of shapes, indices and conditions.

Exporters write `Reshape(x, Concat(Shape(x)[0], -1))` where a shape is meant. Such a node is converted into a small
graph, which is evaluated by the definitions of its operators. These move and combine open dimensions just like numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sateen.frontends.core.node import Converter, N
from sateen.frontends.core.operands import Operand, open_dimensions_of, require_bound
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

LARGEST = 4096
"""The most elements that an evaluated node reads or gives; more are work for the compiler."""


def converted(node: N, convert: Converter[N]) -> Sequence[Operand]:
    """The outputs of a node: evaluated if its inputs are known and small, otherwise operators of the graph."""
    found = evaluated(node, convert)
    return outputs_of(convert(node)) if found is None else found


def evaluated(node: N, convert: Converter[N]) -> Sequence[Operand] | None:
    """The outputs of a node whose inputs are known and small; None if the node is work for the compiler.

    Raises the errors of `convert`, FrontendError if the operators have no result, and UnsupportedError if they would
    have to compute with open dimensions.
    """
    known = [operand for operand in node.inputs if operand is not None and not isinstance(operand, Value)]
    if node.is_computed or sum(operand.size for operand in known) > LARGEST:
        return None
    emitter = node.apart()
    results = outputs_of(convert(node.within(emitter)))
    values = [result for result in results if isinstance(result, Value)]
    if not all(v.type.is_static and prod(v.type.static_shape) <= LARGEST for v in values):
        return None
    try:
        arrays = emitter.known(values)
    except FrontendError:
        for index, operand in enumerate(node.inputs):
            require_bound(() if operand is None else open_dimensions_of(operand), node.described(index))
        raise
    if arrays is None:
        return None
    given = iter(arrays)
    return [node.evaluated(_as_numbers(next(given), r.type.dtype)) if isinstance(r, Value) else r for r in results]


def outputs_of(result: Operand | Sequence[Operand]) -> Sequence[Operand]:
    """The outputs of a converter, as a sequence."""
    return [result] if isinstance(result, (Value, np.ndarray)) else result


def _as_numbers(data: Array, dtype: DType) -> Array:
    """Dimensions without any Symbols, as numbers."""
    return data.astype(dtype.numpy) if data.dtype == object and not open_dimensions_of(data) else data
