"""Layers that move data."""

from __future__ import annotations

import numpy as np
from torch.nn import functional

from networks.case import (
    BLOCK,
    COLUMN,
    LARGE,
    OTHER,
    PICTURE,
    POSITIVE_BLOCK,
    Cases,
    images,
)

CASES = Cases("networks.shapes")
case, layer = CASES.case, CASES.layer
reals = CASES.source.reals

layer("flatten_first", "add_flatten", [PICTURE], PICTURE.reshape(-1, 1, 1), old=True, mode=0)
layer("flatten_last", "add_flatten", [PICTURE], PICTURE.transpose(1, 2, 0).reshape(-1, 1, 1), old=True, mode=1)
layer("reshape_first", "add_reshape", [PICTURE], PICTURE.reshape(5, 6, 2), old=True, target_shape=(5, 6, 2), mode=0)
layer(
    "reshape_last",
    "add_reshape",
    [PICTURE],
    PICTURE.transpose(1, 2, 0).reshape(6, 2, 5).transpose(2, 0, 1),
    old=True,
    target_shape=(5, 6, 2),
    mode=1,
)
layer("permute", "add_permute", [PICTURE], PICTURE.transpose(2, 0, 1), old=True, dim=(0, 3, 1, 2))
layer("sequence_repeat", "add_sequence_repeat", [PICTURE], np.repeat(PICTURE[None], 3, 0), old=True, nrep=3)
case("split", [LARGE], lambda b: b.add_split("l", "x", ["out", "out1"]), LARGE[:2], LARGE[2:], old=True)
layer(
    "padding_constant",
    "add_padding",
    [PICTURE],
    np.pad(PICTURE, ((0, 0), (1, 2), (3, 0)), constant_values=0.5),
    old=True,
    left=3,
    right=0,
    top=1,
    bottom=2,
    value=0.5,
)
layer(
    "padding_reflection",
    "add_padding",
    [PICTURE],
    np.pad(PICTURE, ((0, 0), (1, 2), (3, 0)), "reflect"),
    old=True,
    left=3,
    right=0,
    top=1,
    bottom=2,
    padding_type="reflection",
)
layer(
    "padding_replication",
    "add_padding",
    [PICTURE],
    np.pad(PICTURE, ((0, 0), (1, 2), (3, 0)), "edge"),
    old=True,
    left=3,
    right=0,
    top=1,
    bottom=2,
    padding_type="replication",
)
layer("crop", "add_crop", [PICTURE], PICTURE[:, 1:-2, 2:-1], old=True, left=2, right=1, top=1, bottom=2, offset=[0, 0])
case(
    "crop_like",
    [LARGE, PICTURE],
    lambda b: b.add_crop("l", 0, 0, 0, 0, [2, 1], ["x", "y"], "out"),
    LARGE[:, 2:6, 1:6],
    old=True,
)
for axis, expected in (("channel", PICTURE[1:3]), ("height", PICTURE[:, 0:3:2]), ("width", PICTURE[:, :, 1:-1])):
    bounds = {"channel": (1, 3, 1), "height": (0, 3, 2), "width": (1, -1, 1)}[axis]
    layer(
        f"slice_{axis}",
        "add_slice",
        [PICTURE],
        expected,
        old=True,
        axis=axis,
        start_index=bounds[0],
        end_index=bounds[1],
        stride=bounds[2],
    )
