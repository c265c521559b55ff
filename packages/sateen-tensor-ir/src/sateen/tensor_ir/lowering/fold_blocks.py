"""Grids with more blocks along an axis than a device takes are folded into two axes."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.device_work import Launch
from sateen.tensor_ir.ir.expr import Const, Expr, Var
from sateen.tensor_ir.ir.kernel import Kernel
from sateen.tensor_ir.ir.stmt import BLOCKS, If, Stmt
from sateen.tensor_ir.ir.visit import StatementRewriter, substitute
from sateen.tensor_ir.lowering.split_host_device import DeviceProgram

Grid = tuple[Expr, Expr, Expr]


def fold_blocks(program: DeviceProgram, most: int) -> DeviceProgram:
    """Let each kernel whose only grid axis is x have at most `most` blocks along it, and the others along y.

        grid [100000, 1, 1]                          grid [50000, 2, 1]
        y[blockIdx.x] = 0     =>   if blockIdx.x + blockIdx.y * 50000 < 100000: y[blockIdx.x + blockIdx.y * 50000] = 0

    All threads of a block take the same side, so that barriers stay right. A number of blocks that is no literal is
    left to the device, which refuses too many.
    """
    folded = {kernel.name: _folded(kernel, most) for kernel in program.kernels if _is_too_long(kernel, most)}
    if not folded:
        return program
    grids = {name: kernel.grid for name, kernel in folded.items()}
    host = replace(program.host, body=_Launching(grids).rewrite(program.host.body))
    return DeviceProgram(host, tuple(folded.get(kernel.name, kernel) for kernel in program.kernels))


def _is_too_long(kernel: Kernel, most: int) -> bool:
    x, *others = kernel.grid
    is_alone = all(isinstance(extent, Const) and extent.value == 1 for extent in others)
    return isinstance(x, Const) and x.value > most and is_alone


def _folded(kernel: Kernel, most: int) -> Kernel:
    blocks, x = int(_constant(kernel.grid[0]).value), kernel.axes[BLOCKS[0]]
    rows = -(-blocks // most)
    columns = -(-blocks // rows)
    y = Var(BLOCKS[1])
    place = x + y * columns
    body = If(place < blocks, substitute(kernel.body, {x: place}))
    return replace(
        kernel,
        axes={**kernel.axes, BLOCKS[1]: y},
        grid=(ex.const(columns), ex.const(rows), kernel.grid[2]),
        body=body,
    )


def _constant(e: Expr) -> Const:
    assert isinstance(e, Const)
    return e


class _Launching(StatementRewriter):
    def __init__(self, grids: dict[str, Grid]) -> None:
        self.grids = grids

    def rewrite_Launch(self, s: Launch) -> Stmt:
        return replace(s, grid=self.grids[s.kernel]) if s.kernel in self.grids else s
