"""Pass separate_concat_inputs."""

from sateen.graph_ir.passes.separate_concat_inputs import separate_concat_inputs


def test_an_input_of_the_network_is_copied_to_its_place(check):
    check(
        separate_concat_inputs,
        """
        input %x: float32[1, 2]
        %a = relu(%x)
        %c = concat(%x, %a) {axis=1}
        %y = exp(%c)
        output %y
        """,
        """
        input %x: float32[1, 2]
        %a = relu(%x)
        %x.1 = identity(%x)
        %c = concat(%x.1, %a) {axis=1}
        %y = exp(%c)
        output %y
        """,
    )


def test_what_two_concatenations_take_is_copied_for_the_second(check):
    check(
        separate_concat_inputs,
        """
        input %x: float32[1, 16]
        %a = relu(%x)
        %b = exp(%x)
        %c = concat(%a, %b) {axis=1}
        %d = sigmoid(%x)
        %e = concat(%d, %b) {axis=1}
        %y = add(%c, %e)
        output %y
        """,
        """
        input %x: float32[1, 16]
        %a = relu(%x)
        %b = exp(%x)
        %c = concat(%a, %b) {axis=1}
        %d = sigmoid(%x)
        %b.1 = identity(%b)
        %e = concat(%d, %b.1) {axis=1}
        %y = add(%c, %e)
        output %y
        """,
    )


def test_a_concatenation_that_would_copy_most_of_its_inputs_stays(check_unchanged):
    check_unchanged(
        separate_concat_inputs,
        """
        input %x: float32[1, 4]
        input %z: float32[1, 2]
        %a = relu(%z)
        %c = concat(%x, %a) {axis=1}
        %y = exp(%c)
        output %y
        """,
    )


def test_inputs_that_lie_apart_in_the_output_stay(check_unchanged):
    check_unchanged(
        separate_concat_inputs,
        """
        input %x: float32[2, 2]
        %a = relu(%x)
        %c = concat(%x, %a) {axis=1}
        %y = exp(%c)
        output %y
        """,
    )
