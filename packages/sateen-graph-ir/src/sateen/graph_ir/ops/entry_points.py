"""Operators that installed packages offer."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from sateen.graph_ir.ir import OpSet
from sateen.graph_ir.ops.table import OPS
from sateen.runtime.errors import ArgumentError
from sateen.topi.operators import Operator

GROUP = "sateen.operators"
"""Of the entry points by which packages offer operators: subclasses of sateen.topi.Operator, or tuples of them."""


def installed_operators(operators: OpSet = OPS) -> OpSet:
    """A set of operators and those of all installed packages (entry points `sateen.operators`).

    Imports these packages, so their code runs: nothing but a call of this function does that, no model and no text.
    Raises ArgumentError, telling the package, where one can't be imported, offers something else, or offers an operator
    of a name that is taken.
    """
    for entry_point in sorted(entry_points(group=GROUP)):
        try:
            operators = operators.with_ops(*_offered(entry_point))
        except (ArgumentError, ImportError, AttributeError) as error:
            package = "" if entry_point.dist is None else f" of package {entry_point.dist.name!r}"
            raise ArgumentError(f"entry point {entry_point.name!r}{package} in {GROUP}: {error}") from error
    return operators


def _offered(entry_point: EntryPoint) -> tuple[type[Operator], ...]:
    offered = entry_point.load()
    return offered if isinstance(offered, tuple) else (offered,)
