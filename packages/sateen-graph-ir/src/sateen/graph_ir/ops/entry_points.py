"""Operators that installed packages offer."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from sateen.graph_ir.ir import OpSet
from sateen.graph_ir.ops.table import OPS
from sateen.runtime.errors import ArgumentError
from sateen.topi.operators import Operator

GROUP = "sateen.operators"
"""The group of entry points through which packages offer operators: subclasses of sateen.topi.Operator, or tuples of
them."""


def installed_operators(operators: OpSet = OPS) -> OpSet:
    """A set of operators extended with those of all installed packages (entry points `sateen.operators`).

    Imports these packages, so their code runs. Only a call of this function does that, never a model or a text. Raises
    ArgumentError with the package's name if one can't be imported, offers something else, or offers an operator whose
    name is taken.
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
