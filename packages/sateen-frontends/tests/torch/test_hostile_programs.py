"""Files that are damaged or hostile are refused, each with what was expected and found."""

import io
import json
import re
import zipfile

import numpy as np
import pytest

from sateen.frontends import load
from sateen.frontends.core.archive import Archive
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.torch.loading import load_torch
from sateen.runtime.errors import FrontendError


@pytest.fixture
def files(written):
    """The parts of the file of a small program."""
    x, weight = written.input("x", (2, 3)), written.parameter("w", np.ones((2, 3), np.float32))
    y = written.call("aten.add.Tensor", self=x, other=weight, name="y")
    with zipfile.ZipFile(io.BytesIO(written.data(y))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


PROGRAM = "archive/models/model.json"
CONFIG, WEIGHT = "archive/data/weights/model_weights_config.json", "archive/data/weights/weight_0"


def _with(part, content):
    """A change of the whole content of a part."""
    return lambda files: files.update({part: content})


def _changed(part, old, new):
    """A change of all places of a text in a part."""
    return lambda files: files.update({part: files[part].replace(old, new)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_with(PROGRAM, b"[" * 100_000), "nested at most 512 deep"),
        (_with(PROGRAM, b'{"a": 1, "a": 2}'), "expected each key of a JSON object once, found 'a' twice"),
        (_with(PROGRAM, b"{}"), "expected int as 'major', found nothing"),
        (_with(PROGRAM, b"\xff"), "expected JSON, found what can't be parsed"),
        (_changed(PROGRAM, b'"major": 8', b'"major": 9'), "expected a program of schema 8, found 9.20"),
        (
            _changed(PROGRAM, b'{"major": 8, "minor": 20}', b"1"),
            "expected a program of schema 8, found 1.0; export and save it with torch 2.9",
        ),
        (
            _changed(
                PROGRAM, b'"output_specs": [',
                b'"output_specs": [{"buffer_mutation": {"buffer_name": "q", "arg": {"name": "y"}}}, ',
            ),
            "each run changes 'q', which is no buffer of the program",
        ),
        (
            _changed(CONFIG, b'"sizes": [{"as_int": 2}', b'"sizes": [{"as_int": 0}, {"as_int": 281474976710655}'),
            "expected a tensor of at most 68719476736 bytes, found float32[0, 281474976710655, 3]",
        ),
        (_changed(PROGRAM, b'"y"', b'"x"'), "expected the name 'x' as printable text, and once"),
        (
            _changed(PROGRAM, b'{"name": "p_w"}}, "kind"', b'{"name": "q"}}, "kind"'),
            "node 'y' reads 'q', which nothing before it gives",
        ),
        (
            _changed(PROGRAM, b'"as_int": 3}], "strides"', b'"as_int": -3}], "strides"'),
            "expected extents of zero or more, found -3",
        ),
        (_changed(PROGRAM, b'"dtype": 7', b'"dtype": 10'), "elements of type complex64 are not supported"),
        (_with("archive/models/other.json", b"{}"), "expected one program, found 'model', 'other'"),
        (lambda files: files.pop(PROGRAM), "expected one program, found none"),
        (_with(WEIGHT, bytes(20)), "tensor 'w': float32[2, 3] of strides [3, 1] reaches element 5 of 5"),
        (_changed(CONFIG, b'"as_int": 3}], "str', b'"as_int": 3000}], "str'), "reaches element"),
        (
            _changed(CONFIG, b"weight_0", b"../weight_0"),
            "expected a file 'archive/data/weights/../weight_0' in the archive, found none",
        ),
        (_with("archive/../x", b""), "expected the plain relative path of a file beside the model"),
        (_with(CONFIG, b'{"config": 3}'), "expected an object with descriptions of tensors"),
    ],
)  # fmt: skip
def test_damaged_parts_are_refused(files, zipped, change, message):
    change(files)
    with pytest.raises(FrontendError, match=re.escape(message)):
        load(zipped(files))


def test_an_archive_that_inflates_too_much_is_refused(files, zipped):
    files[WEIGHT] = bytes(1 << 20)
    with pytest.raises(FrontendError, match=r"bytes for 1048576; expected at most 100 for one"):
        load(zipped(files, zipfile.ZIP_DEFLATED))


