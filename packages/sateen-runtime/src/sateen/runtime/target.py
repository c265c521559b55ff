"""Targets as values: what code is made for, with a text form in the manner of LLVM's command line.

An example is `llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+neon`. A short name such as `raspberry-pi-4`
stands for such a text (target_names.py).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sateen.runtime.device import DeviceKind
from sateen.runtime.display import did_you_mean, shortened
from sateen.runtime.errors import TargetError
from sateen.runtime.processor import (
    PROCESSORS,
    architecture_of,
    host_architecture,
    host_features,
    implied_features,
    x86_level,
)
from sateen.runtime.target_names import TARGET_NAMES


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of target: the device of its arrays, the options that its text may have, the values of -mcpu if these are
    few; for kernels the suffix of their files, and the compiler that comes before the driver."""

    device: DeviceKind
    options: tuple[str, ...] = ()
    suffix: str = ""
    compiler: str = ""
    cpus: tuple[str, ...] = ()


_KINDS = {
    "llvm": _Kind(DeviceKind.CPU, ("mtriple", "mcpu", "mattr", "mtune", "mfloat-abi", "mabi")),
    "c": _Kind(DeviceKind.CPU, ("mtriple", "mcpu", "mattr")),
    "opencl": _Kind(DeviceKind.OPENCL, ("mcpu",), suffix=".cl", cpus=("processor",)),
    "cuda": _Kind(DeviceKind.CUDA, ("mcpu",), suffix=".ptx"),
    "cuda-c": _Kind(DeviceKind.CUDA, ("mcpu",), suffix=".cu", compiler="nvcc"),
    "rocm": _Kind(DeviceKind.ROCM, ("mcpu",), suffix=".o"),
    "metal": _Kind(DeviceKind.METAL, suffix=".metal"),
    "webgpu": _Kind(DeviceKind.WEBGPU, suffix=".wgsl"),
}
"""The kinds of targets by name."""

