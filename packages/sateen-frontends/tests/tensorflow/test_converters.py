"""Converters: TensorFlow's oddities against NumPy; the suites compare all operators with TensorFlow itself."""

from math import erfc

import numpy as np
import pytest

from sateen.frontends import from_tensorflow
from sateen.frontends.tensorflow.converters import CONVERTERS
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT, INT = DType.of("float32"), DType.of("int32")


def test_padding_same_puts_the_odd_element_at_the_end(make, run):
    weight = np.ones((2, 1, 1, 1), np.float32)
    graph = make.graph(
        make.placeholder("x", 1, 3, 1, 1),
        make.constant("w", weight),
        make.node("y", "Conv2D", "x", "w", T=FLOAT, strides=[1, 1, 1, 1], padding="SAME"),
    )
    x = np.array([1, 10, 100], np.float32).reshape(1, 3, 1, 1)
    assert run(graph, {"x": x})["y"].ravel().tolist() == [11, 110, 100]


def test_fewer_channels_of_a_weight_make_groups(make, run):
    weight = np.array([1, 2], np.float32).reshape(1, 1, 1, 2)
    graph = make.graph(
        make.placeholder("x", 1, 1, 1, 2),
        make.constant("w", weight),
        make.node("y", "Conv2D", "x", "w", T=FLOAT, strides=[1, 1, 1, 1], padding="VALID"),
    )
    x = np.array([3, 5], np.float32).reshape(1, 1, 1, 2)
    assert run(graph, {"x": x})["y"].ravel().tolist() == [3, 10]


def test_depthwise_outputs_of_a_channel_are_neighbours(make, run):
    weight = np.array([[1, 2], [3, 4]], np.float32).reshape(1, 1, 2, 2)
    graph = make.graph(
        make.placeholder("x", 1, 1, 1, 2),
        make.constant("w", weight),
        make.node("y", "DepthwiseConv2dNative", "x", "w", T=FLOAT, strides=[1, 1, 1, 1], padding="VALID"),
    )
    x = np.array([10, 100], np.float32).reshape(1, 1, 1, 2)
    assert run(graph, {"x": x})["y"].ravel().tolist() == [10, 20, 300, 400]


def test_transposed_convolution_crops_as_its_convolution_pads(make, run):
    graph = make.graph(
        make.placeholder("x", 1, 2, 1, 1),
        make.constant("sizes", np.array([1, 4, 1, 1], np.int32)),
        make.constant("w", np.array([1, 10, 100], np.float32).reshape(3, 1, 1, 1)),
        make.node("y", "Conv2DBackpropInput", "sizes", "w", "x", T=FLOAT, strides=[1, 2, 1, 1], padding="SAME"),
    )
    x = np.array([1, 2], np.float32).reshape(1, 2, 1, 1)
    assert run(graph, {"x": x})["y"].ravel().tolist() == [1, 10, 102, 20]


def test_one_hot_of_an_index_outside_is_all_off(make, run):
    graph = make.graph(
        make.placeholder("i", 3, dtype="int32"),
        make.constant("depth", np.int32(2)),
        make.constant("on", np.float32(1)),
        make.constant("off", np.float32(0)),
        make.node("y", "OneHot", "i", "depth", "on", "off", TI=INT, T=FLOAT),
    )
    found = run(graph, {"i": np.array([1, -1, 2], np.int32)})["y"]
    assert found.tolist() == [[0, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        ({"shrink_axis_mask": 1}, np.arange(12).reshape(3, 4)[1]),
        ({"begin_mask": 1, "end_mask": 1}, np.arange(12).reshape(3, 4)[::2]),
        ({"new_axis_mask": 1}, np.arange(12).reshape(1, 3, 4)),
    ],
)
def test_strided_slice_follows_its_masks(make, run, masks, expected):
    graph = make.graph(
        make.placeholder("x", 3, 4),
        make.constant("begin", np.array([1], np.int32)),
        make.constant("end", np.array([2], np.int32)),
        make.constant("strides", np.array([2], np.int32)),
        make.node("y", "StridedSlice", "x", "begin", "end", "strides", T=FLOAT, **masks),
    )
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(run(graph, {"x": x})["y"], expected)


@pytest.mark.parametrize("place", [1, -1])
def test_elements_at_computed_places_are_taken_along_any_axis(make, run, place):
    masks = {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}
    graph = make.graph(
        make.placeholder("x", 3, 4),
        make.placeholder("begin", 2, dtype="int32"),
        make.placeholder("end", 2, dtype="int32"),
        make.constant("one", np.array([1, 1], np.int32)),
        make.node("y", "StridedSlice", "x", "begin", "end", "one", T=FLOAT, **masks),
    )
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    given = {"x": x, "begin": np.array([0, place], np.int32), "end": np.array([0, place + 1], np.int32)}
    np.testing.assert_array_equal(run(graph, given)["y"], x[:, place])


