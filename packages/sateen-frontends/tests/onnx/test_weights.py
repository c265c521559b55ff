"""Data of initialisers, cut out of a serialised model: together, both mean what protobuf reads from the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends import from_onnx
from sateen.frontends.core import wire_format
from sateen.frontends.onnx.weights import LEAST_MODEL_BYTES, cut_weights

FLOAT = TensorProto.FLOAT


def model(*weights: TensorProto) -> onnx.ModelProto:
    """The sum of x and all weights."""
    names = ["x", *(w.name for w in weights)]
    graph = helper.make_graph(
        [helper.make_node("Sum", names, ["y"], name="sum")],
        "net",
        [helper.make_tensor_value_info("x", FLOAT, [6])],
        [helper.make_tensor_value_info("y", FLOAT, [6])],
        list(weights),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def raw(name: str, seed: int) -> TensorProto:
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal(6).astype(np.float32), name)


SAMPLE = model(raw("a", 1), helper.make_tensor("b", FLOAT, [6], range(6)), raw("c", 2)).SerializeToString()


def parsed(data: bytes) -> onnx.ModelProto | None:
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        return None
    return proto


def put_back(data: bytes, least_bytes: int) -> onnx.ModelProto | None:
    """What is parsed of the rest, with the data that was cut out."""
    rest, weights = cut_weights(data, least_bytes)
    proto = parsed(rest)
    if proto is not None:
        for index, piece in weights.items():
            assert not proto.graph.initializer[index].HasField("raw_data")
            proto.graph.initializer[index].raw_data = bytes(piece)
    return proto


def test_large_raw_data_is_cut_out_and_refers_to_the_bytes_given() -> None:
    rest, weights = cut_weights(SAMPLE, 20)
    assert sorted(weights) == [0, 2]
    assert all(piece.obj is SAMPLE for piece in weights.values())
    assert len(rest) < len(SAMPLE) - 40
    assert put_back(SAMPLE, 20) == parsed(SAMPLE)


def test_small_data_stays() -> None:
    assert cut_weights(SAMPLE, 25) == (SAMPLE, {})


def test_a_graph_in_two_pieces_which_protobuf_merges_stays_as_it_is() -> None:
    twice = SAMPLE + model(raw("d", 3)).SerializeToString()
    assert cut_weights(twice, 20) == (twice, {})


def test_data_that_is_given_twice_of_which_protobuf_takes_the_last_stays_as_it_is() -> None:
    tensor = raw("a", 1).SerializeToString()
    twice = tensor + TensorProto(raw_data=b"other").SerializeToString()
    graph = onnx.GraphProto.INITIALIZER_FIELD_NUMBER << 3 | 2
    content = bytes([graph, len(twice)]) + twice
    data = bytes([onnx.ModelProto.GRAPH_FIELD_NUMBER << 3 | 2, len(content)]) + content
    assert cut_weights(data, 5) == (data, {})


def field(number: int, content: bytes, padding: tuple[int, int] = (0, 0)) -> bytes:
    """A field with a length; key and length take so many bytes more than they need."""
    key, length = (padded(n, extra) for n, extra in zip((number << 3 | 2, len(content)), padding, strict=True))
    return key + length + content


def padded(value: int, extra: int) -> bytes:
    groups = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)] + [0] * extra
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


@pytest.mark.parametrize("padding", [(n, 0) for n in range(1, 8)] + [(0, n) for n in range(1, 8)], ids=str)
@pytest.mark.parametrize("level", range(3), ids=["graph", "initialiser", "raw data"])
def test_numbers_in_more_bytes_than_they_need_are_read_as_protobuf_reads_them(
    level: int, padding: tuple[int, int]
) -> None:
    content = bytes(range(200))
    numbers = (
        onnx.ModelProto.GRAPH_FIELD_NUMBER,
        onnx.GraphProto.INITIALIZER_FIELD_NUMBER,
        TensorProto.RAW_DATA_FIELD_NUMBER,
    )
    for i in (2, 1, 0):
        content = field(numbers[i], content, padding if i == level else (0, 0))
    assert put_back(content, 20) == parsed(content)
    if sum(padding) == 1:
        assert cut_weights(content, 20)[1]


@pytest.mark.parametrize(
    "data",
    [b"\x08\x01" * 2**20, b"\x3a\x00" * 2**20, field(onnx.ModelProto.GRAPH_FIELD_NUMBER, b"\x0a\x00" * 2**20)],
    ids=["versions", "graphs", "nodes"],
)
def test_a_model_of_a_million_fields_is_left_to_protobuf_soon(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(*given: int) -> tuple[int, int]:
        read.append(given[1])
        return read_varint(*given)

    read_varint = wire_format.read_varint
    monkeypatch.setattr(wire_format, "read_varint", counted)
    assert cut_weights(data, 20) == (data, {})
    assert len(read) < 2**19


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_damaged_models_are_read_as_protobuf_reads_them(data: st.DataObject) -> None:
    damaged = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        kind = data.draw(st.sampled_from(["change", "remove", "insert", "end"]))
        if kind == "change":
            damaged[place] = data.draw(st.integers(0, 255))
        elif kind == "remove":
            del damaged[place]
        elif kind == "insert":
            damaged.insert(place, data.draw(st.integers(0, 255)))
        else:
            del damaged[place + 1 :]
    assert put_back(bytes(damaged), 20) == parsed(bytes(damaged))


def test_a_large_model_has_the_weights_of_its_file(tmp_path: Path) -> None:
    weight = np.arange(LEAST_MODEL_BYTES // 4, dtype=np.float32)
    nodes = [helper.make_node("Add", ["x", "w"], ["y"], name="add")]
    inputs, outputs = (helper.make_tensor_value_info(name, FLOAT, [len(weight)]) for name in "xy")
    tensors = [raw("unused", 4), numpy_helper.from_array(weight, "w")]
    graph = helper.make_graph(nodes, "net", [inputs], [outputs], tensors)
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    path = tmp_path / "net.onnx"
    path.write_bytes(whole.SerializeToString())
    assert path.stat().st_size >= LEAST_MODEL_BYTES
    content = path.read_bytes()
    for source in (path, content, whole):
        _, params = from_onnx(source)
        assert np.array_equal(params["w"], weight)
        assert np.shares_memory(params["w"], np.frombuffer(content, np.uint8)) == (source is content)
