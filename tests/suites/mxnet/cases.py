"""The cases of operators: by name, what gives a symbol and its inputs for a source of random numbers."""

import mxnet as mx
import numpy as np

S = mx.sym
CASES = {}


def case(name, make, *shapes, dtype="float32", low=None, high=None, numpy=False, **arrays):
    """A symbol `make(*variables)` of inputs a, b, … with these shapes: normal numbers, or uniform ones in [low, high).
    Inputs given as arrays come after them, by their names. With `numpy` variables are arrays of mx.np."""

    def build(random):
        inputs = {}
        for letter, shape in zip("abcdefgh", shapes, strict=False):
            data = random.normal(size=shape) if low is None else random.uniform(low, high, shape)
            inputs[letter] = data.astype(dtype)
        inputs.update(arrays)
        variables = [
            S.Variable(n, dtype=d.dtype) if d.dtype != np.float32 else S.Variable(n) for n, d in inputs.items()
        ]
        return make(*([v.as_np_ndarray() for v in variables] if numpy else variables)), inputs

    assert name not in CASES, name
    CASES[name] = build


def floats(*numbers):
    return np.array(numbers, np.float32)


image = (2, 6, 9, 8)

# Element-wise
for op in ("abs", "ceil", "cos", "erf", "exp", "expm1", "fix", "floor", "negative", "relu", "rint", "round", "sigmoid",
           "sign", "sin", "softsign", "square", "tanh", "trunc", "sinh", "cosh", "arcsinh", "arctan", "cbrt", "degrees",
           "radians", "hard_sigmoid", "identity", "BlockGrad", "make_loss", "logical_not", "tan"):  # fmt: skip
    case(op, getattr(S, op), (3, 7))
for op in ("log", "log10", "log1p", "log2", "sqrt", "rsqrt", "reciprocal", "rcbrt", "arccosh"):
    case(op, getattr(S, op), (3, 7), low=1.1, high=5)
for op in ("arccos", "arcsin", "arctanh"):
    case(op, getattr(S, op), (3, 7), low=-0.9, high=0.9)
case("round_halves", S.round, a=floats(-2.5, -1.5, -0.5, 0.49999997, 0.5, 1.5, 2.5, 8388609))
case("rint_halves", S.rint, a=floats(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.3))
case("fix_negative", S.fix, a=floats(-2.5, -0.5, 0.5, 2.7))
case("clip", lambda a: S.clip(a, -0.5, 0.7), (3, 7))
case("clip_int", lambda a: S.clip(a, -1, 1), a=np.array([-3, 0, 5], np.int32))
case("smooth_l1", lambda a: S.smooth_l1(a, scalar=2.0), (3, 7))
case("quadratic", lambda a: S.contrib.quadratic(a, a=2, b=-1, c=0.5), (3, 7))
case("div_sqrt_dim", S.contrib.div_sqrt_dim, (3, 7))
case("logical_not_zeros", S.logical_not, a=floats(0, 1, -2, 0))
for mode in ("relu", "sigmoid", "softrelu", "softsign", "tanh"):
    case(f"activation_{mode}", lambda a, mode=mode: S.Activation(a, act_type=mode), image)
for mode in ("leaky", "elu", "selu", "gelu", "rrelu", "prelu"):
    case(f"leaky_relu_{mode}", lambda a, mode=mode: S.LeakyReLU(a, act_type=mode, slope=0.3)[0], image)
case("prelu_of_vectors", lambda a: S.LeakyReLU(a, act_type="prelu"), (3, 7))
case("prelu_shared", lambda a: S.LeakyReLU(a, gamma=S.Variable("slope_gamma", shape=(1,)), act_type="prelu"), image)
case("dropout", lambda a: S.Dropout(a, p=0.3) * 2, (3, 7))
for dtype in ("int32", "float16", "uint8", "int64", "float64"):
    case(f"cast_{dtype}", lambda a, dtype=dtype: S.Cast(a, dtype=dtype), (3, 7), low=0, high=99)
case("amp_cast", lambda a: S.amp_cast(a, dtype="float16"), (3, 7))

# Two operands
for op in ("add", "sub", "mul", "div", "maximum", "minimum", "hypot", "equal", "not_equal", "greater", "greater_equal",
           "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor", "mod"):  # fmt: skip
    case(f"broadcast_{op}", getattr(S, f"broadcast_{op}"), (2, 3, 4), (1, 3, 1))
case("broadcast_power", S.broadcast_power, (2, 3), (1, 3), low=0.5, high=3)
case("broadcast_mod_zero", S.broadcast_mod, a=floats(5, -5, 5, -5), b=floats(3, 3, 0, -3))
case("broadcast_equal_ints", S.broadcast_equal, a=np.array([1, 2, 3], np.int32), b=np.array([1, 5, 3], np.int32))
case("hypot_large", S.broadcast_hypot, a=floats(1e30, 0, 3), b=floats(1e30, 0, -4))
for op in ("add", "sub", "mul", "div"):
    case(f"elemwise_{op}", getattr(S, f"elemwise_{op}"), (3, 4), (3, 4))
