"""Sets of operators: readers of text and of models look operators up by name, and users replace computations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sateen.graph_ir.ir.user_lowerings import Lowering
from sateen.runtime.display import named
from sateen.runtime.errors import ArgumentError
from sateen.runtime.target import Target
from sateen.topi.operators import Operator, place_of, require_class


@dataclass(frozen=True)
class OpSet:
    """Operators by name, and lowerings by operator and kind of target. A value: changing one makes another."""

    ops: Mapping[str, type[Operator]]
    lowerings: Mapping[tuple[type[Operator], str], Lowering] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"OpSet({named([*self.ops])})"

    @staticmethod
    def of(*ops: type[Operator]) -> OpSet:
        return OpSet({}).with_ops(*ops)

    def with_ops(self, *ops: type[Operator]) -> OpSet:
        """This set and more operators: classes of ours, or of any package (sateen.topi.Operator).

        Raises ArgumentError for anything but an operator, and for a name that another one has.
        """
        known = dict(self.ops)
        for op in ops:
            name = require_class(op)
            if known.setdefault(name, op) is not op:
                raise ArgumentError(f"expected one operator {name!r}, found {place_of(known[name])} and {place_of(op)}")
        return replace(self, ops=known)

    def with_lowering(self, op: type[Operator], kind: str, function: Lowering) -> OpSet:
        """This set, where `function` computes an operator on targets of a kind such as "llvm".

        It gets the operator, views of the inputs and the types of the `outputs`, as `Operator.compute` does. It gives a
        computation of the same values, or None to keep the operator's own. A later function for the same operator and
        kind replaces an earlier one. Raises ArgumentError for an operator outside this set and TargetError for an
        unknown kind.
        """
        name = require_class(op)
        if self.ops.get(name) is not op:
            raise ArgumentError(f"expected an operator of this set, found {place_of(op)} ({name!r})")
        return replace(self, lowerings={**self.lowerings, (op, Target(kind).kind): function})


__all__ = ["Lowering", "OpSet"]
