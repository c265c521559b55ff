from __future__ import annotations

import json
import subprocess
from html.parser import HTMLParser

import onnx
import pytest

from sateen.frontends.command import inspection
from sateen.tensor_ir.codegen import CompilerPool


def test_an_artifact_tells_its_interface_and_sizes(sateen, artifact):
    ran = sateen("inspect", artifact)
    assert ran.status == 0
    assert "  runs here   yes\n" in ran.out
    assert "  input       data: float32[1, 3]\n" in ran.out
    assert "  output      out: float32[1, 4]\n" in ran.out
    assert "  steps       not timed\n" in ran.out


def test_json_of_an_artifact(sateen, artifact):
    summary = json.loads(sateen("inspect", artifact, "--json").out)
    assert summary["runs_here"] is True
    assert [p["name"] for p in summary["inputs"] + summary["outputs"]] == ["data", "out"]


def test_a_model_is_shown_as_the_steps_that_it_becomes(sateen, dense):
    ran = sateen("inspect", dense)
    assert ran.status == 0
    assert ran.out.startswith("dense.onnx: 3 nodes in 1 step of 1 kernel\n")
    assert "  input       data: float32[1, 3]\n" in ran.out
    step = ran.out.splitlines()[-1]
    assert "k0_mat_mul" in step
    assert "output of the network" in step
    assert step.endswith("product + sum + relu (mat_mul, add, relu)")


def test_kernels_that_are_known_take_no_process(sateen, dense, monkeypatch):
    first = sateen("inspect", dense)
    monkeypatch.setattr(inspection, "CompilerPool", CompilerPool)
    monkeypatch.setattr(subprocess, "Popen", None)
    assert sateen("inspect", dense) == first


def test_a_model_with_open_dimensions_is_shown_by_the_types_of_its_results(sateen, open_batch):
    ran = sateen("inspect", open_batch)
    assert ran.status == 1
    assert ran.out.splitlines() == [
        "open.onnx: 1 operator, with batch open",
        "  input       data: float32[?batch, 3]",
        "  output      out: float32[?batch, 3]",
        "",
        "operator  result              nodes",
        "relu      float32[?batch, 3]  out",
    ]
    assert ran.err.endswith(f"; say what they are, such as\n  sateen inspect {open_batch} --dim batch=1\n")
    assert not sateen("inspect", open_batch, "--json").out


def test_a_step_tells_why_it_ends(sateen, two_products):
    (first, second) = json.loads(sateen("inspect", two_products, "--json").out)["steps"]
    assert first["nodes"] == ["first", "rectify"]
    assert first["ends_because"] == "mat_mul begins a kernel"
    assert first["operations"] == 2 * 2 * 3 * 4
    assert first["code_bytes"] > 0
    assert second["ends_because"] == "output of the network"


def test_passes_are_shown_with_the_nodes_that_they_leave(sateen, dense):
    ran = sateen("inspect", dense, "--passes")
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[1] == ["(imported)", "3"]
    assert lines[-1][0] == "fuse"
    assert lines[-1][2:] == ["1"]
    assert any(line[0] == "fold_constants" and line[2:] == ["3", "no", "change"] for line in lines)


def test_the_graph_after_each_pass_that_changes_it_is_written(sateen, dense, tmp_path):
    assert sateen("inspect", dense, "--dump", "graphs").status == 0
    files = sorted(path.name for path in (tmp_path / "graphs").iterdir())
    assert files[0] == "00_imported.txt"
    assert files[-1].endswith("_fuse.txt")
    assert not any("fold_constants" in name for name in files)
    assert " = fused(" in (tmp_path / "graphs" / files[-1]).read_text()


@pytest.mark.parametrize(
    ("what", "begins"), [("graph", "graph mat_mul\n"), ("ir", "function k0_mat_mul("), ("asm", "\t")]
)
def test_a_kernel_is_shown_as_nodes_loops_or_assembly(sateen, dense, what, begins):
    ran = sateen("inspect", dense, "--kernel", "k0_mat_mul", "--show", what)
    assert ran.status == 0
    assert ran.out.startswith(begins)


@pytest.mark.parametrize(
    ("target", "begins"),
    [("metal", "#include <metal_stdlib>"), ("cuda-c", 'extern "C" __global__'), ("cuda", "//"), ("c", "#include")],
)
def test_a_kernel_of_a_device_or_of_c_is_shown_as_its_text(sateen, dense, target, begins):
    ran = sateen("inspect", dense, "--target", target, "--kernel", "k0_mat_mul", "--show", "asm")
    assert (ran.status, ran.err) == (0, "")
    assert begins in ran.out
    assert "k0_mat_mul" in ran.out


def test_a_model_for_a_device_has_its_steps_and_bytes(sateen, dense):
    here, there = (json.loads(sateen("inspect", dense, "--json", *options).out) for options in ([], ["--target=metal"]))
    assert there["code_bytes"]["k0_mat_mul"] > 100
    assert there["parameter_bytes"] > 0
    assert [step["nodes"] for step in there["steps"]] == [step["nodes"] for step in here["steps"]]


