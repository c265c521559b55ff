"""What operators give: MXNet's oddities, computed by NumPy or written down from MXNet 1.9.1.

tests/suites/mxnet compares each layer and option with MXNet itself.
"""

import math

import numpy as np
import pytest

from sateen.frontends.mxnet.attributes import parsed_attribute
from sateen.frontends.mxnet.converters import CONVERTERS, OPERATORS
from sateen.frontends.mxnet.converters.aliases import ALIASES, NUMPY_ALIASES
from sateen.frontends.mxnet.converters.reshape import decoded_shape
from sateen.frontends.mxnet.refusals import FAMILIES, REFUSALS, refusal_of
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import Symbol


def floats(*numbers):
    return np.array(numbers, np.float32)


def counted(*shape):
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64", 64),
        ("3L", 3),
        ("-1", -1),
        ("(3, 3)", (3, 3)),
        ("[2,]", (2,)),
        ("(3L, 1L)", (3, 1)),
        ("()", ()),
        ("(None, 1)", (None, 1)),
        ("True", True),
        ("None", None),
        ("1e-05", 1e-05),
        ("0.5", 0.5),
        ("inf", math.inf),
        ("relu", "relu"),
        ("((0, 0), (1, 2))", ((0, 0), (1, 2))),
        ("[(1, [2, 3]), x]", ((1, (2, 3)), "x")),
        ("((((((1))))))", ((((("(1)",),),),),)),
        ("9" * 5000, math.inf),
    ],
    ids=lambda value: str(value)[:12],
)
def test_attributes_are_text(text, value):
    found = parsed_attribute(text)
    assert (found, type(found)) == (value, type(value))


N = Symbol("n")


@pytest.mark.parametrize(
    ("codes", "given", "shape"),
    [
        ((0, -1), (2, 3, 4), [2, 12]),
        ((-2,), (2, 3, 4), [2, 3, 4]),
        ((-3, 0), (2, 3, 4), [6, 4]),
        ((0, -4, -1, 3, -2), (2, 6, 5), [2, 2, 3, 5]),
        ((-4, 1, 2, -2), (2, 3), [1, 2, 3]),
        ((0, -1), (N, 3, 4), [N, 12]),
        ((-1, 12), (N, 3, 4), [N, 12]),
        ((-4, -1, 2, 0), (N * 4, 3), [N * 2, 2, 3]),
    ],
)
def test_codes_of_shapes(codes, given, shape):
    assert decoded_shape(codes, given) == shape


@pytest.mark.parametrize("codes", [(0, 0, 0), (-1, -1), (-4, -1, -1), (-5,), (-1, 7), (-4, 2)])
def test_codes_that_fit_no_shape_are_refused(codes):
    with pytest.raises(FrontendError):
        decoded_shape(codes, (2, 3))


def test_reverse_matches_axes_from_the_end(run_node):
    (found,) = run_node("Reshape", counted(10, 5, 4), shape=(-1, 0), reverse=True)
    assert found.shape == (50, 4)


def test_roundings(run_node):
    data = floats(-2.5, -1.5, -0.5, 0.49999997, 0.5, 1.5, 2.5)
    np.testing.assert_array_equal(run_node("round", data)[0], floats(-3, -2, -1, 0, 1, 2, 3))
    np.testing.assert_array_equal(run_node("rint", data)[0], floats(-3, -2, -1, 0, 0, 1, 2))
    np.testing.assert_array_equal(run_node("fix", data)[0], floats(-2, -1, 0, 0, 0, 1, 2))


def test_comparisons_give_numbers_of_the_type_of_data(run_node):
    (found,) = run_node("broadcast_greater", counted(2, 2), floats(1))
    np.testing.assert_array_equal(found, np.array([[0, 0], [1, 1]], np.float32), strict=True)


def test_a_remainder_has_the_sign_of_the_divisor_and_is_0_for_0(run_node):
    (found,) = run_node("broadcast_mod", floats(5, -5, 5, -5), floats(3, 3, 0, -3))
    np.testing.assert_array_equal(found, floats(2, 1, 0, -2))


