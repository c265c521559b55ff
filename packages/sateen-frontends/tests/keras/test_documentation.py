"""The page about Keras lists what is read, and nothing else."""

import re
from pathlib import Path

import pytest

from sateen.frontends.keras.converters import CONVERTERS
from sateen.frontends.keras.steps import ALIAS, FOLD, UNFOLD

PAGE = Path(__file__).parents[4] / "docs" / "formats" / "keras.md"
WITHIN = {ALIAS, FOLD, UNFOLD, "Bidirectional"}
"""Steps that layers are taken apart into, and a layer that is both."""


@pytest.mark.parametrize(
    ("title", "prefix"), [("Layers", ""), ("Functions of keras.ops", "ops."), ("Functions of TensorFlow", "tf.")]
)
def test_every_converter_has_its_name_on_the_page(title, prefix):
    section = re.search(rf"## {title}\n(.*?)\n\n(?:##|Besides)", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    listed = section[1].split("\n\n")[-1].replace("\n", " ").split(", ")
    known = {name for name in CONVERTERS if name not in WITHIN - {"Bidirectional"}}
    of_kind = {name for name in known if name.startswith(prefix) and (prefix or not name.startswith(("ops.", "tf.")))}
    assert listed == sorted(listed)
    assert set(listed) == {name.removeprefix(prefix) for name in of_kind}
