"""The variables of a SavedModel of TensorFlow 2, found in its checkpoint by the objects that hold them.

A checkpoint names a variable by its path through the objects of the program; a function that is saved names the objects
whose tensors it takes behind its arguments. Names of variables play no part, and may occur twice. Source:
tensorflow/core/protobuf/saved_object_graph.proto, tensorflow/python/checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sateen.frontends.tensorflow.checkpoint import Checkpoint
from sateen.frontends.tensorflow.functions import CALLS
from sateen.frontends.tensorflow.operation import plain_tensor
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import GraphDef, SavedObjectGraph

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
"""The end of the name of a variable's data."""
_ESCAPED = re.compile(r"\.([.S])")


def keys_of_objects(graph: GraphDef, objects: SavedObjectGraph, checkpoint: Checkpoint) -> dict[str, str]:
    """The name in the checkpoint of each variable that a saved function takes, by its node in the graph."""
    held = _keys_by_object(objects, checkpoint)
    keys: dict[str, str] = {}
    for node in graph.node:
        called = node.attr["f"].func.name if node.op in CALLS and "f" in node.attr else node.op
        if called not in objects.concrete_functions:
            continue
        bound = objects.concrete_functions[called].bound_inputs
        inputs = [plain_tensor(name) for name in node.input if not name.startswith("^")]
        if len(bound) <= len(inputs):
            taken = zip(inputs[len(inputs) - len(bound) :], bound, strict=True)
            keys.update((name, held[number]) for name, number in taken if number in held)
    return keys


def _keys_by_object(objects: SavedObjectGraph, checkpoint: Checkpoint) -> dict[int, str]:
    """The name of each object's data in the checkpoint."""
    children: Sequence[Mapping[str, int]] = [
        {child.local_name: child.node_id for child in node.children} for node in objects.nodes
    ]
    keys: dict[int, str] = {}
    for key in checkpoint.entries:
        path, end, rest = key.partition(_VALUE)
        found = _object_at([_plain(name) for name in path.split("/")], children) if end and not rest else None
        if found is not None:
            keys[found] = key
    return keys


def _object_at(path: Sequence[str], children: Sequence[Mapping[str, int]]) -> int | None:
    """The number of the object at a path from the first one; None if there is none."""
    place: int | None = 0
    for name in path:
        if place is None or not 0 <= place < len(children):
            return None
        place = children[place].get(name)
    return place


def _plain(name: str) -> str:
    """A name without escapes, which stand for a slash and a point (trackable_utils.py)."""
    return _ESCAPED.sub(lambda found: "/" if found.group(1) == "S" else ".", name)
