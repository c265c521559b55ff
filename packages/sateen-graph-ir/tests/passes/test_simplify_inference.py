"""Pass simplify_inference."""

from sateen.graph_ir.passes.simplify_inference import simplify_inference


def test_batch_normalization_becomes_a_multiplication_and_an_addition(check):
    check(
        simplify_inference,
        """
        input %x: float32[1, 2, 3]
        parameter %scale: float32[2] = [1.0, 2.0]
        parameter %bias: float32[2] = [0.5, 0.0]
        parameter %mean: float32[2] = [0.0, 3.0]
        parameter %variance: float32[2] = [3.0, 15.0]
        %y = batch_normalization(%x, %scale, %bias, %mean, %variance) {epsilon=1.0}
        output %y
        """,
        """
        input %x: float32[1, 2, 3]
        parameter %scale: float32[2] = [1.0, 2.0]
        parameter %bias: float32[2] = [0.5, 0.0]
        parameter %mean: float32[2] = [0.0, 3.0]
        parameter %variance: float32[2] = [3.0, 15.0]
        parameter %y_scale: float32[2, 1] = [0.5, 0.5]
        parameter %y_shift: float32[2, 1] = [0.5, -1.5]
        %n = multiply(%x, %y_scale)
        %y = add(%n, %y_shift)
        output %y
        """,
    )


def test_identity_goes_unless_an_output_needs_it(check):
    check(
        simplify_inference,
        """
        input %x: float32[2]
        %a = identity(%x)
        %b = exp(%a)
        %y = identity(%b)
        %z = identity(%x)
        output %y
        output %z
        """,
        "input %x: float32[2]\n%y = exp(%x)\n%z = identity(%x)\noutput %y\noutput %z",
    )


def test_a_factor_that_is_not_finite_stays(check_unchanged):
    check_unchanged(
        simplify_inference,
        """
        input %x: float16[1, 2, 3]
        parameter %scale: float16[2] = [1.0, 60000.0]
        parameter %bias: float16[2] = [0.5, 0.0]
        parameter %mean: float16[2] = [0.0, 3.0]
        parameter %variance: float16[2] = [3.0, 0.0]
        %y = batch_normalization(%x, %scale, %bias, %mean, %variance) {epsilon=0.25}
        output %y
        """,
    )


def test_statistics_that_are_inputs_stay(check_unchanged):
    check_unchanged(
        simplify_inference,
        """
        input %x: float32[1, 2, 3]
        input %scale: float32[2]
        parameter %bias: float32[2] = [0.5, 0.0]
        parameter %mean: float32[2] = [0.0, 3.0]
        parameter %variance: float32[2] = [3.0, 15.0]
        %y = batch_normalization(%x, %scale, %bias, %mean, %variance) {epsilon=1.0}
        output %y
        """,
    )
