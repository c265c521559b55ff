"""Operators that a reader refuses, those of its format and unknown ones: why, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sateen.frontends.core.report import UnsupportedError
from sateen.runtime.display import did_you_mean

Refusal = tuple[str, str]
"""The reason, and what would help."""
BRING = "bring the operator (operators=, or an installed package: docs/operators.md)"
END = "end the network before it: outputs=[...], or --to NAME"
BEGIN = "begin the network behind it: inputs=[...], or --from NAME"
DATA_DECIDES: Refusal = (
    "how many elements it gives depends on the values of its inputs, while sateen compiles for known shapes",
    f"{END}, and do what follows outside",
)
LABELS: Refusal = ("it compares with labels, which there are only in training", END)


def refusal_by(
    refusals: Mapping[str, Refusal],
    operator: str,
    known: Iterable[str] = (),
    kind: str = "operator",
    remedy: str = f"{BRING}, or {END}; or {BEGIN}",
) -> UnsupportedError:
    """The error about an operator without a converter: that of the table, or that it is unknown, with the closest of
    the known ones. `kind` is the format's word for operators."""
    unknown = f"sateen has no such {kind}{did_you_mean(operator, known)}", remedy
    return UnsupportedError(*refusals.get(operator, unknown))
