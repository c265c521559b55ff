"""Evaluates tensors from their definition: the judge of lowering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sateen.runtime.errors import ExecutionError
from sateen.tensor_ir.interpret import loop_oracle
from sateen.tensor_ir.interpret.elements import ElementOracle
from sateen.tensor_ir.interpret.point_evaluator import Array
from sateen.tensor_ir.interpret.symbols import bind_symbols, evaluate_shape
from sateen.tensor_ir.interpret.unknown import in_place_of, is_unknown
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Var, const
from sateen.tensor_ir.ir.stmt import Function, Let, Stmt
from sateen.tensor_ir.ir.visit import free_vars
from sateen.tensor_ir.te.tensor import Tensor


def evaluate(
    tensors: Sequence[Tensor],
    inputs: Mapping[Tensor, Array],
    symbols: Mapping[Var, float] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> list[Array]:
    """The values of `tensors`, floating point as float64.

    `inputs` gives the placeholders, in their own types; other tensors in it are used, not computed. `symbols` and
    `functions` are those of `loop_oracle.run`. Raises ArgumentError for an array that does not fit or is missing, and
    ExecutionError if a tensor is read out of its bounds or an operation has no result. Integers may be unknown numbers
    (`unknown`), in an array of objects.
    """
    arguments = [(t.name, t.shape, t.dtype, in_place_of(a, t.dtype)) for t, a in inputs.items()]
    return _Oracle(inputs, bind_symbols(arguments, symbols), functions or {}).values(tensors)


class _Oracle(ElementOracle):
    """Evaluates any operation: statements are run by the interpreter of loop IR."""

    def program(
        self, name: str, statement: Stmt, inputs: Sequence[tuple[Buffer, Tensor]], outputs: Sequence[Buffer]
    ) -> list[Array]:
        """The statement's effect, in the types of its buffers."""
        if is_unknown(*(self.known[t] for _, t in inputs)):
            raise ExecutionError(f"tensor {name!r} asks for numbers that are not known")
        results = [np.zeros(evaluate_shape(b.shape, self.symbols), b.dtype.numpy) for b in outputs]
        arrays = [*(self.known[t].astype(t.dtype.numpy) for _, t in inputs), *results]
        parameters = (*(b for b, _ in inputs), *outputs)
        extents = set[Var]().union(*(free_vars(e) for b in parameters for e in (*b.shape, *(b.strides or ()))))
        for variable in (free_vars(statement) - extents).intersection(self.symbols):
            statement = Let(variable, const(self.symbols[variable], variable.dtype), statement)
        function = Function(name, parameters, frozenset(outputs), statement)
        loop_oracle.run(function, arrays, self.symbols, self.functions)
        return results
