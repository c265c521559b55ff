"""What an instruction does to one element of its output, read from its te definition: a form that a stage is compared
with."""

from __future__ import annotations

from dataclasses import dataclass

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.intrinsics.intrinsic import TensorIntrinsic
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.tensor_expr import Combiner, Read, Reduce
from sateen.tensor_ir.ir.visit import SharingRewriter, substitute
from sateen.tensor_ir.te.reduction import combine
from sateen.tensor_ir.te.tensor import Tensor, reads


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """`term` over `axes` and `reduce_axes`, reduced by `combiner` if there is one.

    With a `state`, an input, the instruction combines the result with it; otherwise it starts from the identity.
    """

    axes: tuple[IterVar, ...]
    reduce_axes: tuple[IterVar, ...]
    combiner: Combiner | None
    state: Tensor | None
    term: Expr


def element_of(instruction: TensorIntrinsic) -> Element:
    """The element of an instruction's output.

    Raises ScheduleError for several outputs, a reduction under a condition, one whose result is used other than
    combined with an input, and for an input that is read at several places or not at affine ones.
    """
    if len(instruction.outputs) != 1:
        found = len(instruction.outputs)
        raise ScheduleError(f"tensorize expects an instruction with one output, found {found} of {instruction.name!r}")
    op = instruction.outputs[0].op
    body = _Inlined(instruction).rewrite(op.body[0])
    if isinstance(body, Reduce):
        return _reduced(instruction, op.axis, None, body)
    for given, total in ((body.a, body.b), (body.b, body.a)) if isinstance(body, ex.Binary) else ():
        if isinstance(given, Read) and isinstance(total, Read) and _is_combined(body, given, total):
            reduction = total.tensor.op
            if given.tensor not in instruction.inputs or not _is_at(given, op.axis) or not _is_at(total, op.axis):
                break
            named: dict[Var, Expr] = dict(zip(reduction.axis, op.axis, strict=True))
            return _reduced(instruction, op.axis, given.tensor, reduction.body[0], named)
    if any(r.tensor not in instruction.inputs for r in reads(body)):
        raise ScheduleError(
            f"tensorize expects {instruction.name!r} to combine a reduction with an input at the same indices, found "
            f"{op.outputs[0].name} = {body}"
        )
    return _checked(instruction, Element(op.axis, (), None, None, body))


def _is_combined(body: Expr, given: Read[Tensor], total: Read[Tensor]) -> bool:
    """Whether `body` combines a value with the result of a reduction as that reduction does."""
    reduction = total.tensor.op.body[0] if total.tensor.op.body else None
    if not isinstance(reduction, Reduce) or len(reduction.sources) != 1:
        return False
    keys = Analyzer().keys
    orders = (given, total), (total, given)
    return any(keys.of(combine(reduction.combiner, (a,), (b,))[0]) == keys.of(body) for a, b in orders)


def _is_at(read: Read[Tensor], axes: tuple[IterVar, ...]) -> bool:
    """Whether an element is read at these indices."""
    return len(read.indices) == len(axes) and all(i is a for i, a in zip(read.indices, axes, strict=True))


def _reduced(
    instruction: TensorIntrinsic,
    axes: tuple[IterVar, ...],
    state: Tensor | None,
    total: Expr,
    values: dict[Var, Expr] | None = None,
) -> Element:
    assert isinstance(total, Reduce)
    if len(total.sources) != 1 or not ex.is_const(total.where, True):
        raise ScheduleError(
            f"tensorize expects {instruction.name!r} to reduce one value without condition, found "
            f"{total.combiner.name} of {len(total.sources)} where {total.where}"
        )
    term = _Inlined(instruction).rewrite(substitute(total.sources[0], values or {}))
    return _checked(instruction, Element(axes, total.axes, total.combiner, state, term))


def _checked(instruction: TensorIntrinsic, element: Element) -> Element:
    """The element, every input of which is read at one place, from the first element of the input on."""
    axes = {*element.axes, *element.reduce_axes}
    analyzer = Analyzer()
    places: dict[Tensor, set[int]] = {t: set() for t in instruction.inputs if t is not element.state}
    for read in reads(element.term):
        places.setdefault(read.tensor, set()).add(analyzer.keys.of(read))
        for form in map(analyzer.form, read.indices):
            if form.constant or not axes.issuperset(form.terms):
                raise ScheduleError(
                    f"tensorize expects {instruction.name!r} to read its inputs from index 0 on, at sums of multiples "
                    f"of its axes, found {read}"
                )
    for tensor, found in places.items():
        if len(found) != 1:
            raise ScheduleError(
                f"tensorize expects {instruction.name!r} to read input {tensor.name!r} at one place, found {len(found)}"
            )
    return element


class _Inlined(SharingRewriter):
    """Puts element-wise steps of the definition in the place of reads of them."""

    def __init__(self, instruction: TensorIntrinsic) -> None:
        super().__init__()
        self.inputs = instruction.inputs

    def rewrite_Read(self, e: Read[Tensor]) -> Expr:
        op = e.tensor.op
        if e.tensor in self.inputs or op.reduce_axis or not op.body:
            return e
        return self.rewrite(substitute(op.body[e.tensor.index], dict(zip(op.axis, e.indices, strict=True))))
