"""Fixtures for passes (text in, text out, and the same values before and after), for operators, for programs in C."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sateen.graph_ir.ir import Array, Graph, GraphBuilder, TensorType, parse_graph, verify_graph, why_different
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.passes import Pass
from sateen.runtime import Artifact
from sateen.tensor_ir import Machine, build, te
from sateen.tensor_ir.interpret import evaluate
from sateen.topi.operators import Operator, computation_of, types_of
from sateen.topi.types import Layout, pack, placeholder, unpack


@pytest.fixture
def parse() -> Callable[[str], Graph]:
    """A graph from the lines of its text."""
    return _parse


@pytest.fixture
def run_in_c(tmp_path: Path, run_with_library: Callable[..., None]) -> Callable[..., dict[str, Array]]:
    """Runs a network as a library that a program in C calls, which `run` compiles and runs; gives its outputs."""

    def call(artifact: Artifact, given: Mapping[str, Array], run: Callable[..., str]) -> dict[str, Array]:
        artifact.export_library(tmp_path / "libcalled.so", "net")
        outputs = {p.name: np.zeros([int(n) for n in p.shape], p.dtype.numpy) for p in artifact.outputs}
        workspace = np.zeros(artifact.workspace_bytes, np.uint8)
        arrays = [*(given[p.name] for p in artifact.inputs), *outputs.values(), workspace]

        def texts(places: Sequence[str]) -> dict[str, str]:
            return {"net_run": f"net_run(NULL, {', '.join(f'(void *)({place})' for place in places)})"}

        run_with_library("net_sateen", texts, arrays, run)
        return outputs

    return call


@pytest.fixture
def check() -> Callable[[Pass, str, str], Graph]:
    """Check that a pass turns one text into another, and that both compute the same."""

    def check(transform: Pass, before: str, after: str) -> Graph:
        graph, expected = _parse(before), _parse(after)
        result = transform(graph)
        assert why_different(result, expected) is None, f"{why_different(result, expected)}\n{result}"
        assert [v.name for v in result.outputs] == [v.name for v in graph.outputs]
        verify_graph(result)
        _same_values(graph, result)
        return result

    return check


@pytest.fixture
def check_unchanged() -> Callable[[Pass, str], None]:
    """Check that a pass leaves a graph as it is."""

    def check(transform: Pass, text: str) -> None:
        graph = _parse(text)
        result = transform(graph)
        assert result is graph, str(result)

    return check


def _parse(text: str) -> Graph:
    lines = [line.strip() for line in text.strip().split("\n")]
    graph = parse_graph("\n".join(["graph test", *(f"  {line}" for line in lines if line)]), OPS)
    verify_graph(graph)
    return graph


def _same_values(one: Graph, other: Graph) -> None:
    random = np.random.default_rng(0)
    inputs = {v.name: _random(random, v.type.dtype.numpy, v.type.static_shape) for v in one.inputs}
    expected, found = interpret(one, inputs), interpret(other, inputs)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)


def _random(random: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    return random.integers(-3, 3, shape).astype(dtype)


@pytest.fixture
def check_op() -> Callable[..., None]:
    """Check an operator on given arrays; see `_check_op`."""
    return _check_op


@pytest.fixture
def of_lanes() -> Callable[[int], Machine]:
    """This machine, with vectors of so many float32."""
    return _of_lanes


def _of_lanes(lanes: int) -> Machine:
    return replace(Machine.of("llvm"), vector_bytes=4 * lanes)


def _check_op(op: Operator, inputs: Sequence[Array], expected: Sequence[Array], blocked: Layout | None = None) -> None:
    """Inference tells what is computed, text form keeps the operator, and oracle and native code give what is expected.

    `blocked` is a layout for every input of its rank and the first one's shape, if the operator takes it.
    """
    given = [TensorType.of(str(a.dtype), a.shape) for a in inputs]
    types = types_of(op, given)
    assert [(t.dtype.numpy, t.shape) for t in types] == [(e.dtype, e.shape) for e in expected]
    builder = GraphBuilder("one")
    operands = [builder.input(f"x{i}", t.dtype, t.shape) for i, t in enumerate(given)]
    builder.output(*builder.add_all(op, *operands))
    graph = builder.finish()
    assert why_different(parse_graph(str(graph), OPS), graph) is None
    _check_values(op, given, types, inputs, expected)
    if blocked is not None:
        wanted = [replace(t, layout=blocked) if t.shape == given[0].shape else t for t in given]
        choice = next(iter(op.layouts(wanted, types, _of_lanes(blocked.block_of(1)))))
        assert blocked in choice.inputs, "the operator does not take the layout"
        given = [replace(t, layout=layout) for t, layout in zip(given, choice.inputs, strict=True)]
        types = tuple(replace(t, layout=layout) for t, layout in zip(types, choice.outputs, strict=True))
        _check_values(op, given, types, inputs, expected)


def _check_values(
    op: Operator,
    given: Sequence[TensorType],
    types: Sequence[TensorType],
    inputs: Sequence[Array],
    expected: Sequence[Array],
) -> None:
    views = [placeholder(t.static_shape, t.dtype, f"x{i}", t.memory_layout) for i, t in enumerate(given)]
    computation = computation_of(op, views, types)
    assert [(v.dtype, v.shape, v.layout) for v in computation.outputs] == [
        (t.dtype, t.static_shape, t.memory_layout) for t in types
    ]
    packed = [pack(a, t.memory_layout) if a.ndim else a for a, t in zip(inputs, given, strict=True)]
    tensors = [v.tensor for v in computation.outputs]
    by_definition = evaluate(tensors, {v.tensor: a for v, a in zip(views, packed, strict=True)})
    machine = Machine.of("llvm")
    schedule = te.create_schedule(tensors)
    computation.schedule_on(machine)(schedule, tensors[0], machine)
    native = [np.zeros(t.physical_shape, t.dtype.numpy) for t in types]
    build(schedule, [*(v.tensor for v in views), *tensors])(*packed, *native)
    for values in (by_definition, native):
        for type_, value, wanted in zip(types, values, expected, strict=True):
            found = unpack(np.asarray(value), type_.static_shape, type_.memory_layout) if type_.rank else value
            if type_.dtype.is_float:
                bound = _TOLERANCE[type_.dtype.bits]
                np.testing.assert_allclose(np.float64(found), np.float64(wanted), rtol=bound, atol=bound)
            else:
                np.testing.assert_array_equal(found, wanted)


_TOLERANCE = {16: 1e-2, 32: 2e-5, 64: 1e-12}
"""By the bits of a float."""