case("integer_division", lambda a: (a / 2) + (7 / (a + 20)), a=np.array([-7, -2, 5, 9], np.int32))
case("integer_scalar_is_cut", lambda a: a * 1.9 + 0.7, a=np.array([-7, -2, 5, 9], np.int32))
case("scalars", lambda a: ((a + 1.5) * 2 - 0.5) / 3, (3, 4))
case("scalars_on_the_left", lambda a: 2 - (3 / (a + 9)), (3, 4))
case("power_scalar", lambda a: a**2.5, (3, 4), low=0.1, high=2)
case("rpower_scalar", lambda a: 2**a, (3, 4))
case("mod_scalar", lambda a: a % 0.7, (3, 4))
case("rmod_scalar", lambda a: 3 % a, a=floats(-2, 2, 0.7, 0))
case("comparisons_with_scalars", lambda a: (a > 0.1) + 2 * (a >= 0) + 4 * (a < 0.3) + 8 * (a <= 0) + (a == 0), (3, 4))
case("maximum_scalar", lambda a: S.maximum(a, 0.1), (3, 4))
case("minimum_scalar", lambda a: S.minimum(a, 0.1), (3, 4))
case("maximum", S.maximum, (3, 4), (3, 4))
case("power", S.pow, (3, 4), (3, 4), low=0.5, high=2)
case("add_n", S.add_n, (3, 4), (3, 4), (3, 4))
case("add_n_of_one", S.add_n, (3, 4))
case("where", S.where, (3, 4), (3, 4), (3, 4))
case("where_rows", lambda a, b, c: S.where(c, a, b), (3, 4), (3, 4), c=floats(1, 0, 2))

# Convolutions
for name, options in {
    "plain": {},
    "strided": {"stride": (2, 1), "pad": (1, 2)},
    "dilated": {"dilate": (2, 1), "pad": (2, 1)},
    "grouped": {"num_group": 3},
    "depthwise": {"num_group": 6, "pad": (1, 1)},
    "without_bias": {"no_bias": True},
    "pointwise": {"kernel": (1, 1)},
    "uneven": {"kernel": (1, 3), "pad": (0, 1)},
}.items():
    case(
        f"convolution_{name}", lambda a, o=options: S.Convolution(a, **{"kernel": (3, 3), "num_filter": 6, **o}), image
    )
case("convolution_1d", lambda a: S.Convolution(a, kernel=(3,), stride=(2,), pad=(1,), num_filter=4), (2, 6, 11))
case("convolution_3d", lambda a: S.Convolution(a, kernel=(3, 2, 2), pad=(1, 0, 1), num_filter=4), (1, 3, 5, 6, 7))
case("convolution_v1", lambda a: S.Convolution_v1(a, kernel=(3, 3), pad=(1, 1), num_filter=4), image)
for name, options in {
    "plain": {},
    "strided": {"stride": (2, 2), "pad": (1, 1)},
    "adj": {"stride": (2, 3), "pad": (1, 1), "adj": (1, 2)},
    "grouped": {"stride": (2, 2), "num_group": 3},
    "biased": {"no_bias": False, "stride": (2, 2)},
    "dilated": {"dilate": (2, 2)},
}.items():
    case(f"deconvolution_{name}", lambda a, o=options: S.Deconvolution(a, kernel=(3, 3), num_filter=6, **o), image)
case("deconvolution_1d", lambda a: S.Deconvolution(a, kernel=(4,), stride=(2,), pad=(1,), num_filter=4), (2, 6, 5))
case(
    "deconvolution_3d", lambda a: S.Deconvolution(a, kernel=(2, 2, 2), stride=(2, 1, 2), num_filter=4), (1, 3, 3, 4, 5)
)

# Pools
for kind in ("max", "avg", "sum", "lp"):
    more = {"p_value": 2} if kind == "lp" else {}
    for convention in ("valid", "full"):
        case(f"pooling_{kind}_{convention}", lambda a, k=kind, c=convention, m=more: S.Pooling(
            a, kernel=(3, 3), stride=(2, 2), pad=(1, 0), pool_type=k, pooling_convention=c, **m), image)  # fmt: skip
    case(f"pooling_{kind}_global", lambda a, k=kind, m=more: S.Pooling(
        a, global_pool=True, kernel=(2, 2), pool_type=k, **m), image)  # fmt: skip