def test_a_multicast_gives_the_widest_type(run_node):
    found = run_node("amp_multicast", counted(2), counted(2).astype(np.float16), num_outputs=2, outputs=2)
    assert [array.dtype for array in found] == [np.float32, np.float32]


def test_numbers_are_cut_to_the_type_of_integers(run_node):
    data = np.array([-7, 5], np.int32)
    np.testing.assert_array_equal(run_node("_mul_scalar", data, scalar=1.9)[0], data, strict=True)
    np.testing.assert_array_equal(run_node("_div_scalar", data, scalar=2)[0], np.array([-3, 2], np.int32), strict=True)


def test_batch_norm_takes_gamma_as_1_unless_told_otherwise(run_node):
    weights = [np.full(2, value, np.float32) for value in (3, 1, 2, 4)]
    (fixed,) = run_node("BatchNorm", counted(1, 2, 1, 1), weights=weights, eps=0)
    (free,) = run_node("BatchNorm", counted(1, 2, 1, 1), weights=weights, eps=0, fix_gamma="False")
    np.testing.assert_allclose(fixed.ravel(), [0, 0.5])
    np.testing.assert_allclose(free.ravel(), [-2, -0.5])


def test_full_pools_reach_beyond_the_padding_which_counts_only_within(run_node):
    data = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 6)
    options = {"kernel": "(3,)", "stride": "(2,)", "pad": "(1,)", "pooling_convention": "full"}
    (average,) = run_node("Pooling", data, pool_type="avg", **options)
    np.testing.assert_allclose(average.ravel(), [1, 3, 5, 3])
    (of_data,) = run_node("Pooling", data, pool_type="avg", count_include_pad=False, **options)
    np.testing.assert_allclose(of_data.ravel(), [1.5, 3, 5, 6])


def test_windows_in_the_padding_alone_are_refused(run_node):
    with pytest.raises(FrontendError, match="windows in the padding alone"):
        run_node("Pooling", counted(1, 1, 6), kernel="(2,)", stride="(7,)", pooling_convention="full")


def test_lp_pools_take_no_sizes(run_node):
    (found,) = run_node("Pooling", -counted(1, 1, 4), kernel="(3,)", pool_type="lp", p_value=3)
    np.testing.assert_allclose(found.ravel(), [-(9 ** (1 / 3)), -(36 ** (1 / 3))], rtol=1e-6)


def test_convolutions_with_channels_last_have_weights_like_that(run_node):
    data, weight = counted(1, 3, 3, 2), counted(4, 2, 2, 2)
    (found,) = run_node("Convolution", data, weights=[weight], kernel=(2, 2), num_filter=4, no_bias=True, layout="NHWC")
    expected = np.stack(
        [data[0, y : y + 2, x : x + 2].ravel() @ weight.reshape(4, -1).T for y in (0, 1) for x in (0, 1)]
    )
    np.testing.assert_allclose(found.reshape(4, 4), expected)


def test_target_shape_decides_the_padding_of_a_deconvolution(run_node):
    options = {"kernel": "(3, 3)", "stride": "(2, 2)", "num_filter": 1}
    weight = np.ones((1, 1, 3, 3), np.float32)
    (found,) = run_node("Deconvolution", counted(1, 1, 3, 3), weights=[weight], target_shape="(6, 6)", **options)
    (whole,) = run_node("Deconvolution", counted(1, 1, 3, 3), weights=[weight], **options)
    np.testing.assert_array_equal(found, whole[:, :, 1:, 1:])


def test_reductions_of_everything_give_one_element(run_node):
    for operator in ("sum", "max", "argmax", "norm"):
        assert run_node(operator, counted(2, 3))[0].shape == (1,)
    assert run_node("argmax", counted(2, 3))[0].dtype == np.float32


def test_places_are_cut_and_kept_within(run_node):
    weight = counted(3, 2)
    (rows,) = run_node("Embedding", floats(-1, 1.7, 3), weights=[weight], input_dim=3, output_dim=2)
    np.testing.assert_array_equal(rows, weight[[0, 1, 2]])
    (wrapped,) = run_node("take", counted(3, 2), floats(-1, 4), mode="wrap")
    np.testing.assert_array_equal(wrapped, counted(3, 2)[[2, 1]])
    (hot,) = run_node("one_hot", floats(-1, 1.7, 3), depth=3)
    np.testing.assert_array_equal(hot, floats(0, 0, 0, 0, 1, 0, 0, 0, 0).reshape(3, 3))


