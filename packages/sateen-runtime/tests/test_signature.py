import json
from typing import Any

import pytest

from sateen.runtime import ArtifactError, DeviceKind, DType, Metadata, Parameter, Signature

DATA = Parameter("data", DType.of("float32"), ("n", 3, 224), None, 64)
WEIGHT = Parameter("weight", DType.of("bfloat16x4"), (64,), ("step",), 16, DeviceKind.OPENCL)
RESULT = Parameter("out.0", DType.of("bool"), (), is_output=True)
METADATA = Metadata(
    "sateen-tensor-ir 0.1.0", "llvm -mcpu=x86-64", (Signature("f", (DATA, WEIGHT, RESULT)), Signature("g", ()))
)


def changed(path: list[str | int], value: object) -> str:
    """METADATA's text with the value at a path replaced."""
    root: Any = json.loads(METADATA.to_json())
    place = root
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(root)


def test_metadata_round_trips() -> None:
    assert Metadata.from_json(METADATA.to_json()) == METADATA
    assert Metadata.from_json(METADATA.to_json().encode()) == METADATA


def test_equal_metadata_has_equal_text() -> None:
    assert Metadata.from_json(METADATA.to_json()).to_json() == METADATA.to_json()


def test_the_text_shows_types_shapes_and_outputs() -> None:
    assert str(METADATA.functions[0]) == "f(data: float32[n, 3, 224], weight: bfloat16x4[64], out.0: bool[] out)"


FIRST: list[str | int] = ["functions", 0, "parameters", 0]


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        (["format"], 2, "expected metadata of format 1, found format 2: the library is newer than this sateen-runtime"),
        (["format"], 0, "expected the format of the metadata as an integer from 1 to 1, found 0"),
        (["format"], True, "expected the format of the metadata as an integer from 1 to 1, found True"),
        (["more"], 1, "expected the metadata of a library to have format, producer, target, functions; found format"),
        (["producer"], "", "expected the producer of a library as printable text of 1 to 512 characters, found ''"),
        (["target"], "llvm\n", r"expected the target of a library as printable text of 1 to 65536 characters"),
        (["functions"], {}, "expected the functions of a library as a list of at most 1048576, found dict"),
        (["functions", 1, "name"], "f", "expected each function of a library to have a name of its own"),
        (["functions", 0, "name"], "a b", "expected a C identifier as the name of a function, found 'a b'"),
        (["functions", 0, "parameters", 1, "name"], "data", "expected each parameter of f to have a name of its own"),
        ([*FIRST, "dtype"], "float31", "parameter 'data': expected an element type such as 'float32'"),
        ([*FIRST, "device"], "tpu", "parameter 'data': expected a kind of device"),
        ([*FIRST, "shape"], [-1], "expected the shape of parameter 'data' as an integer from 0 to"),
        ([*FIRST, "shape"], [1 << 63], "expected the shape of parameter 'data' as an integer from 0 to"),
        ([*FIRST, "shape"], ["n m"], "expected symbols in the shape of parameter 'data' to be names, found 'n m'"),
        ([*FIRST, "shape"], [None], "expected the shape of parameter 'data' as an integer"),
        (
            [*FIRST, "shape"],
            [1] * 65,
            "expected the shape of parameter 'data' as a list of at most 64, found 65 of them",
        ),
        ([*FIRST, "strides"], [1], "expected 3 strides of parameter 'data', found 1"),
        ([*FIRST, "alignment"], 48, "expected a power of two as the alignment of parameter 'data', found 48"),
        ([*FIRST, "alignment"], 0, "expected the alignment of parameter 'data' as an integer from 1 to"),
        ([*FIRST, "output"], 1, "expected true or false for whether parameter 'data' is an output, found 1"),
        (["functions", 0], [], "expected a signature to have name, parameters; found list"),
        (["functions", 0, "parameters", 0], {"name": "a"}, "expected a parameter to have name, dtype, .*; found name"),
    ],
)
def test_what_to_json_never_makes_is_refused(path: list[str | int], value: object, error: str) -> None:
    with pytest.raises(ArtifactError, match=error):
        Metadata.from_json(changed(path, value))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "expected the metadata of a library as JSON"),
        ("[" * 100_000, "expected the metadata of a library as JSON"),
        (b"\xff\xfe\xff", "expected the metadata of a library as JSON"),
        ("9" * 10_000, "expected the metadata of a library as JSON"),
        ('{"format": 1, "format": 1}', "a key stands twice in one object"),
        ('{"format": 1.0}', "expected integers only, found 1.0"),
        ('{"format": NaN}', "expected integers only, found NaN"),
        ("null", "expected the metadata of a library to have format, producer, target, functions; found NoneType"),
    ],
)
def test_what_is_no_metadata_is_refused(text: str | bytes, error: str) -> None:
    with pytest.raises(ArtifactError, match=error):
        Metadata.from_json(text)