_BLOCKS = reals(8, 4, 6)
layer(
    "pixel_shuffle",
    "add_reorganize_data",
    [_BLOCKS],
    images(lambda x: functional.pixel_shuffle(x, 2), _BLOCKS),
    old=True,
    mode="PIXEL_SHUFFLE",
)
layer(
    "depth_to_space",
    "add_reorganize_data",
    [_BLOCKS],
    _BLOCKS.reshape(2, 2, 2, 4, 6).transpose(2, 3, 0, 4, 1).reshape(2, 8, 12),
    old=True,
    mode="DEPTH_TO_SPACE",
)
layer(
    "space_to_depth",
    "add_reorganize_data",
    [_BLOCKS],
    _BLOCKS.reshape(8, 2, 2, 3, 2).transpose(2, 4, 0, 1, 3).reshape(32, 2, 3),
    old=True,
    mode="SPACE_TO_DEPTH",
)
case(
    "constants",
    [PICTURE],
    lambda b: [
        b.add_load_constant("c", "k", OTHER.reshape(-1), OTHER.shape),
        b.add_elementwise("a", ["x", "k"], "out", "ADD"),
    ],
    PICTURE + OTHER,
    old=True,
)
case(
    "constants_nd",
    [BLOCK],
    lambda b: [b.add_load_constant_nd("c", "k", COLUMN, COLUMN.shape), b.add_add_broadcastable("a", ["x", "k"], "out")],
    BLOCK + COLUMN,
)
layer("transpose", "add_transpose", [BLOCK], BLOCK.transpose(2, 0, 1), axes=(2, 0, 1))
layer("concat_nd", "add_concat_nd", [BLOCK, POSITIVE_BLOCK], np.concatenate([BLOCK, POSITIVE_BLOCK], 1), axis=1)
layer(
    "concat_interleaved",
    "add_concat_nd",
    [BLOCK, POSITIVE_BLOCK],
    np.stack([BLOCK, POSITIVE_BLOCK], 2).reshape(2, 6, 4),
    axis=1,
    interleave=True,
)
layer("stack", "add_stack", [BLOCK, POSITIVE_BLOCK], np.stack([BLOCK, POSITIVE_BLOCK], 1), axis=1)
case(
    "split_nd",
    [BLOCK],
    lambda b: b.add_split_nd("l", "x", ["out", "out1"], axis=2, split_sizes=[3, 1]),
    BLOCK[:, :, :3],
    BLOCK[:, :, 3:],
)
case(
    "split_nd_equal",
    [BLOCK],
    lambda b: b.add_split_nd("l", "x", ["out", "out1"], axis=-1, num_splits=2),
    BLOCK[:, :, :2],
    BLOCK[:, :, 2:],
)
_MASKS = {"begin_ids": [0, 1, -3], "end_ids": [2, 3, 4], "strides": [1, 1, 2]}
layer(
    "slice_static",
    "add_slice_static",
    [BLOCK],
    BLOCK[0:2, 1:3, -3:4:2],
    **_MASKS,
    begin_masks=[False] * 3,
    end_masks=[False] * 3,
)
layer(
    "slice_masked",
    "add_slice_static",
    [BLOCK],
    BLOCK[:2, 1:, ::2],
    **_MASKS,
    begin_masks=[True, False, True],
    end_masks=[False, True, True],
)
layer(
    "slice_squeezed",
    "add_slice_static",
    [BLOCK],
    BLOCK[:, 1, -3:4:2],
    **_MASKS,
    begin_masks=[False] * 3,
    end_masks=[False] * 3,
    squeeze_masks=[False, True, False],
)
layer(
    "slice_reversed",
    "add_slice_static",
    [BLOCK],
    BLOCK[:, ::-1, 3:0:-1],
    begin_ids=[0, 0, 3],
    end_ids=[0, 0, 0],
    strides=[1, -1, -1],
    begin_masks=[True, True, False],
    end_masks=[True, True, False],
)
layer(
    "sliding_windows",
    "add_sliding_windows",
    [BLOCK],
    np.stack([BLOCK[:, :, 0:2], BLOCK[:, :, 2:4]], 2),
    axis=2,
    window_size=2,
    step=2,
)
layer("reverse", "add_reverse", [BLOCK], BLOCK[::-1, :, ::-1], reverse_dim=[True, False, True])
_LENGTHS = np.array([2, 3], np.float32)
_TURNED = np.stack([np.concatenate([BLOCK[0, 1::-1], BLOCK[0, 2:]]), BLOCK[1, ::-1]])
layer("reverse_sequence", "add_reverse_sequence", [BLOCK, _LENGTHS], _TURNED, batch_axis=0, seq_axis=1)
layer("tile", "add_tile", [BLOCK], np.tile(BLOCK, (1, 2, 3)), reps=(2, 3))
layer("expand_dims", "add_expand_dims", [BLOCK], BLOCK[None, :, :, :, None], axes=[0, -1])
_ONES = reals(1, 3, 1, 4)
layer("squeeze", "add_squeeze", [_ONES], _ONES[0], axes=[0])
layer("squeeze_all", "add_squeeze", [_ONES], _ONES.reshape(3, 4), squeeze_all=True)
for axis, shape in ((0, (1, 24)), (2, (6, 4)), (-2, (2, 12))):
    layer(f"flatten_to_2d_{axis}", "add_flatten_to_2d", [BLOCK], BLOCK.reshape(shape), axis=axis)
