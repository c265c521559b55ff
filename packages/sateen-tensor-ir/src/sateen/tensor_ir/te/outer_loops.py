"""The loops of a script that a schedule may change: the outermost ones, as far as nothing stands between them."""

from __future__ import annotations

from sateen.tensor_ir.arith import Analyzer, Owner, owners
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.access import read_by, written_by
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import AxisKind, IterVar, Var
from sateen.tensor_ir.ir.stmt import Allocate, For, LoopKind, Stmt, Store
from sateen.tensor_ir.ir.visit import free_vars, substitute, walk
from sateen.tensor_ir.te.operations import ExternOp, LoopNestOp


def with_outer_loops(extern: ExternOp) -> ExternOp:
    """The operation with the outermost loops of its program as axes; itself if there are none."""
    arguments = (*extern.input_buffers, *extern.output_buffers)
    axes, inner = _outer_loops(extern.program, Analyzer.of(arguments))
    return LoopNestOp(extern, axes, inner) if axes else extern


def _outer_loops(program: Stmt, analyzer: Analyzer) -> tuple[tuple[IterVar, ...], Stmt]:
    """The axes of the outermost serial loops of a program, whose extents don't depend on each other, and their body
    over these.

    The iterations of a data axis are independent: each has elements of its own, for all values of the other axes. Those
    of an ordered axis follow one another.
    """
    symbols = free_vars(program)
    loops, body = [], program
    while isinstance(body, For) and body.kind is LoopKind.SERIAL and _is_known(body, symbols):
        loops.append(body)
        body = body.body
    body = substitute(body, {loop.var: loop.start + loop.var for loop in loops if not ex.is_const(loop.start, 0)})
    for loop in loops:
        analyzer.bind(loop.var, 0, loop.extent)
    for inner in (n for n in walk(body) if isinstance(n, For)):
        analyzer.bind(inner.var, inner.start, inner.extent)
    axes = []
    for loop in loops:
        kind = AxisKind.DATA if _is_independent(body, loop, [*symbols], analyzer) else AxisKind.ORDERED
        axes.append(IterVar(loop.var.name, extent=loop.extent, kind=kind, span=loop.span))
    return tuple(axes), substitute(body, {loop.var: axis for loop, axis in zip(loops, axes, strict=True)})


def _is_known(loop: For, symbols: set[Var]) -> bool:
    """Whether the range of a loop is known before anything runs."""
    nodes = [*walk(loop.start), *walk(loop.extent)]
    reads = any(isinstance(n, (Load, ex.Call)) for n in nodes)
    return not reads and all(n in symbols for n in nodes if isinstance(n, Var))


def _is_independent(body: Stmt, loop: For, symbols: list[Var], analyzer: Analyzer) -> bool:
    """Whether each iteration of a loop has elements of its own of every buffer that the body of the nest changes."""
    nodes, count = list(walk(body)), analyzer.constant(loop.extent)
    own = {n.buffer for n in nodes if isinstance(n, Allocate)}
    changed = {b for n in nodes for b in written_by(n)} - own
    places: dict[Buffer, list[frozenset[Owner]]] = {b: [] for b in changed}
    for node in nodes:
        for buffer in {*read_by(node), *written_by(node)} & changed:
            if not isinstance(node, (Load, Store)):
                return False
            places[buffer].append(owners(node.indices, loop.var, count, symbols, analyzer))
    return all(frozenset.intersection(*found) for found in places.values())
