"""Models of two files: the second is given, or found beside the first, whichever that is."""

from collections.abc import Sequence

import pytest

from sateen.frontends.core import pairs
from sateen.frontends.core.pairs import Half, pair_of, paired, require_alone
from sateen.frontends.core.source import LIMITS, Source, read_source
from sateen.runtime.errors import FrontendError


def _half(kind: str, names: Sequence[str]) -> Half:
    """A half whose content begins with its kind; `{}` in a pattern is the other file's name before its first dot."""

    def patterns(name: str) -> list[str]:
        return [pattern.replace("{}", name.split(".", 1)[0]) for pattern in names]

    return Half(f"the {kind}", lambda source: source.data.startswith(kind.encode()), patterns)


NETWORK, WEIGHTS = _half("net", ["{}.net", "*.net"]), _half("weights", ["{}.weights", "{}-*.weights"])


def _folder(tmp_path, *files: str):
    """Files whose content is the part of their name after the last dot."""
    for name in files:
        (tmp_path / name).write_bytes(name.rsplit(".", 1)[1].encode())
    return lambda name: read_source(tmp_path / name, LIMITS, "a model")


def _names(pair: Sequence[Source]) -> list[str]:
    return [source.path.name for source in pair if source.path is not None]


@pytest.mark.parametrize("given", ["a.net", "a.weights"])
def test_either_half_finds_the_other(tmp_path, given):
    read = _folder(tmp_path, "a.net", "a.weights", "b.net", "b.weights")
    assert _names(paired(read(given), NETWORK, WEIGHTS, LIMITS)) == ["a.net", "a.weights"]


def test_a_second_file_that_is_given_counts_in_either_order():
    network, weights = Source(b"net"), Source(b"weights")
    for first, second in ((network, weights), (weights, network)):
        given = Source(first.data, weights=second)
        assert [half.data for half in paired(given, NETWORK, WEIGHTS, LIMITS)] == [b"net", b"weights"]


def test_a_later_pattern_serves_where_the_best_has_no_match(tmp_path):
    read = _folder(tmp_path, "a.weights", "deploy.net")
    assert _names(paired(read("a.weights"), NETWORK, WEIGHTS, LIMITS)) == ["deploy.net", "a.weights"]


def test_the_content_of_a_file_decides_not_its_name(tmp_path):
    read = _folder(tmp_path, "a.net", "a-1.weights")
    (tmp_path / "a-2.weights").write_bytes(b"a picture")
    assert _names(paired(read("a.net"), NETWORK, WEIGHTS, LIMITS)) == ["a.net", "a-1.weights"]


def test_a_name_with_signs_of_patterns_is_a_name(tmp_path):
    read = _folder(tmp_path, "[ab].net", "a.weights", "[ab].weights")
    assert _names(paired(read("[ab].net"), NETWORK, WEIGHTS, LIMITS)) == ["[ab].net", "[ab].weights"]


def test_several_files_that_fit_are_named(tmp_path):
    read = _folder(tmp_path, "a.net", "a-1.weights", "a-2.weights")
    with pytest.raises(FrontendError) as caught:
        paired(read("a.net"), NETWORK, WEIGHTS, LIMITS)
    assert str(caught.value) == (
        f"{tmp_path / 'a.net'}: expected one file with the weights, found a-1.weights, a-2.weights; give it as "
        "weights=, or --weights FILE"
    )


def test_files_that_fit_are_in_memory_one_at_a_time(tmp_path, monkeypatch):
    read = _folder(tmp_path, "a.net", *(f"a-{index}.weights" for index in range(20)))
    paths = []

    def counting(path, *rest):
        paths.append(path.name)
        return read_source(path, *rest)

    monkeypatch.setattr(pairs, "read_source", counting)
    with pytest.raises(FrontendError, match=r"a-0.weights, a-1.weights, .*, a-12.weights and more; give it as"):
        paired(read("a.net"), NETWORK, WEIGHTS, LIMITS)
    assert len(paths) == pairs.MOST_NAMED + 1


def test_a_network_may_be_the_only_file(tmp_path):
    pair = pair_of(_folder(tmp_path, "a.net")("a.net"), NETWORK, WEIGHTS, LIMITS)
    assert (pair.weights, pair.beside) == (None, None)
    with pytest.raises(FrontendError, match=r"expected the weights beside it, found no a\.weights or a-"):
        pair.required_weights()


def test_the_other_file_is_the_one_that_was_not_given(tmp_path):
    read = _folder(tmp_path, "a.net", "a.weights")
    for given, other in (("a.net", "a.weights"), ("a.weights", "a.net")):
        assert pair_of(read(given), NETWORK, WEIGHTS, LIMITS).beside == tmp_path / other


def test_what_is_missing_or_something_else_is_named(tmp_path):
    read = _folder(tmp_path, "a.net")
    with pytest.raises(FrontendError) as caught:
        paired(read("a.net"), NETWORK, WEIGHTS, LIMITS)
    assert str(caught.value) == (
        f"{tmp_path / 'a.net'}: expected the weights beside it, found no a.weights or a-*.weights; "
        "give it as weights=, or --weights FILE"
    )
    with pytest.raises(FrontendError, match="the given bytes: expected the weights too, found none; give it as"):
        paired(Source(b"net"), NETWORK, WEIGHTS, LIMITS)
    with pytest.raises(FrontendError, match="expected the weights for the given bytes, found the net"):
        paired(Source(b"net", weights=Source(b"net")), NETWORK, WEIGHTS, LIMITS)
    with pytest.raises(FrontendError, match="expected the weights for the given bytes, found a NumPy array"):
        paired(Source(b"net", weights=Source(b"\x93NUMPY")), NETWORK, WEIGHTS, LIMITS)


def test_a_second_file_for_a_whole_model_is_refused():
    require_alone(Source(b"net"), "a net")
    with pytest.raises(FrontendError, match="a net has its weights, found the given bytes given with it"):
        require_alone(Source(b"net", weights=Source(b"weights")), "a net")
