"""Builders of MXNet files: a symbol of a few lines, and arrays."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen import frontends, runtime
from sateen.graph_ir.compile import build

Array = np.ndarray[Any, Any]
Nodes = Sequence[tuple[Any, ...]]

NUMBERS = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6, "bool": 7}


def written_symbol(
    nodes: Nodes, heads: Sequence[Sequence[int]], *, key: str = "attrs", version: int | None = 10901
) -> bytes:
    """The JSON of nodes (operator, name, inputs, attributes), of which an input is a number or (number, output)."""
    listed = [
        {
            "op": operator,
            "name": name,
            key: attributes,
            "inputs": [[entry, 0, 0] if isinstance(entry, int) else [*entry, 0] for entry in inputs],
        }
        for operator, name, inputs, attributes in nodes
    ]
    document: dict[str, Any] = {"nodes": listed, "arg_nodes": [], "heads": [list(head) for head in heads]}
    if version is not None:
        document["attrs"] = {"mxnet_version": ["int", version]}
    return json.dumps(document).encode()


def written_array(data: Array, version: int = 2) -> bytes:
    shape = data.shape
    kind = struct.pack("<ii", 1, 0) + struct.pack("<i", NUMBERS[data.dtype.name])  # on the processor
    if version == 0:
        return struct.pack(f"<I{len(shape)}I", len(shape), *shape) + kind + data.tobytes()
    head = struct.pack("<I", 0xF993FAC7 + version) + (struct.pack("<i", 0) if version >= 2 else b"")
    return head + struct.pack(f"<i{len(shape)}q", len(shape), *shape) + kind + data.tobytes()


def written_arrays(arrays: Mapping[str, Array], version: int = 2) -> bytes:
    parts = [struct.pack("<QQQ", 0x112, 0, len(arrays)), *(written_array(a, version) for a in arrays.values())]
    parts += [struct.pack("<Q", len(arrays)), *(struct.pack("<Q", len(n)) + n.encode() for n in arrays)]
    return b"".join(parts)


@pytest.fixture
def symbol_of() -> Callable[..., bytes]:
    """symbol_of(nodes, heads, key=…, version=…): the bytes of a symbol; see `written_symbol`."""
    return written_symbol


@pytest.fixture
def arrays_of() -> Callable[..., bytes]:
    """arrays_of(arrays, version=…): the bytes of a file of arrays by name."""
    return written_arrays


@pytest.fixture
def run_node() -> Callable[..., list[Array]]:
    """run_node(operator, *inputs, outputs=…, weights=…, **attributes): what one operator gives."""
    return _run_node


def _run_node(
    operator: str,
    *inputs: Array,
    outputs: int = 1,
    weights: Sequence[Array] = (),
    order: Sequence[int] = (),
    **attributes: Any,
) -> list[Array]:
    """The outputs of a node; `weights` are its last inputs, whose data are in the model, unless `order` says other."""
    count = len(inputs) + len(weights)
    given = {f"x{i}": data for i, data in enumerate(inputs)}
    known = {f"w{i}": data for i, data in enumerate(weights)}
    nodes: list[tuple[Any, ...]] = [
        ("null", name, (), {"__dtype__": str(NUMBERS[data.dtype.name])}) for name, data in {**given, **known}.items()
    ]
    texts = {name: str(value) for name, value in attributes.items()}
    symbol = written_symbol(
        [*nodes, (operator, "y", order or range(count), texts)], [(count, i) for i in range(outputs)]
    )
    shapes = {name: data.shape for name, data in given.items()}
    graph, params = frontends.from_mxnet(symbol, written_arrays(known), shapes=shapes)
    found = runtime.load(build(graph, params=params)).run(given)
    return [found[value.name].numpy() for value in graph.outputs]


@pytest.fixture
def pair(tmp_path: Path) -> Callable[..., Path]:
    """pair(symbol, arrays, epoch=…): the files net-symbol.json and net-0000.params; gives the first."""

    def write(symbol: bytes, arrays: bytes, epoch: int = 0) -> Path:
        (tmp_path / "net-symbol.json").write_bytes(symbol)
        (tmp_path / f"net-{epoch:04}.params").write_bytes(arrays)
        return tmp_path / "net-symbol.json"

    return write
