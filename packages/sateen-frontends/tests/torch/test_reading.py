"""Programs keep their names; files are known by their content."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sateen.frontends import check, from_torch, load
from sateen.frontends.core.packages import is_installed
from sateen.frontends.core.refusals import BRING, DATA_DECIDES
from sateen.frontends.core.source import Source
from sateen.frontends.readers import READERS, open_model
from sateen.frontends.torch.converters import CONVERTERS
from sateen.frontends.torch.refusals import CUT
from sateen.graph_ir.judge import interpret
from sateen.runtime import ArgumentError
from sateen.runtime.errors import FrontendError


@pytest.fixture
def scores(written):
    x, weight = written.input("x", (2, 3)), written.parameter("fc.weight", np.ones((4, 3), np.float32))
    return written.call("aten.linear.default", input=x, weight=weight, name="scores")


def test_names_are_those_of_inputs_outputs_and_the_state(written, scores):
    graph, parameters = load(written.data(scores))
    assert [v.name for v in graph.inputs] == ["x"]
    assert [v.name for v in graph.outputs] == ["scores"]
    assert list(parameters) == ["fc.weight"]
    spans = {span.node: span.operator for node in graph.nodes for span in node.spans}
    assert spans == {"scores": "linear"}


def test_a_program_is_known_by_its_first_file(written, scores):
    data = written.data(scores)
    known = [reader.described for reader in READERS if reader.recognises(Source(data))]
    assert known == ["a program of torch.export"]
    with pytest.raises(FrontendError, match=r"expected a whole zip archive, found a damaged one"):
        load(data[: len(data) // 2])


def test_open_dimensions_are_the_program_s_symbols(written):
    x = written.input("x", ("Symbol('s7', positive=True, integer=True)", 3))
    rows = written.number("aten.sym_size.int", self=x, dim=0)
    twice = written.number("_operator.mul", a=rows, b=3)
    flat = written.call("aten.view.default", self=x, size={"as_sym_ints": [twice["as_sym_int"]]}, name="flat")
    graph, _ = from_torch(written.data(flat))
    assert [str(v.type) for v in (*graph.inputs, *graph.outputs)] == ["float32[?s7, 3]", "float32[?s7*3]"]
    bound, _ = from_torch(written.data(flat), dims={"s7": 2})
    assert str(bound.outputs[0].type) == "float32[6]"


def test_a_dimension_that_is_an_expression_is_one_of_its_symbols(written):
    x = written.input(
        "x", ("Mul(Integer(2), Symbol('s7', positive=True, integer=True))", "2*s8 + 1", "f(s9)", "Symbol('s\\n')")
    )
    graph, _ = from_torch(written.data(written.call("aten.relu.default", self=x)))
    assert str(graph.inputs[0].type) == "float32[?s7*2, ?s8*2 + 1, ?x.2, ?x.3]"


@pytest.mark.parametrize(("least", "size"), [(2, 1), (3, 3), (None, 8)])
def test_an_open_dimension_has_the_sizes_for_which_the_program_is_made(written, zipped, least, size):
    y = written.call("aten.relu.default", self=written.input("x", ("Symbol('s7')",)), name="y")
    program = written.json(y) | {"range_constraints": {"s7": {"min_val": least, "max_val": 8}}}
    data = zipped({"archive/models/model.json": json.dumps(program)})
    assert str(from_torch(data, dims={"s7": size})[0].outputs[0].type) == f"float32[{size}]"
    assert open_model(data).ranges() == {"s7": (3 if least == 3 else 0, 8)}
    with pytest.raises(FrontendError, match=r"dimension 's7': the program is made for [03] to 8, found 9"):
        from_torch(data, shapes={"x": (9,)})


def test_safetensors_take_the_place_of_tensors_by_name(safetensors, written, scores, tmp_path):
    (tmp_path / "net.pt2").write_bytes(written.data(scores))
    other = np.arange(12, dtype=np.float32).reshape(4, 3)
    (tmp_path / "new.safetensors").write_bytes(safetensors({"fc.weight": other}))
    graph, parameters = load(tmp_path / "net.pt2", tmp_path / "new.safetensors")
    np.testing.assert_array_equal(parameters["fc.weight"], other)
    found = interpret(graph, {"x": np.ones((2, 3), np.float32)})
    np.testing.assert_array_equal(found["scores"], np.ones((2, 3)) @ other.T)


def test_pickled_tensors_are_not_read_but_may_be_given(safetensors, written, scores):
    data = written.data(scores, use_pickle=True)
    with pytest.raises(FrontendError, match=r"no tensor 'fc.weight', or only a pickle of it; give the tensors as saf"):
        load(data)
    assert load(data, safetensors(written.tensors))[1].keys() == {"fc.weight"}


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"other": np.ones(3, np.float32)}, "tensors of the program's names, such as ['fc.weight'], found ['other']"),
        ({"fc.weight": np.ones((3, 4), np.float32)}, "tensor 'fc.weight' as float32[4, 3], found float32[3, 4]"),
        ({"fc.weight": np.ones((4, 3), np.int64)}, "tensor 'fc.weight' as float32[4, 3], found int64[4, 3]"),
    ],
)  # fmt: skip
def test_weights_that_are_not_the_program_s_are_refused(safetensors, written, scores, tensors, message):
    with pytest.raises(FrontendError, match=re.escape(message)):
        load(written.data(scores), safetensors(tensors))


def test_safetensors_alone_have_no_network(safetensors, tmp_path):
    (tmp_path / "w").write_bytes(safetensors({"w": np.ones(3, np.float32)}))
    with pytest.raises(FrontendError, match="weights in safetensors, which have no network"):
        load(tmp_path / "w")


def test_all_gaps_are_told_with_what_helps(written):
    x = written.input("x", (2, 3))
    operators = ("lgamma", "logaddexp2", "normal_", "nonzero", "fft_rfft")
    results = [written.call(f"aten.{name}.default", self=x, name=f"y{i}") for i, name in enumerate(operators)]
    report = check(written.data(*results))
    unknown = "sateen has no such operator"
    assert [(gap.node, gap.operator, gap.reason, gap.help) for gap in report.gaps] == [
        ("y0", "lgamma", unknown, f"{BRING}, or {CUT}"),
        ("y1", "logaddexp2", unknown, "save what program.run_decompositions() gives"),
        ("y2", "normal_", "it gives random numbers", "make its result an input: inputs=[...], or --from NAME"),
        ("y3", "nonzero", *DATA_DECIDES),
        ("y4", "fft_rfft", "complex numbers are not supported", CUT),
    ]


def test_an_argument_that_no_converter_reads_is_a_gap(written):
    x = written.input("x", (2, 3))
    report = check(written.data(written.call("aten.relu.default", self=x, strength=2)))
    assert [gap.reason for gap in report.gaps] == ["argument 'strength' is not supported"]


def test_a_result_of_another_type_than_declared_is_a_gap(written):
    x = written.input("x", (2, 3))
    y = written.call("aten.relu.default", self=x, name="y")
    written.declared["y"] = {**written.declared["x"], "dtype": 5}
    assert "declares 'y' otherwise than it computes it" in check(written.data(y)).gaps[0].reason


def test_a_network_is_cut_at_inner_values(written):
    x = written.input("x", (2, 3))
    y = written.call("aten.exp.default", self=x, name="y")
    written.declared["y"] = written.declared["x"]
    z = written.call("aten.relu.default", self=y, name="z")
    graph, _ = from_torch(written.data(z), inputs=["y"], outputs=["z"])
    assert [v.name for v in graph.inputs] == ["y"]
    assert len(graph.nodes) == 1


def _changed(written, output, name="total"):
    """The program says itself that a value is that of a buffer after a run, as run_decompositions writes it."""
    program = written.json(output)
    specs = program["graph_module"]["signature"]["output_specs"]
    specs.insert(0, {"buffer_mutation": {"arg": {"name": output.name}, "buffer_name": name}})
    return program


def test_a_buffer_that_a_run_changes_is_an_input_and_an_output(written):
    x, state = written.input("x", (3,)), written.parameter("total", np.zeros(3, np.float32))
    after = written.call("aten.add_.Tensor", self=state, other=x, name="after")
    graph, parameters = load(written.data(written.call("aten.neg.default", self=after, name="y")))
    assert ([v.name for v in graph.inputs], [v.name for v in graph.outputs]) == (["x", "p_total"], ["y", "after"])
    assert {str(a): str(b) for a, b in graph.aliases.items()} == {"%after": "%p_total"}
    assert not parameters
    found = interpret(graph, {"x": np.ones(3, np.float32), "p_total": np.full(3, 2, np.float32)})
    np.testing.assert_array_equal(found["after"], np.full(3, 3))
    np.testing.assert_array_equal(found["y"], np.full(3, -3))


def test_a_buffer_that_the_signature_says_is_changed_is_an_input_and_an_output(written, zipped):
    x, state = written.input("x", (3,)), written.parameter("total", np.zeros(3, np.float32))
    after = written.call("aten.add.Tensor", self=state, other=x, name="after")
    graph, _ = load(zipped({"archive/models/model.json": json.dumps(_changed(written, after))}))
    assert ([v.name for v in graph.inputs], [v.name for v in graph.outputs]) == (["x", "p_total"], ["after"])
    assert {str(a): str(b) for a, b in graph.aliases.items()} == {"%after": "%p_total"}


def test_running_statistics_are_state_in_training(written):
    x = written.input("x", (2, 3))
    mean, variance = (written.parameter(n, np.full(3, i, np.float32)) for i, n in enumerate(("mean", "variance")))
    y = written.call(
        "aten.batch_norm.default", input=x, weight=None, bias=None, running_mean=mean, running_var=variance,
        training=True, momentum=0.25, eps=1e-5, cudnn_enabled=False, name="y",
    )  # fmt: skip
    graph, _ = load(written.data(y))
    assert [v.name for v in graph.outputs] == ["y", "y.running_mean", "y.running_var"]
    data = np.arange(6, dtype=np.float32).reshape(2, 3) ** 2
    found = interpret(graph, {"x": data, "p_mean": np.zeros(3, "f4"), "p_variance": np.ones(3, "f4")})
    np.testing.assert_allclose(found["y"], (data - data.mean(0)) / np.sqrt(data.var(0) + 1e-5), rtol=1e-5)
    np.testing.assert_allclose(found["y.running_mean"], data.mean(0) / 4, rtol=1e-6)
    np.testing.assert_allclose(found["y.running_var"], 0.75 + data.var(0, ddof=1) / 4, rtol=1e-6)


def test_tokens_order_checks_that_give_nothing(written, zipped):
    x = written.input("x", (3,))
    program = written.json(written.call("aten.relu.default", self=x, name="y"))
    signature, graph = (program["graph_module"][key] for key in ("signature", "graph"))
    signature["input_specs"].insert(0, {"token": {"arg": {"name": "token"}}})
    signature["output_specs"].insert(0, {"token": {"arg": {"name": "after"}}})
    graph["inputs"].insert(0, {"as_tensor": {"name": "token"}})
    graph["outputs"].insert(0, {"as_tensor": {"name": "after"}})
    given = [{"as_tensor": {"name": "token"}}, {"as_operator": "torch.ops.aten._linalg_check_errors.default"}]
    graph["nodes"].append({
        "target": "torch.ops.higher_order.with_effects", "outputs": [{"as_tensor": {"name": "after"}}],
        "inputs": [{"name": "", "arg": arg, "kind": 1} for arg in given], "metadata": {}, "name": "check",
    })  # fmt: skip
    assert [v.name for v in load(zipped({"archive/models/model.json": json.dumps(program)}))[0].outputs] == ["y"]
    given[1]["as_operator"] = "torch.ops.aten._print.default"
    with pytest.raises(FrontendError, match=r"the effect of torch.ops.aten._print.default is not supported"):
        load(zipped({"archive/models/model.json": json.dumps(program)}))


def test_older_archives_are_read_with_safetensors(zipped, safetensors, written, scores):
    data = zipped(
        {"serialized_exported_program.json": json.dumps(written.json(scores)), "serialized_state_dict.pt": b"\x80"}
    )
    with pytest.raises(
        FrontendError, match=r"only a pickle of it; give the tensors as safetensors .*torch 2.9 or later"
    ):
        load(data)
    assert load(data, safetensors(written.tensors))[1].keys() == {"fc.weight"}


def test_something_else_than_a_program_is_refused():
    with pytest.raises(FrontendError, match=r"expected a program of torch\.export, found"):
        from_torch(b"PK\x03\x04" + bytes(40))


def test_the_page_lists_the_operators(request):
    page = Path(request.config.rootpath) / "docs" / "pytorch.md"
    listed = set(re.findall(r"`([\w.]+)`", page.read_text(encoding="utf-8").partition("## Operators")[2]))
    assert set(CONVERTERS) <= listed


@pytest.fixture
def torch(written, monkeypatch):
    """What from_torch takes of torch, which writes the program `written` as a file."""

    class Overload(str):
        __slots__ = ()

    class Program:
        def __init__(self, *targets):
            self.graph = SimpleNamespace(nodes=[SimpleNamespace(target=Overload(target)) for target in targets])
            self.asked = None

        def run_decompositions(self, table):
            self.asked = sorted(table)
            return self

    data = written.data(written.call("aten.relu.default", self=written.input("x", (2,)), name="y"))
    table = dict.fromkeys(map(Overload, ("aten.relu.default", "aten.lgamma.default")))
    export = SimpleNamespace(
        ModuleCallEntry=lambda name, signature: (name, signature),
        ExportedProgram=Program,
        save=lambda _, file: file.write(data),
        default_decompositions=lambda: table,
    )
    found = SimpleNamespace(export=export, _ops=SimpleNamespace(OpOverload=Overload))
    monkeypatch.setattr("sateen.frontends.torch.in_memory.imported", lambda module, missing: found)
    return found


def test_a_program_in_memory_is_decomposed_where_operators_have_no_converter(torch):
    known, unknown = (
        torch.export.ExportedProgram("aten.relu.default"),
        torch.export.ExportedProgram("aten.lgamma.default"),
    )
    assert [v.name for v in from_torch(known)[0].outputs] == ["y"]
    assert known.asked is None
    from_torch(unknown)
    assert unknown.asked == ["aten.lgamma.default"]
    with pytest.raises(
        FrontendError, match=r"expected a path, its bytes, or a torch.export.ExportedProgram, found int"
    ):
        from_torch(3)
    with pytest.raises(FrontendError, match=r"found function; torch.export.export\(module, inputs\) makes one"):
        from_torch(lambda x: x)


def test_what_torch_can_t_write_is_told(torch):
    def save(program, file):
        raise NotImplementedError("no name for <class 'In'>\nand more")

    torch.export.save = save
    message = r"torch.export.save can't write the program: no name for <class 'In'>$"
    with pytest.raises(FrontendError, match=message):
        from_torch(torch.export.ExportedProgram("aten.relu.default"))


@pytest.mark.skipif(is_installed("torch"), reason="torch is installed")
def test_a_program_in_memory_needs_torch():
    with pytest.raises(ArgumentError, match="needs torch: pip install torch"):
        from_torch(object())
