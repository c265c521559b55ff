"""Files beside a model: each region is in memory once, and regions overlap a few times at most."""

import gc

import numpy as np
import pytest

from sateen.frontends.core.beside import FilesBeside
from sateen.runtime.errors import FrontendError


@pytest.fixture
def beside(tmp_path):
    (tmp_path / "w").write_bytes(bytes(range(100)))
    return FilesBeside(tmp_path)


def test_a_region_is_in_memory_once_and_as_long_as_it_is_in_use(beside):
    one, other = (np.frombuffer(beside.read("w", 4, 8, "x"), np.int32) for _ in range(2))
    assert one.tobytes() == bytes(range(4, 12))
    assert np.shares_memory(one, other)
    assert beside.read("w", 0, 0, "x") == b""
    del one
    gc.collect()
    assert list(beside.held) == [("w", 4, 8)]
    del other
    gc.collect()
    assert not beside.held


def test_a_region_is_counted_once_and_overlapping_ones_each(beside):
    for _ in range(3):
        for offset in range(4):
            assert len(beside.read("w", offset, 96, "x")) == 96
    beside.read("w", 50, 16, "x")
    with pytest.raises(FrontendError) as error:
        beside.read("w", 50, 1, "tensor 't'")
    assert str(error.value) == (
        "tensor 't': the regions of 'w' that tensors take overlap; expected at most 4 times its 100 bytes in all"
    )


def test_a_region_lies_within_its_file(beside):
    for end in (101, 501):
        expected = f"x lies at 50 to {end} of 'w', which has 100 bytes: it belongs to another model, or is cut"
        with pytest.raises(FrontendError, match=expected):
            beside.read("w", 50, end - 50, "x")


def test_a_missing_file_is_to_be_copied(beside):
    with pytest.raises(
        FrontendError, match=r"can't open 'none' in the model's folder: .*; copy it there, it is a part"
    ):
        beside.read("none", 0, 8, "x")