def test_reshapes_by_computed_shapes_keep_an_open_batch(make):
    graph = make.graph(
        make.placeholder("x", -1, 2, 3),
        make.node("s", "Shape", "x", T=FLOAT, out_type=INT),
        make.constant("zero", np.array([0], np.int32)),
        make.constant("one", np.array([1], np.int32)),
        make.node("n", "StridedSlice", "s", "zero", "one", "one", T=INT, shrink_axis_mask=1),
        make.constant("rest", np.int32(-1)),
        make.node("to", "Pack", "n", "rest", T=INT, N=2),
        make.node("y", "Reshape", "x", "to", T=FLOAT),
    )
    network, _ = from_tensorflow(graph.SerializeToString())
    assert str(network.outputs[0].type) == "float32[?x.0, 6]"


def test_operators_of_shapes_compute_in_the_type_of_the_graph(make, run):
    graph = make.graph(
        make.placeholder("x", 2, 3, dtype="int32"),
        make.node("s", "Shape", "x", T=INT, out_type=INT),
        make.node("y", "Mul", "x", "t", T=INT),
        make.constant("t", np.array([1, 2, 3], np.int32)),
        make.node("z", "Add", "y", "n", T=INT),
        make.node("n", "Prod", "s", "axes", T=INT),
        make.constant("axes", np.array([0], np.int32)),
    )
    found = run(graph, {"x": np.ones((2, 3), np.int32)})["z"]
    assert found.dtype == np.int32
    assert found.tolist() == [[7, 8, 9]] * 2


def test_strings_are_refused_with_the_remedy_to_cut(make):
    graph = make.graph(
        make.placeholder("x", 2), make.node("y", "DecodeJpeg", "x"), make.node("z", "Relu", "y", T=FLOAT)
    )
    with pytest.raises(FrontendError) as refusal:
        from_tensorflow(graph.SerializeToString())
    assert "1 x DecodeJpeg: it decodes files\n" in str(refusal.value)
    assert "begin the network behind it: inputs=[...], or --from NAME" in str(refusal.value)


def test_complex_numbers_in_other_operators_are_refused_with_what_to_do(make):
    graph = make.graph(
        make.placeholder("x", 4),
        make.node("c", "Complex", "x", "x", T=FLOAT),
        make.node("y", "Mul", "c", "c"),
        make.node("z", "Real", "y"),
    )
    graph.node[2].attr["T"].type = 8
    with pytest.raises(FrontendError) as refusal:
        from_tensorflow(graph.SerializeToString())
    assert (
        "  1 x Mul: complex numbers (DT_COMPLEX64) go through Fourier transforms only, not through Mul\n"
        "    node 'y'; inputs float32[4, 2], float32[4, 2]\n"
        "    compute with their parts; or end the network before it: outputs=[...], or --to NAME; or begin the network "
        "behind it: inputs=[...], or --from NAME\n"
    ) in str(refusal.value)


def test_a_real_part_of_all_rows_is_repeated(make, run):
    graph = make.graph(
        make.placeholder("x", 2),
        make.constant("zero", np.zeros((), np.float32)),
        make.node("c", "Complex", "zero", "x", T=FLOAT),
        make.node("y", "Imag", "c", T=FLOAT),
    )
    assert run(graph, {"x": np.array([3, 4], np.float32)})["y"].tolist() == [3, 4]


def test_all_gaps_are_told_at_once(make):
    graph = make.graph(
        make.placeholder("x", 2),
        make.node("a", "RandomUniform", "x"),
        make.node("b", "Where", "x", T=FLOAT),
        make.node("c", "FooBar", "x"),
    )
    with pytest.raises(FrontendError) as refusal:
        from_tensorflow(graph.SerializeToString())
    text = str(refusal.value)
    assert "3 nodes can't be compiled" in text
    for part in ("it draws random numbers", "must be known while compiling", "sateen has no such operator"):
        assert part in text


def test_tables_list_known_names():
    assert len(CONVERTERS) > 190
    assert all(name.lstrip("_")[0].isupper() for name in CONVERTERS)


def test_a_convolution_among_blocks_is_a_dilated_one(make, run):
    weight = np.arange(1, 4, dtype=np.float32).reshape(3, 1, 1, 1)
    graph = make.graph(
        make.placeholder("x", 1, 5, 1, 1),
        make.constant("block", np.array([2, 1], np.int32)),
        make.constant("pads", np.array([[2, 3], [0, 0]], np.int32)),
        make.constant("crops", np.array([[0, 1], [0, 0]], np.int32)),
        make.constant("w", weight),
        make.node("apart", "SpaceToBatchND", "x", "block", "pads", T=FLOAT),
        make.node("conv", "Conv2D", "apart", "w", T=FLOAT, strides=[1, 1, 1, 1], padding="VALID"),
        make.node("y", "BatchToSpaceND", "conv", "block", "crops", T=FLOAT),
    )
    network, _ = from_tensorflow(graph.SerializeToString())
    assert [
        node.op.op_name() for node in network.nodes if "pad" in node.op.op_name() or "conv" in node.op.op_name()
    ] == ["conv"]
    x = np.array([1, 10, 100, 1000, 10000], np.float32).reshape(1, 5, 1, 1)
    assert run(graph, {"x": x})["y"].ravel().tolist() == [302, 3020, 30201, 2010, 20100]
    assert run(graph, {"x": x}, outputs=["y", "apart"])["y"].ravel().tolist() == [302, 3020, 30201, 2010, 20100]


