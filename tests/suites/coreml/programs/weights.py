"""Quantised data, and weights of fewer bits."""

from __future__ import annotations

from typing import Any

import coremltools as ct
import numpy as np
from arrays import t
from coremltools.converters.mil import Builder
from coremltools.optimize import coreml as optimize
from torch.nn import functional

from programs.case import BLOCK, LARGE, Cases, ProgramCase

CASES = Cases("programs.weights")
case, operation = CASES.case, CASES.operation
reals, whole = CASES.source.reals, CASES.source.whole

operation(
    "quantize",
    [BLOCK],
    np.clip(np.round(BLOCK / np.float32(0.05)) + 3, -128, 127).astype(np.int8),
    arguments=["input"],
    scale=np.float32(0.05),
    zero_point=np.int8(3),
    output_dtype="int8",
)
_QI = (whole(2, 3, 4, most=256) - 128).astype(np.int8)
_QS, _QZ = reals(3, low=0.01, high=0.1), np.array([1, -2, 3], np.int8)
case(
    "dequantize",
    [BLOCK],
    lambda x: Builder.add(x=x, y=Builder.dequantize(input=_QI, scale=_QS, zero_point=_QZ, axis=1)),
    BLOCK + (_QI.astype(np.float32) - _QZ[:, None]) * _QS[:, None],
)
_KL = reals(8, 4, 3, 3)


def large(x: Any) -> Any:
    return Builder.conv(x=x, weight=_KL, pad_type="valid")


def compressed(name: str, config: Any, compress: Any, target: Any) -> None:
    """The judge computes with the weights that coremltools decompresses."""
    plain = ProgramCase(name, {"x": LARGE}, large, [], target, compress=lambda model: model)
    made = compress(plain.model(), optimize.OptimizationConfig(global_config=config))
    operations = optimize.decompress_weights(made)._mil_program.functions["main"].operations
    weights = next(op for op in operations if op.op_type == "conv").weight.val.astype(np.float32)
    case(name, [LARGE], large, functional.conv2d(t(LARGE), t(weights)).numpy(), target=target, compress=lambda _: made)


_LINEAR, _PALETTE, _PRUNE = optimize.linear_quantize_weights, optimize.palettize_weights, optimize.prune_weights
compressed("affine", optimize.OpLinearQuantizerConfig(mode="linear", weight_threshold=0), _LINEAR, ct.target.iOS16)
compressed(
    "affine_symmetric",
    optimize.OpLinearQuantizerConfig(mode="linear_symmetric", weight_threshold=0),
    _LINEAR,
    ct.target.iOS16,
)
for bits in (1, 2, 4, 6, 8):
    compressed(
        f"palette_{bits}",
        optimize.OpPalettizerConfig(mode="uniform", nbits=bits, weight_threshold=0),
        _PALETTE,
        ct.target.iOS16,
    )
for bits in (2, 3, 4):
    compressed(
        f"palette_new_{bits}",
        optimize.OpPalettizerConfig(mode="uniform", nbits=bits, weight_threshold=0),
        _PALETTE,
        ct.target.iOS18,
    )
compressed(
    "palette_groups",
    optimize.OpPalettizerConfig(
        mode="uniform", nbits=4, granularity="per_grouped_channel", group_size=4, weight_threshold=0
    ),
    _PALETTE,
    ct.target.iOS18,
)
compressed("sparse", optimize.OpMagnitudePrunerConfig(target_sparsity=0.6, weight_threshold=0), _PRUNE, ct.target.iOS16)
compressed(
    "sparse_new", optimize.OpMagnitudePrunerConfig(target_sparsity=0.6, weight_threshold=0), _PRUNE, ct.target.iOS18
)
for dtype in ("int4", "uint4", "int8"):
    compressed(
        f"blocks_{dtype}",
        optimize.OpLinearQuantizerConfig(
            mode="linear_symmetric" if dtype != "uint4" else "linear",
            dtype=dtype,
            granularity="per_block",
            block_size=2,
            weight_threshold=0,
        ),
        _LINEAR,
        ct.target.iOS18,
    )
for width in (2, 4):
    compressed(
        f"palette_vectors_{width}",
        optimize.OpPalettizerConfig(mode="kmeans", nbits=2, cluster_dim=width, weight_threshold=0),
        _PALETTE,
        ct.target.iOS18,
    )


def jointly(compress: Any) -> Any:
    """Weights are pruned first."""
    pruned = optimize.OptimizationConfig(
        global_config=optimize.OpMagnitudePrunerConfig(target_sparsity=0.5, weight_threshold=0)
    )
    return lambda model, config: compress(_PRUNE(model, pruned), config, joint_compression=True)


_FOUR = optimize.OpPalettizerConfig(mode="uniform", nbits=4, weight_threshold=0)
compressed("palette_sparse", _FOUR, jointly(_PALETTE), ct.target.iOS18)
_EIGHT = optimize.OpLinearQuantizerConfig(mode="linear_symmetric", dtype="int8", weight_threshold=0)
compressed("blocks_sparse", _EIGHT, jointly(_LINEAR), ct.target.iOS18)