_VALUE = re.compile(r"[A-Za-z0-9_.+-]+")
_FEATURE = re.compile(r"[+-][A-Za-z0-9_.-]+")
_SYSTEMS = {"linux": "unknown-linux-gnu", "darwin": "apple-macosx", "win32": "pc-windows-msvc"}


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of code generator, and for processors the triple, the processor and its features as LLVM names them.

    `features` is sorted, each with its sign: ('+avx512vnni', '-fma'). They change what `cpu` implies. `options` holds
    the kind's other options, sorted pairs of name and value: (('mtune', 'znver4'),). An empty triple or cpu is left
    open. Raises TargetError for an unknown kind or option; the error suggests the closest known one.
    """

    kind: str
    triple: str = ""
    cpu: str = ""
    features: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise TargetError(_unknown("a kind of target", self.kind, _KINDS))
        options, cpus = _KINDS[self.kind].options, _KINDS[self.kind].cpus
        if self.cpu and cpus and self.cpu not in cpus:
            raise TargetError(_unknown(f"a value of -mcpu of target {self.kind}", self.cpu, cpus))
        given = {"mtriple": self.triple, "mcpu": self.cpu, "mattr": ",".join(self.features)}
        for name, value in [*((name, value) for name, value in given.items() if value), *self.options]:
            if name not in options:
                raise TargetError(_unknown(f"an option of target {self.kind}", f"-{name}", [f"-{o}" for o in options]))
            if name != "mattr" and not _VALUE.fullmatch(value):
                raise TargetError(f"expected a value of letters, digits and ._+- for -{name}, found {value!r}")
        for feature in self.features:
            if not _FEATURE.fullmatch(feature):
                raise TargetError(f"expected a feature with its sign such as '+avx2', found {feature!r}")
        names = [feature[1:] for feature in self.features]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise TargetError(f"expected each feature once, found {', '.join(repeated)} more often")
        object.__setattr__(self, "features", tuple(sorted(self.features, key=lambda feature: feature[1:])))
        object.__setattr__(self, "options", tuple(sorted(self.options)))

    @staticmethod
    def parse(text: str) -> Target:
        """The target of a text or a short name, without filling in what it leaves open. Raises TargetError.

        `str` gives the text again, never the name: what it means is then the same in every version.
        """
        kind, *words = text.split() or [""]
        if kind in TARGET_NAMES:
            return _named(kind, words)
        if kind not in _KINDS:
            raise TargetError(
                f"expected a kind of target, one of {', '.join(_KINDS)}, or the name of a machine such as "
                f"raspberry-pi-4; found {kind!r}{did_you_mean(kind, [*_KINDS, *TARGET_NAMES])}"
            )
        values: dict[str, str] = {}
        for word in words:
            name, equals, value = word.removeprefix("-").partition("=")
            if not word.startswith("-") or not equals:
                raise TargetError(f"expected an option of the form -name=value in target {text!r}, found {word!r}")
            if not value:
                raise TargetError(f"expected a value behind -{name}= in target {text!r}, found none")
            if name in values:
                raise TargetError(f"expected each option once in target {text!r}, found -{name} again")
            values[name] = value
        triple, cpu, features = values.pop("mtriple", ""), values.pop("mcpu", ""), values.pop("mattr", "")
        return Target(kind, triple, cpu, tuple(features.split(",")) if features else (), tuple(values.items()))

    @staticmethod
    def of(value: Target | str) -> Target:
        """A target, or the target of a text, with all open parts filled in. Raises TargetError.

        Without a triple the target is this machine; without cpu and features, too, it has all features of this machine.
        """
        target = Target.parse(value) if isinstance(value, str) else value
        if not isinstance(target, Target):
            raise TargetError(f"expected a target or its text, found {type(value).__name__}")
        if target.device_kind is not DeviceKind.CPU or target.triple:
            return target
        host = Target.host()
        if target.cpu or target.features:
            return replace(target, triple=host.triple)
        return replace(target, triple=host.triple, cpu=host.cpu, features=host.features)

    @staticmethod
    def host() -> Target:
        """This machine. On x86-64 the cpu is its level, with the features beyond it; on other architectures all
        features are listed."""
        architecture, features = host_architecture(), host_features()
        cpu = PROCESSORS[architecture].level(features) if architecture in PROCESSORS else ""
        features -= implied_features(cpu)
        triple = f"{architecture}-{_SYSTEMS.get(sys.platform, 'unknown-unknown')}"
        return Target("llvm", triple, cpu, tuple(f"+{feature}" for feature in features))

    def __str__(self) -> str:
        given = [("mtriple", self.triple), ("mcpu", self.cpu), ("mattr", ",".join(self.features)), *self.options]
        return " ".join([self.kind, *(f"-{name}={value}" for name, value in given if value)])

    def __repr__(self) -> str:
        return f"Target({shortened(str(self), 200)})"

    @property
    def device_kind(self) -> DeviceKind:
        """The device of this target's arrays."""
        return _KINDS[self.kind].device

    @property
    def kernel_suffix(self) -> str:
        """What the names of files with this target's kernels end in; empty for processors."""
        return _KINDS[self.kind].suffix

    @property
    def kernel_compiler(self) -> str:
        """The compiler that makes code of this target's kernels, which no driver takes as they are; empty where one
        does."""
        return _KINDS[self.kind].compiler

    @property
    def block_alignment(self) -> int:
        """The alignment of a network's parameters and workspace in bytes; C99 can't ask for more than its own types
        need."""
        return 8 if self.kind == "c" else 64

    @property
    def architecture(self) -> str:
        """The architecture that the triple names, such as 'x86_64', 'aarch64' or 'arm'; empty without a triple."""
        return architecture_of(self.triple)

    @property
    def enabled_features(self) -> frozenset[str]:
        """The features that code may use, without sign: the named ones, and those that a level of x86-64 implies.

        Only LLVM knows what another cpu implies, so code for one is checked by its named features only.
        """
        enabled = implied_features(self.cpu) | {feature[1:] for feature in self.features if feature[0] == "+"}
        return enabled - {feature[1:] for feature in self.features if feature[0] == "-"}

    @property
    def x86_level(self) -> int:
        """The level of x86-64, 1 to 4, that the enabled features reach; 0 for other architectures."""
        return x86_level(self.enabled_features) if self.architecture == "x86_64" else 0

    def has_feature(self, name: str) -> bool:
        """Whether code may use a feature, given by LLVM's name without sign."""
        return name in self.enabled_features

    def missing_features(self, target: Target) -> tuple[str, ...]:
        """The features that code for `target` needs and this target lacks; empty if its machine can run that code.

        If the architecture differs, only that is listed.
        """
        if target.architecture != self.architecture:
            return (target.architecture,)
        return tuple(sorted(target.enabled_features - self.enabled_features))


def generation_of(processor: str) -> int:
    """The number of a generation of CUDA, such as 90 of sm_90; 0 for the names of other processors."""
    found = re.fullmatch(r"sm_(\d+)[af]?", processor)
    return int(found[1]) if found else 0


def _named(name: str, words: Iterable[str]) -> Target:
    """The target that a name stands for. Raises TargetError if words follow the name."""
    text = TARGET_NAMES[name].text
    if more := " ".join(words):
        raise TargetError(f"expected nothing behind the name {name}, found {more!r}; options follow its text, {text!r}")
    return Target.parse(text)


def _unknown(what: str, found: str, known: Iterable[str]) -> str:
    names = list(known)
    return f"expected {what}, one of {', '.join(names) or 'none'}; found {found!r}{did_you_mean(found, names)}"
