"""Kernels are found by the text of their group, which is then not lowered; the key has all that they depend on."""

from __future__ import annotations

import shutil
from concurrent.futures import Future
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import Graph, GraphBuilder, NodeSpan, parse_graph
from sateen.graph_ir.kernels import KernelPool, group_compiler, group_requests
from sateen.graph_ir.kernels.group_requests import answer, facts_key, group_request, group_text
from sateen.graph_ir.ops import OPS, Identity, Relu, Softmax, Tanh
from sateen.runtime import CodegenError, LoweringError, Target
from sateen.tensor_ir import Machine, ObjectCache
from sateen.tensor_ir.codegen import object_cache
from sateen.topi import Computation, Operator, TensorType, View, compute

TARGET = Target.of("llvm")


@dataclass(frozen=True)
class TanhOfUsers(Tanh):
    """An operator of another package."""

    name = "acme.Tanh"


def network(*ops: Operator, name: str = "net") -> Graph:
    """A row of operators after softmax, which begin kernels of their own where they are softmax, too."""
    builder = GraphBuilder(name)
    x = builder.add(Softmax(1), builder.input("x", "float32", (4, 32)), spans=(NodeSpan("m.onnx", "first", "Softmax"),))
    for op in ops:
        x = builder.add(op, x)
    builder.output(x)
    return builder.finish()


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "objects")


def lowered_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are lowered in this process from now on."""
    names: list[str] = []
    lower = group_compiler.lower_kernel

    def counted(node: Any, name: str, machine: Machine) -> Any:
        names.append(name)
        return lower(node, name, machine)

    monkeypatch.setattr(group_compiler, "lower_kernel", counted)
    return names


def test_what_a_cache_has_is_not_lowered_and_has_the_same_bytes(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = network(Tanh(), Softmax(0), Relu())
    expected = build(graph).to_bytes()
    names = lowered_names(monkeypatch)
    assert build(graph, cache=cache).to_bytes() == expected
    assert names == ["k0_softmax", "k1_softmax"]
    assert build(graph, cache=cache).to_bytes() == expected
    assert len(names) == 2


def test_workers_lower_groups_and_fill_the_cache(cache: ObjectCache, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = network(Tanh(), Softmax(0), Relu())
    expected = build(graph).to_bytes()
    names = lowered_names(monkeypatch)
    with KernelPool(2) as workers:
        assert build(graph, workers=workers, cache=cache).to_bytes() == expected
    assert build(graph, cache=cache).to_bytes() == expected
    assert names == []


def test_groups_that_do_the_same_have_one_kernel_with_a_cache_too(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tanh, and a tanh of what stays as it is."""
    builder = GraphBuilder("net")
    x = builder.input("x", "float32", (4, 32))
    builder.output(builder.add(Tanh(), x), builder.add(Tanh(), builder.add(Identity(), x)))
    graph = builder.finish()
    expected = build(graph, pipeline=(), timed=True)
    assert [step.kernel for step in expected.steps] == ["k0_tanh", "k0_tanh"]
    names = lowered_names(monkeypatch)
    for _ in range(2):
        assert build(graph, pipeline=(), cache=cache, timed=True).to_bytes() == expected.to_bytes()
    assert names == ["k0_tanh", "k1_tanh"]


