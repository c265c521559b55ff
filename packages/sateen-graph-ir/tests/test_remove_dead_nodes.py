"""Pass remove_dead_nodes."""

from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes


def test_what_no_output_needs_goes(check):
    check(
        remove_dead_nodes,
        """
        input %x: float32[2]
        input %unused: float32[2]
        parameter %w: float32[2] = [1.0, 2.0]
        %a = relu(%x)
        %b = add(%x, %w)
        %c = exp(%b)
        output %a
        """,
        """
        input %x: float32[2]
        input %unused: float32[2]
        %a = relu(%x)
        output %a
        """,
    )


def test_what_an_output_needs_stays(check_unchanged):
    check_unchanged(remove_dead_nodes, "input %x: float32[2]\n%a = relu(%x)\n%b = exp(%a)\noutput %b")
