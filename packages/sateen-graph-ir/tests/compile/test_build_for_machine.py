"""Networks whose methods are chosen for another machine than the target's."""

from dataclasses import replace

import numpy as np
import pytest

from sateen.graph_ir import GraphBuilder, build
from sateen.graph_ir.ops import Conv, WinogradConv
from sateen.graph_ir.passes import default_pipeline, run_pipeline
from sateen.graph_ir.records import machine_text
from sateen.graph_ir.tune import problems_of, tunings_of
from sateen.runtime import ArgumentError, Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import machine_digest

TARGET = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4")
OWN = Machine.of(TARGET)
SLOW_MEMORY = replace(OWN, rates=replace(OWN.rates, memory=0.05, memory_in_streams=0.05, memory_together=0.05))


def network():
    g = GraphBuilder("test")
    w = g.parameter("w", np.random.default_rng(0).standard_normal((64, 64, 3, 3)).astype("float32"))
    g.output(g.add(Conv((1, 1), (1, 1, 1, 1)), g.input("x", "float32", (1, 64, 16, 16)), w))
    return g.finish()


def methods(machine):
    return [
        (type(node.op), str(node.method))
        for node in run_pipeline(network(), default_pipeline(TARGET, machine=machine)).nodes
    ]


def test_methods_are_chosen_for_the_given_machine():
    assert methods(OWN) == methods(None)
    assert WinogradConv in dict(methods(OWN))
    assert WinogradConv not in dict(methods(SLOW_MEMORY))


def test_the_options_have_the_digest_of_a_machine_that_is_not_the_targets():
    artifacts = [build(network(), TARGET, machine=machine) for machine in (SLOW_MEMORY, SLOW_MEMORY, OWN, None)]
    assert [a.options.get("machine") for a in artifacts] == [machine_digest(SLOW_MEMORY)] * 2 + [None] * 2
    first, again, own, default = (a.to_bytes() for a in artifacts)
    assert first == again
    assert own == default
    assert first != own


def test_a_machine_with_other_vectors_is_refused():
    with pytest.raises(ArgumentError) as caught:
        build(network(), TARGET, machine=Machine.of("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell"))
    assert str(caught.value) == (
        "expected a machine as the target's, cpu with 32 vector registers of 64 bytes; found cpu with 16 vector "
        "registers of 32 bytes"
    )


def test_the_path_of_a_machine_is_no_machine():
    with pytest.raises(ArgumentError, match="build: expected machine as a Machine, found str; read a file first"):
        build(network(), TARGET, machine="machine.json")  # type: ignore[arg-type]


def test_tuning_has_the_candidates_of_the_given_machine_and_its_records_say_so():
    (problem,) = problems_of(network(), TARGET, machine=SLOW_MEMORY)
    first = [tunings_of([problem], TARGET, 4, machine=m)[0].estimate.method for m in (SLOW_MEMORY, OWN)]
    assert first[0] != first[1]
    assert machine_text(TARGET, "x", OWN) == machine_text(TARGET, "x")
    assert (
        machine_text(TARGET, "x", SLOW_MEMORY)
        == f"{machine_text(TARGET, 'x')}, rates {machine_digest(SLOW_MEMORY)[:12]}"
    )
