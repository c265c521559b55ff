"""The page of errors has every class in its table."""

import re
from pathlib import Path

from sateen import runtime
from sateen.runtime import SateenError

PAGE = (Path(__file__).parents[1] / "docs" / "errors.md").read_text(encoding="utf-8")


def test_the_table_has_every_class() -> None:
    (table,) = re.findall(r"^\| class .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    listed = {name for row in table.splitlines() for name in re.findall(r"`(\w+Error)`", row.split(" | ")[0])}
    listed -= {"TypeError"}  # which some of them are, too
    classes = [getattr(runtime, name) for name in runtime.__all__ if name.endswith("Error")]
    assert listed == {one.__name__ for one in classes if one is not SateenError and issubclass(one, SateenError)}
