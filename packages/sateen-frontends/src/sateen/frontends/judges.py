"""The judges of models' values, by format. They are separate from the readers, since evaluators take long to import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sateen.frontends.core.peers import Judges
from sateen.frontends.onnx import ONNX, judges
from sateen.frontends.readers import EXPECTED, reader_of
from sateen.runtime import ArgumentError

JUDGES: Mapping[str, Judges] = {ONNX.described: judges.JUDGES}
"""The judges of each format, by the name of such a model in messages."""
NAMES = tuple(dict.fromkeys(name for judges in JUDGES.values() for name in judges.by_name))
"""All judges that `sateen verify --against` knows."""


def judges_of(model: Path, expected: str = EXPECTED) -> Judges:
    """The judges of a model's format. Raises ArgumentError if it has none, and the errors of `reader_of`."""
    described = reader_of(model, expected)[0].described
    if described not in JUDGES:
        raise ArgumentError(f"{model}: nobody else runs {described}; compare with recorded outputs")
    return JUDGES[described]
