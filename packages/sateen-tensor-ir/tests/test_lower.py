"""Which arguments a schedule is lowered with."""

import re

import pytest

from sateen.runtime import ScheduleError
from sateen.tensor_ir import lower, te

A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
OTHER = te.placeholder((8,), name="other")
TABLE = te.constant([1.0, 2.0], name="table")
D = te.compute((2,), lambda i: TABLE[i], name="D")


@pytest.mark.parametrize(
    ("output", "arguments", "message"),
    [
        (C, [A, B, C], "argument 'B' is computed inside; give it to create_schedule to make it an output"),
        (C, [A, A, C], "'A' is among the arguments twice"),
        (C, [OTHER, A, C], "argument 'other' is no tensor of the schedule"),
        (C, [C], "'A' is read, but is not among the arguments"),
        (C, [A], "output 'C' is not among the arguments"),
        (D, [TABLE, D], "'table' is a constant, not an argument"),
    ],
)
def test_arguments_are_the_inputs_and_the_outputs(output: te.Tensor, arguments: list[te.Tensor], message: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(message)):
        lower(te.create_schedule(output), arguments)


def test_an_intermediate_tensor_may_be_an_output_as_well() -> None:
    function = lower(te.create_schedule([B, C]), [A, B, C])
    assert [b.name for b in function.parameters if b in function.outputs] == ["B", "C"]


def test_one_output_of_a_tuple_is_no_argument_unless_it_is_scheduled() -> None:
    first, second = te.compute((8,), lambda i: (A[i] + 1.0, A[i] - 1.0), name="both")
    with pytest.raises(ScheduleError, match=r"argument 'both\.1' is computed inside"):
        lower(te.create_schedule(first), [A, first, second])