def test_kernels_for_another_machine_are_lowered_here_and_kept_apart(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Machine.of(TARGET)
    other = replace(own, l2_bytes=own.l2_bytes // 2)
    names = lowered_names(monkeypatch)
    with KernelPool(1) as workers:
        build(network(), cache=cache, workers=workers, machine=own)
        assert names == []
        for _ in range(2):
            build(network(), cache=cache, workers=workers, machine=other)
    assert names == ["k0_softmax"]


@pytest.mark.parametrize("damage", [b"", b"other", b"sateen facts 1\n" + bytes(40)])
def test_damaged_facts_are_made_again(cache: ObjectCache, damage: bytes) -> None:
    graph = network(Tanh())
    expected = build(graph, cache=cache).to_bytes()
    facts = [entry for entry in cache.folder.iterdir() if entry.read_bytes().startswith(b"sateen facts")]
    for entry in facts:
        entry.write_bytes(damage)
    assert build(graph, cache=cache).to_bytes() == expected
    assert [entry.read_bytes()[:15] for entry in facts] == [b"sateen facts 1\n"]


def test_code_that_is_lost_is_made_again(cache: ObjectCache) -> None:
    graph = network(Tanh())
    expected = build(graph, cache=cache).to_bytes()
    (code,) = (entry for entry in cache.folder.iterdir() if entry.read_bytes().startswith(b"sateen object"))
    code.unlink()
    assert build(graph, cache=cache).to_bytes() == expected
    assert code.exists()


GROUP = """graph group
  input %0: float32[1, 16, 6, 6]
  input %1: float32[16, 16, 3, 3]
  %2: float32[1, 16, 6, 6] = conv(%0, %1, none) {pads=(1, 1, 1, 1)} by direct(rows=1, columns=6, vectors=1)
  output %2"""
CHANGES = (
    ("float32", "float64"),
    ("16, 6, 6] = conv", "16, 6, 6]@aBcd16b = conv"),
    ("pads=(1, 1, 1, 1)", "pads=(1, 1, 1, 1), dilations=(1, 1)"),
    ("columns=6", "columns=3"),
    ("  output", "  %3: float32[1, 16, 6, 6] = relu(%2)\n  output"),
)


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_another_type_layout_attribute_method_or_epilogue_has_another_key(old: str, new: str) -> None:
    machine = Machine.of(TARGET)
    assert facts_key(GROUP.replace(old, new), machine, TARGET) != facts_key(GROUP, machine, TARGET)


def test_the_text_of_a_group_tells_types_layouts_attributes_and_methods() -> None:
    assert group_text(parse_graph(GROUP, OPS)) == GROUP


def test_another_machine_target_or_numpy_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine.of(TARGET)
    keys = [
        facts_key(GROUP, machine, TARGET),
        facts_key(GROUP, replace(machine, l3_bytes=machine.l3_bytes + 1), TARGET),
        facts_key(GROUP, machine, replace(TARGET, features=())),
    ]
    monkeypatch.setattr(np, "__version__", "another")
    assert len({*keys, facts_key(GROUP, machine, TARGET)}) == 4


@pytest.mark.parametrize("changed", ["runtime", "tensor_ir", "topi", "graph_ir"])
def test_changed_sources_find_no_facts_of_the_old_ones(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("runtime", "tensor_ir", "topi", "graph_ir"):
        shutil.copytree(str(files(f"sateen.{package}")), tmp_path / f"sateen.{package}")
    monkeypatch.setattr(object_cache, "files", tmp_path.joinpath)
    monkeypatch.setattr(group_requests, "source_digest", object_cache.source_digest.__wrapped__)
    before = facts_key(GROUP, Machine.of(TARGET), TARGET)
    assert facts_key(GROUP, Machine.of(TARGET), TARGET) == before
    with (tmp_path / f"sateen.{changed}" / "version.py").open("a") as source:
        source.write("CHANGED = True\n")
    assert facts_key(GROUP, Machine.of(TARGET), TARGET) != before


def test_operators_and_lowerings_of_users_are_lowered_each_time(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shifted(by: float) -> Any:
        def lowering(_op: Operator, x: View, *, outputs: tuple[TensorType, ...]) -> Computation:
            return Computation((compute(outputs[0].static_shape, lambda *i: x[i] + by, "y"),))

        return lowering

    assert group_text(network(TanhOfUsers())) == ""
    assert group_text(network(Tanh())) != ""
    names = lowered_names(monkeypatch)
    made = []
    with KernelPool(1) as workers:
        for by in (1.0, 2.0, 1.0):
            operators = OPS.with_lowering(Tanh, "llvm", shifted(by))
            artifact = build(network(Tanh()), operators=operators, workers=workers, cache=cache)
            assert artifact.to_bytes() == build(network(Tanh()), operators=operators).to_bytes()
            made.append(artifact.to_bytes())
    assert made[0] == made[2] != made[1]
    assert names[::2] == ["k0_softmax"] * 3


def test_what_a_worker_can_not_lower_is_lowered_here_where_the_error_has_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> Any:
        raise LoweringError("no such loop")

    monkeypatch.setattr(group_requests, "lower_kernel", refused)
    asked = group_request(GROUP, "k0_conv", TARGET)
    assert answer(asked) == {"facts": None}
    monkeypatch.setattr(group_compiler, "lower_kernel", refused)
    answered: Future[dict[str, Any]] = Future()
    answered.set_result(answer(asked))
    monkeypatch.setattr(KernelPool, "submit_group", lambda *_: answered)
    with KernelPool(1) as workers, pytest.raises(LoweringError, match="no such loop"):
        build(network(), workers=workers)


def test_a_worker_that_dies_on_a_group_is_told_with_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    answered: Future[dict[str, Any]] = Future()
    answered.set_exception(CodegenError("the compiler's process ended with status -11 while compiling k0_softmax"))
    monkeypatch.setattr(KernelPool, "submit_group", lambda *_: answered)
    with KernelPool(1) as workers, pytest.raises(CodegenError, match="status -11") as caught:
        build(network(), workers=workers)
    assert caught.value.__notes__[0] == "in node 'first' (Softmax) of model 'm.onnx'"
