"""Steps of a network: their JSON, and what is refused. Their times are tested where networks are compiled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sateen.runtime import Artifact, ArtifactError, Step, read_artifact

STEP = Step("k0_conv", ("conv1", "relu1"), ("conv", "relu"), ("float32[1, 3]",), ("float32[1, 4]",), 24, 28)


def _artifact(*steps: Step) -> Artifact:
    return Artifact("test 1", "llvm", (), (), 0, b"library", b"", steps=steps)


def test_steps_are_kept_in_the_artifact() -> None:
    assert read_artifact(_artifact(STEP, replace(STEP, kernel="k1")).to_bytes()).steps == (
        STEP,
        replace(STEP, kernel="k1"),
    )


def test_an_artifact_without_timed_steps_says_nothing_of_them() -> None:
    assert read_artifact(_artifact().to_bytes()).steps == ()
    assert b'"steps"' not in _artifact().to_bytes()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"operations": -1}, r"expected the operations of step 'k0_conv' as an integer from 0 to \d+, found -1"),
        ({"bytes": True}, r"expected the bytes of step 'k0_conv' as an integer from 0 to \d+, found True"),
        ({"kernel": 7}, "expected the kernel of a step as printable text of 1 to 65536 characters, found 7"),
        ({"nodes": (7,)}, "expected the nodes of step 'k0_conv' as texts, found 7"),
        ({"inputs": "float32"}, "expected the inputs of step 'k0_conv' as a list of at most 1048576, found str"),
    ],
)
def test_malformed_steps_are_refused(change: dict[str, object], found: str) -> None:
    broken = replace(STEP, **change)  # type: ignore[arg-type]
    with pytest.raises(ArtifactError, match=f"artifact: {found}"):
        read_artifact(_artifact(broken).to_bytes())
