"""The functions of others that compiled code calls, where it runs in this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence

from sateen.runtime import HostFunction
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.ir.expr import Call
from sateen.tensor_ir.ir.external import (
    LLVM,
    PACKED,
    defined_symbols,
    function_name,
    imported_texts,
    is_external,
    symbol_of,
)
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.ir.visit import walk

_CFunction = ctypes._CFuncPtr  # type: ignore[attr-defined]


class Externals:
    """The given functions that loop IR calls: `addresses` by symbol, which are valid as long as this value.

    Raises CodegenError for a name that nothing calls, for what is no function, and for a function in Python that is
    called as one of C.
    """

    def __init__(self, functions: Sequence[Function], given: Mapping[str, Callable[..., object]]) -> None:
        calls = {n.name for f in functions for n in walk(f.body) if isinstance(n, Call) and is_external(n.name)}
        names = {function_name(name): name for name in calls if not name.startswith(LLVM)}
        if unknown := [name for name in given if name not in names]:
            called = f"those are {', '.join(sorted(names))}" if names else "nothing calls any"
            raise CodegenError(f"expected externals that the functions call, found {unknown[0]!r}: {called}")
        self.given = dict(given)
        defined = {s for f in functions for text in imported_texts(f) for s in defined_symbols(text)}
        if twice := [name for name in given if symbol_of(names[name]) in defined]:
            raise CodegenError(f"external {twice[0]!r} is defined by LLVM text of the pragma import_llvm already")
        self.missing = [name for name in names if name not in given and symbol_of(names[name]) not in defined]
        """The functions that the process must have."""
        self.in_python: list[HostFunction] = []
        self.addresses: dict[str, int] = {}
        for name, function in given.items():
            self.addresses[symbol_of(names[name])] = self._address(name, function, names[name].startswith(PACKED))

    def require_all(self) -> None:
        """Raise CodegenError for a function that was not given and that the process does not have."""
        process = ctypes.CDLL(None)
        for name in self.missing:
            if not hasattr(process, symbol_of(name)):
                raise CodegenError(
                    f"expected {name!r} in this process, or among the externals of build, found neither; code for "
                    "another machine gets it from its linker"
                )

    def _address(self, name: str, function: Callable[..., object], is_packed: bool) -> int:
        if isinstance(function, _CFunction):
            return ctypes.cast(function, ctypes.c_void_p).value or 0
        if not is_packed or not callable(function):
            expected = "a function" if is_packed else "a function of ctypes, as C code calls it"
            raise CodegenError(f"external {name!r}: expected {expected}, found {type(function).__name__}")
        made = HostFunction(name, function)
        self.in_python.append(made)
        return made.address
