"""Operators of installed packages, found by their entry points."""

import sys

import pytest

from sateen.graph_ir.ir import OpSet
from sateen.graph_ir.ops import OPS, installed_operators
from sateen.runtime.errors import ArgumentError

MODULE = """
from dataclasses import dataclass
from sateen.topi import Operator

@dataclass(frozen=True)
class Swish(Operator):
    name = "{name}.Swish"

@dataclass(frozen=True)
class Twice(Operator):
    name = "{name}.Twice"

BOTH = (Swish, Twice)
NUMBER = 3
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a package on the path: its name, what its entry point names, and its code."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name, offered, code=MODULE):
        folder = tmp_path / f"sateen_{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sateen-{name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[sateen.operators]\n{name} = sateen_{name}:{offered}\n")
        (tmp_path / f"sateen_{name}.py").write_text(code.format(name=name))

    yield install
    for name in [name for name in sys.modules if name.startswith("sateen_")]:
        del sys.modules[name]


def names(operators):
    return sorted(set(operators.ops) - set(OPS.ops))


def test_a_class_and_a_tuple_are_found(install):
    install("acme", "Swish")
    install("bolt", "BOTH")
    assert names(installed_operators()) == ["acme.Swish", "bolt.Swish", "bolt.Twice"]


def test_the_set_that_is_given_stays_as_it_is(install):
    install("acme", "Swish")
    own = OpSet.of()
    assert list(installed_operators(own).ops) == ["acme.Swish"]
    assert not own.ops


@pytest.mark.parametrize(
    ("offered", "code", "message"),
    [
        ("NUMBER", MODULE, "expected a subclass of sateen.topi.Operator, found 3"),
        ("Missing", MODULE, "module 'sateen_acme' has no attribute 'Missing'"),
        ("Swish", "import no_such_module", "No module named 'no_such_module'"),
    ],
)
def test_a_package_that_offers_no_operator_is_named(install, offered, code, message):
    install("acme", offered, code)
    with pytest.raises(ArgumentError) as caught:
        installed_operators()
    assert str(caught.value) == f"entry point 'acme' of package 'sateen-acme' in sateen.operators: {message}"


def test_two_packages_with_operators_of_one_name_are_refused(install):
    install("acme", "Swish")
    install("bolt", "Swish", MODULE.replace("{name}", "acme"))
    with pytest.raises(ArgumentError, match=r"expected one operator 'acme\.Swish', found sateen_acme\.Swish and"):
        installed_operators()
