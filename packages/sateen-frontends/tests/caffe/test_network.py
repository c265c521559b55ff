"""Layers of all dialects become values in order, each with a name of its own."""

import pytest

from sateen.frontends.caffe.network import network_of
from sateen.frontends.caffe.text_format import parsed
from sateen.frontends.core.source import LIMITS
from sateen.runtime.errors import FrontendError

INPUT = 'input: "x" input_dim: 1 input_dim: 3 input_dim: 4 input_dim: 5 '


def read(text: str):
    return network_of(parsed(text, 64), LIMITS)


def layer(name: str, bottoms: str, tops: str, more: str = "", type_: str = "ReLU") -> str:
    given = "".join(f' bottom: "{b}"' for b in bottoms.split()) + "".join(f' top: "{t}"' for t in tops.split())
    return f'layer {{ name: "{name}" type: "{type_}"{given} {more} }}\n'


def test_a_blob_that_is_overwritten_has_versions_and_the_last_keeps_its_name():
    found = read(INPUT + layer("a", "x", "y") + layer("b", "y", "y") + layer("c", "y", "y") + layer("d", "y", "z"))
    assert [(node.inputs, node.outputs) for node in found.layers] == [
        (("x",), ("y@a",)), (("y@a",), ("y@b",)), (("y@b",), ("y",)), (("y",), ("z",)),
    ]  # fmt: skip
    assert found.outputs == ("z",)


def test_an_input_that_is_overwritten_keeps_its_name():
    found = read(INPUT + layer("a", "x", "x"))
    assert [(node.inputs, node.outputs) for node in found.layers] == [(("x",), ("x@a",))]
    assert found.outputs == ("x@a",)


def test_names_of_values_that_are_overwritten_often_differ():
    found = read(INPUT + layer("a", "x", "y") + layer("b", "y", "y") * 4000)
    assert [node.outputs[0] for node in found.layers[:3]] == ["y@a", "y@b", "y@b.1"]
    assert len({node.outputs for node in found.layers}) == 4001


def test_what_no_layer_reads_are_the_outputs():
    assert read(INPUT + layer("a", "x", "y z") + layer("b", "z", "w")).outputs == ("y", "w")


@pytest.mark.parametrize(
    "head",
    [
        INPUT,
        'input: "x" input_shape { dim: 1 dim: 3 dim: 4 dim: 5 }',
        'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 3, 4, 5] } } }',
        'layer { type: "MemoryData" top: "x" memory_data_param { batch_size: 1 channels: 3 height: 4 width: 5 } }',
    ],
)  # fmt: skip
def test_inputs_of_all_kinds(head):
    assert [(given.name, given.shape) for given in read(head + layer("a", "x", "y")).inputs] == [("x", (1, 3, 4, 5))]


def test_data_layers_are_inputs_without_a_shape():
    found = read(layer("d", "", "data label", type_="Data") + layer("a", "data", "y"))
    assert [(given.name, given.shape) for given in found.inputs] == [("data", None), ("label", None)]


def test_old_layers_have_enumerators_as_types():
    found = read(INPUT + 'layers { name: "a" type: INNER_PRODUCT bottom: "x" top: "y" }')
    assert [node.type for node in found.layers] == ["InnerProduct"]


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("include { phase: TEST }", True),
        ("include { phase: TRAIN }", False),
        ("exclude { phase: TRAIN }", True),
        ("exclude { phase: TEST }", False),
        ("include { phase: TRAIN } include { phase: TEST }", True),
        ('include { stage: "deploy" }', False),
        ('include { not_stage: "deploy" }', True),
        ("include { min_level: 1 }", False),
    ],
)
def test_layers_of_the_phase_of_tests_are_kept(rule, kept):
    found = read(INPUT + layer("a", "x", "y") + layer("b", "y", "z", rule))
    assert (len(found.layers) == 2) is kept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: 'net'", "expected a network with layers in phase TEST, found none"),
        (INPUT + layer("a", "x", "y") + layer("b", "x", "y"), "layer 'b': expected a top of its own, found 'y'"),
        (INPUT + layer("a", "x", "y y"), "layer 'a': expected to give different blobs, found y, y"),
        (INPUT + 'layer { name: "a" bottom: "x" top: "y" }', "line 1: layer 'a': expected one type, found none"),
        (INPUT + 'layers { type: CONVOLVE bottom: "x" }', "line 1: layer '': expected a type, found CONVOLVE"),
        (INPUT + layer("a", "x", "y") + "layers { type: RELU }", "expected either `layer` or `layers`, found both"),
        ('layers { layer { name: "a" type: "conv" } }', "line 1: layers { layer { … } } are of 2013"),
        (INPUT + layer("a", "x", "y\\n"), "expected a name that can be printed, found 'y\\\\n'"),
        ('input: "x" input_dim: 1 ' + layer("a", "x", "y"), "expected 4 input_dim, four for each input, found 1"),
        ('input: "x" input_shape { dim: 0 }' + layer("a", "x", "y"), "input 'x': expected a shape of 1 or more"),
        (INPUT + 'input: "x"' + layer("a", "x", "y"), "expected 8 input_dim"),
        (INPUT + layer("a", "x", "y", "include { } exclude { }"), "line 1: expected rules to include or to exclude"),
    ],
)  # fmt: skip
def test_malformed_networks_are_refused(text, message):
    with pytest.raises(FrontendError) as caught:
        read(text)
    assert str(caught.value).startswith(message)
