"""Kernels are compiled once, kept, made by workers, and an error tells the group that it is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from sateen.graph_ir.compile import build, lower_network
from sateen.graph_ir.ir import Graph, GraphBuilder, Node, NodeSpan
from sateen.graph_ir.kernels import KernelCompiler
from sateen.graph_ir.ops import Elu, Exp, Relu, Softmax
from sateen.runtime import CodegenError, Target
from sateen.tensor_ir import ObjectCache
from sateen.tensor_ir.codegen.workers import CompilerPool
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.link.object_file import read_object

TARGET = Target.of("llvm")


def network() -> Graph:
    """Two equal groups, Softmax, and a third that differs."""
    builder = GraphBuilder("net")
    x = builder.input("x", "float32", (4, 32))
    a = builder.add(Softmax(1), x, name="a", spans=(NodeSpan("m.onnx", "first", "Softmax"),))
    b = builder.add(Softmax(1), a, name="b", spans=(NodeSpan("m.onnx", "second", "Softmax"),))
    builder.output(builder.add(Softmax(0), b, name="c", spans=(NodeSpan("m.onnx", "third", "Softmax"),)))
    return builder.finish()


def test_equal_groups_are_lowered_and_begun_once_each_with_the_first_of_their_nodes() -> None:
    begun: list[tuple[Function, Node]] = []
    lowered = lower_network(network(), TARGET, lambda function, node: begun.append((function, node)))
    assert [function for function, _ in begun] == list(lowered.kernels)
    assert [span.node for _, node in begun for span in node.spans] == ["first", "third"]
    assert list(lowered.calls.values()) == [lowered.kernels[0].name, lowered.kernels[0].name, lowered.kernels[1].name]


def test_neither_workers_nor_a_cache_change_the_artifact(tmp_path: Path) -> None:
    expected = build(network()).to_bytes()
    cache = ObjectCache(tmp_path / "objects")
    with CompilerPool(2) as workers:
        assert build(network(), workers=workers, cache=cache).to_bytes() == expected
    assert len(list(cache.folder.iterdir())) == 4  # of each kernel its facts and its code
    assert build(network(), cache=cache).to_bytes() == expected


@pytest.mark.parametrize("by_workers", [False, True])
def test_kernels_of_a_network_check_no_arguments(by_workers: bool) -> None:
    with CompilerPool(1) as workers:
        compiler = KernelCompiler(TARGET, workers if by_workers else None)
        lowered = lower_network(network(), TARGET, compiler.begin)
        objects = [read_object(code) for code in compiler.finish()]
    callable_ = [{s.name for s in o.symbols if s.section is not None and s.binding != 0} for o in objects]
    assert callable_ == [{f"{function.name}.kernel"} for function in lowered.kernels]


def test_code_and_text_grow_with_a_chain_of_functions_that_read_their_argument_twice() -> None:
    def chain(length: int) -> Graph:
        builder = GraphBuilder("net")
        x = builder.input("x", "float32", (32,))
        for i in range(length):
            x = builder.add(Elu(alpha=0.5), x, name=f"y{i}")
        builder.output(x)
        return builder.finish()

    short, long = (sum(len(str(f)) for f in lower_network(chain(n), TARGET).kernels) for n in (60, 180))
    assert long < 4 * short
    with CompilerPool(1) as workers:
        assert build(chain(20), workers=workers).to_bytes() == build(chain(20)).to_bytes()


@pytest.mark.parametrize("by_workers", [False, True])
def test_an_error_tells_the_nodes_of_the_group_and_their_types(by_workers: bool) -> None:
    builder = GraphBuilder("net")
    x = builder.input("x", "float32", (8,))
    y = builder.add(Exp(), x, name="y", spans=(NodeSpan("m.onnx", "power", "Exp"),))
    builder.output(builder.add(Relu(), y, name="z", spans=(NodeSpan("m.onnx", "cut", "Relu"),)))
    begun: list[tuple[Function, Node]] = []
    lower_network(builder.finish(), TARGET, lambda function, node: begun.append((function, node)))
    ((function, node),) = begun
    unnamed = Function("not a symbol", function.parameters, function.outputs, function.body)
    with CompilerPool(1) as workers:
        compiler = KernelCompiler(TARGET, workers if by_workers else None)
        compiler.begin(unnamed, node)
        with pytest.raises(CodegenError) as caught:
            compiler.finish()
    assert caught.value.__notes__[:2] == [
        "in node 'power' (Exp) of model 'm.onnx'",
        "in node 'cut' (Relu) of model 'm.onnx'",
    ]
    assert caught.value.__notes__[2:] == ["  %x: float32[8]", "  %z: float32[8]"]
