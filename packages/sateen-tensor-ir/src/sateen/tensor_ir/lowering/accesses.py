"""The loads and stores of buffers beneath a statement, in the order of the program, with what is around each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import read_by, written_by
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.stmt import Allocate, For, If, Prefetch, Seq, Stmt, Store, While, lets
from sateen.tensor_ir.ir.visit import children, walk
from sateen.tensor_ir.lowering.cut_expressions import always_evaluated


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """An arm of a branch, with the condition under which it runs."""

    condition: Expr


Step = Arm | Stmt
"""A statement around an access, or an arm."""


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A load or a store, with the statements between it and the loop, outermost first.

    `is_lazy` is a load that may be left out where the statement runs.
    """

    node: Load | Store
    chain: tuple[Step, ...]
    is_lazy: bool = False


@dataclass(frozen=True, slots=True)
class Accesses:
    """The accesses of each buffer, and the buffers that are accessed in other ways: by instructions and kernels."""

    of: dict[Buffer, list[Access]] = field(default_factory=dict)
    others: set[Buffer] = field(default_factory=set)

    @staticmethod
    def beneath(s: Stmt) -> Accesses:
        """Those of a statement."""
        found = Accesses()
        found._collect(s, ())
        return found

    def _collect(self, s: Stmt, chain: tuple[Step, ...]) -> None:
        around, s = lets(s)
        for let in around:
            self._loads([let.value], chain)
            chain = (*chain, let)
        match s:
            case Seq():
                for child in s.body:
                    self._collect(child, chain)
            case For():
                self._loads([s.start, s.extent], chain)
                self._collect(s.body, (*chain, s))
            case If():
                self._loads([s.condition], chain)
                self._collect(s.then, (*chain, Arm(s.condition)))
                if s.otherwise is not None:
                    self._collect(s.otherwise, (*chain, Arm(ex.logical_not(s.condition))))
            case While():
                self._loads([s.condition], chain)
                self._collect(s.body, (*chain, s))
            case Allocate():
                self._collect(s.body, (*chain, s))
            case Store():
                self._loads([*s.indices, s.value], chain)
                self.of.setdefault(s.buffer, []).append(Access(s, chain))
            case Prefetch():
                self._loads(s.indices, chain)
            case _:
                self._loads([child for child in children(s) if isinstance(child, Expr)], chain)
                self.others.update(read_by(s), written_by(s))

    def _loads(self, roots: Sequence[Expr], chain: tuple[Step, ...]) -> None:
        always = always_evaluated(roots)
        for root in roots:
            for node in walk(root):
                if isinstance(node, Address):
                    self.others.add(node.buffer)
                elif isinstance(node, Load):
                    self.of.setdefault(node.buffer, []).append(Access(node, chain, id(node) not in always))
