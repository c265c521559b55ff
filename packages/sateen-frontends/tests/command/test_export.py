from __future__ import annotations

import ctypes
import json


def test_a_model_becomes_a_shared_library(sateen, dense, tmp_path):
    ran = sateen("export", dense, "--as", "shared", "--prefix", "small", "-o", "libsmall.so")
    assert ran.status == 0
    assert ran.out.startswith("libsmall.so: ")
    assert ran.out.endswith(", and libsmall.h\n")
    assert ctypes.CDLL(str(tmp_path / "libsmall.so")).sateen_abi_version() == 2
    assert "small_run(" in (tmp_path / "libsmall.h").read_text()


def test_an_artifact_gives_the_library_that_its_model_gives(sateen, dense, tmp_path):
    sateen("compile", dense, "-o", "dense.sateen")
    sateen("export", "dense.sateen", "--as", "shared", "-o", "lib.so")
    first = (tmp_path / "lib.so").read_bytes()
    sateen("export", dense, "--as", "shared", "-o", "lib.so")
    assert (tmp_path / "lib.so").read_bytes() == first


def test_a_model_becomes_a_static_archive(sateen, dense, tmp_path):
    ran = sateen("export", dense, "--as", "static", "--prefix", "small", "-o", "libsmall.a", "--json")
    assert json.loads(ran.out)["header"] == "libsmall.h"
    assert (tmp_path / "libsmall.a").read_bytes().startswith(b"!<arch>\n")
    assert "int32_t small_sateen_run(" in (tmp_path / "libsmall.h").read_text()


def test_an_artifact_for_a_machine_without_a_system_becomes_an_archive(sateen, dense, tmp_path):
    ran = sateen("compile", dense, "-o", "dense.sateen", "--target", "cortex-m4")
    assert "\nflash " in ran.out
    assert "\nmemory " in ran.out
    assert ran.out.count("the stack is beside that") == 1
    assert sateen("export", "dense.sateen", "--as", "static", "-o", "lib.a").status == 0
    ran = sateen("export", "dense.sateen", "--as", "shared", "-o", "lib.so")
    assert ran.status == 1
    assert "expected code of a shared library, found a static archive" in ran.err
    assert not (tmp_path / "lib.so").exists()


def test_an_artifact_with_a_library_says_how_to_get_an_archive(sateen, dense, tmp_path):
    sateen("compile", dense, "-o", "dense.sateen")
    ran = sateen("export", "dense.sateen", "--as", "static", "-o", "lib.a")
    assert ran.status == 1
    assert "compile the model again: sateen export MODEL --as static" in ran.err
    assert not (tmp_path / "lib.a").exists()


def test_a_network_that_does_not_fit_is_refused_before_anything_is_written(sateen, dense, tmp_path):
    for verb in (["compile", dense, "-o", "out"], ["export", dense, "--as", "static", "-o", "out"]):
        ran = sateen(*verb, "--target", "cortex-m4", "--flash", "1K")
        assert ran.status == 1
        assert "TargetError: --flash: expected a network of at most 1024 bytes, found " in ran.err
        assert ": code " in ran.err
        ran = sateen(*verb, "--target", "cortex-m4", "--ram", "16")
        assert ran.status == 1
        assert "TargetError: --ram: expected a network of at most 16 bytes, found " in ran.err
        assert not (tmp_path / "out").exists()
        assert sateen(*verb, "--target", "cortex-m4", "--flash", "1M", "--ram", "64K").status == 0
        (tmp_path / "out").unlink()


def test_limits_are_for_code_that_programs_link(sateen, dense, tmp_path):
    ran = sateen("compile", dense, "-o", "out", "--flash", "1M")
    assert ran.status == 2
    assert "--flash and --ram are for code that programs link" in ran.err
    assert "expected a size such as 512K, found '1k'" in sateen("compile", dense, "-o", "out", "--flash", "1k").err
    assert not (tmp_path / "out").exists()


def test_a_prefix_that_is_no_name_is_refused(sateen, dense, tmp_path):
    ran = sateen("export", dense, "--as", "static", "-o", "lib.a", "--prefix", "1st")
    assert ran.status == 1
    assert "expected a C identifier as the name of the network, found '1st'" in ran.err
    assert not (tmp_path / "lib.a").exists()


def test_the_model_is_never_overwritten(sateen, dense):
    before = dense.read_bytes()
    ran = sateen("export", dense, "--as", "static", "-o", dense)
    assert ran.status == 2
    assert dense.read_bytes() == before
