"""Operators of both nets become values in order, each with a name of its own; what nothing fills is an input."""

import pytest

from sateen.frontends.caffe2.network import network_of
from sateen.frontends.caffe2.schemas.net_pb2 import Argument, Net
from sateen.runtime.errors import FrontendError


def names(network):
    return [(node.inputs, node.outputs) for node in network.operations]


def test_a_blob_that_is_written_again_has_versions_and_the_last_keeps_its_name(operator):
    ops = [operator("Relu", ["x"], ["y"]), operator("Abs", ["y"], ["y"]), operator("Exp", ["y"], ["x"])]
    network = network_of(Net(), Net(op=ops), ())
    assert names(network) == [(("x",), ("y@0",)), (("y@0",), ("y",)), (("y",), ("x@2",))]
    assert network.outputs == ("x@2",)


def test_inputs_are_what_is_not_filled_and_what_has_a_place_kept(operator):
    fills = [
        operator("GivenTensorFill", [], ["w"], shape=[1], values=[]),
        operator("ConstantFill", [], ["x"], shape=[1]),
        operator("ConstantFill", [], ["zeros"], shape=[3]),
        operator("ConstantFill", [], ["one"], shape=[1], value=1.0),
    ]
    predict = Net(op=[operator("Sum", ["x", "w", "zeros", "one", "free"], ["y"])])
    assert [(given.name, given.shape) for given in network_of(Net(op=fills), predict, ()).inputs] == [
        ("x", None), ("free", None),
    ]  # fmt: skip
    assert [given.name for given in network_of(Net(op=fills), predict, ("zeros",)).inputs] == ["x", "zeros", "free"]


def test_the_first_external_input_may_have_a_shape(operator):
    fill = operator("ConstantFill", [], ["data"], shape=[1, 3, 8, 8])
    predict = Net(op=[operator("Relu", ["data"], ["y"])], external_input=["data"])
    (given,) = network_of(Net(op=[fill]), predict, ()).inputs
    assert (given.name, given.shape, str(given.dtype)) == ("data", (1, 3, 8, 8), "float32")


@pytest.mark.parametrize(
    ("order", "weight", "shape"),
    [("NCHW", [8, 2, 3, 3], "float32[?x.0, 4, ?x.2, ?x.3]"), ("NHWC", [8, 3, 3, 2], "float32[?x.0, ?x.1, ?x.2, 4]")],
)
def test_a_convolution_tells_the_channels_of_an_input(operator, order, weight, shape):
    fill = operator("GivenTensorFill", [], ["w"], shape=weight, values=[])
    net = Net(op=[operator("Conv", ["x", "w"], ["y"], order=order, group=2, kernel=3)])
    (given,) = network_of(Net(op=[fill]), net, ()).inputs
    assert str(given.type) == shape


def test_pictures_of_cameras_are_bytes_and_places_integers(operator):
    ops = [
        operator("PackedInt8BGRANHWCToNCHWCStylizerPreprocess", ["picture", "mean"], ["a"]),
        operator("Gather", ["table", "places"], ["b"]),
    ]
    types = {given.name: str(given.dtype) for given in network_of(Net(), Net(op=ops), ()).inputs}
    assert types == {"picture": "uint8", "mean": "float32", "table": "float32", "places": "int64"}


def test_malformed_nets_are_refused(operator):
    double = operator("Relu", ["x"], ["y"])
    double.arg.extend([Argument(name="a", i=1), Argument(name="a", i=2)])
    for net, message in (
        (
            Net(op=[operator("Relu", ["x"], ["y"])], external_output=["z"]),
            "expected an operator that gives the external",
        ),
        (Net(op=[operator("Split", ["x"], ["y", "y"])]), "operator 'y': expected to give different blobs, found y, y"),
        (Net(op=[operator("", ["x"], ["y"])]), "expected a type that can be printed, found ''"),
        (Net(op=[operator("Relu", ["x"], ["y\n"])]), "expected a name that can be printed"),
        (Net(op=[double]), "operator 'y': expected one value of argument 'a', found more"),
    ):
        with pytest.raises(FrontendError) as caught:
            network_of(Net(), net, ())
        assert str(caught.value).startswith(message)


def test_a_blob_that_is_read_before_it_is_written_is_an_input(operator):
    ops = [operator("Relu", ["y"], ["z"]), operator("Abs", ["z"], ["y"])]
    network = network_of(Net(), Net(op=ops), ())
    assert ([given.name for given in network.inputs], network.outputs) == (["y"], ("y@1",))
