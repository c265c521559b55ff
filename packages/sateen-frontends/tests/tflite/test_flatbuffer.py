"""Tables of FlatBuffers, whole and damaged."""

import random
import struct
from contextlib import suppress

import pytest

from sateen.frontends import from_tflite
from sateen.frontends.tflite import flatbuffer
from sateen.frontends.tflite.flatbuffer import (
    Choice,
    Data,
    Flag,
    Many,
    Number,
    Numbers,
    One,
    Reader,
    Text,
    Union,
    defaults_of,
    kind,
)
from sateen.runtime.errors import FrontendError

POINT = kind("Point", x=Number("i"), y=Number("i", 7))
NET = kind(
    "Net",
    name=Text(),
    mode=Choice(("ONE", "OTHER")),
    flag=Flag(True),
    numbers=Numbers("h"),
    first=One(POINT),
    points=Many(POINT),
    which=Number("B"),
    chosen=Union("which", {2: POINT}),
)


def _point(data: bytearray, x: int) -> int:
    """Appends a table with x alone; its vtable precedes it."""
    vtable = len(data)
    data += struct.pack("<HHHH", 6, 8, 4, 0)
    data += struct.pack("<ii", len(data) - vtable, x)
    return len(data) - 8


def test_absent_fields_have_defaults():
    found = defaults_of(NET)
    assert found == {
        "name": "",
        "mode": "ONE",
        "flag": True,
        "numbers": None,
        "first": None,
        "points": (),
        "which": 0,
        "chosen": None,
    }


def test_a_table_is_read_by_its_slots():
    data = bytearray(4)
    position = _point(data, -5)
    struct.pack_into("<I", data, 0, position)
    assert Reader(bytes(data)).root(POINT) == {"x": -5, "y": 7}


def test_a_field_outside_its_table_is_refused():
    data = bytearray(4)
    position = _point(data, 1)
    struct.pack_into("<I", data, 0, position)
    struct.pack_into("<H", data, 4 + 4, 8)
    with pytest.raises(FrontendError, match="field x of Point lies outside its table: 8 of 8 bytes"):
        Reader(bytes(data)).root(POINT)


def test_tables_that_share_parts_are_bounded():
    """A vector of n offsets to one vector of n tables would be n² tables."""
    net = kind("Net", rows=Many(kind("Row", points=Many(POINT))))
    count, data = 200, bytearray(8)

    def table(size: int) -> int:
        """A table of one field, a vector of `count` offsets behind it, all to what follows that."""
        vtable = len(data)
        data.extend(struct.pack("<HHH", 6, size, 4) + bytes(2))
        position = len(data)
        data.extend(struct.pack("<iII", position - vtable, 4, count))
        data.extend(b"".join(struct.pack("<I", 4 * (count - i) + 8) for i in range(count)))
        return position

    struct.pack_into("<I", data, 0, table(8))
    table(8)
    _point(data, 1)
    with pytest.raises(FrontendError, match="its tables share parts, and describe more than it holds"):
        Reader(bytes(data)).root(net)


def _repeated(count: int) -> bytes:
    """A table with a vector of `count` offsets to one point."""
    data = bytearray(struct.pack("<IHHHxxiII", 12, 6, 8, 4, 8, 4, count) + bytes(4 * count))
    position = _point(data, 1)
    for place in range(24, 24 + 4 * count, 4):
        struct.pack_into("<I", data, place, position - place)
    return bytes(data)


def test_a_table_that_a_vector_repeats_is_bounded(monkeypatch):
    net = kind("Net", points=Many(POINT))
    assert len(Reader(_repeated(20)).root(net)["points"]) == 20
    monkeypatch.setattr(flatbuffer, "MOST_TABLES", 20)
    with pytest.raises(FrontendError, match="expected a file of at most 20 tables, found more"):
        Reader(_repeated(20)).root(net)


def test_numbers_that_become_values_of_python_are_bounded(monkeypatch):
    lists, arrays = kind("Net", numbers=Numbers("B")), kind("Net", numbers=Data("B"))
    data = struct.pack("<I4xHHHxxiII", 16, 6, 8, 4, 8, 4, 1000) + bytes(1000)
    assert len(Reader(data).root(lists)["numbers"]) == 1000
    monkeypatch.setattr(flatbuffer, "MOST_DESCRIBED", 999)
    assert Reader(data).root(arrays)["numbers"].shape == (1000,)
    with pytest.raises(FrontendError, match="at most 999 bytes of tables, numbers and names, found more"):
        Reader(data).root(lists)


def test_damage_is_a_frontend_error(model):
    model.inputs = [model.tensor("x", (2, 3))]
    model.outputs = [model.tensor("y", (2, 3))]
    model.node("SOFTMAX", model.inputs, model.outputs, beta=1.0)
    whole = model.bytes()
    draw = random.Random(0)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(8, len(data))] = draw.choice((0, 1, 127, 128, 255, draw.randrange(256)))
        with suppress(FrontendError):
            from_tflite(bytes(data[: draw.randint(8, len(data))]))
