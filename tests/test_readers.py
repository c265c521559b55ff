"""Every model of ../shared is recognised by one reader, and pictures and texts by none."""

from pathlib import Path

import pytest

from sateen.frontends.core.source import LIMITS, read_source
from sateen.frontends.readers import READERS

MODELS = Path(__file__).parents[2] / "shared" / "models"
NAMES = {"darknet": "a darknet model", "tensorflow": "a TensorFlow model", "tflite": "a TensorFlow Lite model"}
FILES = sorted(path for path in MODELS.rglob("*") if path.is_file() and path.suffix not in {".npz", ".gz", ".md"})


@pytest.mark.skipif(not FILES, reason=f"{MODELS} is absent")
def test_one_reader_recognises_a_model() -> None:
    described = {reader.described.split(" ")[1].lower(): reader.described for reader in READERS}
    for path in FILES:
        found = [reader.described for reader in READERS if reader.recognises(read_source(path, LIMITS, "a model"))]
        folder = path.parent.name
        expected = [] if folder == "images" else [NAMES.get(folder) or described[folder]]
        assert found == expected, path
