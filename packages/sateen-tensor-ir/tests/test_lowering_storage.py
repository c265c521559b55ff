"""Which buffers lie on the stack."""

import pytest

from sateen.tensor_ir import te
from sateen.tensor_ir.lowering.storage import PRIVATE_STACK_BYTES, STACK_BYTES, is_on_stack


@pytest.mark.parametrize(("scope", "most"), [("global", STACK_BYTES), ("local", PRIVATE_STACK_BYTES)])
def test_what_is_small_for_its_scope_is_on_the_stack(scope, most):
    assert is_on_stack(te.decl_buffer((most // 4,), "float32", scope=scope))
    assert not is_on_stack(te.decl_buffer((most // 4 + 1,), "float32", scope=scope))


def test_what_has_a_symbolic_size_is_not():
    assert not is_on_stack(te.decl_buffer((te.var("n"),), scope="local"))
