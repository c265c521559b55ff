import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sateen.runtime.processor import features_from_cpuinfo, host_architecture
from sateen.runtime.riscv_vectors import READ_VECTOR_BYTES, allows_vectors, features_with_vectors, vector_control

SPACEMIT_K1 = """processor\t: 0
hart\t\t: 0
model name\t: Spacemit(R) X60
isa\t\t: rv64imafdcv_zicbom_zicboz_zicntr_zicond_zicsr_zifencei_zihintpause_zihpm_zfh_zfhmin_zba_zbb_zbc_zbs_zvfh_zvkt
mmu\t\t: sv39
"""
VISIONFIVE_2 = """processor\t: 0
hart\t\t: 1
isa\t\t: rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb
uarch\t\t: sifive,u74-mc
"""
DEFAULT, OFF, ON, UNKNOWN = 0, 1, 2, -1

MAIN = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const unsigned char code[] = {CODE};

int main(void) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  memcpy(page, code, sizeof code);
  __builtin___clear_cache((char *)page, (char *)page + sizeof code);
  printf("%lu", ((unsigned long (*)(void))page)());
  return 0;
}
"""


@pytest.mark.parametrize("control", [ON, OFF << 2 | ON])
def test_registers_of_256_bits_have_all_widths_up_to_theirs(control: int) -> None:
    features = features_with_vectors(features_from_cpuinfo("riscv64", SPACEMIT_K1), control, 32)
    assert features == {"m", "a", "f", "d", "c", "v", "zba", "zbb", "zfh", "zvfh", "zvl128b", "zvl256b"}


def test_vectors_of_unknown_width_are_vectors() -> None:
    assert features_with_vectors(frozenset({"v"}), ON, 0) == {"v"}


@pytest.mark.parametrize("control", [DEFAULT, OFF, UNKNOWN, ON << 2 | OFF])
def test_vectors_that_a_process_may_not_use_are_none(control: int) -> None:
    assert not allows_vectors(control)
    features = features_with_vectors(features_from_cpuinfo("riscv64", SPACEMIT_K1), control, 0)
    assert features == {"m", "a", "f", "d", "c", "zba", "zbb", "zfh"}


def test_a_processor_without_vectors_names_none() -> None:
    assert features_from_cpuinfo("riscv64", VISIONFIVE_2) == {"m", "a", "f", "d", "c", "zba", "zbb"}


def test_the_code_reads_the_bytes_of_a_register(
    tmp_path: Path, run_on_riscv64_with_vectors: Callable[..., str]
) -> None:
    (tmp_path / "main.c").write_text(MAIN.replace("CODE", ", ".join(map(str, READ_VECTOR_BYTES))))
    assert run_on_riscv64_with_vectors(tmp_path, [], []) == "32"


@pytest.mark.skipif(sys.platform != "linux", reason="the question is one of Linux")
@pytest.mark.skipif(host_architecture() == "riscv64", reason="this processor may have such vectors")
def test_other_processors_have_no_such_vectors() -> None:
    assert not allows_vectors(vector_control())
