"""Operations that take elements by their places."""

from __future__ import annotations

import numpy as np
from coremltools.converters.mil import Builder

from programs.case import BLOCK, Cases

CASES = Cases("programs.places")
case, operation = CASES.case, CASES.operation
reals, whole = CASES.source.reals, CASES.source.whole

_AT = np.array([[1, 0], [-1, 2]], np.int32)
operation("gather", [BLOCK], np.take(BLOCK, _AT, 1), indices=_AT, axis=1)
_ROWS = whole(2, 2, most=3)
case("gather_computed", [BLOCK, _ROWS], lambda x, y: Builder.gather(x=x, indices=y, axis=1), np.take(BLOCK, _ROWS, 1))
_IN = whole(2, 5, most=3)
operation(
    "gather",
    [BLOCK],
    np.stack([BLOCK[i][_IN[i]] for i in range(2)]),
    indices=_IN,
    axis=1,
    batch_dims=1,
    label="gather_batch",
)
_ALONG = whole(2, 5, 4, most=3)
operation("gather_along_axis", [BLOCK], np.take_along_axis(BLOCK, _ALONG, 1), indices=_ALONG, axis=1)
_ND = np.array([[1, 2], [0, 1], [1, 0]], np.int32)
operation("gather_nd", [BLOCK], BLOCK[_ND[:, 0], _ND[:, 1]], indices=_ND)
for mode, function in (
    ("update", lambda a, b: b),
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("div", np.divide),
    ("max", np.maximum),
    ("min", np.minimum),
):
    new, result = reals(2, 2, 4, low=0.5), BLOCK.copy()
    result[:, [2, 0]] = function(result[:, [2, 0]], new)
    operation(
        "scatter",
        [BLOCK],
        result,
        arguments=["data"],
        indices=np.array([2, 0], np.int32),
        updates=new,
        axis=1,
        mode=mode,
        label=f"scatter_{mode}",
    )
    slices, result = reals(3, 4, low=0.5), BLOCK.copy()
    for (i, j), update in zip(_ND, slices, strict=True):
        result[i, j] = function(result[i, j], update)
    operation(
        "scatter_nd",
        [BLOCK],
        result,
        arguments=["data"],
        indices=_ND,
        updates=slices,
        mode=mode,
        label=f"scatter_nd_{mode}",
    )
_PUT, _WHERE, _SET = reals(2, 2, 4), np.stack([np.zeros((2, 4)), np.full((2, 4), 2)], 1).astype(np.int32), BLOCK.copy()
np.put_along_axis(_SET, _WHERE, _PUT, 1)
operation("scatter_along_axis", [BLOCK], _SET, arguments=["data"], indices=_WHERE, updates=_PUT, axis=1, mode="update")
_HOT = np.array([2, 0, -1], np.int32)
operation(
    "one_hot",
    [_HOT],
    np.array([[-1, -1, 5, -1], [5, -1, -1, -1], [-1, -1, -1, -1]], np.int32),
    arguments=["indices"],
    one_hot_vector_size=4,
    on_value=5,
    off_value=-1,
)
_TURNED = np.stack([np.concatenate([BLOCK[0, 1::-1], BLOCK[0, 2:]]), BLOCK[1, ::-1]])
operation("reverse_sequence", [BLOCK], _TURNED, lengths=np.array([2, 3], np.int32), seq_axis=1, batch_axis=0)
