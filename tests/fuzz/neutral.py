"""Changes to a model that change nothing of what it computes: its first outputs, in their order, stay what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper, shape_inference

Files = dict[str, bytes]
"""Of the folder that the model stands in, by name."""

Change = Callable[[ModelProto, Random, Files], None]
_NEGATED = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32}
_FIELDS = {TensorProto.FLOAT: "float_data", TensorProto.INT64: "int64_data", TensorProto.INT32: "int32_data"}

_TAKEN = {1: "parameters", 2: "workspace", 3: "run", 4: "main", 5: "malloc"}
"""Names that an artifact's code has, too."""


def _opset(model: ModelProto) -> int:
    """The standard's operator set, 0 where the model does not import it."""
    return next((o.version for o in model.opset_import if o.domain in {"", "ai.onnx"}), 0)


def _data(model: ModelProto) -> list[TensorProto]:
    """Initialisers that are no inputs and lie in the model."""
    inputs = {value.name for value in model.graph.input}
    return [t for t in model.graph.initializer if t.name not in inputs and t.data_location != TensorProto.EXTERNAL]


def _inputs(model: ModelProto) -> Iterator[tuple[NodeProto, int]]:
    """Every place in which a node reads a value."""
    return ((node, i) for node in model.graph.node for i, name in enumerate(node.input) if name)


def add_documentation(model: ModelProto, rng: Random, _: Files) -> None:
    model.doc_string = model.producer_name = rng.choice(["", "x", "ü" * 1000])
    rng.choice(model.graph.node).doc_string = "text"
    model.metadata_props.add(key="k", value="v")


def add_unused_data(model: ModelProto, rng: Random, _: Files) -> None:
    data = np.arange(rng.randrange(1, 9), dtype=rng.choice([np.float32, np.int64, np.uint8]))
    model.graph.initializer.append(numpy_helper.from_array(data, f"unused{rng.randrange(10**6)}"))


def shuffle_data(model: ModelProto, rng: Random, _: Files) -> None:
    tensors = list(model.graph.initializer)
    rng.shuffle(tensors)
    del model.graph.initializer[:]
    model.graph.initializer.extend(tensors)


def shuffle_nodes(model: ModelProto, rng: Random, _: Files) -> None:
    nodes = list(model.graph.node)
    rng.shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def name_nodes(model: ModelProto, rng: Random, _: Files) -> None:
    for index, node in enumerate(model.graph.node):
        node.name = f"node{rng.randrange(10**6)}_{index}"


def spell_domain(model: ModelProto, rng: Random, _: Files) -> None:
    node = rng.choice(model.graph.node)
    node.domain = node.domain or "ai.onnx"


def rename_values(model: ModelProto, rng: Random, _: Files) -> None:
    """Every value of the graphs, but not of functions, whose names are their own."""
    if any(node.domain == "ai.onnx.preview" for node in model.graph.node):
        return  # onnx writes the bodies of these operators as text, into which names must fit
    pattern = rng.choice(["v{}", "{}", "a/b:{}", "é ü {}", "%{}", "input{}", 'quote"{}', "{0} {0}", ""])
    names: dict[str, str] = {"": ""}

    def new(name: str) -> str:
        number = len(names)
        return names.setdefault(name, pattern.format(number) or _TAKEN.get(number, f"v{number}"))

    pending = [model.graph]
    while pending:
        graph = pending.pop()
        for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
            value.name = new(value.name)
        for node in graph.node:
            for part in (node.input, node.output):
                part[:] = [new(name) for name in part]
            pending.extend(attribute.g for attribute in node.attribute if attribute.type == AttributeProto.GRAPH)


def insert_identity(model: ModelProto, rng: Random, _: Files) -> None:
    places = list(_inputs(model))
    if places and _opset(model):
        node, i = rng.choice(places)
        name = f"same{rng.randrange(10**6)}"
        model.graph.node.append(helper.make_node("Identity", [node.input[i]], [name]))
        node.input[i] = name


