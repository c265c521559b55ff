import sys

import pytest

from sateen.runtime.processor import features_from_cpuinfo, host_architecture, host_features
from sateen.runtime.tile_registers import features_with_tiles, kept_states

SAPPHIRE_RAPIDS = "flags\t\t: avx512f avx512_bf16 amx_bf16 amx_tile amx_int8\n"
WITHOUT, WITH = 0x2E7, 0x602E7


def test_a_system_that_keeps_tiles_gives_all_features() -> None:
    features = features_with_tiles(features_from_cpuinfo("x86_64", SAPPHIRE_RAPIDS), WITH)
    assert features == {"avx512f", "avx512bf16", "amx-bf16", "amx-int8", "amx-tile"}


@pytest.mark.parametrize("states", [0, WITHOUT, 0x202E7])
def test_tiles_that_a_system_does_not_keep_are_none(states: int) -> None:
    features = features_with_tiles(features_from_cpuinfo("x86_64", SAPPHIRE_RAPIDS), states)
    assert features == {"avx512f", "avx512bf16"}


@pytest.mark.skipif(
    (sys.platform, host_architecture()) != ("linux", "x86_64"), reason="the question is one of Linux on x86-64"
)
def test_the_features_here_are_those_that_the_system_gives() -> None:
    assert features_with_tiles(host_features(), kept_states()) == host_features()
