"""The signature of a function from its parameters: for checks in generated code and for the metadata of a library."""

from __future__ import annotations

from sateen.runtime.abi import MOST_ARGUMENTS, MOST_DIMENSIONS
from sateen.runtime.device import DeviceKind
from sateen.runtime.errors import CodegenError
from sateen.runtime.signature import Extent, Parameter, Signature
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Const, Expr, Var
from sateen.tensor_ir.ir.printer import Names
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.ir.visit import walk


def symbols_of(function: Function) -> tuple[Var, ...]:
    """The symbolic extents and strides of the parameters, in the order in which they are mentioned, then the function's
    other numbers.

    Raises CodegenError if no argument is a symbol or has it alone as an extent or a stride, so that a call can't
    determine it.
    """
    numbers = [symbol for symbol, _ in function.numbers]
    given = {*numbers, *(e for b in function.parameters for e in (*b.shape, *(b.strides or ())))}
    sizes = (e for b in function.parameters for e in (*b.shape, *(b.strides or ())))
    symbols = tuple(dict.fromkeys((*(v for e in sizes for v in walk(e) if isinstance(v, Var)), *numbers)))
    for symbol in symbols:
        if symbol not in given:
            raise CodegenError(
                f"{function.name}: no argument's shape gives the extent {symbol.name!r}; list it among the arguments"
            )
    return symbols


def check_limits(function: Function) -> None:
    """Raise CodegenError for more arguments or dimensions than a status can distinguish."""
    if (count := len(function.parameters)) > MOST_ARGUMENTS:
        raise CodegenError(f"{function.name}: expected at most {MOST_ARGUMENTS} arguments, found {count}")
    for b in function.parameters:
        if len(b.shape) > MOST_DIMENSIONS:
            found = f"{len(b.shape)} of {b.name!r}"
            raise CodegenError(f"{function.name}: expected at most {MOST_DIMENSIONS} dimensions, found {found}")


def signature_of(function: Function) -> Signature:
    """The public signature; parameters of one name are numbered, and extents that are expressions are named by
    position."""
    names = Names()
    parameters = (_parameter(b, names.of(b), b in function.outputs) for b in function.parameters)
    return Signature(function.name, tuple(parameters))


def _parameter(b: Buffer, name: str, is_output: bool) -> Parameter:
    device = DeviceKind.CPU if b.device is None else b.device.kind
    shape = tuple(_extent(e, f"{name}.shape{d}") for d, e in enumerate(b.shape))
    strides = None if b.strides is None else tuple(_extent(e, f"{name}.stride{d}") for d, e in enumerate(b.strides))
    return Parameter(name, b.dtype, shape, strides, b.alignment, device, is_output)


def _extent(e: Expr, place: str) -> Extent:
    if isinstance(e, Const):
        return int(e.value)
    return e.name if isinstance(e, Var) else place
