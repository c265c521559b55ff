"""Writes TensorFlow Lite files by the reader's own descriptions of their tables."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from sateen.frontends import from_tflite
from sateen.frontends.tflite.flatbuffer import Bytes, Choice, Data, Flag, Kind, Many, Number, Numbers, One, Text, Union
from sateen.frontends.tflite.operators import BUILTINS, CUSTOM, OPTIONS_OF
from sateen.frontends.tflite.options import OPTIONS, OPTIONS_2
from sateen.frontends.tflite.schema import MODEL, TENSOR_TYPES
from sateen.graph_ir.ir import Array
from sateen.graph_ir.judge import interpret


class Writer:
    """A FlatBuffer in which each table and vector follows the place that refers to it."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0\0\0\0TFL3")

    def write(self, kind: Kind, values: Mapping[str, Any]) -> bytes:
        self._refer(0, self._table(kind, values))
        return bytes(self.data)

    def _table(self, kind: Kind, values: Mapping[str, Any]) -> int:
        """The position of a table, each field of which takes 8 bytes."""
        fields = [(name, field, values[name]) for name, field in kind.fields.items() if values.get(name) is not None]
        places = {name: 8 + 8 * i for i, (name, _, _) in enumerate(fields)}
        self._align(8)
        vtable = len(self.data)
        slots = [places.get(name, 0) for name in kind.fields]
        self.data += struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), 8 + 8 * len(fields), *slots)
        self._align(8)
        position = len(self.data)
        self.data += struct.pack("<i", position - vtable) + bytes(4 + 8 * len(fields))
        for name, field_, value in fields:
            self._field(field_, position + places[name], value)
        return position

    def _field(self, field_: object, place: int, value: Any) -> None:
        match field_:
            case Number(code):
                struct.pack_into(f"<{code}", self.data, place, value)
            case Flag():
                struct.pack_into("<B", self.data, place, value)
            case Choice(names, code):
                struct.pack_into(f"<{code}", self.data, place, names.index(value))
            case Numbers(code) | Data(code):
                self._refer(place, self._vector(struct.pack(f"<{len(value)}{code}", *value), len(value)))
            case Bytes():
                self._refer(place, self._vector(value, len(value)))
            case Text():
                self._refer(place, self._vector(value.encode(), len(value.encode())))
            case One(kind):
                self._refer(place, self._table(kind, value))
            case Many(kind):
                start = self._vector(bytes(4 * len(value)), len(value))
                self._refer(place, start)
                for i, table in enumerate(value):
                    self._refer(start + 4 + 4 * i, self._table(kind, table))
            case Union():
                self._refer(place, self._table(*value))

    def _vector(self, data: bytes, count: int) -> int:
        while len(self.data) % 16 != 12:  # so that the elements are aligned
            self.data.append(0)
        position = len(self.data)
        self.data += struct.pack("<I", count) + data
        return position

    def _align(self, size: int) -> None:
        self.data += bytes(-len(self.data) % size)

    def _refer(self, place: int, position: int) -> None:
        struct.pack_into("<I", self.data, place, position - place)


@dataclass
class Model:
    """A model being made: `tensor` adds one and gives its index, `node` an operator, `network` a further subgraph."""

    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    tensors: list[dict[str, Any]] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)
    codes: list[dict[str, Any]] = field(default_factory=list)
    buffers: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    networks: list[Model] = field(default_factory=list)

    def tensor(
        self,
        name: str,
        shape: Sequence[int] = (),
        dtype: str = "FLOAT32",
        data: Array | None = None,
        scale: Sequence[float] | float = (),
        zero_point: Sequence[int] | int = 0,
        axis: int = 0,
        **others: Any,
    ) -> int:
        tensor: dict[str, Any] = {"name": name, "type": dtype, "shape": list(shape), "has_rank": True, **others}
        if data is not None:
            tensor |= {"shape": list(data.shape), "buffer": len(self.buffers)}
            self.buffers.append({"data": data.tobytes()})
        scales = np.atleast_1d(np.asarray(scale, np.float32))
        if scales.size:
            points = np.broadcast_to(zero_point, scales.shape).tolist()
            tensor["quantization"] = {"scale": scales.tolist(), "zero_point": points, "quantized_dimension": axis}
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def constant(self, name: str, data: Array, **others: Any) -> int:
        return self.tensor(name, dtype=str(data.dtype).upper(), data=data, **others)

    def node(
        self, operator: str, inputs: Sequence[int], outputs: Sequence[int], custom: bytes | None = None, **options: Any
    ) -> None:
        code = {"builtin_code": CUSTOM, "custom_code": operator}
        if custom is None:
            number = BUILTINS.index(operator)
            code = {"builtin_code": number, "deprecated_builtin_code": min(number, 127)}
        if code not in self.codes:
            self.codes.append(code)
        found: dict[str, Any] = {
            "opcode_index": self.codes.index(code),
            "inputs": list(inputs),
            "outputs": list(outputs),
            "custom_options": custom,
        }
        kind = OPTIONS_OF.get(operator)
        if custom is None and kind is not None:
            for field_, union in {"builtin_options": OPTIONS, "builtin_options_2": OPTIONS_2}.items():
                numbers = [number for number, known in union.items() if known is kind]
                if numbers:
                    found |= {f"{field_}_type": numbers[0], field_: (kind, options)}
        self.operators.append(found)

    def network(self) -> Model:
        """A further subgraph, which shares operators and buffers."""
        made = Model(codes=self.codes, buffers=self.buffers)
        self.networks.append(made)
        return made

    def table(self) -> dict[str, Any]:
        """The model as values of the format's tables, to be changed by tests of damage."""
        subgraphs = [
            {"tensors": n.tensors, "inputs": n.inputs, "outputs": n.outputs, "operators": n.operators, "name": "main"}
            for n in (self, *self.networks)
        ]
        return {"version": 3, "operator_codes": self.codes, "subgraphs": subgraphs, "buffers": self.buffers}

    def bytes(self) -> bytes:
        return Writer().write(MODEL, self.table())


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def write() -> Callable[[Mapping[str, Any]], bytes]:
    """write(table): the file of a model given as values of the format's tables."""
    return lambda table: Writer().write(MODEL, table)


