"""Makes a graph at fault smaller while it stays at fault: fewer outputs, nodes, inputs and elements, plainer data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from graph_evaluation import is_float, judged
from node_evaluation import Array, NoAnswerError
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper
from random_graphs import RandomGraph

IsFault = Callable[[RandomGraph], bool]
MOST_TRIALS = 150


def shrunk(graph: RandomGraph, is_fault: IsFault) -> RandomGraph:
    """The smallest graph found. Raises nothing: a step that can't be taken is not."""
    best, trials = graph, 0
    progress = True
    while progress:
        progress = False
        for step in (
            fewer_outputs,
            last_nodes,
            cut_nodes,
            without_nodes,
            smaller_extents,
            plainer_data,
            constant_inputs,
        ):
            again = True
            while again:
                again = False
                for candidate in step(best):
                    trials += 1
                    if trials > MOST_TRIALS:
                        return best
                    if _size(candidate) < _size(best) and is_fault(candidate):
                        best, progress, again = candidate, True, True
                        break
    return best


def _size(graph: RandomGraph) -> tuple[int, ...]:
    """What is to become smaller, the most important first."""
    proto = graph.model.graph
    arrays = [*graph.inputs.values(), *(numpy_helper.to_array(t) for t in proto.initializer)]
    return (
        len(proto.output),
        sum(len(node.SerializeToString()) > 0 for node in proto.node),
        sum(a.size for a in arrays),
        len(arrays),
        len(graph.inputs),
        sum(int(np.count_nonzero(a != 1)) + int(np.count_nonzero(a)) for a in arrays),
    )


def fewer_outputs(graph: RandomGraph) -> Iterator[RandomGraph]:
    """One output alone."""
    outputs = list(graph.model.graph.output)
    if len(outputs) > 1:
        for output in outputs:
            proto = _copy(graph.model)
            del proto.graph.output[:]
            proto.graph.output.append(output)
            yield _pruned(proto, graph.inputs)


def last_nodes(graph: RandomGraph) -> Iterator[RandomGraph]:
    """The last node, the last two, four and so on, over the values that they read."""
    count = len(graph.model.graph.node)
    kept = 1
    while kept < count:
        yield from _without(graph, range(count - kept))
        kept *= 2


def cut_nodes(graph: RandomGraph) -> Iterator[RandomGraph]:
    """Without one node, the last ones first."""
    for index in reversed(range(len(graph.model.graph.node))):
        yield from _without(graph, [index])


def _without(graph: RandomGraph, places: Sequence[int]) -> Iterator[RandomGraph]:
    """The outputs of nodes become inputs, with the values that they have."""
    try:
        values = judged(graph.model, graph.inputs)
    except NoAnswerError:
        return
    proto = _copy(graph.model)
    names = [name for place in places for name in proto.graph.node[place].output if name]
    for place in sorted(places, reverse=True):
        del proto.graph.node[place]
    for name in names:
        dtype = helper.np_dtype_to_tensor_dtype(values[name].dtype)
        proto.graph.input.append(helper.make_tensor_value_info(name, dtype, values[name].shape))
    yield _pruned(proto, graph.inputs | {name: values[name] for name in names})


def without_nodes(graph: RandomGraph) -> Iterator[RandomGraph]:
    """A node's output is one of its inputs instead, where that has the same type."""
    try:
        values = judged(graph.model, graph.inputs)
    except NoAnswerError:
        return
    outputs = {o.name for o in graph.model.graph.output}
    for index, node in enumerate(graph.model.graph.node):
        given = next((n for n in node.input if n and _type(values[n]) == _type(values[node.output[0]])), None)
        if given is None or len(node.output) > 1 or node.output[0] in outputs:
            continue
        proto = _copy(graph.model)
        del proto.graph.node[index]
        for later in proto.graph.node:
            later.input[:] = [given if name == node.output[0] else name for name in later.input]
        yield _pruned(proto, graph.inputs)