def test_products_over_first_or_last_axes(run_node):
    (found,) = run_node("dot", counted(2, 3, 2), counted(5, 2), transpose_a=True, transpose_b=True)
    np.testing.assert_allclose(found, np.einsum("kij,nk->ijn", counted(2, 3, 2), counted(5, 2)))


def test_softmax_output_is_over_an_image_unless_told_otherwise(run_node):
    data = counted(2, 2, 3)
    (whole,) = run_node("SoftmaxOutput", data)
    np.testing.assert_allclose(whole.sum(axis=(1, 2)), [1, 1], rtol=1e-6)
    (channels,) = run_node("SoftmaxOutput", data, multi_output=True)
    np.testing.assert_allclose(channels.sum(axis=1), np.ones((2, 3)), rtol=1e-6)


def test_topk_gives_what_is_asked_for(run_node):
    data = floats(1, 3, 2).reshape(1, 3)
    np.testing.assert_array_equal(run_node("topk", data, k=2)[0], [[1, 2]])
    np.testing.assert_array_equal(run_node("topk", data, k=2, ret_typ="mask")[0], [[0, 1, 1]])
    values, places = run_node("topk", data, k=2, ret_typ="both", is_ascend=True, dtype="int32", outputs=2)
    np.testing.assert_array_equal(values, [[1, 2]])
    np.testing.assert_array_equal(places, np.array([[0, 2]], np.int32), strict=True)


def test_recurrent_parameters_are_weights_of_all_layers_and_then_biases(run_node):
    random = np.random.default_rng(1)
    x, h = random.normal(size=(3, 1, 2)).astype(np.float32), np.zeros((1, 1, 2), np.float32)
    parts = [random.normal(size=shape).astype(np.float32) for shape in ((2, 2), (2, 2), (2,), (2,))]
    weight, recurrence, bias, other = parts
    parameters = np.concatenate([part.ravel() for part in parts])
    found, last = _rnn(run_node, x, h, parameters)
    state = np.zeros((1, 2), np.float32)
    for step in range(3):
        state = np.tanh(x[step] @ weight.T + bias + state @ recurrence.T + other)
        np.testing.assert_allclose(found[step], state, rtol=1e-5)
    np.testing.assert_allclose(last[0], state, rtol=1e-5)


def _rnn(run_node, x, h, parameters):
    """The parameters are the second input, so that their data are known only if the layer reads them so."""
    from_symbol = {"state_size": 2, "num_layers": 1, "mode": "rnn_tanh", "state_outputs": True}
    return run_node("RNN", x, h, weights=[parameters], outputs=2, order=(0, 2, 1), **from_symbol)


def test_codes_of_the_numpy_interface_differ(run_node):
    (found,) = run_node("_npx_reshape", counted(3, 8, 2, 5), newshape=(-2, -6, 2, -1, -5))
    assert found.shape == (3, 2, 4, 10)
    assert run_node("_npx_reshape", counted(3, 1, 2, 5), newshape=(-1, -3, -4))[0].shape == (3, 2, 5)
    with pytest.raises(FrontendError, match="expected an extent of 1 for code -3"):
        run_node("_npx_reshape", counted(3, 2), newshape=(-3, -4))


def test_the_numpy_interface_has_scalars_and_bools(run_node):
    assert run_node("_np_sum", counted(2, 3))[0].shape == ()
    assert run_node("_npi_less_scalar", counted(2, 3), scalar=2)[0].dtype == bool
    with pytest.raises(FrontendError, match="floating-point numbers only"):
        run_node("_npi_add_scalar", np.array([1, 2], np.int32), scalar=0.5)


@pytest.mark.parametrize(("threshold", "classes"), [(1.0, [0, -1, 0]), (0.5, [0, -1, -1]), (0.6, [0, -1, 0])])
def test_an_overlap_of_exactly_the_threshold_suppresses_a_detection(run_node, threshold, classes):
    """As MXNet 1.9.1 gives them; its box_nms keeps such boxes (src/operator/contrib/multibox_detection.cc)."""
    probabilities = np.array([[[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]]], np.float32)
    anchors = np.array([[[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 0.5]]], np.float32)
    inputs = (probabilities, np.zeros((1, 12), np.float32), anchors)
    (found,) = run_node("_contrib_MultiBoxDetection", *inputs, nms_threshold=threshold)
    assert found[0, :, 0].tolist() == classes


