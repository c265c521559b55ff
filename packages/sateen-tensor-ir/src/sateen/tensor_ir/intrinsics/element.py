"""What an instruction does to one element of its outputs, read from its te definition: a form that a stage is compared
with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.tensor_expr import Combiner, Read, Reduce
from sateen.tensor_ir.ir.visit import SharingRewriter, substitute, walk
from sateen.tensor_ir.te.reduction import combine
from sateen.tensor_ir.te.tensor import Operation, Tensor, reads


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """`terms` over `axes` and `reduce_axes`, one for each output, reduced by `combiner` if there is one; a term where
    `where` is false is absent.

    With `states`, an input for each output, the instruction combines the result with them; otherwise it starts from the
    identity.
    """

    axes: tuple[IterVar, ...]
    reduce_axes: tuple[IterVar, ...]
    combiner: Combiner | None
    states: tuple[Tensor, ...]
    terms: tuple[Expr, ...]
    where: Expr = ex.TRUE

    @property
    def read(self) -> tuple[Read[Tensor], ...]:
        """The reads of inputs that are no states."""
        return tuple(r for e in (*self.terms, self.where) for r in reads(e))


def element_of(instruction: Instruction) -> Element:
    """The element of an instruction's outputs.

    Raises ScheduleError for outputs of several computations, a reduction whose result is used other than combined with
    inputs, and for an input that is read nowhere, or where data says.
    """
    op = instruction.outputs[0].op
    if instruction.outputs != op.outputs:
        names = ", ".join(t.name for t in instruction.outputs)
        raise ScheduleError(
            f"tensorize expects {instruction.name!r} to have the outputs of one computation, found {names}"
        )
    inlined = _Inlined(instruction)
    bodies = tuple(map(inlined.rewrite, op.body))
    if isinstance(bodies[0], Reduce):
        return _reduced(instruction, op.axis, (), bodies[0], {})
    between = dict.fromkeys(r.tensor.op for b in bodies for r in reads(b) if r.tensor not in instruction.inputs)
    if not between:
        return _checked(instruction, Element(op.axis, (), None, (), bodies))
    (reduction, *others) = between
    states = None if others else _states(instruction, op, reduction, bodies)
    if states is None:
        raise ScheduleError(
            f"tensorize expects {instruction.name!r} to combine a reduction with inputs at the same indices, found "
            f"{op.outputs[0].name} = {bodies[0]}"
        )
    total = reduction.body[0]
    assert isinstance(total, Reduce)
    return _reduced(instruction, op.axis, states, total, dict(zip(reduction.axis, op.axis, strict=True)))


def _states(
    instruction: Instruction, op: Operation, reduction: Operation, bodies: Sequence[Expr]
) -> tuple[Tensor, ...] | None:
    """The inputs with which an operation combines the results of a reduction as the reduction does; None if it does
    something else."""
    total = reduction.body[0]
    read = [r for b in bodies for r in reads(b)]
    if not isinstance(total, Reduce) or len(reduction.outputs) != len(bodies) or not all(_is_at(r, op) for r in read):
        return None
    results = [Read(t, op.axis, t.dtype) for t in reduction.outputs]
    given = {r.tensor: r for r in read if r.tensor in instruction.inputs}
    keys = Analyzer().keys
    wanted = [keys.of(b) for b in bodies]
    for before in permutations(given.values(), len(bodies)):
        if [r.dtype for r in before] != [r.dtype for r in results]:
            continue
        for left, right in ((before, results), (results, before)):
            if [keys.of(e) for e in combine(total.combiner, left, right)] == wanted:
                return tuple(r.tensor for r in before)
    return None


def _is_at(read: Read[Tensor], op: Operation) -> bool:
    """Whether an element is read at the indices of the operation's own."""
    return len(read.indices) == len(op.axis) and all(i is a for i, a in zip(read.indices, op.axis, strict=True))


def _reduced(
    instruction: Instruction,
    axes: tuple[IterVar, ...],
    states: tuple[Tensor, ...],
    total: Reduce,
    values: Mapping[Var, Expr],
) -> Element:
    inlined = _Inlined(instruction)
    *terms, where = (inlined.rewrite(substitute(e, values)) for e in (*total.sources, total.where))
    return _checked(instruction, Element(axes, total.axes, total.combiner, states, tuple(terms), where))


def _checked(instruction: Instruction, element: Element) -> Element:
    """The element, which reads each input, at indices over axes alone."""
    axes = {*element.axes, *element.reduce_axes}
    for read in element.read:
        inside = {n for index in read.indices for n in walk(index)}
        if any(isinstance(n, Read) or (isinstance(n, Var) and n not in axes) for n in inside):
            raise ScheduleError(
                f"tensorize expects {instruction.name!r} to read its inputs at indices over its axes, found {read}"
            )
    known = {read.tensor for read in element.read}
    for tensor in instruction.inputs:
        if tensor not in known and tensor not in element.states:
            raise ScheduleError(f"tensorize expects {instruction.name!r} to read input {tensor.name!r}, found no read")
    return element


class _Inlined(SharingRewriter):
    """Puts element-wise steps of the definition in the place of reads of them."""

    def __init__(self, instruction: Instruction) -> None:
        super().__init__()
        self.inputs = instruction.inputs

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        op = e.tensor.op
        if e.tensor in self.inputs or op.reduce_axis or not op.body:
            return e
        return self.rewrite(substitute(op.body[e.tensor.index], dict(zip(op.axis, e.indices, strict=True))))
