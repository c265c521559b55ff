"""README.md: the table of networks is that of docs/benchmarks.md."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_table_of_the_readme_has_the_figures_of_the_page_of_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    readme = importlib.import_module("readme")
    _, shown, _ = (ROOT / "README.md").read_text(encoding="utf-8").split(readme.MARK)
    assert shown.strip() == readme.speed_table()
