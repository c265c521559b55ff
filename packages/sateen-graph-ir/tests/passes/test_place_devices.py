import pytest

from sateen.graph_ir.ir import parse_graph
from sateen.graph_ir.ops import OPS, TopK
from sateen.graph_ir.passes import run_pipeline
from sateen.graph_ir.passes.place_devices import Placed, place_devices
from sateen.runtime import ArgumentError, Device, TargetError

OPENCL = Device.of("opencl")
CHAIN = """
graph net
  input %x: float32[4]
  parameter %w: float32[4] = [1.0, 2.0, 3.0, 4.0]
  %y: float32[4] = multiply(%x, %w)
  %z: float32[4], %i: int64[4] = top_k(%y) {k=4}
  %u: float32[4] = multiply(%z, %w)
  %v: float32[4] = add(%z, %u)
  output %v
"""


def placed(text: str, marks: Placed) -> str:
    graph = parse_graph(text, OPS)
    return str(run_pipeline(graph, (lambda g: place_devices(g, OPENCL, marks),)))


def test_all_is_on_the_device_without_marks() -> None:
    assert placed(CHAIN, {}) == (
        "graph net\n"
        "  input %x: float32[4] on opencl(0)\n"
        "  parameter %w: float32[4] on opencl(0) = [1.0, 2.0, 3.0, 4.0]\n"
        "  %y: float32[4] on opencl(0) = multiply(%x, %w)\n"
        "  %z: float32[4] on opencl(0), %i: int64[4] on opencl(0) = top_k(%y) {k=4}\n"
        "  %u: float32[4] on opencl(0) = multiply(%z, %w)\n"
        "  %v: float32[4] on opencl(0) = add(%z, %u)\n"
        "  output %v"
    )


@pytest.mark.parametrize(
    "marks",
    [{"z": "cpu"}, {"i": Device.of("cpu")}, lambda node: "cpu" if isinstance(node.op, TopK) else None],
    ids=["by a value", "by another value", "by a function"],
)
def test_values_are_copied_once_to_each_device_that_reads_them(marks: Placed) -> None:
    assert placed(CHAIN, marks) == (
        "graph net\n"
        "  input %x: float32[4] on opencl(0)\n"
        "  parameter %w: float32[4] on opencl(0) = [1.0, 2.0, 3.0, 4.0]\n"
        "  %y: float32[4] on opencl(0) = multiply(%x, %w)\n"
        '  %y.1: float32[4] = copy_to(%y) {device="cpu(0)"}\n'
        "  %z: float32[4], %i: int64[4] = top_k(%y.1) {k=4}\n"
        '  %z.1: float32[4] on opencl(0) = copy_to(%z) {device="opencl(0)"}\n'
        "  %u: float32[4] on opencl(0) = multiply(%z.1, %w)\n"
        "  %v: float32[4] on opencl(0) = add(%z.1, %u)\n"
        "  output %v"
    )


def test_inputs_are_where_they_are_read_and_parameters_on_each_device_that_does() -> None:
    text = placed(CHAIN, {"y": "cpu"})
    assert "  input %x: float32[4]\n" in text
    for place in ("%w: float32[4]", "%w.1: float32[4] on opencl(0)"):
        assert f"  parameter {place} = [1.0, 2.0, 3.0, 4.0]\n" in text
    assert "  %u: float32[4] on opencl(0) = multiply(%z, %w.1)\n" in text


def test_a_node_between_marked_ones_moves_to_their_device() -> None:
    text = placed(CHAIN, {"z": "cpu", "v": "cpu"})
    assert "  %u: float32[4] = multiply(%z, %w.1)\n  %v: float32[4] = add(%z, %u)\n" in text
    assert text.count("copy_to") == 1


def test_a_mark_counts_for_its_node_alone() -> None:
    text = placed(CHAIN, {"y": "cpu"})
    assert "on opencl(0), %i: int64[4] on opencl(0) = top_k(%y.1) {k=4}\n" in text


LOOP = """
graph net
  input %x: float32[4]
  input %c: bool[]
  %n: float32[] = reduce_sum(%x) {axes=(0,), keepdims=false}
  parameter %limit: float32[] = [4.0]
  %less: bool[] = less(%n, %limit)
  %y: float32[4] = if(%less, %x)
    then_branch = graph one
      input %a: float32[4]
      %b: float32[4] = exp(%a)
      output %b
    else_branch = graph two
      input %d: float32[4]
      %s: float32[4], %i: int64[4] = top_k(%d) {k=4}
      %e: float32[4] = relu(%s)
      output %e
  output %y
"""


def test_what_decides_is_on_the_host_and_bodies_are_where_their_node_is() -> None:
    text = placed(LOOP, {"s": "cpu"})
    assert '  %less.1: bool[] = copy_to(%less) {device="cpu(0)"}\n' in text
    assert "  %y: float32[4] on opencl(0) = if(%less.1, %x)\n" in text
    assert "      %b: float32[4] on opencl(0) = exp(%a)\n" in text
    assert '      %d.1: float32[4] = copy_to(%d) {device="cpu(0)"}\n' in text
    assert "      %s: float32[4], %i: int64[4] = top_k(%d.1) {k=4}\n" in text
    assert "      %e: float32[4] on opencl(0) = relu(%s.1)\n" in text


def test_an_input_whose_memory_an_output_may_use_is_where_that_is_computed() -> None:
    text = """
graph net
  input %x: float32[4]
  %y: float32[4] = exp(%x)
  %z: float32[4] = relu(%y)
  output %y
  output %z
  alias %z = %x
"""
    assert "  input %x: float32[4]\n" in placed(text, {"z": "cpu"})


@pytest.mark.parametrize(
    ("marks", "error", "words"),
    [
        (
            {"zz": "cpu"},
            ArgumentError,
            r"placed: expected a node of graph 'net', one of y, z, i, u, … 1 more, found 'zz'; did you mean z\?",
        ),
        ({"z": "webgpu"}, TargetError, r"placed: expected cpu\(0\) or a device of kind opencl, found webgpu\(0\)"),
        ({"z": "cpu(1)"}, TargetError, r"placed: expected cpu\(0\) or a device of kind opencl, found cpu\(1\)"),
        ({"z": "gpu"}, ArgumentError, "expected a kind of device, one of cpu, cuda"),
    ],
)
def test_wrong_marks_are_refused(marks: Placed, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        placed(CHAIN, marks)
