"""The structures in ctypes have the layout that a C compiler gives those of the shipped header."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from sateen.runtime.abi import (
    ABI_VERSION,
    DLDataType,
    DLDevice,
    DLTensor,
    Failure,
    SateenDevice,
    SateenHost,
    SateenLaunch,
    SateenPlace,
    Status,
)

STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "DLDevice": DLDevice,
    "DLDataType": DLDataType,
    "DLTensor": DLTensor,
    "sateen_host": SateenHost,
    "sateen_place": SateenPlace,
    "sateen_launch": SateenLaunch,
    "sateen_device": SateenDevice,
}


def test_the_header_describes_the_same_structures(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here: expected cc, to measure the structures of sateen.h")
    header = resources.files("sateen.runtime") / "include" / "sateen.h"
    (tmp_path / "sateen.h").write_text(header.read_text(encoding="utf-8"), encoding="utf-8")
    places = [(name, field[0]) for name, structure in STRUCTURES.items() for field in structure._fields_]
    lines = [f'printf("%zu\\n", sizeof({name}));' for name in STRUCTURES]
    lines += [f'printf("%zu\\n", offsetof({name}, {field}));' for name, field in places]
    program = '#include <stddef.h>\n#include <stdio.h>\n#include "sateen.h"\nint main(void) {\n%s\nreturn 0; }\n'
    (tmp_path / "layout.c").write_text(program % "\n".join(lines), encoding="utf-8")
    command = [compiler, "-Wall", "-Werror", "-o", str(tmp_path / "layout"), str(tmp_path / "layout.c")]
    subprocess.run(command, check=True, timeout=60)
    printed = subprocess.run([tmp_path / "layout"], check=True, timeout=60, capture_output=True, text=True).stdout
    expected = [ctypes.sizeof(structure) for structure in STRUCTURES.values()]
    expected += [getattr(STRUCTURES[name], field).offset for name, field in places]
    assert list(map(int, printed.split())) == expected


def test_the_host_table_has_room_for_nothing_else() -> None:
    assert ctypes.sizeof(SateenHost) == 8 + 7 * ctypes.sizeof(ctypes.c_void_p)
    assert ABI_VERSION == 2


def test_a_status_is_taken_apart() -> None:
    assert Failure.of(6 | 2 << 8 | 3 << 24) == (Status.SHAPE, 2, 3)
    assert Failure.of(Status.STRIDES.at(65535, 127)) == (Status.STRIDES, 65535, 127)
    assert Failure.of(6 | 2 << 8 | 3 << 16, abi_version=1) == (Status.SHAPE, 2, 3)
    assert Failure.of(-1) == (255, 65535, 127)
