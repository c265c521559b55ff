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
    with pytest.raises(FrontendError, match="x lies at 50 to 101 of 'w', which has 100 bytes"):
        beside.read("w", 50, 51, "x")
