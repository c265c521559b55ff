"""Files of machines: written, read, and refused where they say what no machine is."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace

import pytest

from sateen.runtime import ArgumentError, Target
from sateen.tensor_ir.targets import Machine, machine_digest, machine_json, parse_machine, read_machine
from sateen.tensor_ir.targets.machine_file import MOST_BYTES

X86 = "llvm -mtriple=x86_64-linux-gnu -mcpu="
TARGET = f"{X86}znver4"
OWN = Machine.of(TARGET)
OTHER = replace(OWN, l3_bytes=8 << 20, rates=replace(OWN.rates, memory=3.0, asks_ahead=True), processor="Mine")


def text_with(**changes: object) -> str:
    """A file in which values are others; `rates` are single ones, and None leaves a key out."""
    told = json.loads(machine_json(OTHER, Target.of(TARGET), {"clock_hz": 3.7e9}))
    told["rates"] |= changes.pop("rates", {}) if isinstance(changes.get("rates"), dict) else {}
    return json.dumps({key: value for key, value in (told | changes).items() if value is not None})


def test_a_machine_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(machine_json(OTHER, Target.of(TARGET)))
    assert read_machine(path, TARGET) == read_machine(str(path), TARGET) == replace(OTHER, source="a file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_file_of_a_machine(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArgumentError, match="pipe: expected the file of a machine: it is no regular file but a pipe"):
        read_machine(tmp_path / "pipe", TARGET)


def test_rates_that_a_file_leaves_out_are_those_of_the_target():
    told = json.loads(text_with())
    read = parse_machine(json.dumps(told | {"rates": {"memory": 3}}), TARGET)
    assert read.rates == replace(OWN.rates, memory=3)


def test_a_digest_tells_machines_apart_by_what_estimates_ask():
    assert machine_digest(OWN) == machine_digest(replace(OWN, processor="Mine", source="a file"))
    assert machine_digest(OWN) != machine_digest(OTHER)
    assert machine_digest(OTHER) == machine_digest(parse_machine(text_with(), TARGET))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a machine as JSON: Expecting value"),
        ("[]", "expected the format 'sateen machine 1', found 'list'"),
        (text_with(format="sateen machine 2"), "expected the format 'sateen machine 1', found 'sateen machine 2'"),
        (text_with(format=["x" * 100]), "expected the format 'sateen machine 1', found "),
        (text_with(caches=None), "expected a machine to have caches, found none"),
        (text_with(cache=1), "found 'cache'; did you mean caches?"),
        (text_with(architecture="aarch64"), "expected architecture 'x86_64', that of the target, found 'aarch64'"),
        (text_with(vector_bytes=32), "expected vector_bytes 64, that of the target, found 32"),
        (text_with(vector_bytes=64.0), "expected vector_bytes 64, that of the target, found 64.0"),
        (text_with(processor=7), "expected processor as a printable name of up to 100 characters, found 7"),
        (text_with(processor="a\n"), "expected processor as a printable name"),
        (text_with(caches=[32768, 1 << 20]), "expected caches as a list of 3 numbers of bytes, found [32768, 1048576]"),
        (text_with(caches=[0, 1, 2]), "expected bytes of cache 1 as a whole number of 1024 to 1.67772e+07, found 0"),
        (text_with(caches=[65536, 32768, 0]), "expected a second cache no smaller than the first of 65536 bytes"),
        (text_with(caches=[32768.0, 65536, 0]), "expected bytes of cache 1 as a whole number"),
        (text_with(caches=[32768, 65536, True]), "expected bytes of cache 3 as a whole number"),
        (text_with(rates={"memry": 3}), "found 'memry'; did you mean memory or memory_together?"),
        (text_with(rates={"memory": 0}), "expected memory as a number of 0.001 to 4096, found 0"),
        (text_with(rates={"memory": "3"}), "expected memory as a number of 0.001 to 4096, found '3'"),
        (text_with(rates={"memory": -3}), "expected memory as a number of 0.001 to 4096, found -3"),
        (text_with(rates={"memory": 100}), "expected memory no greater than l3, 18, found 100"),
        (text_with(rates={"l1": 5}), "expected l2 no greater than l1, 5, found 28"),
        (text_with(rates={"streams": 2.5}), "expected streams as a whole number of 1 to 64, found 2.5"),
        (text_with(rates={"streams": 10**30}), "expected streams as a whole number of 1 to 64, found 1000"),
        (text_with(rates={"asks_ahead": 1}), "expected asks_ahead as true or false, found 1"),
        (text_with(rates={"own_part": 2}), "expected own_part as a number of 0.01 to 1, found 2"),
        (text_with().replace("3.0", "NaN"), "expected finite numbers, found NaN"),
        (text_with().replace("3.0", "1e999"), "expected memory as a number of 0.001 to 4096, found inf"),
        (text_with().replace('"l3"', '"l2"'), "'l2' is given twice"),
        (text_with(measured={"clock_hz": "fast"}), "expected measured as up to "),
        (text_with(measured=[]), "expected measured as up to "),
        ("[" * 50_000, "expected a machine as JSON"),
        (" " * (MOST_BYTES + 1), "expected at most 65536 bytes of a machine, found more"),
    ],
)
def test_what_no_machine_is_is_refused(text, message):
    with pytest.raises(ArgumentError) as caught:
        parse_machine(text, TARGET)
    assert message in str(caught.value)


def test_rates_of_another_type_are_refused():
    with pytest.raises(ArgumentError, match="expected rates as an object, found list"):
        parse_machine(text_with(rates=[]), TARGET)


def test_a_file_is_of_a_processor():
    with pytest.raises(
        ArgumentError, match="expected the target of a processor for a machine of a file, found 'opencl'"
    ):
        parse_machine(text_with(), "opencl")


def test_an_error_names_the_file(tmp_path):
    with pytest.raises(ArgumentError, match=r"missing\.json: expected the file of a machine: No such file"):
        read_machine(tmp_path / "missing.json", TARGET)
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ArgumentError, match=r"bad\.json: expected a machine as JSON"):
        read_machine(tmp_path / "bad.json", TARGET)


def test_damaged_files_are_read_or_refused():
    content, draw = text_with().encode(), random.Random(0)
    for _ in range(2000):
        damaged = bytearray(content)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.choice(b'0123456789eE.-+"{}[]:,tfn\x00\xff')
        try:
            read = parse_machine(bytes(damaged), TARGET)
        except ArgumentError:
            continue
        assert read.rates.memory > 0
