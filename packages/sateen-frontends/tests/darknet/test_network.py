"""Sections become numbered layers with the layers that they read and the size of what they give."""

import pytest

from sateen.frontends.core.source import LIMITS, Source
from sateen.frontends.darknet.loading import load_network
from sateen.runtime.errors import FrontendError

NET = "[net]\nchannels=3\nheight=8\nwidth=12\n"
CONV = "[convolutional]\nfilters=4\nsize=3\npad=1\n"


def load(text: str):
    return load_network(Source(text.encode()), LIMITS)


def sizes(text: str):
    return [layer.size for layer in load(NET + text).layers]


def test_blanks_and_comments_are_left_out_and_the_first_of_two_options_counts():
    text = (
        "# made by hand\n[ net ]\n channels = 3\nheight=8\nwidth=12 # of pixels\n;x\n[conv]\nfilters = 2\nfilters=5\n"
    )
    network = load(text)
    assert [(given.name, given.shape) for given in network.inputs] == [("data", (1, 3, 8, 12))]
    assert [(layer.name, layer.size) for layer in network.layers] == [("convolutional_0", (2, 8, 12))]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("[convolutional]\nfilters=4\nsize=3\nstride=2\npad=1", (4, 4, 6)),
        ("[convolutional]\nfilters=4\nsize=3\nstride_x=2\nstride_y=1", (4, 6, 5)),
        ("[deconvolutional]\nfilters=4\nsize=4\nstride=2\npadding=1", (4, 16, 24)),
        ("[maxpool]\nsize=2\nstride=2", (3, 4, 6)),
        ("[maxpool]\nsize=2\nstride=1", (3, 8, 12)),
        ("[maxpool]\nstride=3", (3, 3, 4)),
        ("[maxpool]\nmaxpool_depth=1\nout_channels=1", (1, 8, 12)),
        ("[avgpool]", (3, 1, 1)),
        ("[connected]\noutput=7", (7, 1, 1)),
        ("[reorg]\nstride=2", (12, 4, 6)),
        ("[upsample]\nstride=3", (3, 24, 36)),
        ("[crop]\ncrop_height=5\ncrop_width=6", (3, 5, 6)),
        ("[softmax]", (3, 8, 12)),
    ],
)
def test_sizes(text, size):
    assert sizes(text) == [size]


def test_layers_by_number_and_by_distance():
    network = load(NET + CONV + "[route]\nlayers=-1, 0\n[shortcut]\nfrom=0\n[route]\nlayers=1\ngroups=2\ngroup_id=1\n")
    assert [layer.sources for layer in network.layers] == [(-1,), (0, 0), (1, 0), (1,)]
    assert [layer.size for layer in network.layers] == [(4, 8, 12), (8, 8, 12), (8, 8, 12), (4, 8, 12)]


def test_detectors_and_the_last_layer_are_outputs_and_costs_are_not():
    network = load(NET + CONV + "[yolo]\n[route]\nlayers=0\n[yolo]\n[convolutional]\n[cost]\n")
    assert network.outputs == ("yolo_1", "yolo_3", "convolutional_4")


def test_the_state_of_a_layer_rnn_is_an_input_and_an_output():
    network = load("[net]\ninputs=5\n[rnn]\nhidden=3\noutput=2\n[softmax]\n")
    assert [(given.name, given.shape) for given in network.inputs] == [("data", (1, 5)), ("rnn_0.state", (1, 3))]
    assert network.outputs == ("softmax_1", "rnn_0.next_state")


def test_the_state_of_a_layer_crnn_is_a_picture():
    network = load(NET + "[crnn]\nhidden_filters=5\noutput_filters=2\n")
    assert [(given.name, given.shape) for given in network.inputs[1:]] == [("crnn_0.state", (1, 5, 8, 12))]
    assert [layer.size for layer in network.layers] == [(2, 8, 12)]


def test_an_input_of_numbers():
    assert [given.shape for given in load("[net]\ninputs=5\n[connected]\noutput=2").inputs] == [(1, 5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[net]\n", "expected a layer behind [net], found none"),
        ("[conv]\n", "expected [net] as the first section"),
        ("[net]\nheight=3\n[conv]", "line 1: expected channels, height and width, or inputs, found [0, 3, 0]"),
        ("x=1\n[net]\n", "line 1: expected a section or an option, found 'x=1'"),
        ("[net]\nnothing\n", "line 2: expected a section or an option, found 'nothing'"),
        ("[net\n", "line 1: expected a type in brackets, found '[net'"),
        (NET + "[conv]\nsize=many", "line 5: layer 'convolutional_0': expected a number as size, found many"),
        (NET + "[conv]\nsize=1.5", "line 5: layer 'convolutional_0': expected an integer as size, found 1.5"),
        (NET + "[conv]\nsize=20", "line 5: layer 'convolutional_0': expected to give channels, height and width of 1"),
        (NET + "[conv]\nstride=0", "line 5: layer 'convolutional_0': expected sizes and strides of 1 or more"),
        (NET + "[route]\nlayers=-1", "line 5: layer 'route_0': expected a layer before it, found -1"),
        (NET + "[route]", "line 5: layer 'route_0': expected layers, found none"),
        (NET + "[shortcut]\nfrom=3", "line 5: layer 'shortcut_0': expected a layer before it, found 3"),
        (NET + CONV + "[avgpool]\n[route]\nlayers=0,1", "line 10: layer 'route_2': expected layers of one height"),
        (NET + CONV + "[route]\nlayers=0\ngroups=3", "line 9: layer 'route_1': [4] channels can't be divided into 3"),
        (NET + "[upsample]\nstride=99999999", "line 5: layer 'upsample_0': expected to give channels"),
    ],
)
def test_malformed_networks_are_refused_with_line_and_layer(text, message):
    with pytest.raises(FrontendError) as caught:
        load(text)
    assert str(caught.value).startswith(f"the given bytes: {message}")
