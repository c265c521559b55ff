"""What convolutions and pools have in common: windows, and layouts with channels first or last."""

from __future__ import annotations

from dataclasses import dataclass

from sateen.frontends.core.channels import result_channels_last, to_channels_first
from sateen.frontends.core.operands import Operand
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
"""Layouts by the number of spatial axes, channels first and last."""


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """What convolutions and pools have in common, an entry per spatial axis; `pads` are at both ends."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    is_last: bool

    @property
    def both_pads(self) -> tuple[int, ...]:
        return (*self.pads, *self.pads)


def settings_of(node: MxnetNode) -> WindowSettings:
    kernel = node.integers("kernel")
    rank = len(kernel)
    if rank not in FIRST or node.rank(0) != rank + 2:
        raise FrontendError(
            f"expected a kernel of 1 to 3 extents and data of two axes more, found kernel {list(kernel)} and data of "
            f"{node.rank(0)} axes"
        )
    layout = node.attribute("layout")
    if layout not in {None, FIRST[rank], LAST[rank]}:
        raise FrontendError(f"expected layout {FIRST[rank]} or {LAST[rank]}, found {layout!r}")
    return WindowSettings(
        kernel, per_axis(node, "stride", rank, 1), per_axis(node, "pad", rank, 0, least=0), layout == LAST[rank]
    )


def per_axis(node: MxnetNode, name: str, rank: int, default: int, least: int = 1) -> tuple[int, ...]:
    """A number per spatial axis; () stands for the default at each."""
    given = node.integers(name) or (default,) * rank
    if len(given) != rank or min(given) < least:
        raise FrontendError(f"expected {rank} numbers of {least} or more as {name}, found {list(given)}")
    return given


def channels_first_data(node: MxnetNode, settings: WindowSettings) -> Value:
    """The data, channels first."""
    return to_channels_first(node, node.value(0)) if settings.is_last else node.value(0)


def finished(node: MxnetNode, settings: WindowSettings, op: Operator, *inputs: Value | None) -> Operand:
    """The result of an operator with channels first, in the layout of the node."""
    if not settings.is_last:
        return node.result(op, *inputs)
    return result_channels_last(node, node.step(op, *inputs))
