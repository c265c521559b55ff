"""Instructions of users: a computation of te, and the code that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.code import FunctionText, StatementText, VectorCall
from sateen.tensor_ir.intrinsics.definition import loops_of, reset_of, update_of
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Call
from sateen.tensor_ir.ir.external import PACKED
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.ir.tensor_expr import Reduce
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.te.extern_body import program
from sateen.tensor_ir.te.tensor import Operation, Tensor

OTHERWISE = ("refuse", "definition")
_SUFFIX = {"body": "", "reduce_init": ".reset", "reduce_update": ".update"}
"""What the names of parts have behind that of the instruction."""


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[[list[Buffer], list[Buffer]], Any] | None = None,
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    otherwise: str = "refuse",
) -> TensorIntrinsic:
    """An instruction that computes `op`, for `s[C].tensorize`, `ib.intrinsic` and calls in `te.compute`.

    Its inputs are the placeholders from which `op` is computed, in the order in which they are read. `fcompute(ins,
    outs)` gets a buffer for each input and each output, and gives the code:

    - a statement (`ib.get()`) or a call (`te.call_extern`), for all targets,
    - a `VectorCall` or a `FunctionText` for llvm, a `StatementText` for c and opencl,
    - or a list of these, the first of which that a target takes is its code.

    Of a reduction it may give three of these: (body, reduce_init, reduce_update). `body` computes all of it,
    `reduce_init` stores its identity and `reduce_update` combines what the outputs hold with more terms, so that loops
    of the reduction may be around; `body` may be None then, and so may `reduce_init`, in the place of which are loops.
    Operands may overlap, such as where arguments of a function do (`aliased`), so texts read what they need before they
    write; of a statement inputs are copied where it does not.

    `binds` gives buffers of `te.decl_buffer` in the place of compact ones. Their strides may be variables; a scope
    other than global is that of the storage. A target for which there is no code refuses the instruction, or with
    `otherwise="definition"` computes `op` by plain loops.

    Raises ExpressionError for an operation that is no compute or that reads no placeholder, for code of other kinds,
    for a body that uses what it did not get, and for buffers of another type or shape than their tensors.
    """
    where = f"decl_tensor_intrin of {name!r}"
    if not isinstance(op, Operation) or not op.body:
        found = f"{op!r:.80}"
        if isinstance(op, Tensor):
            found = f"tensor {op.name!r}; its operation is .op"
        elif isinstance(op, Operation):
            found = f"the {type(op).__name__} {op.name!r}"
        raise ExpressionError(f"{where} expects the operation of a te.compute, found {found}")
    if otherwise not in OTHERWISE:
        raise ExpressionError(f"{where} expects otherwise to be {' or '.join(OTHERWISE)}, found {otherwise!r:.80}")
    declaration = _Declaration(where, name, op, _storage(where, op, binds or {}), otherwise)
    return declaration.of(fcompute)


@dataclass
class _Code:
    """The code of one part, by the targets that take it."""

    llvm: list[VectorCall | FunctionText] = field(default_factory=list)
    text: StatementText | None = None
    body: Stmt | None = None


@dataclass
class _Declaration:
    where: str
    name: str
    op: Operation
    buffers: dict[Tensor, Buffer]
    """Those of the outputs, then those of the inputs."""
    otherwise: str

    def of(self, fcompute: Callable[[list[Buffer], list[Buffer]], Any] | None) -> TensorIntrinsic:
        """The instruction with the code that the function gives."""
        outputs, inputs = self.op.outputs, tuple(self.buffers)[len(self.op.outputs) :]
        if fcompute is None and self.otherwise == "refuse":
            raise ExpressionError(
                f"{self.where} expects a function that gives code, or otherwise='definition', found neither"
            )
        body = reset = update = None
        if fcompute is not None:
            given = fcompute([self.buffers[t] for t in inputs], [self.buffers[t] for t in outputs])
            parts = given if isinstance(given, tuple) else (given, None, None)
            if len(parts) != 3:
                raise ExpressionError(
                    f"{self.where} expects code or (body, reduce_init, reduce_update), found {len(parts)} parts"
                )
            body, reset, update = parts
        reduction = self.op.body[0]
        if (reset is not None and update is None) or (update is not None and not isinstance(reduction, Reduce)):
            found = "one of them" if isinstance(reduction, Reduce) else f"{self.op.name!r}, which is none"
            raise ExpressionError(f"{self.where} expects reduce_init and reduce_update of a reduction, found {found}")
        first = second = None
        if isinstance(reduction, Reduce) and (update is not None or fcompute is None):
            if reset is not None or fcompute is None:
                first = self._part("reduce_init", reset, reset_of(outputs, reduction), ())
            before, results = update_of(outputs, reduction)
            second = self._part("reduce_update", update, results, (*before, *inputs), before)
        return self._part("body", body, outputs, inputs, (), first, second)

    def _part(
        self,
        part: str,
        given: Any,
        outputs: tuple[Tensor, ...],
        inputs: tuple[Tensor, ...],
        in_place: tuple[Tensor, ...] = (),
        reset: TensorIntrinsic | None = None,
        update: TensorIntrinsic | None = None,
    ) -> TensorIntrinsic:
        """One of the parts as an instruction, with its own definition."""
        outs = [self.buffers[t] for t in self.op.outputs]
        buffers = {**self.buffers, **dict(zip(outputs, outs, strict=True)), **dict(zip(in_place, outs, strict=False))}
        code = self._code(part, given, [buffers[t] for t in inputs if t not in in_place], outs)
        for call in (c for c in code.llvm if isinstance(c, VectorCall) and len(c.operands) != len(inputs)):
            names = ", ".join(t.name for t in inputs)
            raise ExpressionError(
                f"{self.where}, {part} expects a VectorCall on {len(inputs)} operands ({names}), found "
                f"{len(call.operands)} of {call.name!r}"
            )
        if code.body is None and self.otherwise == "definition":
            code.body = loops_of(outputs, buffers)
        return TensorIntrinsic(
            self.name + _SUFFIX[part], inputs, outputs, tuple(code.llvm), code.text, code.text,
            tuple(buffers[t] for t in (*outputs, *inputs)), code.body, in_place, reset, update,
        )  # fmt: skip

    def _code(self, part: str, given: Any, ins: Sequence[Buffer], outs: Sequence[Buffer]) -> _Code:
        code = _Code()
        for item in [] if given is None else given if isinstance(given, list) else [given]:
            match item:
                case VectorCall() | FunctionText():
                    code.llvm.append(item)
                case StatementText() if code.text is None:
                    code.text = item
                case Stmt() | Call() if code.body is None:
                    code.body = program(f"{self.where}, {part}", item, ins, outs)
                    self._check_calls(code.body)
                case _:
                    kinds = "a statement or a call, a StatementText, and VectorCall or FunctionText"
                    raise ExpressionError(f"{self.where}, {part} expects {kinds}, found {type(item).__name__}")
        return code

    def _check_calls(self, body: Stmt) -> None:
        for call in (n for n in walk(body) if isinstance(n, Call) and n.name.startswith(PACKED)):
            raise ExpressionError(
                f"{self.where}: packed function {call.name.removeprefix(PACKED)!r} takes whole buffers, and an operand "
                "is a part of one; te.call_extern takes its address (access_ptr) and strides"
            )


def _storage(where: str, op: Operation, binds: Mapping[Tensor, Buffer]) -> dict[Tensor, Buffer]:
    """The buffers of the outputs, then those of the inputs."""
    operands = [*op.outputs, *_placeholders(op)]
    if len(operands) == len(op.outputs):
        raise ExpressionError(f"{where} expects {op.name!r} to be computed from placeholders, found none")
    for tensor in binds:
        if tensor not in operands:
            known = ", ".join(t.name for t in operands)
            raise ExpressionError(f"{where} expects binds of {known}, found {getattr(tensor, 'name', tensor)!r}")
    analyzer = Analyzer()
    for tensor, buffer in binds.items():
        fits = isinstance(buffer, Buffer) and buffer.dtype == tensor.dtype and len(buffer.shape) == tensor.ndim
        if not fits or not all(analyzer.prove(a.equal(b)) for a, b in zip(buffer.shape, tensor.shape, strict=True)):
            found = buffer.type if isinstance(buffer, Buffer) else type(buffer).__name__
            raise ExpressionError(f"{where} expects the buffer of {tensor.name!r} to be {tensor.type}, found {found}")
    return {t: binds[t] if t in binds else Buffer(t.name, t.shape, t.dtype, alignment=t.dtype.bytes) for t in operands}


def _placeholders(op: Operation) -> list[Tensor]:
    """The given tensors from which an operation is computed, in the order in which they are read."""
    found: dict[Tensor, None] = {}
    for t in op.inputs:
        if t.op.is_given and t.op.data is None:
            found.setdefault(t)
        else:
            found.update(dict.fromkeys(_placeholders(t.op)))
    return list(found)
