"""Actions of manifests: what is written is read again, and what a run could not rely on is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from sateen.runtime import Artifact, ArtifactError, Device, DType, Parameter, Step, read_artifact
from sateen.runtime.action_reader import actions_of
from sateen.runtime.actions import (
    MOST_NESTED,
    Action,
    Block,
    BlockCopy,
    Choice,
    Conditional,
    DeviceBlocks,
    HostCall,
    Repeat,
    action_to_json,
    launches_in,
    with_step,
)
from sateen.runtime.launches import BlockPlace, NetworkLaunch

OPENCL, CPU, WEBGPU = map(Device.of, ("opencl", "cpu", "webgpu"))
BLOCKS = [Block(OPENCL, 1024), Block(CPU, 1024), Block(WEBGPU, 64)]
LAUNCH = NetworkLaunch("k0", (1, 1, 1), (4, 1, 1), (BlockPlace(0, 0, 16),), (3,))
CONDITION, NUMBER, MOST = BlockPlace(1, 0, 1), BlockPlace(1, 8, 8), BlockPlace(1, 16, 8)
COPY = BlockCopy(BlockPlace(1, 64, 16), BlockPlace(0, 0, 16))
CALL = HostCall("k1", (BlockPlace(1, 64, 16),))
CHOICE = Choice(CONDITION, (LAUNCH, COPY), (CALL,))
REPEAT = Repeat(4, NUMBER, (CHOICE, LAUNCH), ((BlockPlace(0, 0, 16), BlockPlace(0, 64, 64)),))
LOOP = Conditional(CONDITION, MOST, NUMBER, (REPEAT,))
ALL = (LAUNCH, COPY, CALL, CHOICE, REPEAT, LOOP)


def read(actions: object, steps: int = 1) -> tuple[Action, ...]:
    return actions_of(json.loads(json.dumps(actions)), BLOCKS, steps)


def test_actions_are_read_as_they_were_written() -> None:
    assert read([action_to_json(action) for action in ALL]) == ALL
    assert list(launches_in(ALL)) == [LAUNCH] * 6


def test_an_action_moves_to_a_step_with_all_in_it() -> None:
    moved = with_step(LOOP, 3)
    assert {launch.step for launch in launches_in([moved])} == {3}
    assert read([action_to_json(moved)], 4) == (moved,)


def nested(times: int) -> dict[str, object]:
    action = action_to_json(LAUNCH)
    for _ in range(times):
        action = action_to_json(replace(REPEAT, body=())) | {"body": [action]}
    return action


def test_actions_are_nested_up_to_a_number() -> None:
    read([nested(MOST_NESTED)])
    with pytest.raises(ArtifactError, match="expected at most 32 lists of actions within each other, found more"):
        read([nested(MOST_NESTED + 1)])


def test_all_actions_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sateen.runtime.action_reader.MOST_LAUNCHES", 5)
    read([action_to_json(replace(REPEAT, body=(LAUNCH,) * 4))])
    with pytest.raises(ArtifactError, match="expected what is repeated as a list of at most 4, found 5 of them"):
        read([action_to_json(replace(REPEAT, body=(LAUNCH,) * 5))])


@pytest.mark.parametrize(
    ("action", "changes", "words"),
    [
        (COPY, {"to": [1, 64, 15]}, "expected a copy of as many bytes, found 16 to 15"),
        (COPY, {"copy": [0, 1020, 16]}, "found 16 bytes from 1020 on in block 0, given to a copy"),
        (COPY, {"to": [3, 0, 16]}, "found 16 bytes from 0 on in block 3"),
        (COPY, {"call": "k1"}, "expected an action of one kind, found call, copy"),
        (CALL, {"places": [[0, 0, 16]]}, r"expected places on the host, found one on opencl\(0\), given to function"),
        (CALL, {"call": 5}, "the name of a function"),
        (CHOICE, {"if": [0, 0, 1]}, r"expected places on the host, found one on opencl\(0\), given to what decides"),
        (
            CHOICE,
            {"if": [1, 0, 8]},
            "expected 1 bytes at a multiple of them for what decides or counts",
        ),
        (CHOICE, {"else": None}, "expected what a choice does otherwise as a list"),
        (
            REPEAT,
            {"number": [1, 4, 8]},
            "expected 8 bytes at a multiple of them for what decides or counts",
        ),
        (REPEAT, {"repeat": -1}, "the times of a repetition"),
        (REPEAT, {"repeat": 1 << 40}, "the times of a repetition"),
        (REPEAT, {"repeat": 5}, "expected 5 rows of 16 bytes, found place for 64 bytes"),
        (REPEAT, {"rows": [[[0, 0, 16]]]}, "expected a row as its place and that of all rows"),
        (REPEAT, {"step": 1}, "expected all actions of step 1 to say so, found step 0"),
        (LOOP, {"most": [0, 16, 8]}, r"found one on opencl\(0\), given to what decides"),
        (LOOP, {"body": [{}]}, "expected a launch to have kernel, grid"),
        (LAUNCH, {"places": [[1, 0, 16]]}, r"expected places on one device that is no processor, found cpu\(0\)"),
        (LAUNCH, {"places": [[0, 0, 16], [2, 0, 16]]}, r"one device that is no processor, found opencl\(0\), webgpu"),
        (LAUNCH, {"places": []}, "found no places, given to kernel 'k0'"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, (dict, str)) else "",
)
def test_what_a_run_can_not_rely_on_is_refused(action: Action, changes: dict[str, object], words: str) -> None:
    with pytest.raises(ArtifactError, match=words):
        read([action_to_json(action) | changes], 2)


def test_steps_are_in_order() -> None:
    one, two = (action_to_json(with_step(COPY, step)) for step in (1, 0))
    with pytest.raises(ArtifactError, match="expected launches in the order of their 2 steps"):
        read([one, two], 2)


FLOAT32 = DType.of("float32")
GIVEN, RESULT = (Parameter(name, FLOAT32, (4,), None, 4, is_output=name == "y") for name in "xy")
ARTIFACT = Artifact(
    "test 1", "opencl", (GIVEN,), (RESULT,),
    64, b"", bytes(512), steps=(Step("k0", ("k0",), (), (), (), 0, 0),), kernels=b"text",
    actions=(BlockCopy(BlockPlace(1, 0, 16), BlockPlace(0, 0, 16)),),
    placed=(DeviceBlocks(OPENCL, (0,), 256, 64), DeviceBlocks(CPU, (1,), 256, 128)),
)  # fmt: skip


def test_an_artifact_tells_what_each_device_has() -> None:
    again = read_artifact(ARTIFACT.to_bytes())
    assert again.placed == ARTIFACT.placed
    assert again.actions == ARTIFACT.actions
    assert [(str(b.device), b.size) for b in again.blocks] == [
        ("opencl(0)", 16), ("cpu(0)", 16), ("opencl(0)", 256), ("opencl(0)", 64), ("cpu(0)", 256), ("cpu(0)", 128),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p[0].update(arrays=[0, 1]), r"expected each of 2 inputs and outputs on one device, found those of"),
        (lambda p: p[1].update(arrays=[]), r"found those of \[0\]"),
        (lambda p: p[1].update(device="opencl(0)"), r"expected each device once, found opencl\(0\), opencl\(0\)"),
        (lambda p: p[1].update(device="gpu"), "expected a kind of device"),
        (lambda p: p[1].update(parameters=257), "expected parameters of all devices in 512 bytes, found 513"),
        (lambda p: p[1].update(workspace=-1), r"the bytes of the workspace on cpu\(0\)"),
        (lambda p: p.append(5), "expected the memory of a device to have device, arrays, parameters, workspace"),
    ],
)
def test_devices_that_do_not_fit_the_network_are_refused(change: Callable[[Any], None], words: str) -> None:
    class Damaged(Artifact):
        def fields(self) -> dict[str, object]:
            fields: Any = json.loads(json.dumps(super().fields()))
            change(fields["placed"])
            return dict(fields)

    damaged = Damaged(**{f.name: getattr(ARTIFACT, f.name) for f in fields(Artifact) if f.init})
    with pytest.raises(ArtifactError, match=words):
        read_artifact(damaged.to_bytes())
