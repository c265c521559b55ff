from __future__ import annotations

import json
import sys

from sateen.frontends.command import doctor as module
from sateen.runtime import Target


def test_this_machine_works_and_is_described(sateen):
    ran = sateen("doctor", "--json")
    assert ran.status == 0
    answer = json.loads(ran.out)
    assert answer["machine"]["target"] == str(Target.host())
    assert answer["findings"][0] == {
        "subject": "this machine", "works": True, "found": "compiles, links and runs", "remedy": "",
    }  # fmt: skip


def test_targets_without_a_thread_pool_say_what_they_give(sateen):
    findings = {f["subject"]: f for f in json.loads(sateen("doctor", "--json").out)["findings"]}
    for subject in ("ARM Linux", "RISC-V Linux", "WebAssembly"):
        assert (findings[subject]["works"], findings[subject]["remedy"]) == (False, "")
        assert findings[subject]["found"].startswith("object code of kernels; no libraries, whose thread pool is for")


def test_what_is_missing_is_told_with_the_command_that_brings_it(sateen, monkeypatch):
    monkeypatch.setattr(module, "is_installed", lambda name: False)
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    ran = sateen("doctor")
    for remedy in ("pillow", "onnxruntime", "pyopencl pocl-binary-distribution"):
        assert f"pip install {remedy}" in ran.out
