"""The set of all operators, and the room that lists them."""

from sateen.graph_ir import ops


def test_the_room_lists_every_operator() -> None:
    assert [op for op in ops.OPS.ops.values() if getattr(ops, op.__name__, None) is not op] == []
