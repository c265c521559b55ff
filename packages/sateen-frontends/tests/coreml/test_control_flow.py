"""Branches and loops of programs."""

from __future__ import annotations

import pytest

from sateen.frontends import check, from_coreml
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError

BOOL, FLOAT = 1, 11


def _block(operations, outputs, inputs=()):
    return schema.Block(inputs=inputs, outputs=outputs, operations=operations)


def _tensor(coreml, name, *shape, dtype=FLOAT):
    return coreml.tensor(name, dtype, *shape)


def _choice(coreml, condition, second=2):
    """Twice x, or the numbers of z, of another length if `second` says so."""
    double = coreml.operation("add", [_tensor(coreml, "d", 2)], x="x", y="x")
    copied = coreml.operation("identity", [_tensor(coreml, "c", second)], x="z")
    made = coreml.operation("cond", [_tensor(coreml, "y", 2)], pred=condition)
    made.blocks.extend([_block([double], ["d"]), _block([copied], ["c"])])
    inputs = [_tensor(coreml, "x", 2), _tensor(coreml, "z", second), coreml.tensor("p", BOOL)]
    return coreml.program([made], inputs, ["y"])


def test_branches_read_what_is_around_them(coreml):
    made = _choice(coreml, "p")
    graph, _ = from_coreml(made.SerializeToString())
    assert any(isinstance(node.op, ops.If) for node in graph.nodes)
    for condition, expected in ((True, [2, 4]), (False, [7, 8])):
        found = coreml.results(made, {"x": [1, 2], "z": [7, 8], "p": condition})
        assert found["y"].tolist() == expected


def test_a_known_condition_takes_its_branch(coreml):
    made = _choice(coreml, coreml.value(False, BOOL))
    graph, _ = from_coreml(made.SerializeToString())
    assert [type(node.op) for node in graph.nodes] == [ops.Identity]
    assert coreml.results(made, {"x": [1, 2], "z": [7, 8], "p": True})["y"].tolist() == [7, 8]


def test_branches_of_other_types_need_a_known_condition(coreml):
    (gap,) = check(_choice(coreml, "p", second=3).SerializeToString()).gaps
    assert "the first branch gives 'd' as float32[2], the second as float32[3]" in gap.reason
    assert "--bind p=..." in gap.help


def _loop(coreml, body_outputs=("b",)):
    """x doubles while its sum is below a limit."""
    total = coreml.operation("reduce_sum", [_tensor(coreml, "s")], x="a", keep_dims=coreml.value(False, BOOL))
    less = coreml.operation("less", [coreml.tensor("goes", BOOL)], x="s", y="limit")
    double = coreml.operation("add", [_tensor(coreml, "b", 2)], x="h", y="h")
    made = coreml.operation("while_loop", [_tensor(coreml, "y", 2)], loop_vars=["x"])
    made.blocks.append(_block([total, less], ["goes"], [_tensor(coreml, "a", 2)]))
    made.blocks.append(_block([double], body_outputs, [_tensor(coreml, "h", 2)]))
    return coreml.program([made], [_tensor(coreml, "x", 2), _tensor(coreml, "limit")], ["y"])


@pytest.mark.parametrize(("limit", "expected"), [(2, [1, 2]), (3.5, [2, 4]), (20, [8, 16])])
def test_a_loop_ends_when_its_condition_says_so(coreml, limit, expected):
    assert coreml.results(_loop(coreml), {"x": [1, 2], "limit": limit})["y"].tolist() == expected


def test_a_loop_whose_blocks_do_not_fit_is_a_gap(coreml):
    (gap,) = check(_loop(coreml, ("b", "b")).SerializeToString()).gaps
    assert gap.reason.startswith("expected blocks of 1 values, found 1 of the condition")


def test_a_branch_that_is_missing_is_refused(coreml):
    made = _choice(coreml, "p")
    del made.mlProgram.functions["main"].block_specializations["CoreML6"].operations[0].blocks[1]
    with pytest.raises(FrontendError, match=r"operation 'y' \(cond\): expected two blocks, found 1"):
        from_coreml(made.SerializeToString())