@pytest.fixture
def flex_map() -> Callable[[Mapping[str, object]], bytes]:
    """flex_map(entries): a map of FlexBuffers, all of whose numbers take 4 bytes."""
    return _flex_map


def _flex_map(entries: Mapping[str, object]) -> bytes:
    """Names and what lies elsewhere, then the vector of names, then the entries."""
    data = bytearray(b"".join(name.encode() + b"\0" for name in sorted(entries)))
    names = [data.index(name.encode() + b"\0") for name in sorted(entries)]
    data += bytes(-len(data) % 4)
    types, values = [], []
    for name in sorted(entries):
        type_, value = _flex_entry(entries[name], data)
        types.append(type_ << 2 | 2)
        values.append(value)
    data += struct.pack("<I", len(entries))
    start = len(data)
    for place in names:
        data += struct.pack("<I", len(data) - place)
    data += struct.pack("<III", len(data) - start, 4, len(entries))
    start = len(data)
    for value in values:
        data += value if isinstance(value, bytes) else struct.pack("<I", len(data) - value)
    return bytes(data) + bytes([*types, len(data) + len(types) - start, 9 << 2 | 2, 1])


def _flex_entry(entry: object, data: bytearray) -> tuple[int, bytes | int]:
    """The type of an entry, and the entry itself or its position in `data`."""
    match entry:
        case bool():
            return 26, struct.pack("<I", entry)
        case int():
            return 1, struct.pack("<i", entry)
        case float():
            return 3, struct.pack("<f", entry)
        case str():
            data += struct.pack("<I", len(entry)) + entry.encode() + bytes(4 - len(entry) % 4)
            return 5, len(data) - len(entry) - 4 + len(entry) % 4
        case list():
            data += struct.pack(f"<I{len(entry)}i", len(entry), *entry)
            return 11, len(data) - 4 * len(entry)
        case _:
            return 0, bytes(4)


@pytest.fixture
def run() -> Callable[..., Mapping[str, Array]]:
    """run(model, NAME=data, …): the outputs of a model, by the interpreter."""
    return lambda model, **given: interpret(from_tflite(model.bytes())[0], given)


@pytest.fixture
def run_operator() -> Callable[..., list[Array]]:
    """run_operator(operator, inputs, output types, …): what a model of one operator gives, by the interpreter.

    An input is data; with `constant` (a set of positions) it is in the file. `scales` are (scale, zero point) by
    position, inputs first; a result is a type, or a pair of type and shape.
    """
    return _run_operator


def _run_operator(
    operator: str,
    inputs: Sequence[Array | None],
    results: Sequence[str] = ("FLOAT32",),
    *,
    constant: Sequence[int] = (),
    scales: Mapping[int, tuple[Any, Any]] = {},
    axes: Mapping[int, int] = {},
    custom: bytes | None = None,
    **options: Any,
) -> list[Array]:
    model = Model()
    operands = []
    for i, data in enumerate(inputs):
        scale, zero_point = scales.get(i, ((), 0))
        given = {"scale": scale, "zero_point": zero_point, "axis": axes.get(i, 0)}
        if data is None:
            operands.append(-1)
        elif i in constant:
            operands.append(model.constant(f"c{i}", data, **given))
        else:
            operands.append(model.tensor(f"x{i}", data.shape, str(data.dtype).upper(), **given))
            model.inputs.append(operands[-1])
    for i, dtype in enumerate(results):
        assert dtype in TENSOR_TYPES
        scale, zero_point = scales.get(len(inputs) + i, ((), 0))
        model.outputs.append(model.tensor(f"y{i}", (), dtype, scale=scale, zero_point=zero_point))
    model.node(operator, operands, model.outputs, custom, **options)
    graph, _ = from_tflite(model.bytes())
    given = {f"x{i}": data for i, data in enumerate(inputs) if data is not None and i not in constant}
    found = interpret(graph, given)
    return [found[f"y{i}"] for i in range(len(results))]