def test_records_that_a_better_box_overlaps_are_none(run_node):
    best, worse, other = [0, 0.9, 0, 0, 1, 1], [0, 0.8, 0, 0, 1, 0.9], [1, 0.7, 0, 0, 1, 0.9]
    (found,) = run_node("_contrib_box_nms", np.array([worse, other, best], np.float32), id_index=0)
    np.testing.assert_array_equal(found, np.array([best, other, [-1] * 6], np.float32))


def test_deformed_places_within_the_outermost_elements_take_the_nearest_ones(run_node):
    """And those outside give 0, in contrast to the modulated convolution, which blends with zeros."""
    data = np.full((1, 1, 1, 3), 8, np.float32)
    moves = np.zeros((1, 2, 1, 3), np.float32)
    moves[0, 1, 0] = [-0.25, 0.0, 0.25]  # along the row
    weights = [np.ones((1, 1, 1, 1), np.float32)]
    options = {"kernel": "(1, 1)", "num_filter": 1, "no_bias": True, "weights": weights}
    (plain,) = run_node("_contrib_DeformableConvolution", data, moves, **options)
    np.testing.assert_array_equal(plain.ravel(), [0, 8, 8])
    mask = np.ones((1, 1, 1, 3), np.float32)
    (modulated,) = run_node("_contrib_ModulatedDeformableConvolution", data, moves, mask, **options)
    np.testing.assert_array_equal(modulated.ravel(), [6, 8, 6])


@pytest.mark.parametrize(
    ("operator", "attributes", "message"),
    [
        ("Dropout", {"mode": "always"}, "dropout of mode 'always' gives random numbers"),
        ("Convolution", {"num_filter": 1}, "expected attribute 'kernel', found none"),
        (
            "Convolution",
            {"num_filter": 1, "kernel": "(1,)"},
            "expected a kernel of 1 to 3 extents and data of two axes",
        ),
        ("Pooling", {"kernel": "(2, 2)", "stride": "(0, 1)"}, "expected 2 numbers of 1 or more as stride"),
        ("Pooling", {"kernel": "(2, 2)", "pooling_convention": "same"}, "pooling_convention 'same' is not supported"),
        ("transpose", {"axes": "(0, 0, 1, 2)"}, "expected each of 4 axes once"),
        ("slice", {"begin": "(0,)", "end": "(1,)", "step": "(0,)"}, "expected steps other than 0"),
        ("Cast", {"dtype": "float99"}, "expected one of the element types"),
        (
            "Convolution",
            {"num_filter": 1, "kernel": "(" * 9000 + ")" * 9000},
            "expected integers as attribute 'kernel'",
        ),
        ("slice_axis", {"axis": 3, "begin": 2, "end": 2}, "expected begin before end within 4 elements, found 2 and 2"),
        ("slice_axis", {"axis": 3, "begin": -5, "end": 2}, "begin before end within 4 elements, found -5 and 2"),
        ("slice_axis", {"axis": 3, "begin": 0, "end": 5}, "begin before end within 4 elements, found 0 and 5"),
        ("topk", {"k": 5}, "expected k of at most 4, the elements of the axis, found 5"),
        ("SliceChannel", {"num_outputs": 3}, "expected an extent that is a multiple of 3, found 2"),
        ("RNN", {"mode": "gru", "state_size": 1, "num_layers": 1, "use_sequence_length": True}, "MXNet ignores it"),
        ("_contrib_box_nms", {"in_format": "corner", "out_format": "center"}, "out_format other than the in_format"),
        ("_contrib_MultiBoxPrior", {"ratios": "(x)"}, "expected numbers as attribute 'ratios', found"),
        ("one_hot", {"depth": 10**10}, "expected to make data of at most 16777216 elements"),
        ("_eye", {"N": -1, "M": -5}, "expected a matrix of 1 or more rows"),
        ("_arange", {"start": 0, "stop": 1e12}, "expected 1 to 1048576 elements"),
        ("Crop", {"h_w": "(9, 9)"}, r"expected a part of \[4, 4\], found \[9, 9\]"),
    ],
)
def test_what_a_node_is_refused_for(run_node, operator, attributes, message):
    with pytest.raises(FrontendError, match=message):
        run_node(operator, counted(1, 2, 4, 4), **attributes)


