"""Operations that move data."""

from __future__ import annotations

import coremltools as ct
import numpy as np
from arrays import t
from coremltools.converters.mil import Builder
from torch.nn import functional

from programs.case import BLOCK, PICTURES, POSITIVE, Cases

CASES = Cases("programs.shapes")
case, operation = CASES.case, CASES.operation
reals = CASES.source.reals

operation("reshape", [BLOCK], BLOCK.reshape(4, 6), shape=[4, -1])
operation("reshape", [BLOCK], BLOCK.reshape(1, 6, 4), shape=[1, -1, 0], label="reshape_kept")
case(
    "reshape_computed",
    [BLOCK, reals(3, 8)],
    lambda x, y: Builder.reshape(x=x, shape=Builder.shape(x=y)),
    BLOCK.reshape(3, 8),
)
operation("transpose", [BLOCK], BLOCK.transpose(2, 0, 1), perm=[2, 0, 1])
operation("expand_dims", [BLOCK], BLOCK[None, ..., None], axes=[0, -1])
_ONES = reals(1, 3, 1, 4)
operation("squeeze", [_ONES], _ONES[0], axes=[0])
operation("squeeze", [_ONES], _ONES[0, :, 0], label="squeeze_all")
case(
    "concat",
    [BLOCK, POSITIVE],
    lambda x, y: Builder.concat(values=[x, y], axis=1),
    np.concatenate([BLOCK, POSITIVE], 1),
)
case(
    "concat_interleaved",
    [BLOCK, POSITIVE],
    lambda x, y: Builder.concat(values=[x, y], axis=1, interleave=True),
    np.stack([BLOCK, POSITIVE], 2).reshape(2, 6, 4),
)
case("stack", [BLOCK, POSITIVE], lambda x, y: Builder.stack(values=[x, y], axis=1), np.stack([BLOCK, POSITIVE], 1))
case("split", [BLOCK], lambda x: Builder.split(x=x, num_splits=2, axis=-1), BLOCK[..., :2], BLOCK[..., 2:])
case("split_sizes", [BLOCK], lambda x: Builder.split(x=x, split_sizes=[1, 3], axis=2), BLOCK[..., :1], BLOCK[..., 1:])
operation("slice_by_index", [BLOCK], BLOCK[0:2, 1:3, -3:4:2], begin=[0, 1, -3], end=[2, 3, 4], stride=[1, 1, 2])
operation(
    "slice_by_index",
    [BLOCK],
    BLOCK[:2, 1, ::2],
    begin=[1, 1, 3],
    end=[2, 0, 0],
    stride=[1, 1, 2],
    begin_mask=[True, False, True],
    end_mask=[False, False, True],
    squeeze_mask=[False, True, False],
    label="slice_masked",
)
operation(
    "slice_by_index",
    [BLOCK],
    BLOCK[:, ::-1],
    begin=[0, 0, 0],
    end=[0, 0, 0],
    stride=[1, -1, 1],
    begin_mask=[True] * 3,
    end_mask=[True] * 3,
    label="slice_reversed",
)
operation("slice_by_size", [BLOCK], BLOCK[:, 1:3, 2:], begin=[0, 1, 2], size=[2, 2, -1])
operation("tile", [BLOCK], np.tile(BLOCK, (1, 2, 3)), reps=[1, 2, 3])
operation("reverse", [BLOCK], BLOCK[::-1, :, ::-1], axes=[0, -1])
operation(
    "pad",
    [BLOCK],
    np.pad(BLOCK, ((0, 0), (1, 0), (2, 3)), constant_values=0.5),
    pad=[1, 0, 2, 3],
    mode="constant",
    constant_val=0.5,
)
operation(
    "pad",
    [BLOCK],
    np.pad(BLOCK, ((0, 0), (1, 2), (0, 3)), "reflect"),
    pad=[1, 2, 0, 3],
    mode="reflect",
    label="pad_reflect",
)
operation(
    "pad",
    [BLOCK],
    np.pad(BLOCK, ((0, 0), (1, 2), (0, 3)), "edge"),
    pad=[1, 2, 0, 3],
    mode="replicate",
    label="pad_replicate",
)
operation("band_part", [BLOCK], np.triu(np.tril(BLOCK, 2), -1), lower=1, upper=2)
case("fill", [BLOCK], lambda x: Builder.add(x=x, y=Builder.fill(shape=[3, 4], value=1.5)), BLOCK + 1.5)
case("fill_like", [BLOCK], lambda x: Builder.fill_like(ref_tensor=x, value=1.5), np.full_like(BLOCK, 1.5))
case(
    "range",
    [BLOCK],
    lambda x: Builder.add(x=x, y=Builder.range_1d(start=0.0, end=4.0, step=1.0)),
    BLOCK + np.arange(4, dtype=np.float32),
)
operation("flatten2d", [BLOCK], BLOCK.reshape(6, 4), axis=2)
operation("sliding_windows", [BLOCK], np.stack([BLOCK[:, :, 0:2], BLOCK[:, :, 2:4]], 2), axis=2, size=2, stride=2)
_BLOCKS = reals(1, 8, 4, 6)
operation("pixel_shuffle", [_BLOCKS], functional.pixel_shuffle(t(_BLOCKS), 2).numpy(), upscale_factor=2)
operation(
    "pixel_unshuffle", [_BLOCKS], functional.pixel_unshuffle(t(_BLOCKS), 2).numpy(), downscale_factor=np.uint32(2)
)
operation(
    "depth_to_space",
    [_BLOCKS],
    _BLOCKS.reshape(1, 2, 2, 2, 4, 6).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 8, 12),
    block_size=2,
)
operation(
    "space_to_depth",
    [_BLOCKS],
    _BLOCKS.reshape(1, 8, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 32, 2, 3),
    block_size=2,
)
operation(
    "space_to_batch",
    [_BLOCKS],
    np.stack([_BLOCKS[0, :, i::2, j::2] for i in (0, 1) for j in (0, 1)]),
    block_shape=[2, 2],
    paddings=[[0, 0], [0, 0]],
)
_MANY = reals(4, 2, 3, 3)
_WHOLE = np.zeros((1, 2, 6, 6), np.float32)
for index in range(4):
    _WHOLE[0, :, index // 2 :: 2, index % 2 :: 2] = _MANY[index]
operation("batch_to_space", [_MANY], _WHOLE[:, :, 1:, :-1], block_shape=[2, 2], crops=[[1, 0], [0, 1]])
operation("crop", [PICTURES], PICTURES[:, :, 1:-1, 2:-1], crop_height=[1, 1], crop_width=[2, 1])
for name, parts, given in (
    ("middle", np.s_[:, 1:3], {"begin": [0, 1, 0], "end": [2, 3, 4]}),
    ("columns", np.s_[..., ::2], {"begin": [0, 0, 0], "end": [2, 3, 4], "stride": [1, 1, 2]}),
    ("squeezed", np.s_[1, :, -2:], {"begin": [1, 0, -2], "end": [2, 0, 0], "begin_mask": [False, True, False],
                                    "end_mask": [False, True, True], "squeeze_mask": [True, False, False]}),
    ("backwards", np.s_[:, ::-1], {"begin": [0, 2, 0], "end": [2, 0, 4], "stride": [1, -1, 1],
                                   "end_mask": [False, True, False]}),
):  # fmt: skip
    _EXCHANGED = BLOCK.copy()
    _UPDATE = reals(*BLOCK[parts].shape)
    _EXCHANGED[parts] = _UPDATE
    case(
        f"slice_update_{name}",
        [BLOCK, _UPDATE],
        lambda x, y, given=given: Builder.slice_update(x=x, update=y, **given),
        _EXCHANGED,
        target=ct.target.iOS18,
    )
