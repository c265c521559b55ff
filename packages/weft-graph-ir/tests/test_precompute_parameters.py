"""Pass precompute_parameters."""

from weft.graph_ir.passes.precompute_parameters import precompute_parameters


def test_parameters_are_converted_while_compiling(check):
    check(
        precompute_parameters,
        """
        input %x: float32[1, 3]
        parameter %w: float32[1, 3] = [1.0, 2.0, 3.0]
        %p = convert_layout(%w) {layout=@aB2b}
        %q = convert_layout(%p)
        %y = add(%x, %q)
        output %y
        """,
        """
        input %x: float32[1, 3]
        parameter %w: float32[1, 3] = [1.0, 2.0, 3.0]
        parameter %p: float32[1, 3]@aB2b = [1.0, 2.0, 3.0, 0.0]
        parameter %q: float32[1, 3] = [1.0, 2.0, 3.0]
        %y = add(%x, %q)
        output %y
        """,
    )


def test_a_node_in_a_blocked_layout_runs_in_it(check):
    check(
        precompute_parameters,
        """
        input %x: float32[1, 3]
        parameter %w: float32[1, 3]@aB2b = [1.0, -2.0, 3.0, 0.0]
        %p: float32[1, 3]@aB2b = relu(%w)
        %q = convert_layout(%p)
        %y = add(%x, %q)
        output %y
        """,
        """
        input %x: float32[1, 3]
        parameter %w: float32[1, 3]@aB2b = [1.0, -2.0, 3.0, 0.0]
        parameter %p: float32[1, 3]@aB2b = [1.0, 0.0, 3.0, 0.0]
        parameter %q: float32[1, 3] = [1.0, 0.0, 3.0]
        %y = add(%x, %q)
        output %y
        """,
    )


def test_values_of_the_network_stay(check_unchanged):
    check_unchanged(
        precompute_parameters,
        "input %x: float32[1, 3]\n%p = convert_layout(%x) {layout=@aB2b}\n%y = convert_layout(%p)\noutput %y",
    )