def test_large_data_are_not_made(run_node):
    with pytest.raises(FrontendError, match="expected to make data of at most"):
        run_node("diag", counted(3), k=10**6)
    with pytest.raises(FrontendError, match="expected to make data of at most"):
        run_node("scatter_nd", counted(1), np.zeros((2, 1), np.int64), shape="(100000, 100000)")
    with pytest.raises(FrontendError, match=r"1e\+30 is no number of int32"):
        run_node("_plus_scalar", np.array([1], np.int32), scalar=1e30)


def test_tables_have_each_name_once():
    assert not ALIASES.keys() & {*ALIASES.values()}
    assert not NUMPY_ALIASES.keys() & CONVERTERS.keys()
    assert not REFUSALS.keys() & OPERATORS.keys()
    assert not [name for name in OPERATORS if any(pattern.fullmatch(name) for pattern, _ in FAMILIES)]


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        ("_random_gamma", "it gives random numbers"),
        ("_npi_normal_n", "it gives random numbers"),
        ("_contrib_quantized_conv", "sateen reads no 8-bit operators of MXNet"),
        ("_contrib_quantize_v2", "sateen reads no 8-bit operators of MXNet"),
        ("_sg_mkldnn_conv", "the graph was rewritten for one processor"),
        ("ctc_loss", "it compares with labels, which there are only in training"),
        ("sgd_mom_update", "it changes weights in training"),
        ("_npi_eigvalsh", "sateen has no decompositions and inverses of matrices"),
        ("_contrib_Proposal", "sateen has no proposals of regions"),
    ],
)
def test_families_of_operators_are_refused_with_their_reason(operator, reason):
    assert str(refusal_of(operator)) == reason


def test_arrays_are_stacked_along_the_axis_of_numpy(run_node):
    rows, matrix = counted(3), counted(3, 2)
    for operator, stack, arrays in (
        ("_npi_hstack", np.hstack, (rows, rows)),
        ("_npi_hstack", np.hstack, (matrix, matrix)),
        ("_npi_vstack", np.vstack, (rows, rows)),
        ("_npi_dstack", np.dstack, (matrix, matrix)),
        ("_npi_column_stack", np.column_stack, (rows, matrix)),
    ):
        np.testing.assert_array_equal(run_node(operator, *arrays, num_args=2)[0], stack(arrays))


def test_names_of_version_2_are_those_of_earlier_ones(run_node):
    np.testing.assert_array_equal(run_node("_npi_sum", counted(2, 3), axis=1)[0], [3, 12])
    (found,) = run_node("_npx_log_softmax", counted(1, 2))
    np.testing.assert_allclose(found, np.log([[1 / (1 + np.e), np.e / (1 + np.e)]]), rtol=1e-5)
    with pytest.raises(FrontendError, match=r"np.dot of stacks of matrices is not supported"):
        run_node("_npi_dot", counted(2, 3, 4), counted(2, 4, 3))


def test_parts_of_regions_have_channels_of_their_own(run_node):
    data, region = counted(1, 4, 2, 2), floats(0, 0, 0, 1, 1).reshape(1, 5)
    settings = {"output_dim": 1, "pooled_size": 2, "spatial_scale": 1}
    found = run_node("_contrib_PSROIPooling", data, region, **settings)[0]
    np.testing.assert_array_equal(found.ravel(), [0, 5, 10, 15])


def test_operators_without_attributes_take_any(run_node):
    places = np.array([[3, 5]])
    (found,) = run_node("ones_like", places, dtype="float32")
    assert (found.tolist(), found.dtype) == ([[1, 1]], np.int64)
    with pytest.raises(FrontendError, match=r"MXNet's Activation has no attribute 'dtype'"):
        run_node("Activation", floats(1), act_type="relu", dtype="float32")
