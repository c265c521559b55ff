"""Writes exported programs, as torch.export.save does, without torch."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from sateen.frontends import from_torch
from sateen.graph_ir.judge import interpret

Array = np.ndarray[Any, Any]
TYPES = {"bool": 12, "uint8": 1, "int32": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8}


@dataclass(frozen=True)
class Ref:
    """A value of a program."""

    name: str


def argument(given: Any) -> dict[str, Any]:
    match given:
        case None:
            return {"as_none": True}
        case Ref(name=name):
            return {"as_tensor": {"name": name}}
        case bool():
            return {"as_bool": given}
        case int():
            return {"as_int": given}
        case float():
            return {"as_float": given if np.isfinite(given) else {"inf": "Infinity"}.get(str(given), "-Infinity")}
        case str():
            return {"as_string": given}
        case dict():
            return given
        case [Ref(), *_] | [None, *_]:
            if None in given:
                return {"as_optional_tensors": [argument(item) for item in given]}
            return {"as_tensors": [{"name": item.name} for item in given]}
        case [float(), *_]:
            return {"as_floats": list(given)}
    return {"as_ints": list(given)}


def meta(shape: Sequence[int | str], dtype: str) -> dict[str, Any]:
    sizes = [{"as_int": n} if isinstance(n, int) else {"as_expr": {"expr_str": n, "hint": None}} for n in shape]
    known = [n if isinstance(n, int) else 1 for n in shape]
    strides = [{"as_int": int(np.prod(known[i + 1 :]))} for i in range(len(shape))]
    return {
        "dtype": TYPES[dtype], "sizes": sizes, "strides": strides, "storage_offset": {"as_int": 0}, "layout": 7,
        "requires_grad": False, "device": {"type": "cpu", "index": None},
    }  # fmt: skip


@dataclass
class Written:
    """A program while it is written."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    tensors: dict[str, Array] = field(default_factory=dict)
    declared: dict[str, dict[str, Any]] = field(default_factory=dict)
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def input(self, name: str, shape: Sequence[int | str], dtype: str = "float32") -> Ref:
        self.inputs[name] = {"user_input": {"arg": {"as_tensor": {"name": name}}}}
        self.declared[name] = meta(shape, dtype)
        return Ref(name)

    def parameter(self, name: str, data: Any) -> Ref:
        array, given = np.asarray(data), f"p_{name.replace('.', '_')}"
        self.inputs[given] = {"parameter": {"arg": {"name": given}, "parameter_name": name}}
        self.tensors[name] = array
        self.declared[given] = meta(array.shape, str(array.dtype))
        return Ref(given)

    def call(self, target: str, /, *, results: int = 1, name: str = "", **arguments: Any) -> Any:
        """A node; its arguments by name, `results` values as results, or one list of them if it is below 0."""
        name = name or f"{target.split('.')[1]}_{len(self.nodes)}"
        names = [name] if results == 1 else [f"{name}_{i}" for i in range(abs(results))]
        outputs = [{"as_tensor": {"name": n}} for n in names]
        if results < 0:
            outputs = [{"as_tensors": [{"name": n} for n in names]}]
        inputs = [{"name": n, "arg": argument(a), "kind": 1} for n, a in arguments.items()]
        if not target.startswith("_"):
            target = f"torch.ops.{target}"
        self.nodes.append({"target": target, "inputs": inputs, "outputs": outputs, "metadata": {}, "name": name})
        return Ref(name) if results == 1 else [Ref(n) for n in names]

    def type(self, name: str) -> dict[str, Any]:
        """An element type as an argument."""
        return {"as_scalar_type": TYPES[name]}

    def number(self, target: str, /, **arguments: Any) -> dict[str, Any]:
        """A node that computes a number; what an argument of it is."""
        ref = self.call(target, **arguments)
        self.nodes[-1]["outputs"] = [{"as_sym_int": {"as_name": ref.name}}]
        self.numbers[ref.name] = {"as_int": 0}
        return {"as_sym_int": {"as_name": ref.name}}

    def graph(self, inputs: Sequence[Ref], outputs: Sequence[Ref], name: str) -> dict[str, Any]:
        """The nodes so far as a graph within a node, which are this program's no longer."""
        nodes, self.nodes = self.nodes, []
        given = [argument(ref) for ref in inputs]
        graph = {"inputs": given, "outputs": [argument(ref) for ref in outputs], "nodes": nodes, "tensor_values": {}}
        return {"as_graph": {"name": name, "graph": graph | {"sym_int_values": {}, "sym_bool_values": {}}}}

    def json(self, *outputs: Any) -> dict[str, Any]:
        given = [argument(ref) for ref in outputs]
        graph = {
            "inputs": [argument(Ref(name)) for name in self.inputs], "outputs": given, "nodes": self.nodes,
            "tensor_values": self.declared, "sym_int_values": self.numbers, "sym_bool_values": {},
        }  # fmt: skip
        signature = {
            "input_specs": list(self.inputs.values()),
            "output_specs": [{"user_output": {"arg": arg}} for arg in given],
        }
        module = {"graph": graph, "signature": signature, "module_call_graph": []}
        return {"graph_module": module, "schema_version": {"major": 8, "minor": 20}}

    def data(self, *outputs: Any, use_pickle: bool = False) -> bytes:
        """The bytes of the file."""
        files = {}
        config = {}
        for i, (name, array) in enumerate(self.tensors.items()):
            files[f"archive/data/weights/weight_{i}"] = array.tobytes()
            described = meta(array.shape, str(array.dtype))
            config[name] = {"path_name": f"weight_{i}", "use_pickle": use_pickle, "tensor_meta": described}
        files["archive/data/weights/model_weights_config.json"] = json.dumps({"config": config})
        files["archive/models/model.json"] = json.dumps(self.json(*outputs))
        return zipped(files)


def zipped(files: Mapping[str, bytes | str], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def safetensors(tensors: Mapping[str, Array], **changed: Any) -> bytes:
    """A file of safetensors; `changed` replaces parts of the description of the first tensor."""
    names = {"float32": "F32", "int64": "I64", "bool": "BOOL"}
    described: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for name, array in tensors.items():
        offsets = [start, start + array.nbytes]
        described[name] = {"dtype": names[str(array.dtype)], "shape": list(array.shape), "data_offsets": offsets}
        start = offsets[1]
    if changed:
        described[next(iter(tensors))] |= changed
    header = json.dumps(described).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(array.tobytes() for array in tensors.values())


@pytest.fixture
def written() -> Written:
    """A program without any nodes."""
    return Written()


@pytest.fixture(name="safetensors")
def _safetensors() -> Callable[..., bytes]:
    """safetensors(tensors, **changed): the bytes of a file."""
    return safetensors


@pytest.fixture(name="zipped")
def _zipped() -> Callable[..., bytes]:
    """zipped(files): the bytes of an archive."""
    return zipped


@pytest.fixture
def run() -> Callable[..., list[Array]]:
    """run(written, outputs, **inputs): what a program computes."""

    def computed(written: Written, outputs: Sequence[Ref], **inputs: Any) -> list[Array]:
        graph, _ = from_torch(written.data(*outputs))
        found = interpret(graph, {name: np.asarray(data) for name, data in inputs.items()})
        return [found[value.name] for value in graph.outputs]

    return computed
