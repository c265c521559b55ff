"""The page of elementary functions promises the errors that the functions hold, and no others."""

import re
from pathlib import Path

from sateen.tensor_ir.functions import FUNCTIONS


def test_the_page_has_the_error_of_every_function_with_one() -> None:
    page = (Path(__file__).parents[1] / "docs" / "design" / "elementary-functions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z0-9, ]+) \| ([\d.]+)", page, re.MULTILINE)
    promised = {name: float(error) for names, error in rows for name in names.split(", ")}
    assert promised == {f.name: f.error for f in FUNCTIONS.values() if f.error is not None}
