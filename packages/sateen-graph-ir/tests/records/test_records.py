"""Records of measured convolutions: their file, what they say, and what a build makes of them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sateen.graph_ir import GraphBuilder, build, default_pipeline
from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import Conv, WinogradConv
from sateen.graph_ir.passes import run_pipeline
from sateen.graph_ir.records import MOST_LINE_BYTES, parse_line
from sateen.graph_ir.tune import Record, Records
from sateen.runtime import ArgumentError, Target
from sateen.topi.computations.convolution import Blocks, Direct, Winograd
from sateen.topi.types import TensorType

TARGET = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4"
CONV = Conv((1, 1), (1, 1, 1, 1))
WEIGHT = TensorType.of("float32", (32, 32, 3, 3))
PROBLEM = Problem(CONV, (TensorType.of("float32", (1, 32, 16, 16)), WEIGHT))
RECORD = Record(TARGET, PROBLEM, Direct(1, 4, 1), 0.5, 0.01, 100.0, "a machine", {"sateen": "1"})


def network():
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    w = g.parameter("w", random.standard_normal((32, 32, 3, 3)).astype("float32"))
    g.output(g.add(Conv((1, 1), (1, 1, 1, 1)), g.input("x", "float32", (1, 32, 16, 16)), w))
    return g.finish()


def test_a_record_is_read_back_from_its_line():
    assert parse_line(str(RECORD)) == RECORD


def test_unknown_fields_are_left_alone_and_optional_ones_may_be_absent():
    fields = {name: json.loads(str(RECORD))[name] for name in ("target", "problem", "method", "seconds")}
    assert parse_line(json.dumps({**fields, "colour": [1, {}], "ratio": "", "of": 1})) == Record(
        TARGET, PROBLEM, RECORD.method, 0.5
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"seconds": 0}, "expected seconds of more than 0, found 0"),
        ({"seconds": -1}, "expected seconds as a number of 0 or more, found -1"),
        ({"seconds": True}, "expected seconds as a number of 0 or more, found True"),
        ({"seconds": float("nan")}, "expected seconds as a number of 0 or more, found nan"),
        ({"seconds": float("inf")}, "expected seconds as a number of 0 or more, found inf"),
        ({"seconds": 10**400}, "expected seconds as a number of 0 or more, found 1000"),
        ({"seconds": None}, "expected seconds as a number of 0 or more, found None"),
        ({"target": "lvm"}, "target: expected a kind of target, one of "),
        ({"target": 1}, "expected target as text, found 1"),
        (
            {"problem": "1x1"},
            "problem: expected an operator on types, found '1x1': line 1, column 1: expected the name of an op",
        ),
        (
            {"method": "fft"},
            "method: expected a method of direct(rows=…, columns=…, vectors=…), ",
        ),
        (
            {"method": "direct(rows=" + "9" * 3000 + ", columns=1, vectors=1)"},
            "method: expected a method of direct(rows=…",
        ),
        ({"versions": {"sateen": 1}}, "expected versions as an object of texts"),
        ({"machine": []}, "expected machine as text, found []"),
    ],
)
def test_a_field_of_another_kind_is_refused(fields, words):
    with pytest.raises(ArgumentError) as raised:
        parse_line(json.dumps({**json.loads(str(RECORD)), **fields}))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "expected a record as JSON: "),
        ("", "expected a record as JSON: "),
        ("[" * MOST_LINE_BYTES, "expected a record as JSON: "),
        (b"\xff{}", "expected a record as JSON: "),
        ("[]", "expected a record as a JSON object, found list"),
        ("{}", "expected seconds as a number"),
        (" " * (MOST_LINE_BYTES + 1), "expected at most 4096 bytes, found 4097"),
    ],
)
def test_a_line_that_is_no_record_is_refused(line, words):
    with pytest.raises(ArgumentError) as raised:
        parse_line(line)
    assert words in str(raised.value)


def test_a_broken_line_of_a_file_is_refused_with_its_number(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(f"{RECORD}\n{str(RECORD)[:40]}\n")
    with pytest.raises(ArgumentError, match=r"log\.jsonl:2: expected a record as JSON: "):
        Records.read(path)


def test_a_file_that_is_none_or_too_large_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match="expected a file of records, found "):
        Records.read(tmp_path)
    path = tmp_path / "log.jsonl"
    path.write_text(f"{RECORD}\n")
    assert Records.read(path).records == (RECORD,)
    monkeypatch.setattr("sateen.graph_ir.records.records.MOST_BYTES", 10)
    with pytest.raises(ArgumentError, match="expected at most 10 bytes of records, found more"):
        Records.read(path)


def test_the_fastest_comes_first_and_the_later_of_two_counts():
    slow, fast = replace(RECORD, method=Direct(1, 8, 1), seconds=0.9), replace(RECORD, method=Winograd(2, 8, 8, 1))
    records = Records((replace(slow, seconds=0.1), RECORD, slow, replace(fast, seconds=0.2)))
    assert records.best(TARGET)(PROBLEM) == (fast.method, RECORD.method, slow.method)
    assert records.best("llvm -mtriple=aarch64-linux-gnu")(PROBLEM) == ()
    assert records.best(TARGET)(Problem(CONV, (TensorType.of("float32", (2, 32, 16, 16)), WEIGHT))) == ()


def test_the_digest_is_that_of_what_counts_in_any_order():
    other = replace(RECORD, method=Direct(1, 8, 1))
    assert Records((RECORD, other)).digest == Records((other, RECORD)).digest
    assert Records((replace(RECORD, seconds=9.0), RECORD)).digest == Records((RECORD,)).digest
    assert Records((RECORD,)).digest != Records((replace(RECORD, seconds=9.0),)).digest


def test_strict_numerics_take_the_fastest_direct_record():
    records = Records((replace(RECORD, method=Winograd(2, 8, 8, 1), seconds=0.1), RECORD))
    found = {
        numerics: run_pipeline(network(), default_pipeline(Target.parse(TARGET), numerics, records.best(TARGET)))
        for numerics in ("default", "strict")
    }
    (winograd,) = [n for n in found["default"].nodes if isinstance(n.op, WinogradConv)]
    assert (winograd.op.tile, winograd.method) == (2, Blocks(8, 8, 1))
    (direct,) = [n for n in found["strict"].nodes if isinstance(n.op, Conv)]
    assert direct.method == Direct(1, 4, 1)


def test_a_build_with_equal_records_gives_equal_bytes_that_name_their_digest():
    target = str(Target.host())
    record, other = (replace(RECORD, target=target, method=Direct(1, n, 1)) for n in (4, 8))
    one, two = (build(network(), records=Records(r)) for r in ((record, other), (other, record)))
    assert one.options == {"records": Records((record, other)).digest}
    assert one.to_bytes() == two.to_bytes()
    assert build(network()).options == {}


def test_records_beside_a_pipeline_are_refused():
    with pytest.raises(ArgumentError, match="expected records or a pipeline, found both"):
        build(network(), records=Records(), pipeline=())
