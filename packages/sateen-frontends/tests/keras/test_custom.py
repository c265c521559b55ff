"""Layers of the user's classes: settings are attributes, variables are inputs."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.frontends import check, from_keras
from sateen.graph_ir import OPS, interpret
from sateen.runtime.errors import FrontendError
from sateen.topi import Computation, Operator, compute

X = np.array([[-1, 2, 3]], np.float32)
OFFSET = np.array([0.5, 0, -4], np.float32)


@pytest.fixture
def scaled(users_operator):
    return users_operator("acme.Scaled")


@pytest.fixture
def operators(scaled):
    return OPS.with_ops(scaled)


INITIALIZER = {"class_name": "Zeros", "config": {}}


def _net(files, name, registered=None, **config):
    """A network with one layer of class `name`, as Keras 3 writes it if it is `registered`."""
    config = {"name": "y", "trainable": True, "dtype": "float32", "offset_initializer": INITIALIZER, **config}
    layer = {**files.layer(name, "y", "x"), "config": config}
    if registered is not None:
        layer |= {"module": "acme.layers", "registered_name": registered}
    return files.functional([files.given("x", 3), layer], ["y"])


def _h5(files, configuration):
    return files.written(configuration, {"y": [("y/offset:0", OFFSET)]})


def test_a_registered_class_is_the_operator_of_its_package_and_name(files, scaled, operators):
    archive = files.archived(_net(files, "Scaled", "acme>Scaled", factor=2.5), {"layers/scaled/vars/0": OFFSET})
    for data in (_h5(files, _net(files, "acme>Scaled", factor=2.5)), archive):
        graph, parameters = from_keras(data, shapes={"x": X.shape}, operators=operators)
        assert [node.op for node in graph.nodes] == [scaled(2.5)]
        assert list(parameters) == ["y/0"]
        np.testing.assert_array_equal(interpret(graph, {"x": X})["y"], X * 2.5 + OFFSET)


def test_a_gap_is_called_as_the_class_is_registered(files):
    archive = files.archived(_net(files, "Scaled", "acme>Scaled"), {"layers/scaled/vars/0": OFFSET})
    for data in (_h5(files, _net(files, "acme>Scaled")), archive):
        assert [gap.operator for gap in check(data).gaps] == ["acme>Scaled"]


def test_a_class_without_a_package_is_the_operator_of_the_formats(files):
    @dataclass(frozen=True, slots=True)
    class Plain(Operator):
        name = "keras.Plain"
        sizes: tuple[int, ...] | None
        nb_filter: int

        def infer(self, x, offset):
            return (x,)

    configuration = _net(files, "Plain", "Plain", sizes=None, nb_filter=3)
    graph, _ = from_keras(_h5(files, configuration), operators=OPS.with_ops(Plain))
    assert [node.op for node in graph.nodes] == [Plain(None, 3)]


def test_variables_are_in_their_order_and_integers_stay_integers(files):
    @dataclass(frozen=True, slots=True)
    class Table(Operator):
        name = "acme.Table"

        def infer(self, x, *variables):
            return (x,)

    paths = {f"layers/table/vars/{index}": np.full(index + 1, index, np.float32) for index in range(11)}
    paths["layers/table/vars/11"] = np.arange(3)
    paths["layers/table/seed_generator/vars/0"] = np.arange(2)
    data = files.archived(_net(files, "Table", "acme>Table", dtype="float16"), paths)
    (node,) = (n for n in from_keras(data, operators=OPS.with_ops(Table))[0].nodes if n.op == Table())
    types = [str(value.type) for value in node.inputs[1:]]
    assert types == [*(f"float16[{index + 1}]" for index in range(11)), "int64[3]"]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, "acme.Scaled needs attribute 'factor'; its attributes are factor, limited, sizes, word"),
        ({"factor": 1.0, "pad": 2}, "acme.Scaled has no attribute 'pad'"),
        ({"factor": {"value": 1}}, "expected a number as attribute 'factor', found {'value': 1}"),
    ],
)
def test_layers_that_do_not_fit_are_gaps(files, config, reason, operators):
    (gap,) = check(_h5(files, _net(files, "acme>Scaled", **config)), operators=operators).gaps
    assert gap.reason.startswith(reason)


def test_variables_of_layers_inside_are_refused(files, operators):
    paths = {"layers/scaled/dense/vars/0": OFFSET}
    data = files.archived(_net(files, "Scaled", "acme>Scaled", factor=1.0), paths)
    with pytest.raises(FrontendError, match="variables of layers inside it are not supported"):
        from_keras(data, operators=operators)


def test_a_layer_that_nobody_brings_says_how(files):
    with pytest.raises(FrontendError, match=r"Scaled.*\n.*\n.*bring the operator \(operators="):
        from_keras(_h5(files, _net(files, "acme>Scaled", factor=1.0)))


@dataclass(frozen=True, slots=True)
class Blend(Operator):
    """a - b."""

    name = "keras.Blend"
    my_constraint: int = 0
    dtype: str = ""
    kernel_initializer: str = ""

    def infer(self, a, *others):
        return (a,)

    def compute(self, a, b, *, outputs):
        return Computation((compute(a.shape, lambda *index: a(*index) - b(*index), "blend"),))


BLEND = OPS.with_ops(Blend)


def _blended(files, first, **config):
    """Blend called with `first`, tensors and data as Keras 2 writes them."""
    layer = {**files.layer("Blend", "y", **config), "inbound_nodes": [first]}
    return files.written(files.functional([files.given("a", 3), files.given("b", 3), layer], ["y"]), {})


A, B = ["a", 0, 0, {}], ["b", 0, 0, {}]


def _data(value):
    """An argument that is no tensor."""
    return ["_CONSTANT_VALUE", -1, value, {}]


@pytest.mark.parametrize("first", [[A, [B]], {"x": A, "y": B}, {"y": B, "x": A}, {"x": [A, B]}])
def test_tensors_of_a_call_are_in_order_those_of_a_dictionary_by_its_sorted_keys(files, first):
    graph, _ = from_keras(_blended(files, first), shapes={"a": X.shape, "b": X.shape}, operators=BLEND)
    np.testing.assert_array_equal(interpret(graph, {"a": X, "b": X + 1})["y"], -np.ones_like(X))


@pytest.mark.parametrize(
    ("first", "what"),
    [
        ([A, _data(3.0)], "3.0"),
        ([A, _data(None), B], "None"),
        ({"a": A, "scale": _data(3.0)}, "3.0"),
        ([A, [_data(True)]], "True"),
        ([A, _data([1, 2])], "array([1, 2])"),
    ],
)
def test_data_among_the_tensors_of_a_call_are_refused(files, first, what):
    (gap,) = check(_blended(files, first), operators=BLEND).gaps
    assert gap.reason == f"{what} among the tensors of its call is not supported"
    assert gap.help == "call the layer with tensors alone, and make the others settings"


def test_arguments_by_name_are_refused(files):
    for given in (["b", 0, 0], 2.0, None):
        (gap,) = check(_blended(files, [["a", 0, 0, {"other": given}]]), operators=BLEND).gaps
        assert gap.reason == "arguments of its call by name ('other') are not supported"


def test_settings_that_are_fields_are_kept_whatever_their_names(files):
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
    config = {"my_constraint": 7, "kernel_initializer": "zeros", "bias_initializer": "zeros", "trainable": True}
    for dtype in ("float32", policy):
        graph, _ = from_keras(_blended(files, [A, B], dtype=dtype, **config), operators=BLEND)
        assert [node.op for node in graph.nodes] == [Blend(7, "float32", "zeros")]


def test_a_setting_that_its_field_can_not_hold_is_a_gap(files):
    (gap,) = check(_blended(files, [A, B], kernel_initializer=INITIALIZER), operators=BLEND).gaps
    assert gap.reason.startswith("expected text as attribute 'kernel_initializer', found {'class_name': 'Zeros'")


@pytest.mark.parametrize(("dtype", "is_supported"), [("float32", True), ("mixed_float16", False)])
def test_a_layer_without_autocast_is_read_if_all_is_of_one_type(files, dtype, is_supported):
    report = check(_blended(files, [A, B], dtype=dtype, autocast=False), operators=BLEND)
    assert report.is_supported == is_supported
    assert [gap.reason for gap in report.gaps] == [
        "without autocast it computes in several types, float16 and that of its data"
    ] * (not is_supported)


def test_variables_of_another_type_need_autocast(files, operators):
    configuration = _net(files, "acme>Scaled", factor=1.0, dtype="float64", autocast=False)
    configuration["config"]["layers"][0]["config"]["dtype"] = "float64"
    (gap,) = check(_h5(files, configuration), operators=operators).gaps
    assert gap.reason == "without autocast it computes in several types, float64 and that of its data"


def _scaled(name="s"):
    return {"class_name": "acme>Scaled", "name": name, "config": {"name": name, "factor": 2.0}}


def _around(files, *layers, wrapper=None):
    """A network with a layer `y` around others, as `wrapper` or as a Sequential."""
    config = {"layer": layers[0]} if wrapper else {"layers": [files.given("g", 3), *layers]}
    outer = files.layer(wrapper or "Sequential", "y", "x", **config)
    return files.functional([files.given("x", 5, 3) if wrapper else files.given("x", 3), outer], ["y"])


@pytest.mark.parametrize("name", ["y/offset:0", "y/s/offset"])
@pytest.mark.parametrize("wrapper", ["TimeDistributed", None])
def test_the_list_of_a_layer_around_a_users_is_the_users(files, wrapper, name, operators):
    data = files.written(_around(files, _scaled(), wrapper=wrapper), {"y": [(name, OFFSET)]})
    x = np.arange(15, dtype=np.float32).reshape(1, 5, 3) if wrapper else X
    graph, parameters = from_keras(data, shapes={"x": x.shape}, operators=operators)
    assert list(parameters) == ["y/s/0"]
    np.testing.assert_array_equal(interpret(graph, {"x": x})["y"], x * 2 + OFFSET)
    (gap,) = check(data).gaps
    assert (gap.node, gap.reason.split(",")[0]) == ("y/s", "it is a class of the user's")


@pytest.mark.parametrize("others", [["acme>Scaled"], ["Dense"]])
def test_a_list_for_a_users_layer_and_others_is_refused(files, others, operators):
    several = [files.layer("Dense", "d", units=3) if kind == "Dense" else _scaled("t") for kind in others]
    arrays = [("a:0", np.ones((3, 3), np.float32)), ("b:0", OFFSET), ("c:0", OFFSET)]
    data = files.written(_around(files, _scaled(), *several), {"y": arrays})
    with pytest.raises(
        FrontendError, match=r"layer 'y' has layers in it whose variables are not known \('acme>Scaled'"
    ):
        from_keras(data, operators=operators)


def test_users_cells_are_refused_with_their_reason(files):
    cell = {"class_name": "acme>MyCell", "config": {"name": "cell"}}
    configuration = _around(files, cell, wrapper="RNN")
    configuration["config"]["layers"][1]["config"] |= {"cell": cell}
    for data in (
        files.written(configuration, {"y": [("y/kernel:0", OFFSET)]}),
        files.archived(configuration, {"layers/rnn/cell/vars/0": OFFSET}),
    ):
        (gap,) = check(data).gaps
        assert gap.reason == "it runs a cell of the user's, or several with states"
