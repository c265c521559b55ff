"""Which operators a converter makes: those that its code names, and the functions of ours that it calls.

Converters are read, not run: a term of a format gives these operators, or some of them, depending on its attributes.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

from sateen import frontends
from sateen.graph_ir import OPS
from sateen.graph_ir.sym import Function
from sateen.topi.operators import Operator

OURS = ("sateen.frontends.", "sateen.graph_ir.sym.")
"""The code that is followed."""


def converter_tables() -> dict[str, Mapping[Any, Any]]:
    """The converters of each format by its terms: the tables in packages called `converters`."""
    tables: dict[str, dict[Any, Any]] = {}
    for module in pkgutil.walk_packages(frontends.__path__, f"{frontends.__name__}."):
        if module.ispkg and module.name.endswith(".converters"):
            listed = vars(importlib.import_module(module.name)).items()
            for table in (thing for name, thing in listed if name.isupper() and isinstance(thing, Mapping)):
                tables.setdefault(module.name.split(".")[2], {}).update(table)
    return tables


def operators_of(converter: object, term: object = None) -> set[str]:
    """The names of the operators that a converter makes of a term.

    They are named in its own file, or in files that it calls where its own names none. Where it looks the term up, they
    are those of that entry alone.
    """
    own = _followed(converter, term, _file_of(converter))
    return own or _followed(converter, term, None)


def _file_of(converter: object) -> str | None:
    """The module of a converter's code."""
    while isinstance(converter, (partial, Function)):
        converter = converter.func if isinstance(converter, partial) else converter.definition
    return converter.__module__ if isinstance(converter, FunctionType) else None


def _followed(converter: object, term: object, module: str | None) -> set[str]:
    """The operators that a converter names, in functions of one module or of all of ours."""
    found: set[str] = set()
    seen: set[int] = set()
    pending: list[object] = [converter]
    while pending:
        thing = pending.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        operator = thing if isinstance(thing, type) else type(thing)
        if issubclass(operator, Operator):
            if operator in OPS.ops.values():
                found.add(operator.op_name())
        elif not isinstance(thing, FunctionType) or module in (None, thing.__module__):
            pending += _parts(thing, term)
    return found


def _parts(thing: object, term: object) -> Iterator[object]:
    """What a thing may call or make."""
    if isinstance(thing, Function):
        yield thing.definition
    elif isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, FunctionType):
        if thing.__module__.startswith(OURS):
            yield from _named(thing)
    elif isinstance(thing, Mapping):
        yield from [thing[term]] if term in thing else thing.values()
    elif isinstance(thing, (tuple, list)):
        yield from thing
    elif is_dataclass(thing) and not isinstance(thing, type) and type(thing).__module__.startswith(OURS):
        yield from (getattr(thing, field.name) for field in fields(thing))


def _named(function: FunctionType) -> Iterator[object]:
    """What the code of a function names: globals, attributes of modules, variables around it, defaults."""
    yield from (cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell))
    yield from (function.__defaults__ or ())
    yield from (function.__kwdefaults__ or {}).values()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        named = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
        modules = [thing for thing in named if isinstance(thing, ModuleType) and thing.__name__.startswith("sateen.")]
        yield from (thing for thing in named if not isinstance(thing, ModuleType))
        yield from (vars(module)[name] for module in modules for name in code.co_names if name in vars(module))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