@pytest.mark.parametrize(
    ("target", "answer"),
    [("metal", "no: metal(0): expected a device of kind "), ("cuda-c", "no: text for nvcc, which no driver takes\n")],
)
def test_an_artifact_of_a_device_has_launches_and_says_which_driver_is_missing(sateen, dense, target, answer):
    sateen("compile", dense, "--target", target, "-o", "there.sateen")
    ran = sateen("inspect", "there.sateen")
    assert f"runs here   {answer}" in ran.out
    assert "\n  launches    1\n" in ran.out
    summary = json.loads(sateen("inspect", "there.sateen", "--json").out)
    assert (summary["runs_here"], len(summary["launches"])) == (False, 1)


def test_names_that_can_not_be_printed_are_escaped(sateen, dense):
    model = onnx.load(dense)
    model.graph.node[0].name = "product\n\x1b[2J"
    onnx.save(model, dense)
    ran = sateen("inspect", dense)
    assert "product\\n\\x1b[2J" in ran.out
    assert all(c.isprintable() or c == "\n" for c in ran.out)


def test_an_unknown_kernel_is_refused_with_those_that_are_there(sateen, dense):
    ran = sateen("inspect", dense, "--kernel", "k7")
    assert ran.status == 1
    assert ran.err == "ArgumentError: --kernel k7: expected one of k0_mat_mul\n"
    assert "; did you mean k0_mat_mul?" in sateen("inspect", dense, "--kernel", "k0_matmul").err


def test_json_of_a_model_counts_operators_and_bytes(sateen, dense):
    summary = json.loads(sateen("inspect", dense, "--json").out)
    assert summary["imported_operators"] == {"mat_mul": 1, "add": 1, "relu": 1}
    assert summary["operations"] == 2 * 3 * 4
    assert list(summary["code_bytes"]) == ["k0_mat_mul"]
    assert summary["passes"][-1]["name"] == "fuse"


def test_the_code_of_a_target_in_another_format_has_no_known_size(sateen, dense):
    ran = sateen("inspect", dense, "--json", "--target", "llvm -mtriple=wasm32-unknown-unknown")
    assert json.loads(ran.out)["code_bytes"] == {"k0_mat_mul": None}


@pytest.mark.parametrize("option", [["--passes"], ["--candidates"], ["--dump", "graphs"], ["--kernel", "k0"]])
def test_what_is_for_models_is_refused_for_an_artifact(sateen, artifact, option):
    ran = sateen("inspect", artifact, *option)
    assert ran.status == 2
    assert f"{option[0]}: expected a model, found {artifact}, which is compiled already" in ran.err


def test_what_to_show_needs_a_kernel(sateen, dense):
    ran = sateen("inspect", dense, "--show", "asm")
    assert ran.status == 2
    assert "--show is for --kernel NAME" in ran.err


def test_one_view_is_shown_at_a_time(sateen, dense):
    ran = sateen("inspect", dense, "--passes", "--json")
    assert ran.status == 2
    assert "--passes and --json: expected one at a time" in ran.err
    ran = sateen("inspect", dense, "--html", "a.html", "--svg", "a.svg")
    assert ran.status == 2
    assert "--svg and --html: expected one at a time" in ran.err


class Page(HTMLParser):
    """The tags of a page that stands alone, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_model_becomes_a_page_with_summary_drawing_and_steps(sateen, two_products, tmp_path):
    assert sateen("inspect", two_products, "--html", "page.html").status == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "data: float32[2, 3]" in page.texts
    assert {"svg", "table", "dl"} <= {*page.tags}
    assert page.texts.count("k0_mat_mul") == 2  # in the drawing and in the table
    assert "mat_mul begins a kernel" in page.texts
    assert not {"script", "img", "link"} & {*page.tags}
    assert not {"src", "href"} & page.attributes.keys()


def test_an_artifact_becomes_a_page_as_far_as_its_manifest_tells(sateen, artifact, dense, tmp_path):
    assert sateen("inspect", artifact, "--html", "page.html").status == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "out: float32[1, 4]" in page.texts
    assert not {"svg", "table"} & {*page.tags}
    assert sateen("compile", dense, "-o", "timed.sateen", "--timed").status == 0
    assert sateen("inspect", "timed.sateen", "--html", "page.html").status == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "table" in page.tags
    assert "product + sum + relu (mat_mul, add, relu)" in page.texts


def test_a_model_is_drawn(sateen, two_products, tmp_path):
    assert sateen("inspect", two_products, "--svg", "net.svg").status == 0
    drawing = (tmp_path / "net.svg").read_text(encoding="utf-8")
    assert drawing.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert ">3 operators in 2 kernels<" in drawing


def test_names_of_a_model_are_no_markup_of_its_page(sateen, dense, tmp_path):
    model = onnx.load(dense)
    model.graph.name = "</svg><script>"
    model.graph.node[2].name = "<img src=x>\x1b"
    model.graph.node[2].output[0] = model.graph.output[0].name = "</title><script>alert()</script>"
    onnx.save(model, tmp_path / "<i>.onnx")
    assert sateen("inspect", tmp_path / "<i>.onnx", "--html", "page.html").status == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert not {"script", "img", "i"} & {*page.tags}
    assert "</title><script>alert()</script>" in page.texts


@pytest.mark.parametrize("option", ["--html", "--svg"])
def test_a_page_does_not_replace_its_model(sateen, dense, option):
    ran = sateen("inspect", dense, option, dense)
    assert ran.status == 2
    assert f"expected another file than {dense}, which is read" in ran.err
    assert sateen("check", dense).status == 0
