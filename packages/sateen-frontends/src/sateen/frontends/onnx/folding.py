"""Evaluates nodes whose inputs are known and small while importing.

What only moves data is done by NumPy, since dimensions without a number may be among it. Any other node is converted
into a graph of its own, which is evaluated by the definitions of the operators in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sateen.frontends.onnx.emitter import Operand, symbols_of
from sateen.frontends.onnx.node import Converter, ImportedNode
from sateen.frontends.onnx.shape_arithmetic import LARGEST, moved
from sateen.graph_ir.graph import Value


def evaluated(node: ImportedNode, convert: Converter | None) -> Sequence[Operand] | None:
    """The outputs of a node whose inputs are known and small; None where it is one for the compiler.

    Raises what `convert` raises, and SateenError where the operators have no result.
    """
    known = [operand for operand in node.inputs if operand is not None and not isinstance(operand, Value)]
    if node.is_computed or sum(operand.size for operand in known) > LARGEST:
        return None
    if not node.domain and (data := moved(node)) is not None:
        return [node.evaluated(array) for array in data]
    if convert is None or any(symbols_of(operand) for operand in known):
        return None
    emitter = node.apart()
    results = outputs_of(convert(node.within(emitter)))
    values = [result for result in results if isinstance(result, Value)]
    if not all(v.type.is_static and prod(v.type.static_shape) <= LARGEST for v in values):
        return None
    arrays = emitter.known(values)
    if arrays is None:
        return None
    given = iter(arrays)
    return [node.evaluated(next(given)) if isinstance(result, Value) else result for result in results]


def outputs_of(result: Operand | Sequence[Operand]) -> Sequence[Operand]:
    """What a converter gives, as a sequence."""
    return [result] if isinstance(result, (Value, np.ndarray)) else result
