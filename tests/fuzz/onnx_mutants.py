"""Damages ONNX models and reads them: `python onnx_mutants.py --count 10000`, or `--seed 17` for one.

A mutant must be refused with a FrontendError or read; a neutral one, which means the same as its model, must be read.
Batches run in child processes, so that a crash, a hang of more than 10 s or more than 2 GB of memory names its seed.
`--models FILE...` adds models of your own to the built-in ones.
"""

from __future__ import annotations

import argparse
import faulthandler
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from weft.frontends import from_onnx
from weft.runtime.errors import FrontendError

SECONDS = 10
BYTES = 2 << 30
BATCH = 500
HOSTILE_NUMBERS = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 7, 2**16, 2**31, 2**40, 2**63 - 1)

Damage = Callable[[onnx.ModelProto, Random], None]


def chain() -> onnx.ModelProto:
    """A small network: product with a bias, shape arithmetic, slices, a branch and a function."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.standard_normal((12, 8), np.float32), "b": np.ones(8, np.float32), "zero": np.int64(0),
        "axis": np.int64([0]), "rest": np.int64([-1]), "starts": np.int64([1]), "ends": np.int64([7]),
        "on": np.array(True),
    }  # fmt: skip
    leaf = [helper.make_empty_tensor_value_info("r")]
    then = helper.make_graph([helper.make_node("Relu", ["g"], ["r"])], "then", [], leaf)
    otherwise = helper.make_graph([helper.make_node("Identity", ["g"], ["r"])], "else", [], leaf)
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axis"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w", "b"], ["g"], alpha=0.5),
        helper.make_node("If", ["on"], ["i"], then_branch=then, else_branch=otherwise),
        helper.make_node("Twice", ["i"], ["d"], domain="own"),
        helper.make_node("Slice", ["d", "starts", "ends", "rest"], ["l"]),
        helper.make_node("Split", ["l"], ["p", "q"], axis=1),
        helper.make_node("Sub", ["p", "q"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(np.asarray(data), name) for name, data in constants.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    body = helper.make_function("own", "Twice", ["a"], ["c"], [helper.make_node("Add", ["a", "a"], ["c"])], opsets[:1])
    return helper.make_model(graph, opset_imports=opsets, functions=[body], ir_version=9)


def convolution() -> onnx.ModelProto:
    """Convolution, clip and transpose, with data in the fields of its type."""
    weight = np.random.default_rng(1).standard_normal((4, 3, 3, 3), np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]),
        helper.make_node("Clip", ["c"], ["k"], min=0.0, max=6.0),
        helper.make_node("Transpose", ["k"], ["y"], perm=[0, 2, 3, 1]),
    ]
    graph = helper.make_graph(
        nodes, "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4])],
        [helper.make_tensor("w", TensorProto.FLOAT, weight.shape, weight.ravel().tolist())],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=5)


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


def random_node(model: onnx.ModelProto, rng: Random) -> onnx.NodeProto:
    return rng.choice(model.graph.node)


def rewire(model: onnx.ModelProto, rng: Random) -> None:
    """An input of a node becomes any value: another type, a cycle, nothing."""
    names = [name for node in model.graph.node for name in (*node.input, *node.output)] + ["", "ghost"]
    node = random_node(model, rng)
    if node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)


def rename_output(model: onnx.ModelProto, rng: Random) -> None:
    node = random_node(model, rng)
    node.output[rng.randrange(len(node.output))] = rng.choice([*random_node(model, rng).output, "", "new"])


def change_operator(model: onnx.ModelProto, rng: Random) -> None:
    node = random_node(model, rng)
    node.op_type = rng.choice(
        [random_node(model, rng).op_type, "Loop", "Scan", "Attention", "Resize", "LSTM", "", "Alien"]
    )
    node.domain = rng.choice(["", "", "", "ai.onnx", "own", "com.microsoft"])


def change_attribute(model: onnx.ModelProto, rng: Random) -> None:
    node = random_node(model, rng)
    if node.attribute:
        attribute = rng.choice(node.attribute)
        attribute.type = rng.choice(onnx.AttributeProto.AttributeType.values())
        attribute.i = rng.choice(HOSTILE_NUMBERS)
        if attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(HOSTILE_NUMBERS)


def change_integers(model: onnx.ModelProto, rng: Random) -> None:
    """Integers in attributes and constants keep their type."""
    node = random_node(model, rng)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.INTS and attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(HOSTILE_NUMBERS)
        if attribute.type == onnx.AttributeProto.INT:
            attribute.i = rng.choice(HOSTILE_NUMBERS)
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.INT64 and rng.random() < 0.3:
            tensor.raw_data = np.int64(rng.choice(HOSTILE_NUMBERS)).tobytes()


def change_tensor(model: onnx.ModelProto, rng: Random) -> None:
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


def change_input(model: onnx.ModelProto, rng: Random) -> None:
    tensor = model.graph.input[0].type.tensor_type
    match rng.randrange(4):
        case 0:
            tensor.elem_type = rng.randrange(30)
        case 1:
            tensor.shape.dim.add().dim_value = rng.choice(HOSTILE_NUMBERS)
        case 2:
            rng.choice(tensor.shape.dim).dim_value = rng.choice(HOSTILE_NUMBERS)
        case _:
            rng.choice(tensor.shape.dim).dim_param = rng.choice(["n", "", "?"])


def change_versions(model: onnx.ModelProto, rng: Random) -> None:
    rng.choice(model.opset_import).version = rng.choice([*range(30), *HOSTILE_NUMBERS])
    model.ir_version = rng.choice([model.ir_version, model.ir_version, *range(15), 2**40])


def duplicate_or_drop(model: onnx.ModelProto, rng: Random) -> None:
    part = rng.choice(
        [model.graph.node, model.graph.initializer, model.graph.input, model.graph.output, model.functions]
    )
    if part and rng.random() < 0.5:
        part.append(rng.choice(part))
    elif part:
        del part[rng.randrange(len(part))]


def nest(model: onnx.ModelProto, rng: Random) -> None:
    """If within If, nearly as deep as protobuf copies."""
    graph = helper.make_graph(
        [helper.make_node("Identity", ["b"], ["r"])], "leaf", [], [helper.make_empty_tensor_value_info("r")]
    )
    for _ in range(rng.choice([1, 5, 15, 25])):
        node = helper.make_node(
            "If", ["on"], ["r"], then_branch=graph, else_branch=graph if rng.random() < 0.05 else onnx.GraphProto()
        )
        graph = helper.make_graph([node], "branch", [], [helper.make_empty_tensor_value_info("r")])
    model.graph.node.append(helper.make_node("If", ["on"], ["deep"], then_branch=graph, else_branch=graph))


def call_in_a_circle(model: onnx.ModelProto, rng: Random) -> None:
    nodes = [helper.make_node("Twice", ["a"], ["c"], domain="own")] * rng.choice([1, 2])
    model.functions.append(helper.make_function("own", "Other", ["a"], ["c"], nodes, list(model.opset_import)))
    if model.functions[0].node:
        model.functions[0].node[0].op_type = rng.choice(["Other", "Twice"])
        model.functions[0].node[0].domain = "own"


def add_documentation(model: onnx.ModelProto, rng: Random) -> None:
    model.doc_string = model.producer_name = rng.choice(["", "x", "ü" * 1000])
    random_node(model, rng).doc_string = "text"
    model.metadata_props.add(key="k", value="v")


def add_unused_data(model: onnx.ModelProto, rng: Random) -> None:
    data = np.arange(rng.randrange(1, 9), dtype=rng.choice([np.float32, np.int64, np.uint8]))
    model.graph.initializer.append(numpy_helper.from_array(data, f"unused{rng.randrange(10**6)}"))


def shuffle_data(model: onnx.ModelProto, rng: Random) -> None:
    tensors = list(model.graph.initializer)
    rng.shuffle(tensors)
    del model.graph.initializer[:]
    model.graph.initializer.extend(tensors)


def shuffle_nodes(model: onnx.ModelProto, rng: Random) -> None:
    nodes = list(model.graph.node)
    rng.shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def name_nodes(model: onnx.ModelProto, rng: Random) -> None:
    for index, node in enumerate(model.graph.node):
        node.name = f"node{rng.randrange(10**6)}_{index}"


def spell_domain(model: onnx.ModelProto, rng: Random) -> None:
    node = random_node(model, rng)
    node.domain = node.domain or "ai.onnx"


BYTE_DAMAGE = (truncate, flip_bits, flip_bits, overwrite, repeat)
DAMAGE: tuple[Damage, ...] = (
    rewire, rename_output, change_operator, change_attribute, change_integers, change_tensor, change_input,
    change_versions, duplicate_or_drop, nest, call_in_a_circle,
)  # fmt: skip
NEUTRAL: tuple[Damage, ...] = (
    add_documentation, add_unused_data, shuffle_data, shuffle_nodes, name_nodes, spell_domain
)  # fmt: skip


def mutant(seed: int, models: Sequence[bytes]) -> tuple[bytes, bool]:
    """The mutant of a seed, and whether it is neutral."""
    rng = Random(seed)
    data = rng.choice(models)
    if seed % 10 == 0:
        model = onnx.ModelProto.FromString(data)
        for change in rng.sample(NEUTRAL, rng.randrange(1, 4)):
            change(model, rng)
        return model.SerializeToString(), True
    if seed % 10 <= 3:
        damaged = bytearray(data)
        rng.choice(BYTE_DAMAGE)(damaged, rng)
        return bytes(damaged), False
    model = onnx.ModelProto.FromString(data)
    for damage in rng.choices(DAMAGE, k=rng.choice((1, 1, 2, 3))):
        if model.graph.node and model.graph.initializer and model.graph.input and model.opset_import:
            damage(model, rng)
    return model.SerializeToString(), False


def examine(seed: int, models: Sequence[bytes]) -> str:
    """'read', 'neutral' or 'refused'. Other errors than a FrontendError escape."""
    data, is_neutral = mutant(seed, models)
    try:
        from_onnx(data)
    except FrontendError:
        if is_neutral:
            raise
        return "refused"
    return "neutral" if is_neutral else "read"


def child(first: int, count: int, models: Sequence[bytes]) -> None:
    """Examines seeds, each with its limits; writes a seed before it is tried and what came of it after."""
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    for seed in range(first, first + count):
        say(f"{seed} ")
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        say(f"{examine(seed, models)}\n")
    faulthandler.cancel_dump_traceback_later()


def say(message: str) -> None:
    sys.stdout.write(message)
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="examine this one in this process")
    parser.add_argument("--models", type=Path, nargs="*", default=[])
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    models = [chain().SerializeToString(), convolution().SerializeToString(), *(p.read_bytes() for p in options.models)]
    if options.seed is not None:
        say(f"{examine(options.seed, models)}\n")
        return
    if options.child:
        child(options.first, options.count, models)
        return
    outcomes: Counter[str] = Counter()
    for first in range(options.first, options.first + options.count, BATCH):
        count = min(BATCH, options.first + options.count - first)
        numbers = ["--first", str(first), "--count", str(count)]
        command = [sys.executable, __file__, "--child", *numbers, "--models", *map(str, options.models)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        outcomes.update(line.split()[1] for line in lines if " " in line.strip())
        if done.returncode:
            seed = lines[-1].split()[0] if lines else first
            sys.exit(f"seed {seed}: exit {done.returncode}\n{done.stderr}")
    say(", ".join(f"{outcome} {count}" for outcome, count in sorted(outcomes.items())) + "\n")


if __name__ == "__main__":
    main()