layer("reshape_static", "add_reshape_static", [BLOCK], BLOCK.reshape(4, 6), output_shape=(4, -1))
layer("reshape_like", "add_reshape_like", [BLOCK, reals(8, 3)], BLOCK.reshape(8, 3))
layer("rank_preserving", "add_rank_preserving_reshape", [BLOCK], BLOCK.reshape(2, 6, 2), output_shape=(0, -1, 2))
case(
    "reshape_dynamic",
    [BLOCK],
    lambda b: [
        b.add_load_constant_nd("c", "k", np.array([6.0, 4.0]), (2,)),
        b.add_reshape_dynamic("r", ["x", "k"], "out"),
    ],
    BLOCK.reshape(6, 4),
)
case(
    "shape_of",
    [BLOCK, reals(3, 2, 4)],
    lambda b: [b.add_get_shape("s", "y", "s"), b.add_reshape_dynamic("r", ["x", "s"], "out")],
    BLOCK.reshape(3, 2, 4),
)
layer(
    "broadcast_static", "add_broadcast_to_static", [COLUMN], np.broadcast_to(COLUMN, (2, 3, 4)), output_shape=(2, 3, 4)
)
layer("broadcast_like", "add_broadcast_to_like", [COLUMN, BLOCK], np.broadcast_to(COLUMN, (2, 3, 4)))
layer("fill_like", "add_fill_like", [BLOCK], np.full_like(BLOCK, 1.5), value=1.5)
case(
    "fill_static",
    [BLOCK],
    lambda b: [b.add_fill_static("f", "k", (3, 4), 2.5), b.add_add_broadcastable("a", ["x", "k"], "out")],
    BLOCK + 2.5,
)
case(
    "range_static",
    [BLOCK],
    lambda b: [b.add_range_static("f", "k", end=4, start=0, step=1), b.add_add_broadcastable("a", ["x", "k"], "out")],
    BLOCK + np.arange(4),
)
layer(
    "constant_pad",
    "add_constant_pad",
    [BLOCK],
    np.pad(BLOCK, ((0, 0), (1, 0), (0, 3)), constant_values=2),
    value=2.0,
    pad_to_given_output_size_mode=False,
    pad_amounts=[0, 0, 1, 0, 0, 3],
)
layer(
    "constant_pad_to",
    "add_constant_pad",
    [BLOCK],
    np.pad(BLOCK, ((0, 0), (2, 0), (0, 2))),
    value=0.0,
    pad_to_given_output_size_mode=True,
    pad_amounts=[0, 0, 5, 0, 0, 6],
)
for name, band in (("upper", np.triu), ("lower", np.tril)):
    layer(f"{name}_triangular", f"add_{name}_triangular", [BLOCK], band(BLOCK, 1), k=1)
layer("band", "add_matrix_band_part", [BLOCK], np.triu(np.tril(BLOCK, 2), -1), num_lower=1, num_upper=2)
layer("band_upper", "add_matrix_band_part", [BLOCK], np.tril(BLOCK, 0), num_lower=-1, num_upper=0)
