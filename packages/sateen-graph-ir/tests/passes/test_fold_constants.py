"""Pass fold_constants."""

import pytest

from sateen.graph_ir.passes import fold_constants as module
from sateen.graph_ir.passes.fold_constants import fold_constants


def test_nodes_on_parameters_become_parameters(check):
    check(
        fold_constants,
        """
        input %x: float32[2]
        parameter %w: float32[2] = [1.0, -1.0]
        %a = relu(%w)
        %b = add(%a, %w)
        %y = multiply(%x, %b)
        output %y
        """,
        """
        input %x: float32[2]
        parameter %w: float32[2] = [1.0, -1.0]
        parameter %b: float32[2] = [2.0, -1.0]
        %y = multiply(%x, %b)
        output %y
        """,
    )


def test_several_outputs_fold_at_once(check):
    check(
        fold_constants,
        """
        input %x: float32[1]
        parameter %w: float32[3] = [1.0, 2.0, 3.0]
        %a, %b = split(%w) {axis=0, sizes=(1, 2)}
        %c = multiply(%x, %a)
        %y = multiply(%c, %b)
        output %y
        """,
        """
        input %x: float32[1]
        parameter %w: float32[3] = [1.0, 2.0, 3.0]
        parameter %a: float32[1] = [1.0]
        parameter %b: float32[2] = [2.0, 3.0]
        %c = multiply(%x, %a)
        %y = multiply(%c, %b)
        output %y
        """,
    )


def test_what_an_input_decides_or_an_output_is_stays(check_unchanged):
    check_unchanged(
        fold_constants,
        """
        input %x: float32[2]
        parameter %w: float32[2] = [1.0, 2.0]
        %a = add(%x, %w)
        %b = relu(%w)
        output %a
        output %b
        """,
    )


@pytest.mark.parametrize("growth", [0, 64])
def test_results_that_are_much_larger_are_not_folded(parse, monkeypatch, growth):
    monkeypatch.setattr(module, "MOST_GROWTH", growth)
    graph = parse("""
        input %x: float32[4, 4]
        parameter %w: float32[1] = [1.0]
        %a = broadcast_to(%w) {shape=(4, 4)}
        %y = add(%x, %a)
        output %y
    """)
    assert len(fold_constants(graph).nodes) == (1 if growth else 2)


def test_what_is_large_on_the_way_to_a_small_result_is_evaluated(check, monkeypatch):
    monkeypatch.setattr(module, "MOST_GROWTH", 0)
    check(
        fold_constants,
        """
        input %x: float32[2, 2]
        parameter %w: float32[1] = [2.0]
        %a = broadcast_to(%w) {shape=(2, 2)}
        %b = reduce_sum(%a) {axes=(0, 1), keepdims=false}
        %y = add(%x, %a)
        %z = add(%y, %b)
        output %z
        """,
        """
        input %x: float32[2, 2]
        parameter %w: float32[1] = [2.0]
        parameter %b: float32[] = [8.0]
        %a = broadcast_to(%w) {shape=(2, 2)}
        %y = add(%x, %a)
        %z = add(%y, %b)
        output %z
        """,
    )


def test_what_is_made_of_little_through_much_is_no_constant(parse, monkeypatch):
    monkeypatch.setattr(module, "MOST_GROWTH", 0)
    graph = parse("""
        input %x: float32[4]
        parameter %w: float32[1] = [1.0]
        %a = broadcast_to(%w) {shape=(4,)}
        %b = relu(%a)
        %y = add(%x, %b)
        output %y
    """)
    assert fold_constants(graph) is graph


@pytest.mark.parametrize("most", [0, 100])
def test_what_is_too_large_on_the_way_is_left_with_all_that_reads_it(parse, monkeypatch, most):
    monkeypatch.setattr(module, "MOST_TIMES", 0)
    monkeypatch.setattr(module, "MOST_BYTES", most)
    monkeypatch.setattr(module, "MOST_POINTS_PER_BYTE", 1000)
    graph = parse("""
        input %x: float32[2]
        parameter %w: float32[2] = [2.0, 1.0]
        %a = broadcast_to(%w) {shape=(20, 2)}
        %b = reduce_sum(%a) {axes=(0,), keepdims=false}
        %c = relu(%w)
        %y = add(%x, %b)
        %z = add(%y, %c)
        output %z
    """)
    folded = fold_constants(graph)
    assert [node.op.op_name() for node in folded.nodes][:2] == ["broadcast_to", "reduce_sum"]
    assert len(folded.nodes) == (4 if most else 5)


def test_what_folding_makes_in_all_is_bounded(parse, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 0)
    doubling = "\n".join(f"%v{i + 1} = concat(%v{i}, %v{i}) {{axis=0}}" for i in range(12))
    graph = parse(f"""
        input %x: float32[1]
        parameter %v0: float32[1] = [1.0]
        {doubling}
        %y = add(%x, %v12)
        output %y
    """)
    folded = fold_constants(graph)
    assert sum(data.nbytes for data in folded.parameters.values()) <= (module.MOST_TIMES + 1) * 4
    assert len(folded.nodes) > 1


def test_long_work_is_left_to_run_time(parse, monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS_PER_BYTE", 0)
    graph = parse("""
        input %x: float32[2]
        parameter %w: float32[2] = [1.0, -1.0]
        %a = relu(%w)
        %y = add(%x, %a)
        output %y
    """)
    assert fold_constants(graph) is graph
