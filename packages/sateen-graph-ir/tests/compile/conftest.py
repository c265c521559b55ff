"""Devices of this machine that run networks."""

import pytest

from sateen import runtime
from sateen.runtime import Device, DeviceError


@pytest.fixture
def opencl() -> Device:
    return _opened("opencl")


@pytest.fixture
def webgpu() -> Device:
    return _opened("webgpu")


@pytest.fixture(params=["opencl", "webgpu"])
def device(request: pytest.FixtureRequest) -> Device:
    return _opened(request.param)


def _opened(kind: str) -> Device:
    """The first device of a kind; skipped without one."""
    device = Device.of(kind)
    try:
        runtime.open_device(device)
    except DeviceError as error:
        pytest.skip(str(error))
    return device
