"""Scripts: functions of Python that te takes as loops over tensors, and that Python runs on arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.hybrid.definition import Definition
from sateen.tensor_ir.hybrid.elements import Elements
from sateen.tensor_ir.hybrid.meanings import plain
from sateen.tensor_ir.hybrid.numbers import Number
from sateen.tensor_ir.hybrid.program import Callee, Program
from sateen.tensor_ir.hybrid.python_run import run
from sateen.tensor_ir.hybrid.statements import Statements
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.stmt import Allocate, For, Let, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter, free_vars, walk
from sateen.tensor_ir.te.ir_builder import BufferPointer
from sateen.tensor_ir.te.operations import ExternOp
from sateen.tensor_ir.te.outer_loops import with_outer_loops
from sateen.tensor_ir.te.tensor import Tensor


class Script(Callee):
    """A function of `script`. Called with tensors it gives tensors, called with arrays the values; scripts call it for
    its statements."""

    def __init__(self, function: Any) -> None:
        super().__init__(Definition(function))
        self.__name__, self.__doc__, self.__wrapped__ = self.definition.name, function.__doc__, function

    def __call__(self, *operands: Any, **named: Any) -> Any:
        """The result: of arrays by Python (`run`), otherwise a tensor or a tuple that the loops of the script compute.

        Operands are tensors, lists of them, variables, and anything that Python knows, which becomes part of the
        loops. Raises ScriptError, with line and column, for what the subset has not.
        """
        arguments = self.definition.arguments(operands, named)
        if any(isinstance(x, np.ndarray) for x in _leaves(list(arguments.values()))):
            return self.run(*operands, **named)
        program = Program()
        returned = Statements(self.definition, program).run({k: _read(program, v) for k, v in arguments.items()})
        many = isinstance(returned, (tuple, list))
        outputs = [self._output(program, x) for x in (returned if many else [returned])]
        if not outputs or len(set(outputs)) < len(outputs):
            raise ExpressionError(f"script {self.__name__!r} expects to return each output once, found {len(outputs)}")
        body = _Given(set(outputs)).rewrite(program.builder.get())
        self._check_shapes(body, outputs)
        buffers = tuple(p.buffer for p in program.inputs.values())
        op = with_outer_loops(ExternOp(self.__name__, tuple(program.inputs), buffers, tuple(outputs), body))
        return op.outputs if many else op.outputs[0]

    def run(self, *operands: Any, **named: Any) -> Any:
        """The values by Python, as arrays of NumPy, numbers among them as Python's.

        Raises ExecutionError for an access out of bounds or of an element that nothing has written, and ExpressionError
        for tensors among the operands and types that te refuses.
        """
        arguments = self.definition.arguments(operands, named)
        if any(isinstance(x, (Tensor, Expr)) for x in _leaves(list(arguments.values()))):
            raise ExpressionError(f"script {self.__name__!r} expects arrays or tensors, found both")
        return _array(run(self.definition, {k: _as_elements(v) for k, v in arguments.items()}))

    def _output(self, program: Program, value: Any) -> Buffer:
        if isinstance(value, BufferPointer) and value.buffer in program.results:
            return value.buffer
        found = (
            type(value).__name__ if not isinstance(value, BufferPointer) else f"{value.buffer.name!r}, which is none"
        )
        last = self.definition.body[-1]
        raise self.definition.source.fault(
            last, f"a script that is called with tensors returns output_tensors, found {found}"
        )

    def _check_shapes(self, body: Stmt, outputs: list[Buffer]) -> None:
        inner = {n.var for n in walk(body) if isinstance(n, (For, Let))}
        for buffer in outputs:
            if any(free_vars(extent) & inner for extent in buffer.shape):
                raise ExpressionError(
                    f"script {self.__name__!r}: the shape of output {buffer.name!r} expects what is known before it "
                    f"runs, found {buffer.type}"
                )

    def __repr__(self) -> str:
        return f"Script({self.__name__}{self.definition.signature})"


def script(function: Callable[..., Any]) -> Script:
    """A function of Python as a script: `docs/te.md` lists the subset that it is written in.

    Raises ScriptError, with line and column, for a construct outside of the subset, and ExpressionError for a function
    without source.
    """
    return Script(function)


class _Given(StatementRewriter):
    """Outputs are given, not allocated."""

    def __init__(self, outputs: set[Buffer]) -> None:
        self.outputs = outputs

    def rewrite_Allocate(self, s: Allocate) -> Stmt:
        return self.rewrite(s.body) if s.buffer in self.outputs else self.descend(s)


def _leaves(value: Any) -> Iterator[Any]:
    """The items of lists and tuples, and of those in them."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _read(program: Program, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_read(program, v) for v in value)
    return program.read(value) if isinstance(value, Tensor) else plain(value)


def _as_elements(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_as_elements, value))
    if isinstance(value, np.ndarray):
        return Elements(value, None, is_result=False)
    if isinstance(value, np.generic):
        return Number(value.item(), plain(value).dtype)
    return value


def _array(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_array, value))
    if isinstance(value, Elements):
        return value.array
    return value.value if isinstance(value, Number) else value
