"""Pass share_equal_nodes."""

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder
from sateen.graph_ir.ops import Add
from sateen.graph_ir.passes import share_equal_nodes as module
from sateen.graph_ir.passes.share_equal_nodes import share_equal_nodes


def test_equal_nodes_are_computed_once(check):
    check(
        share_equal_nodes,
        """
        input %x: float32[2]
        %a = relu(%x)
        %b = relu(%x)
        %c = exp(%a)
        %d = exp(%b)
        %y = add(%c, %d)
        output %y
        """,
        """
        input %x: float32[2]
        %a = relu(%x)
        %c = exp(%a)
        %y = add(%c, %c)
        output %y
        """,
    )


def test_equal_parameters_count_as_one(check):
    check(
        share_equal_nodes,
        """
        input %x: float32[2]
        parameter %v: float32[2] = [1.0, 2.0]
        parameter %w: float32[2] = [1.0, 2.0]
        %a = add(%x, %v)
        %b = add(%x, %w)
        %y = multiply(%a, %b)
        output %y
        """,
        """
        input %x: float32[2]
        parameter %v: float32[2] = [1.0, 2.0]
        parameter %w: float32[2] = [1.0, 2.0]
        %a = add(%x, %v)
        %y = multiply(%a, %a)
        output %y
        """,
    )


def test_other_attributes_inputs_or_types_of_parameters_are_not_equal(check_unchanged):
    check_unchanged(
        share_equal_nodes,
        """
        input %x: float32[2]
        parameter %v: float32[2] = [0.0, 0.0]
        parameter %w: float32[1, 2] = [0.0, 0.0]
        parameter %i: int32[2] = [0, 0]
        %a = clip(%x) {low=0.0, high=1.0}
        %b = clip(%x) {low=0.0, high=2.0}
        %c = add(%a, %b)
        %d = add(%c, %v)
        %y = add(%d, %w)
        output %y
        """,
    )


def test_outputs_stay_values_of_their_own(check_unchanged):
    check_unchanged(share_equal_nodes, "input %x: float32[2]\n%a = relu(%x)\n%b = relu(%x)\noutput %a\noutput %b")


def test_parameters_that_begin_alike_are_not_equal(check_unchanged):
    first, second = [0.0] * 20, [*[0.0] * 19, 1.0]
    check_unchanged(
        share_equal_nodes,
        f"""
        input %x: float32[20]
        parameter %v: float32[20] = {first}
        parameter %w: float32[20] = {second}
        %a = add(%x, %v)
        %y = add(%a, %w)
        output %y
        """,
    )


def _sum_of(parameters):
    g = GraphBuilder("sum")
    x = g.input("x", "float32", (20,))
    for i, data in enumerate(parameters):
        x = g.add(Add(), x, g.parameter(f"w{i}", data))
    g.output(x)
    return g.finish()


@pytest.mark.parametrize(("begin", "reads"), [(0.0, 40), (1.0, 0)])
def test_each_parameter_is_read_once_if_others_begin_alike_and_otherwise_not(begin, reads, monkeypatch):
    read, digest = [], module._digest
    monkeypatch.setattr(module, "_digest", lambda data: read.append(data) or digest(data))
    parameters = [np.full(20, begin * i, np.float32) for i in range(40)]
    for i, data in enumerate(parameters):
        data[-1] = i // 2
    after = share_equal_nodes(_sum_of(parameters))
    assert len(read) == reads
    assert len({node.inputs[1] for node in after.nodes}) == (20 if reads else 40)