def test_large_patches_take_no_large_parameters(make, run):
    """32 x 32 elements of bytes, once a matrix that picks them."""
    x = np.arange(64 * 64 * 3, dtype=np.uint8).reshape(1, 64, 64, 3)
    graph = make.graph(
        make.placeholder("x", *x.shape, dtype="uint8"),
        make.node(
            "y", "ExtractImagePatches", "x", ksizes=[1, 32, 32, 1], strides=[1, 32, 32, 1], rates=[1, 1, 1, 1],
            padding="VALID", T=DType.of("uint8"),
        ),
    )  # fmt: skip
    _, parameters = from_tensorflow(graph.SerializeToString())
    assert sum(data.nbytes for data in parameters.values()) < 2000
    tiles = x.reshape(2, 32, 2, 32, 3).transpose(0, 2, 1, 3, 4).reshape(1, 2, 2, -1)
    np.testing.assert_array_equal(run(graph, {"x": x})["y"], tiles)


def cudnn(make, weights, states=1, **attributes):
    """An LSTM of 4 units over 5 features."""
    return make.graph(
        make.placeholder("x", 6, 2, 5),
        make.constant("h", np.zeros((states, 2, 4), np.float32)),
        make.constant("w", np.zeros(weights, np.float32)),
        make.node("y", "CudnnRNN", "x", "h", "h", "w", T=FLOAT, **attributes),
    )


def test_a_layer_by_cudnn_is_an_lstm(make, run):
    found = run(cudnn(make, 4 * 4 * (5 + 4 + 2)), {"x": np.ones((6, 2, 5), np.float32)})
    np.testing.assert_array_equal(found["y"], np.zeros((6, 2, 4)))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"weights": 9}, "expected 176 weights and biases, found [9]"),
        ({"weights": 176, "states": 2}, "2 layers in one operator are not supported"),
        ({"weights": 176, "direction": "bidirectional"}, "direction 'bidirectional' is not supported"),
        ({"weights": 176, "rnn_mode": "tree"}, "expected rnn_mode gru, lstm, rnn_relu, rnn_tanh, found 'tree'"),
    ],
)
def test_other_layers_by_cudnn_are_refused(make, graph, message):
    with pytest.raises(FrontendError) as refusal:
        from_tensorflow(cudnn(make, **graph).SerializeToString())
    assert message in str(refusal.value)


def test_without_padding_the_best_box_alone_is_known(make, run):
    boxes = np.array([[0, 0, 1, 1], [0, 0, 2, 2], [0, 1, 1, 2]], np.float32)

    def graph(most):
        return make.graph(
            make.placeholder("scores", 3),
            make.constant("boxes", boxes),
            make.constant("most", np.array(most, np.int32)),
            make.node("y", "NonMaxSuppression", "boxes", "scores", "most", iou_threshold=0.5),
        )

    assert run(graph(1), {"scores": np.array([0.1, 0.9, 0.3], np.float32)})["y"].tolist() == [1]
    with pytest.raises(FrontendError, match="how many boxes it selects depends on the data"):
        from_tensorflow(graph(2).SerializeToString())


def test_erfc_loses_nothing_where_it_is_small(make, run):
    graph = make.graph(make.placeholder("x", 9), make.node("y", "Erfc", "x", T=FLOAT))
    x = np.array([-5, -1, -0.25, 0, 0.5, 1, 2, 4, 8], np.float32)
    expected = np.array([erfc(value) for value in x.tolist()])
    np.testing.assert_allclose(run(graph, {"x": x})["y"], expected, rtol=1e-5)


def test_types_that_a_saved_model_leaves_out_are_those_of_the_operator(make, run):
    graph = make.graph(
        make.placeholder("x", 1, 3),
        make.constant("sorted", np.array([[1, 2, 3]], np.float32)),
        make.node("y", "LowerBound", "sorted", "x", T=FLOAT),
        make.node("z", "MaxPool", "a", ksize=[1, 1, 1, 1], strides=[1, 1, 1, 1], padding="VALID"),
        make.placeholder("a", 1, 2, 2, 1),
        make.node("end", "Relu", "z", T=FLOAT),
    )
    found = run(graph, {"x": np.array([[0, 2, 9]], np.float32)}, outputs=["y"])["y"]
    assert (found.tolist(), found.dtype) == ([[0, 1, 3]], np.int32)
    picture = np.array([-1, 1, -2, 2], np.float32).reshape(1, 2, 2, 1)
    found = run(graph, {"z": picture}, inputs=["z"], outputs=["end"], shapes={"z": picture.shape})
    assert found["end"].ravel().tolist() == [0, 1, 0, 2]
