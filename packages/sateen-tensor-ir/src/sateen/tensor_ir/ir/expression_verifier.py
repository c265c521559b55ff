"""Checks that an expression of loop IR is well formed where it stands: scopes, types, and what a call may take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from sateen.runtime.dtype import DType
from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import ACCESSES, Address, Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.external import PACKED, function_name
from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Stmt
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.types import BOOL, INDEX
from sateen.tensor_ir.ir.visit import operands_first, unknown


class ExpressionVerifier:
    """Checks of expressions, and of what statements and expressions ask of names, types and buffers."""

    def __init__(self, function: Function, after: str | None, scalars: Iterable[Var]) -> None:
        self.function = function
        self.after = after
        self.statement_at: Stmt | None = None
        self.variables: set[Var] = {*scalars}
        self.once_bound: set[Var] = set()
        self.buffers: set[Buffer] = set(function.parameters)
        self.loops: list[For] = []
        self.checked: set[int] = set()
        """Expressions of the current statement that were checked, by id: they may share nodes."""

    def fail(self, message: str) -> NoReturn:
        place = "" if self.after is None else f" after {self.after}"
        line = "" if self.statement_at is None else f"\n  in {str(self.statement_at).splitlines()[0]}"
        raise LoweringError(f"function {self.function.name!r}{place}: {message}{line}")

    def expect(self, holds: bool, message: str) -> None:
        if not holds:
            self.fail(message)

    def expect_index(self, e: Expr, what: str) -> None:
        self.expect_type(e, INDEX, what)

    def expect_type(self, e: Expr, dtype: DType, what: str) -> None:
        if e.dtype != dtype:
            self.fail(f"{what} expects {dtype}, found {e} of {e.dtype}")

    def declared(self, buffer: Buffer) -> None:
        if buffer not in self.buffers and buffer.data is None:
            self.fail(f"buffer {buffer.name!r} is used outside of its allocation")

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> None:
        self.declared(buffer)
        if buffer.on_device is not None:
            self.fail(f"an element of buffer {buffer.name!r} is accessed, which is in memory of {buffer.on_device}")
        if len(indices) != len(buffer.shape):
            self.fail(f"buffer {buffer.name!r} has {len(buffer.shape)} dimensions, found {len(indices)} indices")
        for index in indices:
            self.expect_index(index, f"an index of buffer {buffer.name!r}")

    def writable(self, buffer: Buffer) -> None:
        if buffer.data is not None or (buffer in self.function.parameters and buffer not in self.function.outputs):
            self.fail(f"buffer {buffer.name!r} is stored to, but is no output")

    def expr(self, e: Expr) -> None:
        for node in operands_first(e, self.checked):
            self.checked.add(id(node))
            self.node(node)

    def node(self, e: Expr) -> None:
        match e:
            case Var():
                self.expect(e in self.variables, f"variable {e.name!r} is used where nothing binds it")
            case Read():
                self.fail(f"tensor {e.tensor.name!r} is read: it should be a load by now")
            case Reduce():
                self.fail(f"reduction {e.combiner.name!r} is left: it should be loops by now")
            case Load():
                self.access(e.buffer, e.indices)
                self.expect_type(e, e.buffer.dtype, f"a load from buffer {e.buffer.name!r}")
            case Address():
                self.address(e)
            case ex.And() | ex.Or():
                self.operands(e.symbol, e, all(o.dtype.is_bool for o in (e.a, e.b)))
            case ex.Compare():
                self.operands(e.symbol, e, e.a.dtype == e.b.dtype)
            case ex.FloorDiv() | ex.FloorMod():
                self.operands(e.symbol, e, e.a.dtype == e.b.dtype and e.dtype.is_int)
            case ex.Div():
                self.operands(e.symbol, e, e.a.dtype == e.b.dtype and e.dtype.is_float)
            case ex.Binary():
                self.operands(e.symbol, e, e.a.dtype == e.b.dtype and not e.dtype.is_bool)
            case ex.Not():
                self.expect_type(e.value, BOOL, "'not'")
            case ex.Select():
                self.expect_type(e.condition, BOOL, "the condition of a select")
                self.expect_type(e.otherwise, e.then.dtype, "the second operand of a select")
            case ex.Piecewise():
                self.expect_index(e.index, "the index of piecewise")
                for branch in e.branches:
                    self.expect_type(branch, e.dtype, "a branch of piecewise")
            case ex.Call():
                for operand in (*e.args, e):
                    self.expect(operand.dtype != INDEX, f"a call of {e.name!r} takes and gives data, found index")
                if e.name.startswith(PACKED):
                    self.packed(e)
            case ex.Reinterpret():
                types = e.value.dtype, e.dtype
                fits = types[0].bits == types[1].bits and not {BOOL, INDEX} & {*types}
                self.expect(fits, f"'reinterpret' expects types of equal width, found {types[0]} as {types[1]}")
            case ex.Const() | ex.Cast():
                pass
            case _:
                raise unknown(e, "the verifier")

    def address(self, e: Address) -> None:
        self.declared(e.buffer)
        self.expect_index(e.offset, f"the offset of an address in buffer {e.buffer.name!r}")
        self.expect(e.access in ACCESSES, f"an address expects one of {', '.join(ACCESSES)}, found {e.access!r}")
        if e.buffer.scope is Scope.REGISTER or e.buffer.on_device is not None:
            self.fail(f"an address expects memory of the host, found {described(e.buffer)}")
        if "w" in e.access:
            self.writable(e.buffer)

    def packed(self, e: ex.Call) -> None:
        for outer in self.loops:
            if outer.kind is not LoopKind.SERIAL and outer.kind is not LoopKind.UNROLLED:
                self.fail(
                    f"packed function {function_name(e.name)!r} is called inside of the {outer.kind.value} loop "
                    f"{outer.var.name!r}; expected serial loops around it"
                )

    def operands(self, symbol: str, e: ex.Binary, agree: bool) -> None:
        self.expect(agree, f"'{symbol}' has operands of {e.a.dtype} and {e.b.dtype}")


def described(buffer: Buffer) -> str:
    place = "the host" if buffer.on_device is None else str(buffer.on_device)
    scope = "" if buffer.scope is Scope.GLOBAL else f" and scope {buffer.scope.value}"
    return f"buffer {buffer.name!r} of {place}{scope}"
