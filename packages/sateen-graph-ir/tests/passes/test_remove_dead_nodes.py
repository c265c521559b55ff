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


def test_a_node_stays_whose_last_output_is_needed(check_unchanged):
    lines = "input %x: float32[4]\n%a, %b = split(%x) {axis=0, sizes=(1, 3)}\n%c = exp(%b)\noutput %c"
    check_unchanged(remove_dead_nodes, lines)