def negate_twice(model: ModelProto, rng: Random, _: Files) -> None:
    inputs = {v.name for v in model.graph.input if v.type.tensor_type.elem_type in _NEGATED}
    places = [(node, i) for node, i in _inputs(model) if node.input[i] in inputs]
    if places and _opset(model) >= 6:
        node, i = rng.choice(places)
        name = f"negated{rng.randrange(10**6)}"
        model.graph.node.append(helper.make_node("Neg", [node.input[i]], [f"{name}.once"]))
        model.graph.node.append(helper.make_node("Neg", [f"{name}.once"], [name]))
        node.input[i] = name


def split_gemm(model: ModelProto, rng: Random, _: Files) -> None:
    """A plain Gemm with a bias is a MatMul and an Add."""
    plain = [n for n in model.graph.node if n.op_type == "Gemm" and not n.attribute and len(n.input) == 3]
    if plain and _opset(model) >= 9:
        node = rng.choice(plain)
        a, b, c = node.input
        product = f"product{rng.randrange(10**6)}"
        model.graph.node.append(helper.make_node("Add", [product, c], list(node.output)))
        node.CopyFrom(helper.make_node("MatMul", [a, b], [product]))


def encode_anew(model: ModelProto, rng: Random, _: Files) -> None:
    """Raw bytes become the field of the type, and the other way round."""
    for tensor in _data(model):
        field = _FIELDS.get(tensor.data_type)
        if field is None or rng.random() < 0.3:
            continue
        array = numpy_helper.to_array(tensor)
        if tensor.HasField("raw_data"):
            tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, array.shape, array.ravel().tolist()))
        else:
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def make_constant(model: ModelProto, rng: Random, _: Files) -> None:
    """An initialiser becomes a node."""
    tensors = _data(model)
    if tensors and _opset(model):
        tensor = rng.choice(tensors)
        model.graph.node.append(helper.make_node("Constant", [], [tensor.name], value=tensor))
        model.graph.initializer.remove(tensor)


def make_external(model: ModelProto, rng: Random, files: Files) -> None:
    """The data of an initialiser moves to a file beside the model."""
    tensors = [t for t in _data(model) if t.HasField("raw_data")]
    if tensors:
        tensor = rng.choice(tensors)
        front = rng.choice([0, 64])
        name = f"{rng.randrange(10**6)}.bin"
        files[name] = bytes(front) + tensor.raw_data
        del tensor.external_data[:]
        for key, value in (("location", name), ("offset", str(front)), ("length", str(len(tensor.raw_data)))):
            tensor.external_data.add(key=key, value=value)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL


def add_unused_node(model: ModelProto, rng: Random, _: Files) -> None:
    node = rng.choice(model.graph.node)
    if node.input and node.input[0] and _opset(model):
        name = f"unused{rng.randrange(10**6)}"
        model.graph.node.append(helper.make_node(rng.choice(["Identity", "Shape"]), [node.input[0]], [name]))


def add_output(model: ModelProto, rng: Random, _: Files) -> None:
    node = rng.choice(model.graph.node)
    if node.input and node.input[0] and _opset(model):
        name = f"more{rng.randrange(10**6)}"
        model.graph.node.append(helper.make_node("Identity", [node.input[0]], [name]))
        model.graph.output.append(helper.make_empty_tensor_value_info(name))


def add_value_types(model: ModelProto, _: Random, __: Files) -> None:
    """What onnx infers of the values between inputs and outputs."""
    if not model.functions:
        try:
            model.CopyFrom(shape_inference.infer_shapes(model))
        except (shape_inference.InferenceError, checker.ValidationError):  # of onnx itself, on nodes out of order
            return


NEUTRAL: tuple[Change, ...] = (
    add_documentation, add_unused_data, shuffle_data, shuffle_nodes, name_nodes, spell_domain, rename_values,
    insert_identity, negate_twice, split_gemm, encode_anew, make_constant, make_external, add_unused_node, add_output,
    add_value_types,
)  # fmt: skip
