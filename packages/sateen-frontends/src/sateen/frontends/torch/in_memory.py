"""Programs in memory, of which torch itself makes the bytes of a file."""

from __future__ import annotations

from copy import copy
from io import BytesIO
from os import PathLike
from typing import Any

from sateen.frontends.core.packages import imported
from sateen.frontends.core.source import Given
from sateen.frontends.torch.converters import key_of
from sateen.runtime.display import shortened
from sateen.runtime.errors import FrontendError

MOST_REASON = 400
"""The most characters of an error of torch in a message."""
_MISSING = "reading a program in memory needs torch: pip install torch"


def saved(program: Given | Any) -> Given:
    """The bytes of a program in memory; a path, or bytes, as they are.

    Where an operator has no converter here, torch first decomposes those that have none, as far as it knows how.
    """
    if isinstance(program, (str, bytes, PathLike)):
        return program  # type: ignore[return-value]  # a path, which read_source takes
    torch = imported("torch", _MISSING)
    if not isinstance(program, torch.export.ExportedProgram):
        expected = "a path, its bytes, or a torch.export.ExportedProgram"
        remedy = "; torch.export.export(module, inputs) makes one" if callable(program) else ""
        raise FrontendError(f"expected {expected}, found {type(program).__name__}{remedy}")
    targets = [node.target for node in program.graph.nodes]
    if any(_is_decomposed(torch, target) for target in targets):
        table = torch.export.default_decompositions()
        for operator in [operator for operator in table if key_of(str(operator)) is not None]:
            del table[operator]
        program = program.run_decompositions(table)
    return _written(torch, program)


def _is_decomposed(torch: Any, target: Any) -> bool:
    """Whether a target has no converter: an operator, or a function of which torch makes higher-order operators."""
    if isinstance(target, torch._ops.OpOverload):
        return key_of(str(target)) is None
    return getattr(target, "__module__", "") == "torch._functorch.predispatch"


def _written(torch: Any, program: Any) -> bytes:
    """What torch writes of a program without its examples and without the structure of its arguments and results,
    which the graph has flat: torch can't write classes of users there. Raises FrontendError if torch can't write it."""
    flat = copy(program)
    flat._module_call_graph = [torch.export.ModuleCallEntry("", None)]
    flat._example_inputs = None
    file = BytesIO()
    try:
        torch.export.save(flat, file)
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise FrontendError(f"torch.export.save can't write the program: {shortened(reason, MOST_REASON)}") from error
    return file.getvalue()