def test_a_compressed_archive_is_read(files, zipped):
    assert load(zipped(files, zipfile.ZIP_DEFLATED))[1].keys() == {"w"}


def test_storages_are_read_once_and_only_where_they_are_wanted(files, zipped, monkeypatch):
    config = json.loads(files[CONFIG])
    payload = config["config"]["w"]
    config["config"] |= {f"unread{i}": {**payload, "path_name": "none"} for i in range(100)}
    read = []
    original = Archive.read
    monkeypatch.setattr(Archive, "read", lambda self, name, *most: read.append(name) or original(self, name, *most))
    assert load(zipped({**files, CONFIG: json.dumps(config)}))[1].keys() == {"w"}
    assert read.count(WEIGHT) == 1


def test_tensors_of_one_storage_count_each(written, zipped):
    """Two that lie at other places of one storage."""
    x = written.input("x", (2, 3))
    sums = [
        written.call(
            "aten.add.Tensor", self=x, other=written.parameter(name, np.ones((2, 3), np.float32)), name=f"y{name}"
        )
        for name in "vw"
    ]
    with zipfile.ZipFile(io.BytesIO(written.data(*sums))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(files[CONFIG])
    path = config["config"]["w"]["path_name"] = config["config"]["v"]["path_name"]
    config["config"]["w"]["tensor_meta"]["storage_offset"] = {"as_int": 1}
    files |= {CONFIG: json.dumps(config), f"archive/data/weights/{path}": np.ones(7, np.float32).tobytes()}
    assert load(zipped(files))[1].keys() == {"v", "w"}
    source = Source(zipped(files))
    with pytest.raises(
        FrontendError, match=r"tensor 'w': expected a tensor of at most 16 bytes, found float32\[2, 3\]"
    ):
        load_torch(source, Limits(tensor_bytes=40))


def test_a_wrong_checksum_is_refused(files, zipped):
    data = bytearray(zipped(files))
    at = data.index(np.ones(6, np.float32).tobytes())
    data[at + 3] ^= 1
    with pytest.raises(FrontendError, match=r"weight_0' in the archive is damaged: its checksum differs"):
        load(bytes(data))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dtype": "F8_E4M3"}, "elements of type 'F8_E4M3' are not supported"),
        ({"shape": [7]}, "float32[7] does not take 24 bytes"),
        (
            {"shape": [0, 281474976710655, 281474976710655], "data_offsets": [0, 0]},
            "expected a tensor of at most 68719476736 bytes, found float32[0, 281474976710655, 281474976710655]",
        ),
        ({"shape": [-6]}, "expected a dtype and a shape, found 'F32' and [-6]"),
        ({"data_offsets": [4, 28]}, "float32[2, 3] does not take 20 bytes"),
        ({"data_offsets": [24, 0]}, "expected data_offsets of two numbers, found [24, 0]"),
        ({"data_offsets": [0, 12], "shape": [3]}, "expected 12 bytes of tensors, found 24"),
    ],
)
def test_damaged_safetensors_are_refused(files, zipped, safetensors, changed, message):
    weights = safetensors({"w": np.ones((2, 3), np.float32)}, **changed)
    with pytest.raises(FrontendError, match=re.escape(message)):
        load(zipped(files), weights)


def test_safetensors_with_a_long_description_or_none_are_refused(files, zipped):
    with pytest.raises(FrontendError, match="expected tensors in safetensors, found data of another kind"):
        load(zipped(files), b"\xff" * 8 + b"{}")
    with pytest.raises(
        FrontendError, match=re.escape("expected tensors of the program's names, such as ['w'], found none")
    ):
        load(zipped(files), b"\x02" + bytes(7) + b"{}")


def test_graphs_nested_too_deep_are_refused(zipped, files):
    program = json.loads(files[PROGRAM])
    inner = {"inputs": [], "outputs": [], "nodes": [], "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}}
    for _ in range(70):
        node = {"target": "torch.ops.higher_order.cond", "outputs": [], "metadata": {}}
        node["inputs"] = [{"name": "", "arg": {"as_graph": {"name": "g", "graph": inner}}, "kind": 1}]
        inner = {**inner, "nodes": [node]}
    program["graph_module"]["graph"]["nodes"] += inner["nodes"]
    with pytest.raises(FrontendError, match="expected graphs nested at most 64 deep"):
        load(zipped({**files, PROGRAM: json.dumps(program)}))
