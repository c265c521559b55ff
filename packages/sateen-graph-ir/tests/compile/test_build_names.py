"""Names of a graph, its values and its library, which a user's model may choose as it likes."""

from __future__ import annotations

import pytest

from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import GraphBuilder
from sateen.graph_ir.ops import Relu


@pytest.mark.parametrize(
    ("name", "soname"),
    [
        ("torch-jit-export", b"torch-jit-export.so"),
        ("a/b\0c\x1b[31m", b"a_b_c__31m.so"),
        ("größe", b"gr__e.so"),
        ("n" * 5000, b"n" * 128 + b".so"),
        ("", b".so"),
    ],
)
def test_the_name_of_a_graph_makes_that_of_its_library(name, soname):
    builder = GraphBuilder(name)
    x = builder.input("x", "float32", (2,))
    builder.output(builder.add(Relu(), x, name="y" * 5000))
    artifact = build(builder.finish(), "llvm")
    assert b"\0" + soname + b"\0" in artifact.library
