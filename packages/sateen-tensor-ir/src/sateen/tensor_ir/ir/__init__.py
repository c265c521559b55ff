"""Loop IR: expressions, statements, buffers, functions, and their walkers. This is the face for siblings."""

from sateen.tensor_ir.ir.access import read_by, written_by
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.choices import all_of
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.expr import Call, Const, Expr, FloorMod, IterVar, Var, cast, const, is_const, logical_and
from sateen.tensor_ir.ir.identity import is_among, position
from sateen.tensor_ir.ir.stmt import (
    DENORMALS,
    Allocate,
    For,
    Function,
    If,
    LoopKind,
    Stmt,
    Store,
    Timestamp,
    While,
    invoke,
    sequence,
)
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.tokens import ParseError
from sateen.tensor_ir.ir.types import INDEX, INT64, int_range
from sateen.tensor_ir.ir.verifier import verify
from sateen.tensor_ir.ir.visit import StatementRewriter, children, substitute, walk

__all__ = [
    "DENORMALS",
    "INDEX",
    "INT64",
    "Allocate",
    "Buffer",
    "Call",
    "Const",
    "Expr",
    "FloorMod",
    "For",
    "Function",
    "If",
    "IterVar",
    "Load",
    "LoopKind",
    "ParseError",
    "Read",
    "Reduce",
    "Scope",
    "StatementRewriter",
    "Stmt",
    "Store",
    "Timestamp",
    "Var",
    "While",
    "all_of",
    "cast",
    "children",
    "const",
    "digest",
    "int_range",
    "invoke",
    "is_among",
    "is_const",
    "logical_and",
    "position",
    "read_by",
    "sequence",
    "substitute",
    "verify",
    "walk",
    "written_by",
]
