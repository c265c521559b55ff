"""The judges of models' values, by format.

Models of every format are also judged by the definitions of the operators that they become, in the interpreter of
graphs: this judge shares the reader with what it judges, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sateen.frontends.core.peers import Judges
from sateen.frontends.onnx import ONNX
from sateen.frontends.onnx.judges import JUDGES as ONNX_JUDGES
from sateen.frontends.readers import EXPECTED, reader_of

JUDGES: Mapping[str, Judges] = {ONNX.described: ONNX_JUDGES}
"""The judges of each format, by the name of such a model in messages."""
DEFINITIONS = "definitions"
"""The judge of every format."""
NAMES = (*dict.fromkeys(name for judges in JUDGES.values() for name in judges.by_name), DEFINITIONS)
"""All judges that `sateen verify --against` knows."""


def judges_of(model: Path, expected: str = EXPECTED) -> Judges | None:
    """The judges that only a model's format has; None if it has none. Raises the errors of `reader_of`."""
    return JUDGES.get(reader_of(model, expected)[0].described)


def default_judge(model: Path, expected: str = EXPECTED) -> str:
    """The judge to use if the user names none. Raises the errors of `reader_of`."""
    judges = judges_of(model, expected)
    return DEFINITIONS if judges is None else judges.default(model)
