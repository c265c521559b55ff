"""Records that come with sateen: for whom they count, and what an artifact says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sateen.graph_ir import GraphBuilder, build
from sateen.graph_ir.compile import driver
from sateen.graph_ir.ir import Graph, Problem
from sateen.graph_ir.ops import Conv
from sateen.graph_ir.records import Record, Records, ShippedRecords, pack, shipped, shipped_name
from sateen.runtime import Target
from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution import Direct, Winograd
from sateen.topi.methods import Method
from sateen.topi.types import TensorType

HERE = Target.host()
CONV = Conv((1, 1), (1, 1, 1, 1))
PROBLEM = Problem(CONV, (TensorType.of("float32", (1, 32, 16, 16)), TensorType.of("float32", (32, 32, 3, 3))))


def record(method: Method, seconds: float) -> Record:
    return Record(str(HERE), PROBLEM, method, seconds)


def network() -> Graph:
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    w = g.parameter("w", random.standard_normal((32, 32, 3, 3)).astype("float32"))
    g.output(g.add(CONV, g.input("x", "float32", (1, 32, 16, 16)), w))
    return g.finish()


@pytest.fixture
def methods() -> list[Method]:
    """The candidates of the problem, best first."""
    found = [c.method for c in PROBLEM.candidates(Machine.of(HERE)) if type(c.method) is Direct]
    if len(found) < 3:
        pytest.skip("this machine has no vectors to choose between")
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where records come from instead of the package."""
    monkeypatch.setattr(driver, "ShippedRecords", lambda target, machine: ShippedRecords(target, machine, tmp_path))
    yield tmp_path
    shipped._read.cache_clear()


def test_they_count_where_nothing_else_is_known_and_the_artifact_says_so(folder: Path, methods: list[Method]) -> None:
    pack(Records((record(methods[2], 0.1),)), HERE, folder)
    own, by_estimate = build(network()), build(network(), shipped=False)
    assert own.options == {"shipped_records": ShippedRecords(HERE, folder=folder).digest}
    assert by_estimate.options == {}
    assert own.to_bytes() == build(network()).to_bytes()
    as_told = build(network(), records=Records((record(methods[2], 0.1),)), shipped=False)
    assert own.code == as_told.code
    other = build(network(), records=Records((record(methods[1], 0.1),)))
    assert set(other.options) == {"records"}


def test_those_of_another_problem_target_or_machine_do_not_count(folder: Path, methods: list[Method]) -> None:
    pack(Records((record(methods[2], 0.1),)), HERE, folder)
    other = Problem(CONV, (TensorType.of("float32", (1, 32, 17, 17)), PROBLEM.inputs[1]))
    records = ShippedRecords(HERE, folder=folder)
    assert (records.of(other), records.used) == ([], False)
    assert (records.of(PROBLEM), records.used) == ([methods[2]], True)
    assert ShippedRecords(replace(HERE, cpu="x86-64"), folder=folder).of(PROBLEM) == []
    (folder / shipped_name(HERE)).rename(folder / "of-another-machine.jsonl.gz")
    shipped._read.cache_clear()
    assert (ShippedRecords(HERE, folder=folder).digest, ShippedRecords(HERE, folder=folder).of(PROBLEM)) == ("", [])


def test_a_file_has_the_fastest_of_each_level_of_numerics_and_equal_bytes(folder: Path, methods: list[Method]) -> None:
    winograd = Winograd(2, 8, 8, 1)
    records = (record(winograd, 0.1), record(methods[0], 0.3), record(methods[1], 0.2))
    one = pack(Records(records), HERE, folder).read_bytes()
    assert ShippedRecords(HERE, folder=folder).of(PROBLEM) == [winograd, methods[1]]
    assert pack(Records(records[::-1]), HERE, folder).read_bytes() == one


def test_a_method_that_its_operator_lost_does_not_count(folder: Path, methods: list[Method]) -> None:
    pack(Records((record(methods[2], 0.1),)), HERE, folder)
    texts = {str(PROBLEM): ["gone(rows=1)", str(methods[2])]}
    records = ShippedRecords(HERE, folder=folder)
    records._methods = texts
    assert records.of(PROBLEM) == [methods[2]]


def test_what_comes_with_the_package_can_be_read() -> None:
    for path in shipped.FOLDER.glob("*.jsonl.gz"):
        digest, found = shipped._read(path)
        assert digest
        assert all(texts for texts in found.values())
