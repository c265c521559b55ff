"""Networks of Keras that begin inside."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from sateen import frontends, runtime
from sateen.frontends.command.main import main
from sateen.runtime.errors import FrontendError

PAGE = Path(__file__).parents[4] / "docs" / "formats" / "keras.md"


def floats(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.fixture
def reviews(files):
    """A network that begins with text, and its table of words."""
    table = floats(9, 4)
    layers = [
        files.given("text", dtype="string"),
        files.layer("TextVectorization", "words", "text", output_mode="int"),
        files.layer("Embedding", "table", "words", input_dim=9, output_dim=4),
        files.layer("GlobalAveragePooling1D", "mean", "table"),
    ]
    return files.archived(files.functional(layers, ["mean"]), {"layers/embedding/vars/0": table}), table


def test_the_page_shows_how_to_begin_behind_text(reviews, tmp_path, monkeypatch):
    data, table = reviews
    monkeypatch.chdir(tmp_path)
    Path("reviews.keras").write_bytes(data)
    (command,) = re.findall(r"^sateen (compile reviews.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert main([*shlex.split(command), "--no-cache"]) == 0
    model = runtime.load("reviews.sateen")
    words = np.array([[1, 5, 2, 8, 0, 0]], np.int64)
    (found,) = model.run({"words": words}).values()
    np.testing.assert_allclose(found.numpy(), table[words].mean(1), rtol=1e-5)


def test_text_is_refused_with_what_to_do(reviews):
    data, _ = reviews
    with pytest.raises(FrontendError, match="found 'string'; begin the network behind what reads it: inputs="):
        frontends.load(data)
    with pytest.raises(FrontendError, match=r"'words' \(\w+\): the model declares no shape"):
        frontends.load(data, inputs=["words"])


def test_a_network_begins_with_the_type_that_the_layers_before_compute(files):
    layers = [
        files.given("x", None, 4),
        files.given("z", 3),
        files.layer("ZeroPadding1D", "padded", "x", padding=1),
        files.layer("ReLU", "y", "padded"),
    ]
    data = files.written(files.functional(layers, ["y"]), {})
    (value,) = frontends.load(data, inputs=["padded"])[0].inputs
    assert str(value.type) == "float32[?x.0, ?padded.1, 4]"
    (value,) = frontends.load(data, inputs=["padded"], shapes={"padded": (2, 7, 4)})[0].inputs
    assert str(value.type) == "float32[2, 7, 4]"
    with pytest.raises(FrontendError, match="dimension 2 is 4 in the model or dims, found 5"):
        frontends.load(data, inputs=["padded"], shapes={"padded": (2, 7, 5)})
