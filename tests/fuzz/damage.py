"""Damage to models: to their bytes, to the structure of a model, and to what its nodes mean."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

HOSTILE_NUMBERS = (-(2**63), -(2**31), -3, -2, -1, 0, 1, 2, 3, 7, 2**16, 2**31, 2**40, 2**62, 2**63 - 1)
HOSTILE_FLOATS = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, -0.0, 0.5, 1e-45, 3.4e38, -3.4e38, 1e10)

ByteDamage = Callable[[bytearray, Random], None]
Damage = Callable[[ModelProto, Random], None]


def truncate(data: bytearray, rng: Random) -> None:
    del data[rng.randrange(len(data)) :]


def flip_bits(data: bytearray, rng: Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(data: bytearray, rng: Random) -> None:
    start = rng.randrange(len(data))
    data[start : start + rng.randrange(1, 9)] = rng.randbytes(rng.randrange(9))


def repeat(data: bytearray, rng: Random) -> None:
    start, end = sorted(rng.randrange(len(data)) for _ in range(2))
    data[start:start] = data[start:end]


def random_node(model: ModelProto, rng: Random) -> NodeProto:
    return rng.choice(model.graph.node)


def rewire(model: ModelProto, rng: Random) -> None:
    """An input of a node becomes any value: another type, a cycle, nothing."""
    names = [name for node in model.graph.node for name in (*node.input, *node.output)] + ["", "ghost"]
    node = random_node(model, rng)
    if node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)


def swap_inputs(model: ModelProto, rng: Random) -> None:
    node = random_node(model, rng)
    if len(node.input) > 1:
        i, j = rng.sample(range(len(node.input)), 2)
        node.input[i], node.input[j] = node.input[j], node.input[i]


def change_count(model: ModelProto, rng: Random) -> None:
    """An input or output more or less."""
    node = random_node(model, rng)
    names = rng.choice([node.input, node.output])
    if names and rng.random() < 0.5:
        names.pop()
    else:
        names.append(rng.choice(["", "more", *node.input]))


def rename_output(model: ModelProto, rng: Random) -> None:
    node = random_node(model, rng)
    if node.output:
        node.output[rng.randrange(len(node.output))] = rng.choice([*random_node(model, rng).output, "", "new"])


def change_operator(model: ModelProto, rng: Random) -> None:
    node = random_node(model, rng)
    node.op_type = rng.choice(
        [random_node(model, rng).op_type, "Loop", "Scan", "Attention", "Resize", "LSTM", "", "Alien"]
    )
    node.domain = rng.choice(["", "", "", "ai.onnx", "own", "com.microsoft"])


ALIKE = (
    ("Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu", "Max", "Min", "BitShift", "BitwiseAnd", "MatMul", "Less", "Or"),
    ("Relu", "Sqrt", "Log", "Exp", "Neg", "Erf", "Tan", "Round", "Sign", "Softmax", "Sigmoid", "Not", "IsNaN", "Acosh"),
    ("Gather", "GatherElements", "GatherND", "Expand", "Tile", "Reshape", "Squeeze", "Unsqueeze", "TopK", "CumSum"),
    ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceProd", "ReduceLogSumExp", "ReduceL2", "ArgMax", "LogSoftmax"),
    ("MaxPool", "AveragePool", "GlobalAveragePool", "LRN", "Flatten", "Transpose", "DepthToSpace", "Shape", "Size"),
    ("ScatterElements", "ScatterND", "Where", "Clip", "Range", "OneHot", "Slice", "Pad"),
)


def change_to_alike(model: ModelProto, rng: Random) -> None:
    """Another operator of the same number of inputs, with the attributes of the old one or none."""
    node = random_node(model, rng)
    node.op_type = rng.choice(rng.choice(ALIKE))
    if rng.random() < 0.7:
        del node.attribute[:]


def change_attribute(model: ModelProto, rng: Random) -> None:
    """An attribute of another type, with a number that fits nothing."""
    node = random_node(model, rng)
    if node.attribute:
        attribute = rng.choice(node.attribute)
        attribute.type = rng.choice(AttributeProto.AttributeType.values())
        attribute.i = rng.choice(HOSTILE_NUMBERS)
        if attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(HOSTILE_NUMBERS)


def change_numbers(model: ModelProto, rng: Random) -> None:
    """Numbers in attributes and constants keep their type."""
    node = random_node(model, rng)
    for attribute in node.attribute:
        match attribute.type:
            case AttributeProto.INTS if attribute.ints:
                attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(HOSTILE_NUMBERS)
            case AttributeProto.INT:
                attribute.i = rng.choice(HOSTILE_NUMBERS)
            case AttributeProto.FLOAT:
                attribute.f = rng.choice(HOSTILE_FLOATS)
            case AttributeProto.FLOATS if attribute.floats:
                attribute.floats[rng.randrange(len(attribute.floats))] = rng.choice(HOSTILE_FLOATS)
            case AttributeProto.STRING:
                attribute.s = rng.choice([b"SAME_UPPER", b"VALID", b"linear", b"", b"\xff", attribute.s])
            case _:
                pass
    for tensor in model.graph.initializer:
        if rng.random() < 0.3:
            _change_element(tensor, rng)


def _change_element(tensor: TensorProto, rng: Random) -> None:
    """Another number in one place of a tensor that is well formed."""
    try:
        array = numpy_helper.to_array(tensor).copy()
    except (TypeError, ValueError, AssertionError, RuntimeError, OverflowError):  # damaged already
        return
    if not array.size or array.dtype.kind not in "fiu":
        return
    if array.dtype.kind == "f":
        number: object = rng.choice(HOSTILE_FLOATS)
    else:
        bounds = np.iinfo(array.dtype)
        number = min(max(rng.choice(HOSTILE_NUMBERS), int(bounds.min)), int(bounds.max))
    with np.errstate(over="ignore"):
        array[np.unravel_index(rng.randrange(array.size), array.shape)] = number
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def drop_attribute(model: ModelProto, rng: Random) -> None:
    node = random_node(model, rng)
    if node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]


def resize_attribute(model: ModelProto, rng: Random) -> None:
    """A list of integers gets longer or shorter."""
    lists = [a.ints for a in random_node(model, rng).attribute if a.ints]
    if lists:
        numbers = rng.choice(lists)
        if rng.random() < 0.5:
            numbers.pop()
        else:
            numbers.append(rng.choice(HOSTILE_NUMBERS))


def change_tensor(model: ModelProto, rng: Random) -> None:
    """A tensor whose type, dimensions and data do not fit each other."""
    tensor = rng.choice(model.graph.initializer)
    match rng.randrange(6):
        case 0:
            tensor.dims.append(rng.choice(HOSTILE_NUMBERS))
        case 1:
            tensor.data_type = rng.randrange(30)
        case 2:
            tensor.raw_data = tensor.raw_data + b"\0" * rng.randrange(1, 9)
        case 3:
            tensor.float_data.append(1.0)
        case 4:
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=rng.choice(["/etc/hostname", "../x", "x", ""]))
        case _:
            del tensor.dims[:]


def change_type(model: ModelProto, rng: Random) -> None:
    """Data of another element type or shape, in itself well formed."""
    tensor = rng.choice(model.graph.initializer)
    try:
        array = numpy_helper.to_array(tensor)
    except (TypeError, ValueError, AssertionError, RuntimeError, OverflowError):  # damaged already
        return
    if array.dtype.kind not in "fiub":
        return
    match rng.randrange(4):
        case 0:
            with np.errstate(all="ignore"):
                array = array.astype(rng.choice(["float32", "float64", "float16", "int64", "int32", "uint8", "bool"]))
        case 1:
            array = array.reshape(rng.choice([(-1,), (1, *array.shape), (*array.shape, 1)]))
        case 2:
            array = array[:0] if array.ndim else array.reshape(1)[:0]
        case _:
            array = array.reshape(-1)[: rng.randrange(3)]
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), tensor.name))


def change_input(model: ModelProto, rng: Random) -> None:
    tensor = rng.choice(model.graph.input).type.tensor_type
    match rng.randrange(6):
        case 0:
            tensor.elem_type = rng.randrange(30)
        case 1:
            tensor.elem_type = rng.choice(
                [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64]
            )
        case 2:
            tensor.shape.dim.add().dim_value = rng.choice(HOSTILE_NUMBERS)
        case 3 if tensor.shape.dim:
            tensor.shape.dim.pop()
        case 4 if tensor.shape.dim:
            rng.choice(tensor.shape.dim).dim_value = rng.choice(HOSTILE_NUMBERS)
        case _ if tensor.shape.dim:
            rng.choice(tensor.shape.dim).dim_param = rng.choice(["n", "", "?"])
        case _:
            tensor.shape.SetInParent()


def change_versions(model: ModelProto, rng: Random) -> None:
    rng.choice(model.opset_import).version = rng.choice([*range(30), *HOSTILE_NUMBERS])
    model.ir_version = rng.choice([model.ir_version, model.ir_version, *range(15), 2**40])


def duplicate_or_drop(model: ModelProto, rng: Random) -> None:
    part = rng.choice(
        [model.graph.node, model.graph.initializer, model.graph.input, model.graph.output, model.functions]
    )
    if part and rng.random() < 0.5:
        part.append(rng.choice(part))
    elif part:
        del part[rng.randrange(len(part))]


def nest(model: ModelProto, rng: Random) -> None:
    """If within If, nearly as deep as protobuf copies."""
    name = rng.choice(model.graph.initializer).name
    if rng.random() < 0.3:
        name = "nest.condition"
        model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.BOOL, []))
    graph = helper.make_graph(
        [helper.make_node("Identity", [name], ["r"])], "leaf", [], [helper.make_empty_tensor_value_info("r")]
    )
    for _ in range(rng.choice([1, 5, 15, 25])):
        node = helper.make_node(
            "If", [name], ["r"], then_branch=graph, else_branch=graph if rng.random() < 0.05 else GraphProto()
        )
        graph = helper.make_graph([node], "branch", [], [helper.make_empty_tensor_value_info("r")])
    model.graph.node.append(helper.make_node("If", [name], ["deep"], then_branch=graph, else_branch=graph))


def call_in_a_circle(model: ModelProto, rng: Random) -> None:
    """Functions that call each other, or one another twice as often at each level."""
    depth = rng.choice([1, 2, 30])
    for level in range(depth):
        callee, domain = f"Level{level + 1}", "circle"
        if level == depth - 1:
            callee, domain = rng.choice([("Level0", "circle"), ("Identity", ""), ("Neg", "")])
        calls = [
            helper.make_node(callee, ["a"], ["b"], domain=domain),
            helper.make_node(callee, ["b"], ["c"], domain=domain),
        ]
        model.functions.append(
            helper.make_function("circle", f"Level{level}", ["a"], ["c"], calls, list(model.opset_import))
        )
    model.opset_import.add(domain="circle", version=1)
    node = random_node(model, rng)
    model.graph.node.append(helper.make_node("Level0", list(node.input)[:1], ["called"], domain="circle"))


def grow(model: ModelProto, rng: Random) -> None:
    """A node whose result is as large as a number of the model says."""
    node = random_node(model, rng)
    if not node.output or not node.output[0]:
        return
    source = node.output[0]
    size = rng.choice([2, 100, 2**16, 2**20, 2**31, 2**40, 2**62])
    rank = rng.randrange(4)
    sizes = numpy_helper.from_array(np.array([size] * rank, np.int64), "grown.size")
    model.graph.initializer.append(sizes)
    operator = rng.choice(["Expand", "Tile", "ConstantOfShape", "Pad", "Range"])
    match operator:
        case "ConstantOfShape":
            model.graph.node.append(helper.make_node(operator, ["grown.size"], ["grown"]))
        case "Range":
            for name, number in (("zero", 0), ("one", 1), ("size", size)):
                scalar = numpy_helper.from_array(np.array(number, np.int64), f"grown.{name}.scalar")
                model.graph.initializer.append(scalar)
            names = [f"grown.{name}.scalar" for name in ("zero", "size", "one")]
            model.graph.node.append(helper.make_node(operator, names, ["grown"]))
        case _:
            model.graph.node.append(helper.make_node(operator, [source, "grown.size"], ["grown"]))
    if rng.random() < 0.5:
        model.graph.node.append(helper.make_node("Size", ["grown"], ["counted"]))
        model.graph.output.append(helper.make_empty_tensor_value_info("counted"))
    else:
        model.graph.output.append(helper.make_tensor_value_info("grown", rng.choice([1, 7]), None))


BYTE_DAMAGE: tuple[ByteDamage, ...] = (truncate, flip_bits, flip_bits, overwrite, repeat)
STRUCTURE: tuple[Damage, ...] = (
    rewire, rename_output, change_operator, change_attribute, change_count, change_tensor, change_input,
    change_versions, duplicate_or_drop, nest, call_in_a_circle,
)  # fmt: skip
MEANING: tuple[Damage, ...] = (
    swap_inputs, change_numbers, change_numbers, change_numbers, change_to_alike, drop_attribute, resize_attribute,
    change_type, change_type, change_input, grow, rewire,
)  # fmt: skip
