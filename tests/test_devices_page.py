"""The programs of docs/devices.md run, one after the other, where there is a device of OpenCL."""

import re
import runpy
from pathlib import Path

import pytest

from sateen import runtime
from sateen.runtime.errors import DeviceError

PAGE = Path(__file__).parents[1] / "docs" / "devices.md"
BLOCK = re.compile(r"^```python notest(?: continuation)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_programs_of_the_page_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        runtime.open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 3
    program = tmp_path / "page.py"
    program.write_text("".join(blocks), encoding="utf-8")
    runpy.run_path(str(program))
    assert capsys.readouterr().out == "NDArray(float32[4, 8] on opencl(0))\n"