case("pooling_lp_1", lambda a: S.Pooling(a, kernel=(2, 2), pool_type="lp", p_value=1), image)
case("pooling_lp_3", lambda a: S.Pooling(a, kernel=(2, 2), pool_type="lp", p_value=3), image)
case("pooling_without_padding_counted", lambda a: S.Pooling(
    a, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", count_include_pad=False), image)  # fmt: skip
case("pooling_full_without_padding_counted", lambda a: S.Pooling(
    a, kernel=(3, 2), stride=(2, 2), pad=(1, 0), pool_type="avg", count_include_pad=False, pooling_convention="full"),
    (1, 2, 9, 9))  # fmt: skip
case("pooling_channels_last", lambda a: S.Pooling(a, kernel=(2, 2), stride=(2, 2), layout="NHWC"), (2, 8, 8, 3))
case("pooling_average_channels_last", lambda a: S.Pooling(
    a, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", layout="NHWC"), (2, 8, 8, 3))  # fmt: skip
case("pooling_1d", lambda a: S.Pooling(a, kernel=(3,), stride=(2,), pool_type="avg"), (2, 3, 11))
case("pooling_3d", lambda a: S.Pooling(a, kernel=(2, 2, 2), stride=(2, 2, 2)), (1, 2, 5, 6, 7))
for kind in ("max", "avg", "sum"):
    case(f"pooling_v1_{kind}", lambda a, k=kind: S.Pooling_v1(
        a, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type=k), image)  # fmt: skip
    case(f"pooling_v1_{kind}_full", lambda a, k=kind: S.Pooling_v1(
        a, kernel=(2, 3), stride=(2, 2), pad=(1, 1), pool_type=k, pooling_convention="full"), image)  # fmt: skip
case("adaptive_average", lambda a: S.contrib.AdaptiveAvgPooling2D(a, output_size=(4, 3)), image)
case("adaptive_average_even", lambda a: S.contrib.AdaptiveAvgPooling2D(a, output_size=(3, 2)), image)
case("adaptive_average_one", lambda a: S.contrib.AdaptiveAvgPooling2D(a, output_size=1), image)

# Normalisations
case("batch_norm", S.BatchNorm, image)
case("batch_norm_free_gamma", lambda a: S.BatchNorm(a, fix_gamma=False, eps=1e-5), image)
case("batch_norm_global", lambda a: S.BatchNorm(a, fix_gamma=False, use_global_stats=True), image)
case("batch_norm_last_axis", lambda a: S.BatchNorm(a, fix_gamma=False, axis=-1), image)
case("batch_norm_axis_2", lambda a: S.BatchNorm(a, fix_gamma=False, axis=2), image)
case("batch_norm_of_vectors", lambda a: S.BatchNorm(a, fix_gamma=False), (3, 7))
case("batch_norm_v1", lambda a: S.BatchNorm_v1(a, fix_gamma=False), image)
case("sync_batch_norm", lambda a: S.contrib.SyncBatchNorm(a, fix_gamma=False, key="one"), image)
case("batch_norm_with_relu", lambda a: S.contrib.BatchNormWithReLU(a, fix_gamma=False), image)
case("instance_norm", lambda a: S.InstanceNorm(a, eps=1e-4), image)
case("instance_norm_1d", S.InstanceNorm, (2, 3, 9))
case("layer_norm", S.LayerNorm, (2, 5, 8))
case("layer_norm_axis", lambda a: S.LayerNorm(a, axis=1, eps=1e-3), (2, 5, 8))
case("group_norm", lambda a: S.GroupNorm(a, num_groups=3), image)
case("lrn", lambda a: S.LRN(a, nsize=5, alpha=0.01, knorm=1), image)
for mode in ("instance", "channel", "spatial"):
    case(f"l2_normalization_{mode}", lambda a, mode=mode: S.L2Normalization(a, mode=mode), image)

# Softmax and losses
case("softmax", S.softmax, (3, 7))
case("softmax_axis", lambda a: S.softmax(a, axis=1, temperature=2.0), image)
case(
    "softmax_length",
    lambda a, length: S.softmax(a, length, use_length=True),
    (3, 7),
    length=np.array([7, 1, 3], np.int32),
)
case("log_softmax", S.log_softmax, (3, 7))
case("softmin", S.softmin, (3, 7))
case("softmax_output", S.SoftmaxOutput, (3, 7))
case("softmax_output_multi", lambda a: S.SoftmaxOutput(a, multi_output=True, use_ignore=True), image)
case("softmax_output_kept_shape", lambda a: S.SoftmaxOutput(a, preserve_shape=True), image)
case("softmax_activation", S.SoftmaxActivation, (3, 7))
case("softmax_activation_channel", lambda a: S.SoftmaxActivation(a, mode="channel"), image)
case("linear_regression", lambda a: S.LinearRegressionOutput(a * 2), (3, 1))
case("logistic_regression", S.LogisticRegressionOutput, (3, 7))
case("mae_regression", lambda a: S.MAERegressionOutput(a * 2), (3, 7))
case("svm_output", lambda a: S.SVMOutput(a * 2), (3, 7))
case("make_loss_old", lambda a: S.MakeLoss(a * 2), (3, 7))
case("softmax_cross_entropy", S.softmax_cross_entropy, (3, 7), given=floats(0, 6, 2))

# Products
case("dense", lambda a: S.FullyConnected(a, num_hidden=5), (3, 7))
case("dense_of_images", lambda a: S.FullyConnected(a, num_hidden=5), image)
case("dense_kept_axes", lambda a: S.FullyConnected(a, num_hidden=5, flatten=False), (2, 3, 7))
case("dense_without_bias", lambda a: S.FullyConnected(a, num_hidden=5, no_bias=True), (3, 7))
for a_is, b_is in ((False, False), (True, False), (False, True), (True, True)):
    options = {"transpose_a": a_is, "transpose_b": b_is}
    left, right = (4, 3) if a_is else (3, 4), (5, 4) if b_is else (4, 5)
    letters = "t" * a_is + "n" * (not a_is) + "t" * b_is + "n" * (not b_is)
    case(f"dot_{letters}", lambda a, b, o=options: S.dot(a, b, **o), left, right)
    case(f"batch_dot_{letters}", lambda a, b, o=options: S.batch_dot(a, b, **o), (2, *left), (2, *right))
    case(f"gemm2_{letters}", lambda a, b, o=options: S.linalg.gemm2(a, b, alpha=0.5, **o), (2, *left), (2, *right))
case("dot_of_vectors", S.dot, (5,), (5,))
case("dot_of_stacks", S.dot, (2, 3, 4), (4, 5, 2))
case("dot_of_stacks_transposed", lambda a, b: S.dot(a, b, transpose_a=True, transpose_b=True), (4, 2, 3), (5, 2, 4))
case("gemm", lambda a, b, c: S.linalg.gemm(a, b, c, alpha=0.5, beta=2.0), (3, 4), (4, 5), (3, 5))
case("syrk", lambda a: S.linalg.syrk(a, alpha=0.5), (2, 3, 4))
case("self_attention_scores", lambda a: S.contrib.interleaved_matmul_selfatt_qk(a, heads=2), (5, 3, 24))
case(
    "self_attention_values",
    lambda a, b: S.contrib.interleaved_matmul_selfatt_valatt(a, b, heads=2),
    (5, 3, 24),
    (6, 5, 5),
)
case(
    "cross_attention_scores", lambda a, b: S.contrib.interleaved_matmul_encdec_qk(a, b, heads=2), (5, 3, 8), (7, 3, 16)
)
case(
    "cross_attention_values",
    lambda a, b: S.contrib.interleaved_matmul_encdec_valatt(a, b, heads=2),
    (7, 3, 16),
    (6, 5, 7),
)

# Reductions
for op in ("sum", "mean", "max", "min", "prod"):
    case(op, getattr(S, op), (2, 3, 4))
    case(f"{op}_axis", lambda a, op=op: getattr(S, op)(a, axis=1), (2, 3, 4))
    case(f"{op}_axes_kept", lambda a, op=op: getattr(S, op)(a, axis=(0, -1), keepdims=True), (2, 3, 4))
    case(f"{op}_excluded", lambda a, op=op: getattr(S, op)(a, axis=(1,), exclude=True), (2, 3, 4))
case("nansum", lambda a: S.nansum(a, axis=1), a=np.array([[1, np.nan, 3], [np.nan, 1, 1]], np.float32))
case("nanprod", lambda a: S.nanprod(a, axis=1), a=np.array([[2, np.nan, 3], [np.nan, 1, 1]], np.float32))
case("norm", S.norm, (2, 3, 4))
case("norm_1", lambda a: S.norm(a, ord=1, axis=1), (2, 3, 4))
case("norm_2_kept", lambda a: S.norm(a, ord=2, axis=(0, 2), keepdims=True), (2, 3, 4))
case("moments", lambda a: S.moments(a, axes=(0, 2)), (2, 3, 4))
case("argmax", lambda a: S.argmax(a, axis=1), (2, 3, 4))
case("argmax_all", S.argmax, (2, 3, 4))
case("argmin_kept", lambda a: S.argmin(a, axis=2, keepdims=True), (2, 3, 4))
case("argmax_channel", S.argmax_channel, (3, 4))
case("sort", S.sort, (3, 7))
case("sort_descending", lambda a: S.sort(a, axis=0, is_ascend=False), (3, 7))
case("argsort", S.argsort, (3, 7))
case("argsort_int", lambda a: S.argsort(a, axis=1, is_ascend=False, dtype="int32"), (3, 7))
for kind in ("value", "indices", "mask", "both"):
    case(f"topk_{kind}", lambda a, kind=kind: S.topk(a, k=3, ret_typ=kind), (3, 7))
case("topk_axis", lambda a: S.topk(a, k=2, axis=0, ret_typ="both", is_ascend=True, dtype="int64"), (5, 7))
case("topk_of_all", lambda a: S.topk(a, k=4, axis=None, ret_typ="value"), (3, 4))

# Shapes
for codes, reverse in (((0, -1), 0), ((-2,), 0), ((0, -3, 4), 0), ((-4, 1, 2, -2), 0), ((-3, -3), 0), ((4, 0, -1), 0),
                       ((0, -4, -1, 3, -2), 0), ((-1, 0), 1), ((6, -1), 0), ((0, 0, -1, 0), 1)):  # fmt: skip
    name = "_".join(map(str, codes)).replace("-", "m") + "_reverse" * reverse
    case(f"reshape_{name}", lambda a, codes=codes, r=reverse: S.reshape(a, shape=codes, reverse=bool(r)), (2, 6, 5, 4))
case("reshape_target", lambda a: S.Reshape(a, target_shape=(0, 20)), (2, 6, 5, 4))
case("reshape_like", S.reshape_like, (2, 6), (3, 4))
case(
    "reshape_like_part",
    lambda a, b: S.reshape_like(a, b, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2),
    (12, 5),
    (3, 4, 7),
)
case("flatten", S.flatten, image)
case("expand_dims", lambda a: S.expand_dims(a, axis=-2), (2, 3))
case("squeeze", S.squeeze, (2, 1, 3, 1))
case("squeeze_axis", lambda a: S.squeeze(a, axis=1), (2, 1, 3, 1))
case("transpose", S.transpose, (2, 3, 4))
case("transpose_axes", lambda a: S.transpose(a, axes=(1, 2, 0)), (2, 3, 4))
case("swap_axes", lambda a: S.SwapAxis(a, dim1=0, dim2=2), (2, 3, 4))
case("concat", lambda a, b: S.Concat(a, b, dim=1), (2, 3, 4), (2, 5, 4))
case("concat_last", lambda a, b: S.Concat(a, b, dim=-1), (2, 3), (2, 5))
case("stack", lambda a, b: S.stack(a, b, axis=1), (2, 3), (2, 3))
case("tile", lambda a: S.tile(a, reps=(2, 3)), (2, 3))
case("tile_long", lambda a: S.tile(a, reps=(2, 1, 3)), (2, 3))
case("tile_short", lambda a: S.tile(a, reps=(3,)), (2, 3))
case("repeat", lambda a: S.repeat(a, repeats=2, axis=1), (2, 3))
case("repeat_all", lambda a: S.repeat(a, repeats=2), (2, 3))
case("reverse", lambda a: S.reverse(a, axis=(0, 2)), (2, 3, 4))
for mode in ("constant", "edge", "reflect"):
    case(f"pad_{mode}", lambda a, mode=mode: S.Pad(
        a, mode=mode, pad_width=(0, 0, 0, 0, 1, 2, 3, 1), constant_value=1.5), image)  # fmt: skip
case("broadcast_to", lambda a: S.broadcast_to(a, shape=(0, 4, 3)), (2, 1, 3))
case("broadcast_axis", lambda a: S.broadcast_axis(a, axis=(0, 2), size=(4, 5)), (1, 3, 1))
case("broadcast_like", S.broadcast_like, (1, 3, 1), (2, 3, 4))
case("broadcast_like_axes", lambda a, b: S.broadcast_like(a, b, lhs_axes=(0,), rhs_axes=(-1,)), (1, 3), (2, 3, 4))
case("depth_to_space", lambda a: S.depth_to_space(a, 2), (1, 8, 3, 4))
case("space_to_depth", lambda a: S.space_to_depth(a, 2), (1, 3, 4, 6))
case("diag", lambda a: S.diag(a, k=-1), (4, 5))
case("diag_of_vector", lambda a: S.diag(a, k=1), (4,))
case("diag_axes", lambda a: S.diag(a, k=1, axis1=0, axis2=2), (4, 2, 5))
case("shape_array", S.shape_array, image)
case("slice", lambda a: S.slice(a, begin=(None, -4, 1), end=(None, -1, None), step=(1, 1, 2)), (2, 6, 7))
case("slice_backwards", lambda a: S.slice(a, begin=(-1, None), end=(0, None), step=(-2, -1)), (7, 4))
case("slice_axis", lambda a: S.slice_axis(a, axis=1, begin=-3, end=None), (2, 6, 7))
case("slice_like", S.slice_like, (4, 6), (2, 3))
case("slice_like_axes", lambda a, b: S.slice_like(a, b, axes=(-1,)), (4, 6), (2, 3))
case("slice_channel", lambda a: S.SliceChannel(a, num_outputs=3), image)
case("slice_channel_squeezed", lambda a: S.SliceChannel(a, num_outputs=3, axis=1, squeeze_axis=True), (2, 3, 4))
case("split_sections", lambda a: S.split_v2(a, 3, axis=1), image)
case("split_indices", lambda a: S.split_v2(a, (1, 4), axis=1), image)
case("one_of_a_split", lambda a: S.SliceChannel(a, num_outputs=2)[1] * 2, image)
case("crop", lambda a: S.Crop(a, h_w=(4, 3), offset=(2, 1), num_args=1), image)
case("crop_center", lambda a: S.Crop(a, h_w=(4, 3), center_crop=True, num_args=1), image)
case("crop_like", lambda a, b: S.Crop(a, b, num_args=2, offset=(1, 1)), image, (2, 6, 3, 4))

# Places
case("embedding", lambda a: S.Embedding(a, input_dim=5, output_dim=3), a=floats(0, 4, -1, 7, 2.9).reshape(5, 1))
case("embedding_ints", lambda a: S.Embedding(a, input_dim=5, output_dim=3), a=np.array([[0, 4], [1, 2]], np.int32))
case("take", S.take, (5, 3), places=floats(0, -1, 1.7, 9))
case(
    "take_wrap",
    lambda a, places: S.take(a, places, axis=1, mode="wrap"),
    (2, 5),
    places=np.array([[-1, 6], [0, 4]], np.int32),
)
case("pick", S.pick, (3, 4), places=floats(0, 3, -1))
case(
    "pick_kept",
    lambda a, places: S.pick(a, places, axis=0, keepdims=True, mode="wrap"),
    (3, 4),
    places=floats(0, 5, -1, 2),
)
case("batch_take", S.batch_take, (3, 4), places=np.array([0, 3, 1], np.int32))
case("one_hot", lambda a: S.one_hot(a, depth=4), a=floats(-1, 0, 3, 1.7, 4))
case(
    "one_hot_values",
    lambda a: S.one_hot(a, depth=4, on_value=5, off_value=-1, dtype="int32"),
    a=np.array([[1, 2]], np.int32),
)
case("gather_nd", S.gather_nd, (3, 4, 2), places=np.array([[0, -1, 2], [1, 3, 0]], np.int64))
case(
    "scatter_nd",
    lambda a, places: S.scatter_nd(a, places, shape=(3, 4)),
    (3,),
    places=np.array([[0, 1, 2], [1, 3, 0]], np.int64),
)
case(
    "index_copy",
    lambda a, b, places: S.contrib.index_copy(a, places, b),
    (5, 3),
    (2, 3),
    places=np.array([3, 0], np.int64),
)

# Constants
case("zeros_and_ones", lambda a: a + S.zeros((3, 4)) + 2 * S.ones((1, 4)).broadcast_to((3, 4)), (3, 4))
case("full", lambda a: a * S.full((3, 4), 2.5), (3, 4))
case("ones_like", lambda a: a + S.ones_like(a) - S.zeros_like(a), (3, 4))
case("arange", lambda a: S.broadcast_add(a, S.arange(1, 5, step=0.5, repeat=2)), (3, 16))
case("linspace_without_end", lambda a: S.broadcast_add(a, S.linspace(0, 1, 4, endpoint=False)), (3, 4))
case("linspace", lambda a: S.broadcast_add(a, S.linspace(0, 1, 4)), (3, 4))
case("eye", lambda a: a + S.eye(3, 4, 1), (3, 4))
case("arange_like", lambda a: S.broadcast_add(a, S.contrib.arange_like(a, axis=1, start=2, step=0.5)), (3, 4))
case("arange_like_all", lambda a: a + S.contrib.arange_like(a), (3, 4))

# Recurrent layers and sequences
for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    for layers, both in ((1, False), (2, False), (1, True), (2, True)):
        states = ((layers * (1 + both), 3, 6),) * (2 if mode == "lstm" else 1)
        case(f"rnn_{mode}_{layers}{'_bidirectional' * both}", lambda a, *s, m=mode, n=layers, b=both: S.RNN(
            a, S.Variable("parameters"), *s, state_size=6, num_layers=n, bidirectional=b, mode=m, state_outputs=True),
            (5, 3, 4), *states)  # fmt: skip
case(
    "rnn_without_states",
    lambda a, b: S.RNN(a, S.Variable("parameters"), b, state_size=6, num_layers=1, mode="gru"),
    (5, 3, 4),
    (1, 3, 6),
)
lengths = np.array([5, 2, 3], np.float32)
for op in ("SequenceMask", "SequenceLast", "SequenceReverse"):
    case(f"{op}_all", getattr(S, op), (5, 3, 4))
    case(
        f"{op}_lengths",
        lambda a, lengths, op=op: getattr(S, op)(a, lengths, use_sequence_length=True),
        (5, 3, 4),
        lengths=lengths,
    )
case(
    "SequenceMask_batch_first",
    lambda a, lengths: S.SequenceMask(a, lengths, use_sequence_length=True, value=-1, axis=1),
    (3, 5, 4),
    lengths=lengths,
)
case(
    "SequenceLast_batch_first",
    lambda a, lengths: S.SequenceLast(a, lengths, use_sequence_length=True, axis=1),
    (3, 5, 4),
    lengths=lengths,
)

# Resizing
case("upsampling", lambda a: S.UpSampling(a, scale=2, sample_type="nearest"), image)
case(
    "upsampling_concat",
    lambda a, b: S.UpSampling(a, b, scale=2, sample_type="nearest", num_args=2),
    (1, 2, 6, 6),
    (1, 3, 3, 3),
)
case(
    "upsampling_sum",
    lambda a, b: S.UpSampling(a, b, scale=2, sample_type="nearest", num_args=2, multi_input_mode="sum"),
    (1, 2, 6, 6),
    (1, 2, 3, 3),
)
for scale in (2, 3):
    case(f"upsampling_bilinear_{scale}", lambda a, n=scale: S.UpSampling(
        a, S.Variable("kernels"), scale=n, sample_type="bilinear", num_filter=6, num_args=2), image)  # fmt: skip
for corners in (True, False):
    end = "_corners" * corners
    case(
        f"bilinear_size{end}",
        lambda a, c=corners: S.contrib.BilinearResize2D(a, height=13, width=5, align_corners=c),
        image,
    )
    for mode in ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up"):
        case(
            f"bilinear_{mode}{end}",
            lambda a, m=mode, c=corners: S.contrib.BilinearResize2D(a, mode=m, align_corners=c),
            image,
        )
case("bilinear_scale", lambda a: S.contrib.BilinearResize2D(a, scale_height=2, scale_width=1.5), image)
case(
    "bilinear_odd_scale",
    lambda a: S.contrib.BilinearResize2D(a, mode="odd_scale", scale_height=2, scale_width=0.5),
    image,
)
case("bilinear_like", lambda a, b: S.contrib.BilinearResize2D(a, b, mode="like"), image, (1, 1, 4, 11))

# Regions, samples and boxes


def boxes(*shape, seed=0):
    """Boxes in the unit square, low corners first."""
    random = np.random.RandomState(seed)
    low = random.uniform(0, 0.6, (*shape, 2))
    return np.concatenate([low, low + random.uniform(0.1, 0.4, (*shape, 2))], -1).astype(np.float32)


def records(batch, count, classes):
    """Records (class, score, box) of a detector."""
    random = np.random.RandomState(1)
    scores = random.permutation(batch * count).reshape(batch, count) / 99
    heads = np.stack([random.randint(0, classes, (batch, count)), scores], -1)
    return np.concatenate([heads, boxes(batch, count)], -1).astype(np.float32)


regions = np.concatenate([floats(0, 1, 1)[:, None], boxes(3) * 8], -1)
for name, scale in {"": 1.0, "_half": 0.5}.items():
    options = {"pooled_size": (3, 2), "spatial_scale": scale}
    case(f"roi_pooling{name}", lambda a, r, o=options: S.ROIPooling(a, r, **o), image, r=regions)
    case(f"roi_align{name}", lambda a, r, o=options: S.contrib.ROIAlign(a, r, sample_ratio=2, **o), image, r=regions)
case("roi_align_adaptive", lambda a, r: S.contrib.ROIAlign(a, r, pooled_size=(2, 2), spatial_scale=1), image, r=regions)
case(
    "roi_align_aligned",
    lambda a, r: S.contrib.ROIAlign(a, r, pooled_size=(2, 2), spatial_scale=1, aligned=True),
    image,
    r=regions,
)
case("bilinear_sampler", S.BilinearSampler, (2, 3, 5, 6), (2, 2, 4, 7), low=-1.2, high=1.2)
case("grid_affine", lambda a: S.GridGenerator(a, transform_type="affine", target_shape=(4, 5)), (2, 6))
case("grid_warp", lambda a: S.GridGenerator(a, transform_type="warp"), (2, 2, 4, 5))
case("spatial_transformer", lambda a, b: S.SpatialTransformer(
    a, b, target_shape=(4, 5), transform_type="affine", sampler_type="bilinear"), (2, 3, 6, 7), (2, 6))  # fmt: skip
case("deformable_convolution", lambda a, b: S.contrib.DeformableConvolution(
    a, b, kernel=(3, 3), pad=(1, 1), num_filter=4), (2, 6, 7, 8), (2, 18, 7, 8))  # fmt: skip
case("deformable_convolution_groups", lambda a, b: S.contrib.DeformableConvolution(
    a, b, kernel=(3, 3), stride=(2, 2), num_filter=4, num_group=2, num_deformable_group=3, no_bias=True),
    (2, 6, 7, 9), (2, 54, 3, 4))  # fmt: skip
case("modulated_deformable_convolution", lambda a, b, c: S.contrib.ModulatedDeformableConvolution(
    a, b, c, kernel=(3, 3), pad=(1, 1), num_filter=4), (2, 6, 7, 8), (2, 18, 7, 8), (2, 9, 7, 8))  # fmt: skip
case("box_iou", S.contrib.box_iou, a=boxes(2, 3), b=boxes(4, seed=1))
case("box_iou_center", lambda a, b: S.contrib.box_iou(a, b, format="center"), a=boxes(5), b=boxes(4, seed=1))
case("box_decode", lambda a, b: S.contrib.box_decode(a, b, 0.1, 0.1, 0.2, 0.2), (2, 5, 4), b=boxes(1, 5))
case("box_decode_corner", lambda a, b: S.contrib.box_decode(a, b, clip=0.5, format="corner"), (2, 5, 4), b=boxes(1, 5))
for name, options in {
    "plain": {},
    "classes": {"id_index": 0},
    "forced": {"id_index": 0, "force_suppress": True},
    "best": {"topk": 5, "overlap_thresh": 0.3},
    "valid": {"valid_thresh": 0.1, "id_index": 0},
    "background": {"background_id": 0, "id_index": 0},
    "center": {"in_format": "center", "out_format": "center", "overlap_thresh": 0.2},
}.items():
    case(f"box_nms_{name}", lambda a, o=options: S.contrib.box_nms(a, **o), a=records(2, 12, 3))
case("box_nms_of_one", lambda a: S.contrib.box_nms(a, id_index=0), a=records(1, 12, 3)[0])
case("multibox_prior", lambda a: S.contrib.MultiBoxPrior(a, sizes=(0.5, 0.25), ratios=(1, 2, 0.5)), (1, 3, 4, 5))
case("multibox_prior_steps", lambda a: S.contrib.MultiBoxPrior(
    a, sizes=(0.5,), ratios=(1, 2), steps=(0.2, 0.3), offsets=(0.4, 0.6), clip=True), (1, 3, 4, 5))  # fmt: skip
scores = np.random.RandomState(2).dirichlet(np.ones(4), (2, 12)).transpose(0, 2, 1).astype(np.float32)
for name, options in {
    "plain": {},
    "best": {"nms_topk": 6},
    "forced": {"force_suppress": True, "nms_threshold": 0.3},
}.items():
    case(f"multibox_detection_{name}", lambda a, scores, anchors, o=options: S.contrib.MultiBoxDetection(
        scores, a, anchors, threshold=0.2, **o), (2, 48), scores=scores, anchors=boxes(1, 12))  # fmt: skip

# Others
case("cumsum", lambda a: S.cumsum(a, axis=1), (3, 4))
case("cumsum_all", S.cumsum, (3, 4))
case(
    "slice_assign", lambda a, b: S._internal._slice_assign(a, b, begin=(0, 1), end=(2, 4), step=(1, 2)), (3, 5), (2, 2)
)
case(
    "slice_assign_scalar",
    lambda a: S._internal._slice_assign_scalar(a, scalar=2.5, begin=(0, 1), end=(2, None)),
    (3, 5),
)
case("index_array", lambda a: S.contrib.index_array(a, axes=(1, 0)), (3, 2, 2))
case("round_ste", lambda a: S.contrib.round_ste(a * 3), (3, 4))

# The interface of NumPy
NP = mx.sym.np


def np_case(name, make, *shapes, **options):
    case(f"np_{name}", make, *shapes, numpy=True, **options)


for op in ("abs", "ceil", "cos", "exp", "expm1", "fix", "floor", "negative", "sign", "sin", "square", "tanh", "trunc",
           "sinh", "cosh", "arcsinh", "arctan", "cbrt", "degrees", "radians", "tan"):  # fmt: skip
    np_case(op, getattr(NP, op), (3, 7))
for op in ("log", "log10", "log1p", "log2", "sqrt", "reciprocal", "arccosh"):
    np_case(op, getattr(NP, op), (3, 7), low=1.1, high=5)
for op in ("arccos", "arcsin", "arctanh"):
    np_case(op, getattr(NP, op), (3, 7), low=-0.9, high=0.9)
for op in ("add", "subtract", "multiply", "true_divide", "mod", "hypot", "equal", "not_equal", "greater",
           "greater_equal", "less", "less_equal"):  # fmt: skip
    np_case(op, getattr(NP, op), (2, 3, 4), (3, 1))
np_case("power", NP.power, (3, 4), (3, 4), low=0.5, high=2)
np_case("scalars", lambda a: 3 - ((a + 1.5) * 2 - 0.5) / 3, (3, 4))
np_case("scalars_on_the_left", lambda a: 2 / (a + 9) + 2**a + 5 % (a + 7) + a % 0.7 + (a + 9) ** 1.5, (3, 4))
np_case(
    "comparisons", lambda a: NP.where(a > 0.1, a, -a) + NP.where(a <= -0.2, 1.0, a) + NP.where(a == 3, a, 2.0), (3, 4)
)
for op in ("sum", "mean", "max", "min", "prod", "std", "var"):
    np_case(op, getattr(NP, op), (2, 3, 4))
    np_case(f"{op}_axis", lambda a, op=op: getattr(NP, op)(a, axis=1), (2, 3, 4))
    np_case(f"{op}_axes_kept", lambda a, op=op: getattr(NP, op)(a, axis=(0, -1), keepdims=True), (2, 3, 4))
np_case("argmax", NP.argmax, (3, 4))
np_case("argmin_axis", lambda a: NP.argmin(a, axis=1), (3, 4))
np_case("reshape", lambda a: NP.reshape(a, (4, -1)), (3, 8))
np_case("coded_reshape", lambda a: mx.sym.npx.reshape(a, (-2, -6, 2, -1, -5)), (3, 8, 2, 5))
np_case("coded_reshape_rest", lambda a: mx.sym.npx.reshape(a, (-1, -3, -4)), (3, 1, 2, 5))
np_case("transpose", NP.transpose, (2, 3, 4))
np_case("transpose_axes", lambda a: NP.transpose(a, (1, 2, 0)), (2, 3, 4))
np_case("squeeze", NP.squeeze, (1, 1))
np_case("expand_dims", lambda a: NP.expand_dims(a, 1), (2, 3))
np_case("concatenate", lambda a, b: NP.concatenate([a, b], axis=1), (2, 3), (2, 5))
np_case("stack", lambda a, b: NP.stack([a, b], axis=-1), (2, 3), (2, 3))
np_case("flip", lambda a: NP.flip(a, 1), (2, 3))
np_case("broadcast_to", lambda a: NP.broadcast_to(a, (4, 2, 3)), (2, 1))
np_case("zeros_and_ones", lambda a: a + NP.ones((2, 3)) * 2 + NP.zeros((3,)), (2, 3))
np_case("dot", NP.dot, (2, 3), (3, 4))
np_case("dot_of_vectors", NP.dot, (3,), (3,))
np_case("matmul", NP.matmul, (2, 3, 4), (4, 5))
np_case("matmul_vector", NP.matmul, (2, 3, 4), (4,))
np_case("einsum", lambda a, b: NP.einsum("bij,bkj->bik", a, b), (2, 3, 4), (2, 5, 4))
np_case("layers", lambda a: mx.sym.npx.softmax(mx.sym.npx.fully_connected(mx.sym.npx.relu(mx.sym.npx.convolution(
    a, mx.sym.var("weight").as_np_ndarray(), no_bias=True, kernel=(3, 3), num_filter=4)),
    mx.sym.var("dense_weight").as_np_ndarray(), no_bias=True, num_hidden=5)), (2, 3, 6, 6))  # fmt: skip
np_case("all", lambda a: NP.all(a > 0, axis=1), (3, 2))
np_case("any", lambda a: NP.any(a > 1), (3, 2))
np_case("arange", lambda a: a + NP.arange(2, 8, 2), (2, 3))
np_case("arctan2", NP.arctan2, (3, 4), (3, 4))
np_case("arctan2_scalars", lambda a: NP.arctan2(a, 0.5) + NP.arctan2(-0.3, a), (3, 4))
np_case("around", NP.around, a=floats(-2.5, -1.5, -0.5, 0.4, 0.5, 1.5, 2.5))
np_case("atleast_2d", NP.atleast_2d, (3,))
np_case("atleast_3d", NP.atleast_3d, (3, 2))
np_case("average", lambda a: NP.average(a, axis=1), (3, 4))
np_case("column_stack", lambda a, b: NP.column_stack([a, b]), (3,), (3, 2))
np_case("diag", lambda a: NP.diag(a, k=1), (3, 4))
np_case("diag_of_vector", lambda a: NP.diag(a, k=-1), (3,))
np_case("diagonal", lambda a: NP.diagonal(a, offset=1, axis1=0, axis2=2), (3, 2, 4))
np_case("diff", lambda a: NP.diff(a, n=2, axis=0), (4, 3))
np_case("eye", lambda a: a + NP.eye(3, 4, 1), (3, 4))
np_case("full_like", lambda a: a + NP.full_like(a, 2), (3, 4))
np_case("isfinite", NP.isfinite, a=floats(1, -np.inf, np.inf, np.nan))
np_case("isinf", NP.isinf, a=floats(1, -np.inf, np.inf, np.nan))
np_case("isnan", NP.isnan, a=floats(1, -np.inf, np.inf, np.nan))
np_case("logical_not", NP.logical_not, a=floats(0, 1, -2))
np_case("moveaxis", lambda a: NP.moveaxis(a, (0, 1), (-1, 0)), (2, 3, 4, 5))
np_case("nan_to_num", lambda a: NP.nan_to_num(a, nan=1, posinf=2), a=floats(1, -np.inf, np.inf, np.nan))
np_case("pad", lambda a: NP.pad(a, ((0, 0), (1, 2)), mode="constant"), (2, 3))
np_case("pad_edge", lambda a: NP.pad(a, ((1, 0), (1, 2)), mode="edge"), (2, 3))
np_case("pad_reflect", lambda a: NP.pad(a, ((0, 0), (1, 2)), mode="reflect"), (2, 4))
np_case("rint", NP.rint, a=floats(-2.5, -1.5, -0.5, 0.4, 0.5, 1.5, 2.5))
np_case("roll", lambda a: NP.roll(a, 2, axis=1), (2, 5))
np_case("roll_all", lambda a: NP.roll(a, -3), (2, 5))
np_case("roll_axes", lambda a: NP.roll(a, (1, 2), axis=(0, 1)), (2, 5))
np_case("tensordot", lambda a, b: NP.tensordot(a, b, axes=((1, 2), (0, 2))), (2, 3, 4), (3, 5, 4))
np_case("tensordot_of_last_axes", lambda a, b: NP.tensordot(a, b, axes=2), (2, 3, 4), (3, 4, 5))
np_case("trace", lambda a: NP.trace(a, offset=1), (3, 4))
np_case("tril", lambda a: NP.tril(a, k=-1), (3, 4))
np_case("vstack", lambda a, b: NP.vstack([a, b]), (3,), (2, 3))
np_case("where_of_numbers", lambda a: NP.where(a > 0, 1.0, 2.0), (3, 4))
case("im2col", lambda a: S.im2col(a, kernel=(3, 2), stride=(2, 1), dilate=(1, 2), pad=(1, 1)), image)
np_case("old_sum", lambda a: mx.sym.sum(a.as_nd_ndarray()), (2, 3))
