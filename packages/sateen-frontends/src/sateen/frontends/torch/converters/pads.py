"""Elements around a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed


def _pad(node: TorchNode) -> Operand:
    """Pairs of begin and end from the last axis on; the mode is constant, reflect, replicate or circular."""
    data, given = node.tensor("self"), node.dims("pad") if node.gives("pad") else node.dims("padding")
    mode = node.text("mode", "constant")
    value = node.number("value") if node.gives("value") else 0.0
    return node.result(_padding(data, given, mode, value), data)


def _padding(data: Value, given: Sequence[Dim], mode: str, value: float) -> ops.Pad:
    known = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in known or len(given) % 2 or len(given) > 2 * data.type.rank:
        raise FrontendError(f"expected pairs of pads and a mode of {', '.join(known)}, found {listed(given)}, {mode!r}")
    before: list[Dim] = [0] * data.type.rank
    after: list[Dim] = [0] * data.type.rank
    for i, (low, high) in enumerate(zip(given[::2], given[1::2], strict=True)):
        before[-1 - i], after[-1 - i] = low, high
    return ops.Pad(mode=known[mode], pads=(*before, *after), value=value)


def _constant_pad(node: TorchNode) -> Operand:
    data = node.tensor("self")
    return node.result(_padding(data, node.dims("pad"), "constant", node.number("value", 0.0)), data)


def _pad_by(mode: str) -> Converter:
    def convert(node: TorchNode) -> Operand:
        data = node.tensor("self")
        return node.result(_padding(data, node.dims("padding"), mode, 0.0), data)

    return convert


PADS: dict[str, Converter] = {
    "constant_pad_nd": _constant_pad,
    "pad": _pad,
    "reflection_pad1d": _pad_by("reflect"),
    "reflection_pad2d": _pad_by("reflect"),
    "reflection_pad3d": _pad_by("reflect"),
    "replication_pad1d": _pad_by("replicate"),
    "replication_pad2d": _pad_by("replicate"),
    "replication_pad3d": _pad_by("replicate"),
}
