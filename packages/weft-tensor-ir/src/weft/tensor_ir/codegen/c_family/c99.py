"""C99: a translation unit that needs a C compiler and its library, and nothing else.

Each function becomes a kernel, with a task per parallel loop before it, and the public function of docs/design/abi.md.
Threads of a device schedule run one after the other, which is what loop IR means before barriers are inserted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from weft.runtime.errors import CodegenError
from weft.runtime.signature import Metadata
from weft.tensor_ir.codegen.c_family import c99_interface
from weft.tensor_ir.codegen.c_family.expressions import Source, literal
from weft.tensor_ir.codegen.c_family.identifiers import PREFIX, is_public
from weft.tensor_ir.codegen.c_family.statements import Statements
from weft.tensor_ir.codegen.signature import signature_of, symbols_of
from weft.tensor_ir.ir import expr as ex
from weft.tensor_ir.ir.buffer import Buffer, Scope
from weft.tensor_ir.ir.expr import Expr, Var
from weft.tensor_ir.ir.stmt import Allocate, For, Function
from weft.tensor_ir.ir.visit import walk

TYPES = {
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": "float", "float64": "double", "bool": "bool",
}  # fmt: skip

LARGEST_ARRAY = 1 << 16
"""Bytes of a private buffer on the stack; larger ones come from the host."""

_HOST = Var("host")
"""Stands for the host table among the things that a text mentions."""
_TAKEN = frozenset({"host", "status", "closure", "begin", "end", "given", "args", "count"})


def emit_c(functions: Sequence[Function], target: str = "c", producer: str = "weft-tensor-ir") -> str:
    """A C99 translation unit that defines the functions, the library's own functions of docs/design/abi.md and its metadata.

    It compiles without a warning under `-Wall -Wextra -pedantic` and defines `weft_default_host`, whose `parallel_for`
    is serial. `target` and `producer` go into the metadata. Raises CodegenError for what C can't express: a type or
    function that it lacks, barriers, a name that C has taken.
    """
    source = Source()
    public = []
    for function in functions:
        if not is_public(function.name):
            raise CodegenError(f"expected a name that C leaves to its users for a function, found {function.name!r}")
        kernel = C99Kernel(source, function)
        kernel.define()
        public.append(c99_interface.public_function(function, kernel.kernel_name, kernel.extent_text))
    metadata = Metadata(producer, target, tuple(map(signature_of, functions)))
    parts = [
        c99_interface.DECLARATIONS,
        *(routine.definition(TYPES) for routine in source.routines),
        *(_constant(source, buffer, name) for buffer, name in source.constants.items()),
        c99_interface.services(metadata.to_json()),
        *source.functions,
        *public,
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _constant(source: Source, buffer: Buffer, name: str) -> str:
    """The data of a constant buffer; 16-bit floats as their bits."""
    assert buffer.data is not None
    data = np.ascontiguousarray(buffer.data)
    dtype = buffer.dtype
    if dtype.is_float and dtype.bits == 16:
        values = [f"{bits:#06x}" for bits in data.view(np.uint16).ravel().tolist()]
    elif dtype.is_bool:
        values = [str(int(value)) for value in data.ravel()]
    else:
        values = [literal(value, dtype).text for value in data.ravel().tolist()]
    rows = [", ".join(values[i : i + 8]) for i in range(0, len(values), 8)] or ["0"]
    storage = C99Kernel.storage_name(dtype)
    body = ",\n  ".join(rows)
    return f"static const {storage} {name}[{max(len(values), 1)}] = {{\n  {body}\n}};"


class C99Kernel(Statements):
    """One function: its kernel and the tasks of its parallel loops."""

    types = TYPES
    float_suffix = "f"
    language = "C99"

    def __init__(self, source: Source, function: Function) -> None:
        super().__init__(source, _TAKEN, function.name)
        self.function = function
        self.symbols = symbols_of(function)
        self.nonnegative.update(self.symbols)
        self.kernel_name = f"{PREFIX}kernel_{function.name}"
        self.tasks = 0
        self.in_task = False
        self.memory: dict[Buffer, None] = {}
        """Buffers of the function being written that the host allocates."""
        self.may_fail = False
        self.pointers: set[Buffer] = set(function.parameters)

    def define(self) -> None:
        """Add the kernel to the unit's functions, its tasks before it."""
        names = [self.declaration(b) for b in self.function.parameters]
        names += [self.declaration(v) for v in self.symbols]
        with self.captured() as lines, self.function_body():
            self.statement(self.function.body)
        unused = [v for v in (_HOST, *self.function.parameters, *self.symbols) if v not in self.mentioned]
        parameters = ", ".join([f"const weft_host *{_HOST.name}", *names])
        self.source.functions.append(
            "\n".join(
                [
                    f"static int32_t {self.kernel_name}({parameters}) {{",
                    *(f"  (void){self.identifiers.of(v) if v is not _HOST else _HOST.name};" for v in unused),
                    *lines,
                    "}",
                ]
            )
        )
