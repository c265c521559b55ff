"""Sets of operators: what readers of text and of models know by name, and how users change what some compute."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace

from sateen.graph_ir.op import Op
from sateen.runtime.display import named
from sateen.runtime.errors import ArgumentError
from sateen.runtime.target import Target
from sateen.topi.operator import Computation, Operator

OpClass = type[Op] | type[Operator]
Lowering = Callable[..., Computation | None]
"""function(op, *inputs, outputs=types): the computation of an operator in place of its own, which None keeps."""

_QUALIFIED = re.compile(r"[A-Za-z][\w-]*(\.[\w-]+)+", re.ASCII)


@dataclass(frozen=True)
class OpSet:
    """Operators by name, and lowerings by operator and kind of target. A value: changing one makes another."""

    ops: Mapping[str, OpClass]
    lowerings: Mapping[tuple[OpClass, str], Lowering] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"OpSet({named([*self.ops])})"

    @staticmethod
    def of(*ops: OpClass) -> OpSet:
        return OpSet({}).with_ops(*ops)

    def with_ops(self, *ops: OpClass) -> OpSet:
        """This set and more operators: classes of ours, or of any package (sateen.topi.Operator).

        Raises ArgumentError for what is no operator, and for a name that another one has.
        """
        known = dict(self.ops)
        for op in ops:
            name = name_of(op)
            if known.setdefault(name, op) is not op:
                raise ArgumentError(f"expected one operator {name!r}, found {_place(known[name])} and {_place(op)}")
        return replace(self, ops=known)

    def with_lowering(self, op: OpClass, kind: str, function: Lowering) -> OpSet:
        """This set, where `function` computes an operator on targets of a kind such as "llvm".

        It gets the operator, views of the inputs and the types of the `outputs`, as `Op.compute` does, and gives a
        computation of the same values, or None where the operator's own is to stay. A later function for the same
        operator and kind replaces an earlier one. Raises ArgumentError for an operator that is not of this set and
        TargetError for an unknown kind.
        """
        name = name_of(op)
        if self.ops.get(name) is not op:
            raise ArgumentError(f"expected an operator of this set, found {_place(op)} ({name!r})")
        return replace(self, lowerings={**self.lowerings, (op, Target(kind).kind): function})


def name_of(op: OpClass) -> str:
    """What text form calls an operator. Raises ArgumentError for what is no class of operators."""
    if not isinstance(op, type) or not issubclass(op, (Op, Operator)):
        raise ArgumentError(f"expected a subclass of sateen.topi.Operator, found {op!r}")
    if issubclass(op, Op):
        return op.op_name()
    name = getattr(op, "name", None)
    if not isinstance(name, str) or not _QUALIFIED.fullmatch(name):
        raise ArgumentError(f"{_place(op)}: expected a qualified name such as 'acme.Swish', found {name!r}")
    if not is_dataclass(op) or op.__hash__ is None or not op.__dataclass_params__.frozen:
        raise ArgumentError(f"{_place(op)}: expected a frozen dataclass, whose fields are the attributes")
    return name


def _place(op: OpClass) -> str:
    return f"{op.__module__}.{op.__qualname__}"


__all__ = ["Lowering", "OpClass", "OpSet", "name_of"]
