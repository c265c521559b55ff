"""Texts that stay short, and tables that hold no markup of a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sateen import runtime
from sateen.runtime import LocalSession, Signature, Target
from sateen.runtime.display import counted, did_you_mean, html_table, named, shortened, size

KEPT = Path(__file__).parent / "running_sum.sateen"


def test_of_many_the_first_are_named() -> None:
    assert named([]) == "nothing"
    assert named([1, 2]) == "1, 2"
    assert named(range(100)) == "0, 1, 2, 3, … 96 more"


def test_what_is_counted_is_one_or_many() -> None:
    assert [counted(n, "node") for n in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]


def test_a_long_name_loses_its_middle_and_a_control_character_is_escaped() -> None:
    assert shortened("a\nb") == "a\\nb"
    assert shortened("a" * 50 + "b" * 50) == "a" * 40 + "…" + "b" * 20


def test_a_name_that_does_not_exist_is_told_with_the_closest_that_do() -> None:
    assert did_you_mean("dta", ["data", "mask", "date"]) == "; did you mean data or date?"
    assert did_you_mean("x", ["data", "mask"]) == ""
    assert did_you_mean("DATA", ["data", "mask"]) == "; did you mean data?"
    assert did_you_mean("A1", ["A", "a"]) == "; did you mean A or a?"
    assert did_you_mean("da\nt", ["da\nta"]) == "; did you mean da\\nta?"


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 KB"), (4_904_000, "4.9 MB")])
def test_bytes_are_told_in_units(count: int, text: str) -> None:
    assert size(count) == text


def test_a_table_escapes_what_models_name() -> None:
    table = html_table("<script>", {"<i>": "&"}, ("a", "<b>", "c"), [('"', "</table>", "\x1b")])
    assert table == (
        "<table><caption>&lt;script&gt;</caption>\n"
        '<tr><th>&lt;i&gt;</th><td colspan="2">&amp;</td></tr>\n'
        "<tr><th>a</th><th>&lt;b&gt;</th><th>c</th></tr>\n"
        "<tr><td>&quot;</td><td>&lt;/table&gt;</td><td>\\x1b</td></tr>\n"
        "</table>"
    )


def test_a_table_shows_its_first_rows() -> None:
    table = html_table("many", {}, ("", "name"), [(str(i), "x") for i in range(1000)])
    assert table.count("<tr>") == 62
    assert '<td colspan="2">… 940 more</td>' in table


def test_an_artifact_tells_types_machine_and_sizes_on_a_line() -> None:
    artifact = runtime.read_artifact(KEPT)
    assert repr(artifact) == (
        "Artifact(x: float32[2, 3], total: float32[2, 3] -> y: float32[2, 3], next_total: float32[2, 3]; "
        f"x86_64-unknown-linux-gnu x86-64-v2, code {size(len(artifact.library))}, "
        f"parameters {size(len(artifact.parameters))} as kernels read them, workspace {size(artifact.workspace_bytes)})"
    )
    many = replace(artifact, inputs=artifact.inputs * 500, library=bytes(10**6))
    assert len(repr(many)) < 300


def test_an_artifact_shows_itself_as_a_table() -> None:
    table = runtime.read_artifact(KEPT)._repr_html_()
    assert "<tr><td>input</td><td>x</td><td>float32[2, 3]</td></tr>" in table
    assert "<tr><td>output</td><td>next_total</td><td>float32[2, 3]</td></tr>" in table


@pytest.mark.usefixtures("runs_kept")
def test_a_model_tells_whether_it_is_open() -> None:
    model = runtime.load(KEPT)
    assert repr(model).startswith("Model(x: float32[2, 3], total: float32[2, 3] -> y: float32[2, 3], next_total: ")
    assert "; on cpu(0), workspace " in repr(model)
    assert '<th>on</th><td colspan="2">cpu(0)</td>' in model._repr_html_()
    model.close()
    assert repr(model).endswith("; closed)")


def test_signatures_and_targets_are_short_whatever_they_hold() -> None:
    parameters = runtime.read_artifact(KEPT).inputs * 100
    assert repr(Signature("run", parameters)).endswith("total: float32[2, 3], … 196 more))")
    assert repr(Target.parse("llvm -mcpu=x86-64-v3")) == "Target(llvm -mcpu=x86-64-v3)"
    features = tuple(f"+feature{i}" for i in range(100))
    assert len(repr(Target("llvm", features=features))) < 220


def test_a_session_tells_whether_it_has_ended() -> None:
    with LocalSession() as session:
        assert repr(session).endswith(", open)")
    assert repr(session).endswith(", ended: it was closed)")
