"""Tensor data is taken only where it is exactly what its type and dimensions ask for."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends.core.beside import FilesBeside
from sateen.frontends.onnx.tensors import DTYPES, to_array
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

LIMIT = 1 << 20


def decoded(tensor: TensorProto, folder: Path | None = None) -> np.ndarray[Any, Any]:
    return to_array(tensor, FilesBeside.of(folder), "tensor", LIMIT)


def refusal(tensor: TensorProto, folder: Path | None = None) -> str:
    with pytest.raises(FrontendError) as caught:
        decoded(tensor, folder)
    return str(caught.value)


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("raw", [True, False])
def test_data_of_every_element_type_is_read(code: int, raw: bool) -> None:
    dtype = DType.of(DTYPES[TensorProto.DataType.ValueType(code)]).numpy
    expected = np.array([[0, 1, 2], [1, 0, 3]]).astype(dtype)
    if raw:
        tensor = numpy_helper.from_array(expected, "t")
    else:
        tensor = helper.make_tensor("t", code, expected.shape, expected.astype(np.float64).ravel())
    found = decoded(tensor)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


def test_raw_data_of_wrong_length_is_refused() -> None:
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[2, 3], raw_data=b"\0" * 20)
    assert refusal(tensor) == "tensor: [2, 3] takes 24 bytes, found 20"


def test_a_wrong_number_of_elements_is_refused() -> None:
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[2, 3], float_data=[1.0])
    assert refusal(tensor) == "tensor: [2, 3] takes 6 elements, found 1"


def test_data_in_two_places_is_refused() -> None:
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[1], raw_data=b"\0" * 4, float_data=[1.0])
    assert refusal(tensor) == "tensor: expected data in one place, found float_data and raw_data"
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[1], int32_data=[1], float_data=[1.0])
    assert refusal(tensor) == "tensor: expected data in one place, found float_data and int32_data"


def test_data_in_the_field_of_another_type_is_refused() -> None:
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[1], int32_data=[1])
    assert refusal(tensor) == "tensor: expected data of float32 in float_data, found int32_data"


def test_numbers_outside_their_type_are_refused() -> None:
    tensor = TensorProto(data_type=TensorProto.INT8, dims=[2], int32_data=[1, 300])
    assert refusal(tensor) == "tensor: expected numbers of int8, found 1 to 300"


def test_dimensions_that_overflow_are_refused() -> None:
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[2**40, 2**40])
    assert "is more than any memory holds" in refusal(tensor)
    assert "is more than any memory holds" in refusal(TensorProto(data_type=TensorProto.FLOAT, dims=[0, 2**62]))


def test_negative_dimensions_are_refused() -> None:
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[-1, 2])
    assert refusal(tensor) == "tensor: expected dimensions of zero or more, found [-1, 2]"


def test_constants_beyond_the_limit_are_refused() -> None:
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[LIMIT])
    assert refusal(tensor) == f"tensor: expected constants of at most {LIMIT} bytes, [{LIMIT}] takes {4 * LIMIT}"


@pytest.mark.parametrize(("code", "name"), [(TensorProto.STRING, "string"), (TensorProto.INT4, "int4"), (99, "99")])
def test_elements_of_other_types_are_refused(code: int, name: str) -> None:
    assert refusal(TensorProto(data_type=code, dims=[1])) == f"tensor: elements of type {name} are not supported"


def external(location: str, **fields: str) -> TensorProto:
    """float32[2] in a file."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **fields}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder, beside which lies a file that is not its own."""
    inside = tmp_path / "model"
    (inside / "deep").mkdir(parents=True)
    data = np.array([1, 2, 3], np.float32).tobytes()
    for path in (inside / "weights.bin", inside / "deep" / "weights.bin", tmp_path / "secret.bin"):
        path.write_bytes(data)
    return inside


def test_external_data_is_read_from_the_folder_of_the_model(folder: Path) -> None:
    np.testing.assert_array_equal(decoded(external("weights.bin", length="8"), folder), [1, 2])
    np.testing.assert_array_equal(decoded(external("deep/weights.bin", offset="4"), folder), [2, 3])


@pytest.mark.parametrize(
    "location",
    ["", "/etc/hostname", "../secret.bin", "deep/../../secret.bin", "./weights.bin", "deep//weights.bin",
     "C:weights.bin", "deep\\weights.bin", "weights.bin#1", "weights\0.bin", "..", "deep/.."],
)  # fmt: skip
def test_locations_that_are_not_plain_relative_paths_are_refused(folder: Path, location: str) -> None:
    assert "expected the plain relative path of a file beside the model" in refusal(external(location), folder)


def test_bools_are_0_or_1_and_stay_in_the_memory_of_their_file(folder: Path) -> None:
    (folder / "bools.bin").write_bytes(bytes([1, 0, 2]))
    tensor, beside = external("bools.bin"), FilesBeside(folder)
    tensor.data_type = TensorProto.BOOL
    one, other = (to_array(tensor, beside, "tensor", LIMIT) for _ in range(2))
    assert one.tolist() == [True, False]
    assert np.shares_memory(one, other)
    tensor.external_data.add(key="offset", value="1")
    with pytest.raises(FrontendError, match="tensor: expected bools of 0 or 1, found a byte of 2"):
        to_array(tensor, beside, "tensor", LIMIT)


def test_tensors_of_one_region_share_its_memory(folder: Path) -> None:
    beside = FilesBeside(folder)
    one, other = (to_array(external("weights.bin"), beside, "tensor", LIMIT) for _ in range(2))
    assert np.shares_memory(one, other)


def test_external_data_without_a_folder_is_refused() -> None:
    assert "needs a folder; give the model as a path" in refusal(external("weights.bin"))


def test_symbolic_links_are_refused_at_every_level(folder: Path) -> None:
    (folder / "link.bin").symlink_to(folder / "weights.bin")
    (folder / "out").symlink_to(folder.parent)
    assert "can't open 'link.bin' in the model's folder" in refusal(external("link.bin"), folder)
    assert "can't open 'out/secret.bin' in the model's folder" in refusal(external("out/secret.bin"), folder)


def test_hard_links_and_what_is_no_regular_file_are_refused(folder: Path) -> None:
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    os.mkfifo(folder / "pipe")
    for location in ("hard.bin", "pipe", "deep"):
        assert "to be a regular file without hard links" in refusal(external(location), folder)


def test_external_data_that_is_absent_is_refused(folder: Path) -> None:
    assert "can't open 'none.bin' in the model's folder: No such file" in refusal(external("none.bin"), folder)


def test_external_data_beyond_the_file_or_of_wrong_length_is_refused(folder: Path) -> None:
    assert "lies at 8 to 16 of 'weights.bin', which has 12 bytes" in refusal(
        external("weights.bin", offset="8"), folder
    )
    assert "has 4 bytes, but its element type and dimensions take 8" in refusal(
        external("weights.bin", length="4"), folder
    )
    for offset in ("-4", "1e3", "9" * 30, ""):
        assert "expected a number of bytes as offset" in refusal(external("weights.bin", offset=offset), folder)
