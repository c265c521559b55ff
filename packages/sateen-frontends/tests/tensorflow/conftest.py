"""Builds small models of TensorFlow: graphs, functions, and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.frontends import from_tensorflow
from sateen.frontends.tensorflow.crc32c import masked_crc32c
from sateen.frontends.tensorflow.schemas import tensorflow_pb2 as pb
from sateen.graph_ir.compile import build
from sateen.runtime.dtype import DType

Array = np.ndarray[Any, Any]
CODES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int64": 9, "bool": 10, "float16": 19}


def tensor(data: Any) -> pb.TensorProto:
    """A tensor with its bytes."""
    array = np.asarray(data)
    proto = pb.TensorProto(dtype=CODES[str(array.dtype)], tensor_content=array.tobytes())
    proto.tensor_shape.SetInParent()
    for extent in array.shape:
        proto.tensor_shape.dim.add(size=extent)
    return proto


def node(name: str, op: str, *inputs: str, **attributes: Any) -> pb.NodeDef:
    """A node; attributes are numbers, text, arrays (tensors), DTypes, shapes as lists of None, or messages."""
    proto = pb.NodeDef(name=name, op=op, input=list(inputs))
    for key, value in attributes.items():
        proto.attr[key].CopyFrom(attribute(value))
    return proto


def attribute(value: Any) -> pb.AttrValue:
    match value:
        case pb.AttrValue():
            return value
        case pb.NameAttrList():
            return pb.AttrValue(func=value)
        case bool():
            return pb.AttrValue(b=value)
        case int():
            return pb.AttrValue(i=value)
        case float():
            return pb.AttrValue(f=value)
        case str():
            return pb.AttrValue(s=value.encode())
        case DType():
            return pb.AttrValue(type=CODES[str(value)])
        case np.ndarray():
            return pb.AttrValue(tensor=tensor(value))
        case tuple():
            return pb.AttrValue(shape=shape(value))
        case _:
            return pb.AttrValue(list=pb.AttrValue.ListValue(i=value))


def shape(extents: Sequence[int]) -> pb.TensorShapeProto:
    return pb.TensorShapeProto(dim=[pb.TensorShapeProto.Dim(size=extent) for extent in extents])


def placeholder(name: str, *extents: int, dtype: str = "float32") -> pb.NodeDef:
    return node(name, "Placeholder", dtype=DType.of(dtype), shape=extents)


def constant(name: str, data: Any) -> pb.NodeDef:
    array = np.asarray(data)
    return node(name, "Const", dtype=DType.of(array.dtype), value=array)


def graph(*nodes: pb.NodeDef, functions: Sequence[pb.FunctionDef] = ()) -> pb.GraphDef:
    return pb.GraphDef(
        node=nodes, versions=pb.VersionDef(producer=2000), library=pb.FunctionDefLibrary(function=functions)
    )


def function(
    name: str, inputs: Sequence[str], nodes: Sequence[pb.NodeDef], results: Mapping[str, str]
) -> pb.FunctionDef:
    """A function of floats; `results` maps its outputs to `node:output:index`."""
    arguments = [pb.OpDef.ArgDef(name=one, type=1) for one in inputs]
    outputs = [pb.OpDef.ArgDef(name=one, type=1) for one in results]
    signature = pb.OpDef(name=name, input_arg=arguments, output_arg=outputs)
    return pb.FunctionDef(signature=signature, node_def=nodes, ret=results)


def varint(number: int) -> bytes:
    result = bytearray()
    while number > 127:
        result.append(number & 127 | 128)
        number >>= 7
    return bytes([*result, number])


def block(entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A block of a sorted table: each key whole, one place to search from, not packed."""
    data = b"".join(varint(0) + varint(len(k)) + varint(len(v)) + k + v for k, v in entries)
    return data + bytes(4) + (1).to_bytes(4, "little")


def table(entries: Sequence[tuple[bytes, bytes]], times: int = 1, packed: bytes | None = None) -> bytes:
    """A sorted table of one block, which the index names some times; `packed` is the block packed by Snappy."""
    result = b""
    handles = []
    for data, kind in ((packed or block(entries), b"\1" if packed else b"\0"), (block([]), b"\0")):
        handles.append(varint(len(result)) + varint(len(data)))
        result += data + kind + masked_crc32c(data + kind).to_bytes(4, "little")
    index = block([(entries[-1][0] + bytes([i]) * bool(i), handles[0]) for i in range(times)])
    handle = varint(len(result)) + varint(len(index))
    result += index + b"\0" + masked_crc32c(index + b"\0").to_bytes(4, "little")
    return result + (handles[1] + handle).ljust(40, b"\0") + bytes.fromhex("57fb808b247547db")


def write_checkpoint(prefix: Path, variables: Mapping[str, Array]) -> None:
    """A checkpoint of one shard."""
    data = b""
    entries = [(b"", pb.BundleHeaderProto(num_shards=1).SerializeToString())]
    for name, array in sorted(variables.items()):
        entry = pb.BundleEntryProto(
            dtype=CODES[str(array.dtype)],
            shape=shape(array.shape),
            offset=len(data),
            size=array.nbytes,
            crc32c=masked_crc32c(array.tobytes()),
        )
        data += array.tobytes()
        entries.append((name.encode(), entry.SerializeToString()))
    prefix.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{prefix}.index").write_bytes(table(entries))
    Path(f"{prefix}.data-00000-of-00001").write_bytes(data)


@pytest.fixture
def make() -> SimpleNamespace:
    """The functions of this file that build models."""
    return SimpleNamespace(
        attribute=attribute,
        checkpoint=write_checkpoint,
        constant=constant,
        function=function,
        graph=graph,
        node=node,
        pb=pb,
        placeholder=placeholder,
        shape=shape,
        table=table,
        varint=varint,
    )


@pytest.fixture
def run() -> Callable[..., dict[str, Array]]:
    """run(model, given, **options): what a model gives; of a message, its bytes are read."""

    def results(model: Any, given: Mapping[str, Array], /, **options: Any) -> dict[str, Array]:
        source = model.SerializeToString() if hasattr(model, "SerializeToString") else model
        network, parameters = from_tensorflow(source, **options)
        found = runtime.load(build(network, params=parameters), threads=1).run(dict(given))
        return {name: array.numpy() for name, array in found.items()}

    return results
