"""What a run gives: a dict of arrays that takes positions as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.runtime import ArgumentError, DType, NDArray, Outputs, array, opencl


@pytest.fixture
def outputs() -> Outputs:
    return Outputs({"boxes": array(np.zeros((2, 4), np.float32)), "scores": array([0.5, 0.25])})


def test_arrays_are_reached_by_name_and_by_position(outputs: Outputs) -> None:
    assert outputs["scores"] is outputs[1] is outputs[-1] is outputs[np.int64(1)]
    assert outputs["boxes"] is outputs[0] is outputs[-2]


def test_it_is_a_dict_of_arrays_by_name(outputs: Outputs) -> None:
    assert isinstance(outputs, dict)
    assert len(outputs) == 2
    assert list(outputs) == list(outputs.keys()) == ["boxes", "scores"]
    assert list(dict(outputs).values()) == list(outputs.values())
    assert [name for name, _ in outputs.items()] == ["boxes", "scores"]
    assert ("scores" in outputs, "labels" in outputs, 0 in outputs) == (True, False, False)
    assert outputs.get("labels") is None


def test_all_arrays_become_arrays_of_numpy_that_share_their_memory(outputs: Outputs) -> None:
    arrays = outputs.numpy()
    assert [*arrays] == ["boxes", "scores"]
    assert np.shares_memory(arrays["scores"], outputs["scores"].numpy())


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("labels", r"expected outputs boxes: float32\[2, 4\], scores: float64\[2\]; found 'labels'"),
        (2, "expected an output from 0 to 1, found 2"),
        (-3, "expected an output from 0 to 1, found -3"),
        (0.0, "expected the name or the position of an output, found 0.0"),
        (None, "expected the name or the position of an output, found None"),
    ],
)
def test_what_is_no_output_is_refused(outputs: Outputs, key: Any, error: str) -> None:
    with pytest.raises(ArgumentError, match=error):
        outputs[key]


def test_its_text_names_types_and_of_many_outputs_the_first(outputs: Outputs) -> None:
    assert repr(outputs) == "Outputs(boxes: float32[2, 4], scores: float64[2])"
    many = Outputs({f"layer{i}": array([0.0]) for i in range(100)})
    assert repr(many).endswith("layer3: float64[1], … 96 more)")


def test_its_table_shows_first_elements_and_escapes_names() -> None:
    elsewhere = NDArray(4096, (3,), (1,), DType.of("float32"), opencl(), owner=None, read_only=False)
    table = Outputs({"<b>&\n": array(np.arange(8)), "far": elsewhere})._repr_html_()
    assert "<td>&lt;b&gt;&amp;\\n</td><td>int64[8]</td><td>0, 1, 2, 3, 4, 5, …</td>" in table
    assert "<td>far</td><td>float32[3]</td><td>on opencl(0)</td>" in table
    assert Outputs({"flag": array([True, False])})._repr_html_().count("<td>True, False</td>") == 1
