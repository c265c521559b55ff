"""Normalisations, as at inference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def _batch_norm(node: MxnetNode, *then: Operator) -> Operand:
    """By the running statistics, whatever use_global_stats says."""
    data, gamma, beta, mean, variance = (node.value(i) for i in range(5))
    if node.flag("fix_gamma"):  # the default: gamma counts as 1, whatever its data are (src/operator/nn/batch_norm.cc)
        gamma = node.filled(1, gamma.type.shape, gamma.type.dtype)
    op = ops.BatchNormalization(epsilon=node.number("eps"))
    order = list(range(data.type.rank))
    axis = normal_axis(node.integer("axis"), data.type.rank)
    if axis != 1:
        order[1], order[axis] = axis, 1  # its own inverse
        then = (*then, ops.Transpose(permutation=tuple(order)))
    moved = node.transposed(data, *order)
    if not then:
        return node.result(op, moved, gamma, beta, mean, variance)
    return node.finished(node.step(op, moved, gamma, beta, mean, variance), *then)


def _instance_norm(node: MxnetNode) -> Operand:
    op = ops.InstanceNormalization(epsilon=node.number("eps"))
    return node.result(op, *node.values())


def _layer_norm(node: MxnetNode) -> Operand:
    """Over one axis, which becomes the last."""
    data, gamma, beta = node.values()
    rank = data.type.rank
    axis = node.axis(rank)
    op = ops.LayerNormalization(axis=rank - 1, epsilon=node.number("eps"))
    if axis == rank - 1:
        return node.result(op, data, gamma, beta)
    order = (*(d for d in range(rank) if d != axis), axis)
    back = ops.Transpose(permutation=tuple(order.index(d) for d in range(rank)))
    return node.result(back, node.step(op, node.transposed(data, *order), gamma, beta))


def _group_norm(node: MxnetNode) -> Operand:
    """gamma and beta are per group (src/operator/nn/group_norm.cc), so each is repeated for the channels of a group."""
    data, *factors = node.values()
    groups = node.integer("num_groups")
    channels = data.type.shape[1]
    if not isinstance(channels, int) or groups < 1 or channels % groups:
        raise FrontendError(f"expected channels in {groups} whole groups, found {channels}")
    op = ops.GroupNormalization(groups=groups, epsilon=node.number("eps"))
    per_channel = [_repeated(node, factor, groups, channels // groups) for factor in factors]
    return node.result(op, data, *per_channel)


def _repeated(node: MxnetNode, factor: Value, groups: int, times: int) -> Value:
    if factor.type.shape != (groups,):
        raise FrontendError(f"expected gamma and beta of [{groups}], found {list(factor.type.shape)}")
    tiled = node.step(ops.Tile(repeats=(1, times)), node.reshaped(factor, (groups, 1)))
    return node.reshaped(tiled, (groups * times,))


def _local_response(node: MxnetNode) -> Operand:
    op = ops.LRN(
        size=node.integer("nsize"), alpha=node.number("alpha"), beta=node.number("beta"), bias=node.number("knorm")
    )
    return node.result(op, node.value(0))


def _l2_normalization(node: MxnetNode) -> Operand:
    """x / sqrt(Σx² + eps), the sum over an image, its channels at a place, or the places of a channel."""
    data, rank = node.value(0), node.rank(0)
    axes = {"instance": range(1, rank), "channel": (1,), "spatial": range(2, rank)}
    mode = node.choice("mode", *axes)
    if not axes[mode]:
        raise FrontendError(f"mode {mode!r} expects data of more axes, found {rank}")
    total = node.step(ops.ReduceSumSquare(axes=tuple(axes[mode])), data)
    size = node.step(ops.Sqrt(), node.step(ops.Add(), total, node.like(node.number("eps"), data)))
    return node.result(ops.Divide(), data, size)


_STATES = "data gamma beta moving_mean moving_var"
_BATCH_NORM: Mapping[str, Any] = {
    "eps": 1e-3,
    "momentum": 0.9,
    "fix_gamma": True,
    "use_global_stats": False,
    "output_mean_var": False,
    "axis": 1,
}

NORMALIZATION = {
    "BatchNorm": operator(_batch_norm, _STATES, "output mean var", auxiliary=2, **_BATCH_NORM),
    "BatchNorm_v1": operator(_batch_norm, _STATES, "output mean var", auxiliary=2, **_BATCH_NORM),
    "GroupNorm": operator(
        _group_norm, "data gamma beta", "output mean std", num_groups=1, eps=1e-5, output_mean_var=False
    ),
    "InstanceNorm": operator(_instance_norm, "data gamma beta", "output mean var", eps=1e-3),
    "L2Normalization": operator(_l2_normalization, results="output norm", eps=1e-10, mode="instance"),
    "LRN": operator(_local_response, results="output tmp_norm", alpha=1e-4, beta=0.75, knorm=2.0, nsize=REQUIRED),
    "LayerNorm": operator(_layer_norm, "data gamma beta", "output mean std", axis=-1, eps=1e-5, output_mean_var=False),
    "_contrib_BatchNormWithReLU": operator(
        lambda node: _batch_norm(node, ops.Relu()), _STATES, "output mean var", auxiliary=2, **_BATCH_NORM
    ),
    "_contrib_SyncBatchNorm": operator(
        _batch_norm, _STATES, "output mean var", auxiliary=2, **_BATCH_NORM, ndev=1, key=""
    ),
}
