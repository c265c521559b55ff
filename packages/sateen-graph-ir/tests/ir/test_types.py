"""Types of values."""

import pytest

from sateen.graph_ir.ir import Symbol, TensorType
from sateen.runtime.dtype import DType
from sateen.runtime.errors import InferenceError
from sateen.topi.types import Layout

BLOCKED = Layout.parse("aBcd16b")


def test_types_are_values():
    one, other = (TensorType.of("float32", (1, Symbol("n")), None) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != TensorType.of("float32", (1, Symbol("m")))
    assert TensorType.of("float32", (1, 2, 3, 4), Layout.row_major(4)).layout is None


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (TensorType.of("float32", (1, 20, 3, 4), BLOCKED), "float32[1, 20, 3, 4]@aBcd16b"),
        (TensorType.of("bool", ()), "bool[]"),
        (TensorType.of("int8", (Symbol("n"), 2)), "int8[?n, 2]"),
    ],
)
def test_text(type_, text):
    assert str(type_) == text


def test_memory_includes_blocks_that_are_not_full():
    type_ = TensorType.of("float32", (1, 20, 3, 4), BLOCKED)
    assert type_.physical_shape == (1, 2, 3, 4, 16)
    assert type_.bytes == 2 * 3 * 4 * 16 * 4
    assert type_.rank == 4


def test_a_symbol_makes_a_type_dynamic():
    assert not TensorType.of("int8", (Symbol("n"), 2)).is_static
    static = TensorType.of(DType.of("int8"), (3, 2))
    assert static.is_static
    assert static.static_shape == (3, 2)
    assert static.memory_layout == Layout.row_major(2)


def test_a_tensor_has_no_more_dimensions_than_numpy_has_at_the_least():
    assert TensorType.of("float32", [1] * 32).rank == 32
    with pytest.raises(InferenceError, match="expected a tensor of at most 32 dimensions, found 65"):
        TensorType.of("float32", [1] * 65)
