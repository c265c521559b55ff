"""A model is known by its content; other files are refused with what they are."""

import pytest

from sateen.frontends import from_coreml, load, readers
from sateen.frontends.core.source import Source
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.runtime.errors import FrontendError


def test_a_model_is_known_by_its_content_and_by_no_other_reader(tmp_path, relu):
    (tmp_path / "net.txt").write_bytes(relu.SerializeToString())
    graph, _ = load(tmp_path / "net.txt")
    assert [v.name for v in graph.outputs] == ["y"]
    source = Source(relu.SerializeToString())
    assert [reader.described for reader in readers.READERS if reader.recognises(source)] == ["a CoreML model"]


def test_a_model_cut_short_is_refused_as_one(relu):
    with pytest.raises(FrontendError, match="expected a CoreML model, found what protobuf can't parse"):
        load(relu.SerializeToString()[:-3])


def test_a_newer_version_is_refused(relu):
    relu.specificationVersion = 11
    with pytest.raises(FrontendError, match="the given bytes: expected specification version 1 to 10, found 11"):
        from_coreml(relu.SerializeToString())


def test_a_model_of_another_kind_is_refused_by_its_kind():
    data = schema.Model(specificationVersion=1).SerializeToString() + b"\xa2\x19\x02\x0a\x00"  # field 404
    with pytest.raises(FrontendError) as caught:
        from_coreml(data)
    assert str(caught.value) == (
        "the given bytes: expected a network, an ML program, an estimator or a pipeline, found a nearest-neighbour "
        "classifier"
    )


def test_other_files_are_named():
    with pytest.raises(FrontendError, match="expected a CoreML model, found a picture"):
        from_coreml(b"\x89PNG\r\n\x1a\nrest")
