from __future__ import annotations

import json

from sateen.graph_ir.tune import Records

LINE = {
    "target": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4",
    "problem": "conv(float32[1, 32, 8, 8], float32[32, 32, 3, 3])",
    "method": "direct(rows=1, columns=4, vectors=1)",
    "seconds": 1.0,
    "machine": "x86_64, a machine",
}


def write(path, *changes):
    path.write_text("".join(f"{json.dumps({**LINE, **change})}\n" for change in changes))


def test_logs_are_joined(sateen, tmp_path):
    other = {"method": "direct(rows=1, columns=8, vectors=1)"}
    write(tmp_path / "one.jsonl", {}, {**other, "seconds": 3.0})
    write(tmp_path / "two.jsonl", {"seconds": 2.0}, {"method": "direct(rows=2, columns=4, vectors=1)", "seconds": 1.0})
    ran = sateen("merge", "one.jsonl", "two.jsonl", "-o", "all.jsonl")
    assert (ran.status, ran.out) == (0, "all.jsonl: 3 records of 4 in 2 logs\n")
    assert sorted(r.seconds for r in Records.read(tmp_path / "all.jsonl").records) == [0.5, 1.0, 3.0]
    answer = json.loads(sateen("merge", "all.jsonl", "-o", "again.jsonl", "--json").out)
    assert answer == {"output": "again.jsonl", "records": 3, "failures": 0}
    assert Records.read(tmp_path / "again.jsonl") == Records.read(tmp_path / "all.jsonl")


def test_a_log_that_is_read_is_not_written_and_what_is_none_is_refused(sateen, tmp_path):
    write(tmp_path / "one.jsonl", {})
    ran = sateen("merge", "one.jsonl", "-o", "one.jsonl")
    assert ran.status == 2
    assert "expected another file than one.jsonl, which is read" in ran.err
    (tmp_path / "two.jsonl").write_text("[]\n")
    ran = sateen("merge", "one.jsonl", "two.jsonl", "-o", "all.jsonl")
    assert ran.status == 1
    assert "two.jsonl:1: expected a record as a JSON object, found list" in ran.err
    assert not (tmp_path / "all.jsonl").exists()
