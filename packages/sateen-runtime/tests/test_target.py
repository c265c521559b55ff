import pytest

from sateen.runtime import DeviceKind, Target, TargetError
from sateen.runtime.target_names import TARGET_NAMES

TEXTS = [
    "llvm",
    "c",
    "opencl",
    "cuda -mcpu=sm_90",
    "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+neon",
    "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3 -mattr=+avx512f,-fma -mtune=znver4",
    "llvm -mtriple=armv7-linux-gnueabihf -mattr=+neon -mfloat-abi=hard",
]


KINDS = (
    "expected a kind of target, one of llvm, c, opencl, cuda, cuda-c, rocm, metal, webgpu, or the name of a machine "
    "such as raspberry-pi-4"
)


@pytest.mark.parametrize("text", TEXTS)
def test_text_round_trips(text: str) -> None:
    assert str(Target.parse(text)) == text
    assert Target.parse(str(Target.parse(text))) == Target.parse(text)


@pytest.mark.parametrize("name", TARGET_NAMES.values(), ids=lambda name: name.name)
def test_a_name_gives_the_target_of_its_text_and_prints_as_that(name) -> None:
    assert Target.of(name.name) == Target.parse(name.text)
    assert str(Target.of(name.name)) == name.text


def test_equal_targets_have_one_text_whatever_the_order() -> None:
    one = Target.parse("llvm -mtune=znver4 -mattr=+fma,+avx2 -mcpu=x86-64-v2")
    assert str(one) == "llvm -mcpu=x86-64-v2 -mattr=+avx2,+fma -mtune=znver4"
    assert hash(one) == hash(Target.parse(str(one)))


def test_a_level_of_x86_implies_its_features() -> None:
    target = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -mattr=+avx512f,-fma")
    assert target.has_feature("avx2")
    assert target.has_feature("avx512f")
    assert not target.has_feature("fma")
    assert target.x86_level == 2
    assert Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4").x86_level == 4
    assert Target.parse("llvm -mtriple=aarch64-linux-gnu").x86_level == 0


def test_arrays_live_on_the_device_of_the_kind() -> None:
    assert Target("opencl").device_kind is DeviceKind.OPENCL
    assert Target("c").device_kind is DeviceKind.CPU


def test_what_a_text_leaves_open_is_this_machines() -> None:
    host = Target.host()
    assert Target.of("llvm") == host
    assert Target.of("llvm -mcpu=x86-64-v2") == Target("llvm", host.triple, "x86-64-v2")
    assert Target.of("c").triple == host.triple
    assert Target.of("opencl") == Target("opencl")
    complete = Target.parse(TEXTS[4])
    assert Target.of(complete) is complete


def test_this_machine_runs_what_is_made_for_it() -> None:
    host = Target.host()
    assert host.missing_features(Target.of("llvm")) == ()
    assert Target.parse(str(host)) == host


def test_missing_features_are_named() -> None:
    host = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2 -mattr=+avx")
    assert host.missing_features(Target.parse("llvm -mtriple=x86_64-linux-gnu -mattr=+avx,+avx2,+fma")) == (
        "avx2",
        "fma",
    )
    assert host.missing_features(Target.parse("llvm -mtriple=amd64-linux-gnu -mcpu=x86-64")) == ()
    assert host.missing_features(Target.parse("llvm -mtriple=aarch64-linux-gnu -mattr=+neon")) == ("aarch64",)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("lvm", f"{KINDS}; found 'lvm'; did you mean llvm?"),
        ("", f"{KINDS}; found ''"),
        ("raspbery-pi-4", f"{KINDS}; found 'raspbery-pi-4'; did you mean raspberry-pi-4 or raspberry-pi-5?"),
        (
            "raspberry-pi-4 -mattr=+crc",
            "expected nothing behind the name raspberry-pi-4, found '-mattr=+crc'; options follow its text, 'llvm -mtr",
        ),
        ("llvm -mtripel=x", "found '-mtripel'; did you mean -mtriple"),
        ("opencl -mcpu=a", "expected a value of -mcpu of target opencl, one of processor; found 'a'"),
        ("llvm mcpu=a", "expected an option of the form -name=value in target 'llvm mcpu=a', found 'mcpu=a'"),
        ("llvm -mcpu", "expected an option of the form -name=value in target 'llvm -mcpu', found '-mcpu'"),
        ("llvm -mcpu=", "expected a value behind -mcpu= in target 'llvm -mcpu=', found none"),
        ("llvm -mcpu=a -mcpu=b", "expected each option once in target 'llvm -mcpu=a -mcpu=b', found -mcpu again"),
        ("llvm -mattr=avx2", "expected a feature with its sign such as '+avx2', found 'avx2'"),
        ("llvm -mattr=+avx2,-avx2", "expected each feature once, found avx2 more often"),
        ("llvm -mcpu=a;b", "expected a value of letters, digits and ._+- for -mcpu, found 'a;b'"),
    ],
)
def test_a_wrong_text_is_refused(text: str, error: str) -> None:
    with pytest.raises(TargetError) as raised:
        Target.parse(text)
    assert error in str(raised.value)


def test_what_is_no_target_is_refused() -> None:
    with pytest.raises(TargetError, match="expected a target or its text, found NoneType"):
        Target.of(None)  # type: ignore[arg-type]
