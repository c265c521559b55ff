"""Frozen graphs of an operator or a few: a function of tensors, and arrays for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

Array = Any
RANDOM = np.random.default_rng(0)
raw = tf.raw_ops


def real(*shape: int, low: float = -2.0, high: float = 2.0, dtype: str = "float32") -> Array:
    return RANDOM.uniform(low, high, shape).astype(dtype)


def whole(*shape: int, low: int = -5, high: int = 6, dtype: str = "int32") -> Array:
    return RANDOM.integers(low, high, shape).astype(dtype)


def truth(*shape: int) -> Array:
    return RANDOM.random(shape) < 0.5


PICTURE = real(2, 9, 11, 4)
CHANNELS_FIRST = real(2, 4, 9, 11)
MATRIX = real(5, 7)
POSITIVE = real(3, 4, low=0.1, high=3.0)
UNIT = real(3, 4, low=-0.9, high=0.9)

UNARY = """Abs Atan Asinh Ceil Cos Cosh Elu Erf Erfc Exp Expm1 Floor IsFinite IsInf IsNan LeakyRelu Neg Relu Relu6 Rint
Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Square Tan Tanh"""
ACTIVATIONS = "Elu LeakyRelu Relu Relu6 Selu Softplus Softsign"
UNARY_OF_POSITIVE = "Inv Log Log1p Reciprocal Rsqrt Sqrt"
BINARY = """Add AddV2 Sub Mul Div RealDiv FloorDiv FloorMod Mod Maximum Minimum SquaredDifference Greater GreaterEqual
Less LessEqual Equal NotEqual DivNoNan MulNoNan Xdivy Atan2 TruncateMod"""
BINARY_OF_INTEGERS = """AddV2 Sub Mul Div FloorDiv FloorMod TruncateDiv TruncateMod Maximum SquaredDifference Greater
Equal"""

GRAPHS: dict[str, tuple[Any, ...]] = {}


def add(name: str, function: Callable[..., Any], *given: Array) -> None:
    assert name not in GRAPHS, name
    GRAPHS[name] = (function, *given)


for operator in UNARY.split():
    argument = "features" if operator in ACTIVATIONS.split() else "x"
    add(operator, lambda x, o=operator, a=argument: getattr(raw, o)(**{a: x}), real(3, 4, low=-8, high=8))
for operator in UNARY_OF_POSITIVE.split():
    add(operator, lambda x, o=operator: getattr(raw, o)(x=x), POSITIVE)
for operator in ["Acos", "Asin", "Atanh"]:
    add(operator, lambda x, o=operator: getattr(raw, o)(x=x), UNIT)
add("Acosh", lambda x: raw.Acosh(x=x), real(3, 4, low=1, high=5))
add(
    "IsNan_special",
    lambda x: [tf.math.is_nan(x), tf.math.is_inf(x), tf.math.is_finite(x)],
    np.array([np.nan, np.inf, 1, -np.inf], "f"),
)
add("Round_halves", tf.round, np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], "f"))
add("LeakyRelu_alpha", lambda x: tf.nn.leaky_relu(x, 0.3), MATRIX)
add("Cast_int", lambda x: tf.cast(x, tf.int32), real(3, 4, low=-8, high=8))
add("Cast_bool", lambda x: tf.cast(x, tf.bool), whole(3, 4, low=0, high=2))
add("Cast_from_bool", lambda x: tf.cast(x, tf.float32), truth(3, 4))
add("Cast_half", lambda x: tf.cast(tf.cast(x, tf.float16), tf.float32), MATRIX)
add("Bitcast", lambda x: tf.bitcast(x, tf.int32), MATRIX)
add("Bucketize", lambda x: raw.Bucketize(input=x, boundaries=[-1.0, 0.0, 1.5]), MATRIX)
add("ClipByValue", lambda x: raw.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.7), MATRIX)
add("ClipByValue_int", lambda x: tf.clip_by_value(x, -2, 3), whole(4, 5))
add("ZerosLike_OnesLike", lambda x: [tf.zeros_like(x), tf.ones_like(x), -x], MATRIX)
add("Invert", tf.bitwise.invert, whole(4, 5))
add("IdentityN", lambda x, y: tf.identity_n([x, y]), MATRIX, POSITIVE)
add("CheckNumerics", lambda x: tf.debugging.check_numerics(x, "bad") + 1, MATRIX)
add("StopGradient", lambda x: tf.stop_gradient(x) + 1, MATRIX)

for operator in BINARY.split():
    add(operator, lambda x, y, o=operator: getattr(raw, o)(x=x, y=y), real(2, 3, 4), real(3, 1, low=0.5, high=3))
for operator in BINARY_OF_INTEGERS.split():
    add(
        f"{operator}_int",
        lambda x, y, o=operator: getattr(raw, o)(x=x, y=y),
        whole(4, 5),
        whole(5, low=1, high=4) * np.array([1, -1, 1, -1, 1], "i"),
    )
add("Pow", tf.pow, POSITIVE, real(4))
add("Pow_int", lambda x: tf.pow(x, 3), whole(4, 5))
add(
    "Xlogy",
    lambda x, y: [tf.math.xlogy(x, y), tf.math.xlog1py(x, y)],
    np.array([0, 1, 2, 0], "f"),
    np.array([0, 1, 2, 3], "f"),
)
add(
    "DivNoNan_zero",
    lambda x, y: [tf.math.divide_no_nan(x, y), tf.math.multiply_no_nan(x, y)],
    np.array([1, 2, np.inf], "f"),
    np.array([0, 2, 0], "f"),
)
add("Logical", lambda x, y: [x & y, x | y, ~x, tf.math.logical_xor(x, y)], truth(4, 5), truth(5))
add(
    "Bitwise",
    lambda x, y: [tf.bitwise.bitwise_and(x, y), tf.bitwise.bitwise_or(x, y), tf.bitwise.bitwise_xor(x, y)],
    whole(4, 5),
    whole(5),
)
add(
    "Shift",
    lambda x: [tf.bitwise.left_shift(x, np.uint8(2)), tf.bitwise.right_shift(x, np.uint8(1))],
    whole(4, 5, low=0, high=255, dtype="uint8"),
)
add("AddN", lambda x, y, z: tf.add_n([x, y, z]), MATRIX, real(5, 7), real(5, 7))
add("ApproximateEqual", lambda x, y: raw.ApproximateEqual(x=x, y=y, tolerance=0.5), MATRIX, real(5, 7))
add("Select_rows", lambda c, x, y: raw.Select(condition=c, x=x, y=y), truth(5), MATRIX, real(5, 7))
add("Select_scalar", lambda c, x, y: raw.Select(condition=c, x=x, y=y), np.array(True), MATRIX, real(5, 7))
add("Select_same", lambda c, x, y: raw.Select(condition=c, x=x, y=y), truth(5, 7), MATRIX, real(5, 7))
add("SelectV2", tf.where, truth(7), MATRIX, real(5, 1))
add("BiasAdd", lambda x: tf.nn.bias_add(x, real(4)), PICTURE)
add("BiasAdd_first", lambda x: tf.nn.bias_add(x, real(4), "NCHW"), CHANNELS_FIRST)
add("BroadcastTo", lambda x: tf.broadcast_to(x, [2, 5, 7]), MATRIX)

for axes, keep in ((0, False), (1, True), ([0, 2], False), (-1, True), (None, False), ([1, 2], True)):
    label = str(axes).replace(", ", "").strip("[]").replace("-", "m") + ("_keep" if keep else "")
    add(
        f"Reduce_{label}",
        lambda x, a=axes, k=keep: [
            f(x, a, k) for f in (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod)
        ],
        real(3, 4, 5),
    )
add("Reduce_bool", lambda x: [tf.reduce_all(x, 1), tf.reduce_any(x, 0), tf.reduce_any(x)], truth(4, 5))
add(
    "Reduce_int",
    lambda x: [tf.reduce_sum(x, 1), tf.reduce_max(x, 0), tf.reduce_mean(x, 0)],
    whole(4, 5, low=0, high=100),
)
add("Reduce_none", lambda x: tf.reduce_sum(x, []), MATRIX)
add("EuclideanNorm", lambda x: tf.math.reduce_euclidean_norm(x, 1), MATRIX)
add("logsumexp", lambda x: tf.reduce_logsumexp(x, 1), MATRIX)
add("moments", lambda x: tf.nn.moments(x, [0, 1, 2]), PICTURE)
add("l2_normalize", lambda x: tf.math.l2_normalize(x, -1), PICTURE)
add("L2Loss", tf.nn.l2_loss, MATRIX)
add("ArgMax", lambda x: [tf.argmax(x, 1), tf.argmin(x, 0), tf.argmax(x, -1, tf.int32)], MATRIX)
add("ArgMax_ties", lambda x: tf.argmax(x, 1), whole(5, 7, low=0, high=3))
for exclusive in (False, True):
    for reverse in (False, True):
        add(
            f"Cumsum_{int(exclusive)}{int(reverse)}",
            lambda x, e=exclusive, r=reverse: [tf.cumsum(x, 1, e, r), tf.math.cumprod(x, 0, e, r)],
            MATRIX,
        )
add("TopK", lambda x: tf.math.top_k(x, 3), MATRIX)
add("TopK_values", lambda x: tf.math.top_k(x, 2).values, real(2, 3, 6))
add("TopK_int64", lambda x: tf.math.top_k(x, 3, index_type=tf.int64), whole(4, 6))
add("InTopK", lambda x, t: tf.math.in_top_k(t, x, 2), real(5, 7), whole(5, low=0, high=7))
add("Softmax", lambda x: [tf.nn.softmax(x), tf.nn.log_softmax(x)], real(2, 3, 6))
add("Softmax_axis", lambda x: tf.nn.softmax(x, 1), real(2, 3, 6))

add("Reshape", lambda x: tf.reshape(x, [7, -1]), MATRIX)
add("Reshape_scalar", lambda x: tf.reshape(x, []), real(1, 1))
add("Reshape_of_shape", lambda x: tf.reshape(x, tf.stack([tf.shape(x)[0], -1])), real(2, 3, 4))
add("ExpandDims", lambda x: [tf.expand_dims(x, 0), tf.expand_dims(x, -1), tf.expand_dims(x, 1)], MATRIX)
add("Squeeze", lambda x: [tf.squeeze(x), tf.squeeze(x, [1])], real(3, 1, 4, 1))
add("Transpose", lambda x: [tf.transpose(x), tf.transpose(x, [1, 0, 2])], real(2, 3, 4))
add("ConcatV2", lambda x, y: [tf.concat([x, y], 1), tf.concat([x, y, x], -1)], MATRIX, real(5, 7))
add("Concat", lambda x, y: raw.Concat(concat_dim=0, values=[x, y]), MATRIX, real(5, 7))
add("Pack", lambda x, y: [tf.stack([x, y]), tf.stack([x, y], -1)], MATRIX, real(5, 7))
add("Unpack", lambda x: tf.unstack(x, axis=1), real(3, 4))
add("Unpack_first", tf.unstack, real(3, 4))
add("Split", lambda x: tf.split(x, 3, 1), real(4, 6))
add("SplitV", lambda x: tf.split(x, [1, -1, 2], -1), real(4, 6))
add("Slice", lambda x: tf.slice(x, [1, 2], [3, -1]), MATRIX)
add("StridedSlice", lambda x: [x[1:4, ::2], x[::-1, -3:], x[2], x[..., 1], x[:, tf.newaxis, 3], x[-1, 1:]], MATRIX)
add("StridedSlice_masks", lambda x: [x[..., tf.newaxis, 2], x[1:, ..., ::-2], x[:, -2:-5:-1], x[5:2]], real(3, 6, 4))
add("StridedSlice_at", lambda x, i: x[i], MATRIX, np.array(3, "i"))
add("Slice_at", lambda x, i: tf.slice(x, tf.stack([i, 0]), [2, 7]), MATRIX, np.array(2, "i"))
add("Pad", lambda x: [tf.pad(x, [[1, 2], [0, 3]]), tf.pad(x, [[1, 0], [2, 2]], constant_values=3.5)], MATRIX)
add("MirrorPad", lambda x: [tf.pad(x, [[1, 2], [3, 0]], "REFLECT"), tf.pad(x, [[1, 2], [3, 0]], "SYMMETRIC")], MATRIX)
add("Tile", lambda x: tf.tile(x, [2, 3]), MATRIX)
add("Fill", lambda x: tf.fill(tf.shape(x), 2.5) + x, MATRIX)
add("Shape", lambda x: [tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x, tf.int64), -x], MATRIX)
add("ShapeN", lambda x, y: [*tf.shape_n([x, y]), -x, -y], MATRIX, POSITIVE)
add("Range", lambda x: x + tf.range(7.0) + tf.cast(tf.range(0, 14, 2), tf.float32), MATRIX)
add("LinSpace", lambda x: x + tf.linspace(-1.0, 1.0, 7), MATRIX)
add("ReverseV2", lambda x: tf.reverse(x, [0, 2]), real(2, 3, 4))
add("ReverseSequence", lambda x, n: tf.reverse_sequence(x, n, seq_axis=1), real(3, 5, 2), np.array([2, 5, 1], "i"))
add(
    "ReverseSequence_time",
    lambda x, n: tf.reverse_sequence(x, n, seq_axis=0, batch_axis=1),
    real(5, 3, 2),
    np.array([2, 5, 1], "i"),
)
add("Roll", lambda x: tf.roll(x, [2, -1], [1, 0]), MATRIX)
add(
    "MatrixBandPart",
    lambda x: [tf.linalg.band_part(x, 1, 2), tf.linalg.band_part(x, -1, 0), tf.linalg.band_part(x, 0, -1)],
    real(2, 5, 6),
)
add("MatrixDiag", tf.linalg.diag, real(2, 4))
add("MatrixDiagPart", tf.linalg.diag_part, real(2, 4, 6))
add("MatrixDiagPart_tall", lambda x: raw.MatrixDiagPart(input=x), real(2, 6, 4))
add("MatrixSetDiag", tf.linalg.set_diag, real(2, 4, 6), real(2, 4))
add("Eye", lambda x: x + tf.eye(5, 7), MATRIX)
add("BroadcastArgs", lambda x: tf.broadcast_to(x, tf.broadcast_dynamic_shape(tf.shape(x), [2, 1, 1])), MATRIX)
add("SpaceToDepth", lambda x: tf.nn.space_to_depth(x, 2), real(2, 4, 6, 3))
add("DepthToSpace", lambda x: tf.nn.depth_to_space(x, 2), real(2, 4, 6, 8))
add("SpaceToBatchND", lambda x: tf.space_to_batch(x, [2, 3], [[1, 0], [0, 1]]), real(2, 3, 5, 3))
add("BatchToSpaceND", lambda x: tf.batch_to_space(x, [2, 3], [[1, 0], [0, 1]]), real(12, 2, 2, 3))
add("SpaceToBatch", lambda x: raw.SpaceToBatch(input=x, paddings=[[1, 0], [0, 1]], block_size=2), real(2, 3, 5, 3))
add("BatchToSpace", lambda x: raw.BatchToSpace(input=x, crops=[[1, 0], [0, 1]], block_size=2), real(8, 2, 3, 3))
add(
    "Searchsorted",
    lambda x, v: [tf.searchsorted(x, v), tf.searchsorted(x, v, "right")],
    np.sort(whole(2, 6)),
    whole(2, 4),
)

add("Gather", lambda x, i: [tf.gather(x, i), tf.gather(x, i, axis=1)], MATRIX, whole(2, 3, low=0, high=5))
add("Gather_known", lambda x: tf.gather(x, [4, 0, 2]), MATRIX)
add("Gather_batch", lambda x, i: tf.gather(x, i, axis=1, batch_dims=1), real(3, 4, 5), whole(3, 2, low=0, high=4))
add("Gather_batch_axis", lambda x, i: tf.gather(x, i, axis=2, batch_dims=1), real(3, 4, 5), whole(3, 2, low=0, high=5))
add("GatherNd", tf.gather_nd, real(3, 4, 5), whole(6, 2, low=0, high=3))
add("GatherNd_batch", lambda x, i: tf.gather_nd(x, i, batch_dims=1), real(3, 4, 5), whole(3, 6, 1, low=0, high=4))
add("ScatterNd", lambda i, u: tf.scatter_nd(i, u, [6, 3]), whole(4, 1, low=0, high=6), real(4, 3))
add(
    "TensorScatter",
    lambda x, i, u: [
        tf.tensor_scatter_nd_add(x, i, u),
        tf.tensor_scatter_nd_sub(x, i, u),
        tf.tensor_scatter_nd_max(x, i, u),
        tf.tensor_scatter_nd_min(x, i, u),
    ],
    real(6, 3),
    whole(4, 1, low=0, high=6),
    real(4, 3),
)
add("TensorScatterUpdate", lambda x, u: tf.tensor_scatter_nd_update(x, [[4], [0]], u), real(6, 3), real(2, 3))
add(
    "OneHot",
    lambda i: [tf.one_hot(i, 4), tf.one_hot(i, 4, 2.0, -1.0, axis=0), tf.one_hot(i, 4, axis=1)],
    whole(3, 5, low=-2, high=6),
)
add("OneHot_bool", lambda i: tf.one_hot(i, 4, True, False), whole(5, low=0, high=4))
add("UnsortedSegmentSum", lambda x, i: tf.math.unsorted_segment_sum(x, i, 4), real(6, 3), whole(6, low=-1, high=4))
add("SegmentSum", lambda x: tf.math.segment_sum(x, [0, 0, 2, 3, 3, 3]), real(6, 3))
add("DynamicStitch", lambda x, y: tf.dynamic_stitch([[0, 2], [3, 1]], [x, y]), real(2, 3), real(2, 3))
add("Where_known", lambda x: tf.gather_nd(x, tf.where(np.array([1, 0, 1, 1, 0], bool))), MATRIX)

for padding in ("SAME", "VALID"):
    for stride in (1, 2, 3):
        add(
            f"Conv2D_{padding}_{stride}",
            lambda x, p=padding, s=stride: tf.nn.conv2d(x, real(3, 2, 4, 6), s, p),
            PICTURE,
        )
        add(
            f"Depthwise_{padding}_{stride}",
            lambda x, p=padding, s=stride: tf.nn.depthwise_conv2d(x, real(3, 3, 4, 2), [1, s, s, 1], p),
            PICTURE,
        )
        add(
            f"Pool_{padding}_{stride}",
            lambda x, p=padding, s=stride: [tf.nn.max_pool2d(x, 3, s, p), tf.nn.avg_pool2d(x, [2, 3], s, p)],
            PICTURE,
        )
        add(
            f"Transposed_{padding}_{stride}",
            lambda x, p=padding, s=stride: tf.nn.conv2d_transpose(
                x, real(3, 4, 5, 4), [2, *((9 * s, 11 * s) if p == "SAME" else (8 * s + 3, 10 * s + 4)), 5], s, p
            ),
            PICTURE,
        )
add("Conv2D_strides", lambda x: tf.nn.conv2d(x, real(3, 3, 4, 6), [1, 2, 1, 1], "SAME"), PICTURE)
add("Conv2D_dilated", lambda x: tf.nn.conv2d(x, real(3, 3, 4, 6), 1, "SAME", dilations=2), PICTURE)
add("Conv2D_dilated_valid", lambda x: tf.nn.conv2d(x, real(3, 3, 4, 6), 1, "VALID", dilations=[1, 2, 3, 1]), PICTURE)
add("Conv2D_explicit", lambda x: tf.nn.conv2d(x, real(3, 3, 4, 6), 2, [[0, 0], [1, 2], [0, 1], [0, 0]]), PICTURE)
add("Conv2D_groups", lambda x: tf.nn.conv2d(x, real(3, 3, 2, 6), 1, "SAME"), PICTURE)
add("Conv2D_one", lambda x: tf.nn.conv2d(x, real(1, 1, 4, 6), 2, "SAME"), PICTURE)
add("Conv2D_even", lambda x: tf.nn.conv2d(x, real(4, 4, 4, 6), 2, "SAME"), real(1, 8, 8, 4))
add("Conv2D_wide_stride", lambda x: tf.nn.conv2d(x, real(1, 1, 4, 6), 4, "SAME"), PICTURE)
add(
    "Conv2D_bias_relu",
    lambda x: tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, real(3, 3, 4, 6), 1, "SAME"), real(6))),
    PICTURE,
)
add("Conv2D_computed_weight", lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), PICTURE, real(3, 3, 4, 6))
add(
    "Conv2D_tower",
    lambda x: tf.nn.max_pool2d(
        tf.nn.relu(
            tf.nn.conv2d(tf.nn.relu(tf.nn.conv2d(x, real(3, 3, 4, 16), 1, "SAME")), real(3, 3, 16, 16), 2, "SAME")
        ),
        2,
        2,
        "VALID",
    ),
    PICTURE,
)
add(
    "Depthwise_dilated",
    lambda x: tf.nn.depthwise_conv2d(x, real(3, 3, 4, 1), [1, 1, 1, 1], "SAME", dilations=[2, 2]),
    PICTURE,
)
add("Separable", lambda x: tf.nn.separable_conv2d(x, real(3, 3, 4, 2), real(1, 1, 8, 5), [1, 1, 1, 1], "SAME"), PICTURE)
add("Atrous", lambda x: tf.nn.atrous_conv2d(x, real(3, 3, 4, 6), 2, "SAME"), PICTURE)
add(
    "Atrous_valid",
    lambda x: tf.nn.with_space_to_batch(x, [2, 2], "VALID", lambda v, n, p: tf.nn.conv2d(v, real(3, 3, 4, 6), 1, p)),
    PICTURE,
)
add("Conv1D", lambda x: tf.nn.conv1d(x, real(3, 4, 6), 2, "SAME"), real(2, 11, 4))
add("Conv3D", lambda x: tf.nn.conv3d(x, real(2, 3, 3, 3, 5), [1, 1, 2, 2, 1], "SAME"), real(1, 4, 7, 8, 3))
add("Conv3D_valid", lambda x: tf.nn.conv3d(x, real(2, 3, 3, 3, 5), [1] * 5, "VALID"), real(1, 4, 7, 8, 3))
add(
    "Conv3D_transposed",
    lambda x: tf.nn.conv3d_transpose(x, real(2, 3, 3, 5, 3), [1, 8, 14, 16, 5], 2, "SAME"),
    real(1, 4, 7, 8, 3),
)
add("Pool3D", lambda x: [tf.nn.max_pool3d(x, 2, 2, "SAME"), tf.nn.avg_pool3d(x, 2, 2, "SAME")], real(1, 5, 7, 8, 3))
add("MaxPool_even", lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), PICTURE)
add("MaxPool_explicit", lambda x: tf.nn.max_pool2d(x, 3, 2, [[0, 0], [1, 1], [0, 1], [0, 0]]), PICTURE)
add("MaxPoolV2", lambda x: raw.MaxPoolV2(input=x, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME"), PICTURE)
add("MaxPoolWithArgmax", lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME"), PICTURE)
add(
    "MaxPoolWithArgmax_batch",
    lambda x: tf.nn.max_pool_with_argmax(x, 3, 2, "VALID", include_batch_in_index=True),
    PICTURE,
)
add(
    "ExtractImagePatches",
    lambda x: tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
    PICTURE,
)
add(
    "ExtractImagePatches_rates",
    lambda x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 3, 1], "VALID"),
    PICTURE,
)

STATISTICS = [real(4), real(4), real(4), real(4, low=0.5, high=2)]
for version in ("FusedBatchNorm", "FusedBatchNormV3"):
    add(
        version,
        lambda x, v=version: getattr(raw, v)(
            x=x,
            scale=STATISTICS[0],
            offset=STATISTICS[1],
            mean=STATISTICS[2],
            variance=STATISTICS[3],
            is_training=False,
            epsilon=1e-3,
        )[0],
        PICTURE,
    )
add(
    "FusedBatchNorm_training",
    lambda x: tf.compat.v1.nn.fused_batch_norm(x, STATISTICS[0], STATISTICS[1], is_training=True)[0],
    PICTURE,
)
add(
    "batch_normalization",
    lambda x: tf.nn.batch_normalization(x, STATISTICS[2], STATISTICS[3], STATISTICS[1], STATISTICS[0], 1e-3),
    PICTURE,
)
add("LRN", lambda x: tf.nn.lrn(x, 2, 1.5, 0.3, 0.7), real(1, 3, 4, 9))
add("LRN_default", tf.nn.lrn, real(1, 3, 4, 9))

add("MatMul", lambda x: tf.matmul(x, real(7, 6)), MATRIX)
add(
    "MatMul_transposed",
    lambda x: [tf.matmul(x, real(5, 6), transpose_a=True), tf.matmul(x, real(6, 7), transpose_b=True)],
    MATRIX,
)
add(
    "BatchMatMul",
    lambda x, y: [tf.matmul(x, y), tf.matmul(x, x, transpose_b=True), tf.matmul(y, y, transpose_a=True)],
    real(2, 3, 4, 5),
    real(3, 5, 6),
)
add("BatchMatMul_first", lambda x, y: raw.BatchMatMul(x=x, y=y, adj_x=True), real(2, 5, 4), real(2, 5, 6))
for equation in ("ij,jk->ik", "bij,bjk->bik", "abc,cde->abde", "...ij,...jk->...ik", "bhid,bhjd->bhij"):
    shapes = {
        "ij,jk->ik": ((3, 4), (4, 5)),
        "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
        "abc,cde->abde": ((2, 3, 4), (4, 5, 6)),
        "...ij,...jk->...ik": ((2, 3, 4), (2, 4, 5)),
        "bhid,bhjd->bhij": ((2, 3, 4, 5), (2, 3, 6, 5)),
    }[equation]
    label = equation.replace(",", "_").replace("->", "_to_").replace("...", "etc")
    add(f"Einsum_{label}", lambda x, y, e=equation: tf.einsum(e, x, y), real(*shapes[0]), real(*shapes[1]))
add("Tensordot", lambda x: tf.tensordot(x, real(4, 6), 1), real(2, 3, 4))

for method in ("lanczos3", "lanczos5", "gaussian", "mitchellcubic", "bilinear", "bicubic", "area"):
    for size in ((5, 6), (13, 7)):
        add(
            f"resize_{method}_antialias_{size[0]}x{size[1]}",
            lambda x, m=method, s=size: tf.image.resize(x, s, m, antialias=True),
            PICTURE,
        )
COLOURS = real(2, 5, 7, 3, low=0.0, high=1.0)
add("rgb_to_hsv", tf.image.rgb_to_hsv, COLOURS)
add("hsv_to_rgb", tf.image.hsv_to_rgb, COLOURS)
add("adjust_hue", lambda x: tf.image.adjust_hue(x, -0.3), COLOURS)
add("adjust_saturation", lambda x: tf.image.adjust_saturation(x, 1.7), COLOURS)
add("adjust_contrast", lambda x: tf.image.adjust_contrast(x, 0.6), COLOURS)
RESIZERS = {"bilinear": raw.ResizeBilinear, "nearest": raw.ResizeNearestNeighbor, "bicubic": raw.ResizeBicubic}
for method, function in RESIZERS.items():
    for size in ((18, 22), (7, 5), (13, 11), (9, 11)):
        for align, centred in ((False, False), (True, False), (False, True)):
            add(
                f"resize_{method}_{size[0]}x{size[1]}{'_corners' * align}{'_centred' * centred}",
                lambda x, f=function, s=size, a=align, c=centred: f(
                    images=x, size=list(s), align_corners=a, half_pixel_centers=c
                ),
                PICTURE,
            )
for size in ((9, 11), (3, 11), (9, 1), (1, 1)):
    add(f"resize_area_{size[0]}x{size[1]}", lambda x, s=size: raw.ResizeArea(images=x, size=list(s)), PICTURE)
add(
    "resize_bytes",
    lambda x: tf.compat.v1.image.resize_bilinear(x, [5, 6]),
    whole(1, 9, 11, 3, low=0, high=255, dtype="uint8"),
)

add("FakeQuantWithMinMaxArgs", lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1.5, 1.7), MATRIX)
add(
    "FakeQuantWithMinMaxArgs_narrow",
    lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1.5, 1.7, 4, True),
    MATRIX,
)
add("FakeQuantWithMinMaxVars", lambda x: tf.quantization.fake_quant_with_min_max_vars(x, -0.1, 2.0), MATRIX)
add(
    "FakeQuantWithMinMaxVarsPerChannel",
    lambda x: tf.quantization.fake_quant_with_min_max_vars_per_channel(x, real(7) - 3, real(7) + 3),
    MATRIX,
)

BOXES = np.sort(real(6, 2, 2, low=0, high=1), axis=1).reshape(6, 4).astype("float32")
add(
    "NonMaxSuppressionV4",
    lambda b, s: tf.image.non_max_suppression_padded(b, s, 8, 0.3, 0.1, pad_to_max_output_size=True),
    BOXES,
    real(6, low=0, high=1),
)
add(
    "NonMaxSuppressionV5",
    lambda b, s: raw.NonMaxSuppressionV5(
        boxes=b,
        scores=s,
        max_output_size=4,
        iou_threshold=0.3,
        score_threshold=0.2,
        soft_nms_sigma=0.0,
        pad_to_max_output_size=True,
    ),
    BOXES,
    real(6, low=0, high=1),
)
HIDDEN = np.array([0.3, -np.inf, np.finfo("f").min, 0.9, 0.1, -np.inf], "f")
add(
    "NonMaxSuppressionV4_hidden",
    lambda b, s: tf.image.non_max_suppression_padded(b, s, 8, 0.3, pad_to_max_output_size=True),
    BOXES,
    HIDDEN,
)
add("NonMaxSuppression", lambda b, s: raw.NonMaxSuppression(boxes=b, scores=s, max_output_size=1), BOXES, HIDDEN)
add(
    "NonMaxSuppressionV2",
    lambda b, s: raw.NonMaxSuppressionV2(boxes=b, scores=s, max_output_size=1, iou_threshold=0.5),
    BOXES,
    real(6, low=0, high=1),
)
add("NonMaxSuppressionV3", lambda b, s: tf.image.non_max_suppression(b, s, 1, 0.3), BOXES, real(6, low=0, high=1))
for owners in (1, 3):
    add(
        f"CombinedNonMaxSuppression_{owners}",
        lambda b, s: tf.image.combined_non_max_suppression(b, s, 4, 7, 0.3, 0.1),
        np.stack([np.roll(BOXES, i, 0) for i in range(owners)], 1)[None].repeat(2, 0),
        real(2, 6, 3, low=0, high=1),
    )
for method in ("bilinear", "nearest"):
    add(
        f"CropAndResize_{method}",
        lambda x, b, m=method: tf.image.crop_and_resize(x, b, [0, 1, 0, 1, 1, 0], [3, 4], m, 0.5),
        PICTURE,
        BOXES * 1.4 - 0.2,
    )

add(
    "AudioSpectrogram",
    lambda x: [raw.AudioSpectrogram(input=x, window_size=24, stride=10, magnitude_squared=s) for s in (True, False)],
    real(100, 2),
)
add(
    "Mfcc",
    lambda x: raw.Mfcc(
        spectrogram=raw.AudioSpectrogram(input=x, window_size=128, stride=50, magnitude_squared=True), sample_rate=8000
    ),
    real(400, 1),
)
add(
    "LSTMBlockCell",
    lambda x, c, h: raw.LSTMBlockCell(
        x=x, cs_prev=c, h_prev=h, w=real(8, 20), wci=real(5), wcf=real(5), wco=real(5), b=real(20), use_peephole=True
    ),
    real(2, 3),
    real(2, 5),
    real(2, 5),
)
add(
    "LSTMBlockCell_plain",
    lambda x, c, h: (
        raw.LSTMBlockCell(
            x=x, cs_prev=c, h_prev=h, w=real(8, 20), wci=real(5), wcf=real(5), wco=real(5), b=real(20), cell_clip=-1
        ).h
    ),
    real(2, 3),
    real(2, 5),
    real(2, 5),
)
add(
    "GRUBlockCell",
    lambda x, h: raw.GRUBlockCell(x=x, h_prev=h, w_ru=real(8, 10), w_c=real(8, 5), b_ru=real(10), b_c=real(5)),
    real(2, 3),
    real(2, 5),
)
add(
    "BlockLSTM",
    lambda x, c, h: raw.BlockLSTM(
        seq_len_max=6,
        x=x,
        cs_prev=c,
        h_prev=h,
        w=real(8, 20),
        wci=real(5),
        wcf=real(5),
        wco=real(5),
        b=real(20),
        use_peephole=True,
    ),
    real(6, 2, 3),
    real(2, 5),
    real(2, 5),
)
add(
    "BlockLSTMV2",
    lambda x, c, h: (
        raw.BlockLSTMV2(
            seq_len_max=6, x=x, cs_prev=c, h_prev=h, w=real(8, 20), wci=real(5), wcf=real(5), wco=real(5), b=real(20)
        ).h
    ),
    real(6, 2, 3),
    real(2, 5),
    real(2, 5),
)
add(
    "RFFT",
    lambda x: [tf.abs(tf.signal.rfft(x)), tf.math.real(tf.signal.rfft(x, [10])), tf.math.imag(tf.signal.rfft(x))],
    real(3, 12),
)
add("RFFT_angle", lambda x: tf.math.angle(tf.math.conj(tf.signal.rfft(x))), real(12))
add("IRFFT", lambda x, y: tf.signal.irfft(tf.complex(x, y)), real(3, 7), real(3, 7))
add(
    "FFT",
    lambda x, y: [tf.abs(tf.signal.fft(tf.complex(x, y))), tf.math.real(tf.signal.ifft(tf.complex(x, y)))],
    real(3, 8),
    real(3, 8),
)
add("STFT", lambda x: tf.abs(tf.signal.stft(x, 16, 8)), real(2, 100))
add(
    "log_mel",
    lambda x: tf.math.log(
        tf.matmul(tf.square(tf.abs(tf.signal.stft(x, 32, 16))), tf.signal.linear_to_mel_weight_matrix(8, 17, 8000))
        + 1e-6
    ),
    real(2, 200),
)
for signed in (True, False):
    for mode in ("HALF_TO_EVEN", "HALF_UP"):
        add(
            f"QuantizeAndDequantizeV2_{signed}_{mode}",
            lambda x, s=signed, m=mode: raw.QuantizeAndDequantizeV2(
                input=x, input_min=-1.0 * s, input_max=1.5, signed_input=s, range_given=True, round_mode=m
            ),
            MATRIX,
        )
add(
    "QuantizeAndDequantizeV3",
    lambda x: raw.QuantizeAndDequantizeV3(input=x, input_min=-1.0, input_max=1.5, num_bits=6, narrow_range=True),
    MATRIX,
)
add("UnravelIndex", lambda i: raw.UnravelIndex(indices=i, dims=[3, 4, 5]), whole(7, low=0, high=60))
add(
    "SparseToDense",
    lambda v: raw.SparseToDense(
        sparse_indices=[[0, 1], [2, 3]], output_shape=[3, 5], sparse_values=v, default_value=-1.0
    ),
    real(2),
)
add(
    "SparseToDense_vector",
    lambda v: raw.SparseToDense(sparse_indices=[1, 4], output_shape=[6], sparse_values=v, default_value=0.5),
    real(2),
)
for shape in ((2, 3), (3, 3)):
    add(
        f"Dilation2D_{shape[0]}{shape[1]}",
        lambda x, s=shape: tf.nn.dilation2d(x, real(*s, 4), [1, 2, 1, 1], "SAME", "NHWC", [1, 1, 2, 1]),
        PICTURE,
    )
add(
    "Dilation2D_valid",
    lambda x: tf.nn.dilation2d(x, real(2, 2, 4), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]),
    PICTURE,
)
