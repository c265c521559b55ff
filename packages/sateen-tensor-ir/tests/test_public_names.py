"""Every public name of the package says what it is, and with what types it is used."""

import inspect

import pytest

from sateen import tensor_ir
from sateen.tensor_ir import te
from sateen.tensor_ir.functions import MathFunction
from sateen.tensor_ir.te import ir_builder


def public(module):
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing):
            yield f"{module.__name__}.{name}", thing
            for attribute, member in inspect.getmembers(thing):
                inherited = any(attribute in vars(base) for base in (object, int, str, tuple))
                if not attribute.startswith("_") and not inherited and _is_documented(member):
                    yield f"{module.__name__}.{name}.{attribute}", member
        elif inspect.isfunction(thing) or isinstance(thing, MathFunction):
            yield f"{module.__name__}.{name}", thing


def _is_documented(member):
    return inspect.isfunction(member) or isinstance(member, property) or hasattr(member, "func")


NAMES = dict([*public(tensor_ir), *public(te), ("ir_builder.create", ir_builder.create)])
NAMES |= {f"IRBuilder.{n}": m for n, m in inspect.getmembers(ir_builder.IRBuilder, inspect.isfunction) if n[0] != "_"}


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_a_docstring(name):
    assert inspect.getdoc(NAMES[name]), f"{name} expects a docstring"
    if inspect.isclass(NAMES[name]):
        assert "__doc__" in vars(NAMES[name])
        assert not vars(NAMES[name])["__doc__"].startswith(f"{NAMES[name].__name__}(")


@pytest.mark.parametrize("name", [name for name, thing in NAMES.items() if inspect.isfunction(thing)])
def test_a_public_function_has_types(name):
    signature = inspect.signature(NAMES[name])
    untyped = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
    assert not untyped
    assert signature.return_annotation is not signature.empty
