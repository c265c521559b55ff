import pytest

from sateen.runtime import ArgumentError, Device, DeviceKind, cpu, cuda, metal, opencl, rocm, vulkan


@pytest.mark.parametrize("device", [cpu(), cuda(1), opencl(), vulkan(2), metal(), rocm(3)])
def test_text_round_trips(device: Device) -> None:
    assert Device.of(str(device)) == device
    assert Device.of(device) is device


def test_kinds_have_the_codes_of_dlpack() -> None:
    assert {str(kind): int(kind) for kind in DeviceKind} == {
        "cpu": 1,
        "cuda": 2,
        "opencl": 4,
        "vulkan": 7,
        "metal": 8,
        "rocm": 10,
        "webgpu": 15,
    }


def test_a_device_without_index_is_the_first() -> None:
    assert Device.of("opencl") == opencl(0)


def test_a_text_that_is_no_device_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"expected a device such as 'cpu' or 'opencl\(1\)', found 'cpu:0'"):
        Device.of("cpu:0")


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(ArgumentError, match=r"expected a kind of device, one of cpu, cuda, opencl, .*; found 'tpu'"):
        Device.of("tpu(0)")


def test_a_negative_index_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected a device index of 0 or more, found -1"):
        cuda(-1)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"expected a device such as 'cpu' or 'opencl\(1\)', found 3"):
        Device.of(3)  # type: ignore[arg-type]