def smaller_extents(graph: RandomGraph) -> Iterator[RandomGraph]:
    """An extent becomes a smaller one in all inputs and constants."""
    initializers = {t.name: numpy_helper.to_array(t) for t in graph.model.graph.initializer}
    arrays = initializers | graph.inputs
    for extent in sorted({e for a in arrays.values() for e in a.shape if e > 1}, reverse=True):
        for smaller in sorted({1, extent // 2, extent - 1}):
            cut = {name: _cut(a, extent, smaller) for name, a in arrays.items()}
            yield _with_arrays(graph, cut)


def plainer_data(graph: RandomGraph) -> Iterator[RandomGraph]:
    """Zeros, ones, or whole numbers instead of what an array has."""
    initializers = {t.name: numpy_helper.to_array(t) for t in graph.model.graph.initializer}
    arrays = initializers | graph.inputs
    for name, array in arrays.items():
        plain = [np.zeros_like(array), np.ones_like(array)]
        if is_float(array.dtype):
            with np.errstate(invalid="ignore"):
                plain.append(np.round(array.astype(np.float64)).astype(array.dtype))
        for other in plain:
            yield _with_arrays(graph, {**arrays, name: other})


def constant_inputs(graph: RandomGraph) -> Iterator[RandomGraph]:
    for name, array in graph.inputs.items():
        proto = _copy(graph.model)
        kept = [v for v in proto.graph.input if v.name != name]
        del proto.graph.input[:]
        proto.graph.input.extend(kept)
        proto.graph.initializer.append(numpy_helper.from_array(array, name))
        yield RandomGraph(proto, {n: a for n, a in graph.inputs.items() if n != name})


def _copy(model: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


def _type(array: Array) -> tuple[object, ...]:
    return array.dtype, array.shape


def _cut(array: Array, extent: int, smaller: int) -> Array:
    return np.ascontiguousarray(array[tuple(slice(smaller if e == extent else e) for e in array.shape)]).reshape(
        [smaller if e == extent else e for e in array.shape]
    )


def _with_arrays(graph: RandomGraph, arrays: dict[str, Array]) -> RandomGraph:
    """The graph with other data of inputs and constants; outputs lose their declared types."""
    proto = _copy(graph.model)
    tensors = [numpy_helper.from_array(arrays[t.name], t.name) for t in proto.graph.initializer]
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(tensors)
    inputs = {name: arrays[name] for name in graph.inputs}
    del proto.graph.input[:]
    for name, array in inputs.items():
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        proto.graph.input.append(helper.make_tensor_value_info(name, dtype, array.shape))
    names = [o.name for o in proto.graph.output]
    del proto.graph.output[:]
    try:
        values = judged(proto, inputs)
    except NoAnswerError:
        values = {}
    for name in names:
        known = values.get(name)
        proto.graph.output.append(
            helper.make_empty_tensor_value_info(name) if known is None
            else helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(known.dtype), known.shape)
        )  # fmt: skip
    return RandomGraph(proto, inputs)


def _pruned(proto: ModelProto, inputs: dict[str, Array]) -> RandomGraph:
    """Without what no output needs."""
    needed = {o.name for o in proto.graph.output}
    kept = []
    for node in reversed(proto.graph.node):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(_read(node.input, (a.g for a in node.attribute if a.HasField("g"))))
    nodes = [_copied(node) for node in reversed(kept)]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    for entries in (proto.graph.input, proto.graph.initializer):
        few = [entry for entry in entries if entry.name in needed]
        del entries[:]
        entries.extend(few)
    names = {v.name for v in proto.graph.input}
    return RandomGraph(proto, {name: a for name, a in inputs.items() if name in names})


def _copied(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def _read(names: Iterable[str], bodies: Iterable[GraphProto]) -> Iterator[str]:
    """The names that a node and its bodies read."""
    yield from names
    for body in bodies:
        yield from (output.name for output in body.output)
        for node in body.node:
            yield from _read(node.input, (a.g for a in node.attribute if a.HasField("g")))
