"""Networks are cut at values within them; what lies beyond is not read."""

import pytest

from sateen.frontends import check, load
from sateen.runtime.errors import FrontendError

LINES = """\
input sound float32 9
input x float32 2
node decode listen sound -> pair
node double add pair x -> twice
node rectify relu twice -> y
node draw paint y -> picture
output picture
"""


def cut(plain, **where):
    graph, _ = load(plain(LINES), **where)
    return [v.name for v in graph.inputs], [n.outputs[0].name for n in graph.nodes], [v.name for v in graph.outputs]


def test_a_network_begins_and_ends_within_the_model(plain):
    assert [gap.operator for gap in check(plain(LINES)).gaps] == ["listen", "paint"]
    assert cut(plain, inputs=["pair"], outputs=["y"]) == (["x", "pair"], ["twice", "y"], ["y"])
    assert cut(plain, inputs=["pair"], outputs=["twice", "y"]) == (["x", "pair"], ["twice", "y"], ["twice", "y"])


def test_a_value_at_which_a_network_ends_may_be_one_at_which_it_begins(plain):
    assert cut(plain, inputs=["pair"], outputs=["pair"]) == (["pair"], [], ["pair"])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            {"inputs": ["pear"]},
            r"inputs \(--from\) names 'pear'; the model's values are 'sound', 'x', 'pair', 'twice', 'y'",
        ),
        ({"outputs": ["z"]}, r"outputs \(--to\) names 'z'; the model's values are"),
        ({"inputs": ["twice"], "outputs": ["y"]}, "can't begin at 'twice': the model does not say of what type it is"),
        ({"inputs": ["y"], "outputs": ["twice"]}, "can't begin at 'y': what it gives does not depend on that"),
    ],
)
def test_what_is_no_place_to_cut_is_refused(plain, where, message):
    with pytest.raises(FrontendError, match=message):
        load(plain(LINES), **where)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("twic", "did you mean twice?"),
        ("dense_2", "did you mean network/dense_1/BiasAdd;network/add?"),
    ],
)
def test_the_closest_values_are_named(plain, name, meant):
    first, last = (f"network/dense_1/{part};network/add" for part in ("MatMul", "BiasAdd"))
    lines = f"{LINES}node a relu y -> {first}\nnode b relu {first} -> {last}\n"
    with pytest.raises(FrontendError) as error:
        load(plain(lines), outputs=[name])
    assert str(error.value).endswith(meant)


@pytest.mark.parametrize(
    ("where", "name", "message"),
    [
        ({"inputs": ["pair"]}, "sound", "the part that is read, whose inputs are 'x', 'pair'; leave its shape out, or"),
        ({"inputs": ["pair"]}, "twice", "the part that is read, whose inputs are 'x', 'pair'; leave its shape out, or"),
        ({}, "pair", "the network, whose inputs are 'sound', 'x'; begin there: inputs=['pair'], or --from pair"),
    ],
)
def test_a_shape_of_a_value_that_is_no_input_is_refused_with_what_to_do(plain, where, name, message):
    with pytest.raises(FrontendError) as caught:
        check(plain(LINES), shapes={name: (2,)}, **where)
    assert str(caught.value).startswith(
        f"shapes (--shape) names {name!r}, a value of the model, but no input of {message}"
    )
