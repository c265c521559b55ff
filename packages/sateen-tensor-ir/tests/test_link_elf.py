"""`link_shared`: libraries that load and run, equal to those of ld.lld, and errors for everything else."""

import ctypes
import shutil
import struct
import subprocess
from _ctypes import dlclose
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sateen.runtime.errors import LinkError
from sateen.tensor_ir.link import C_LIBRARY, link_shared, read_object

X86_64, AARCH64, RISCV = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "riscv64-unknown-linux-gnu"
POWERPC = "powerpc64le-unknown-linux-gnu"
ARM = "armv7-unknown-linux-gnueabihf"

PROGRAM = r"""
@table = internal constant [3 x ptr] [ptr @double, ptr @triple, ptr @strlen]
@names = internal constant [2 x ptr] [ptr @hello, ptr @world]
@hello = internal constant [6 x i8] c"hello\00"
@world = internal constant [7 x i8] c"world!\00"
@weights = internal constant [4 x double] [double 0.5, double 1.5, double 2.5, double 3.5]
@count = internal global i32 100
@scratch = internal global [1000 x i64] zeroinitializer
@shared = global i32 7
@unwatched = internal global i32 0
@at_exit = internal global ptr @unwatched
@farewell_entry = internal global ptr @farewell, section ".fini_array"
@first_entry = internal global ptr @first, section ".init_array.100"
@second_entry = internal global ptr @second, section ".init_array"
@llvm.used = appending global [3 x ptr] [ptr @second_entry, ptr @first_entry, ptr @farewell_entry],
  section "llvm.metadata"

declare i64 @strlen(ptr)
declare double @fmod(double, double)
declare void @free(ptr)

define internal void @first() { store i32 10, ptr @shared ret void }
define internal void @second() {
  %old = load i32, ptr @shared
  %new = mul i32 %old, 3
  store i32 %new, ptr @shared
  ret void
}
define internal void @farewell() {
  %flag = load ptr, ptr @at_exit
  store i32 42, ptr %flag
  ret void
}
define internal i64 @double(i64 %x) noinline { %y = mul i64 %x, 2 ret i64 %y }
define internal i64 @triple(i64 %x) noinline { %y = mul i64 %x, 3 ret i64 %y }
define void @watch(ptr %flag) { store ptr %flag, ptr @at_exit ret void }
define i64 @apply(i64 %index, i64 %x) {
  %entry = getelementptr ptr, ptr @table, i64 %index
  %function = load ptr, ptr %entry
  %y = call i64 %function(i64 %x)
  ret i64 %y
}
define i64 @length_of_name(i64 %index) {
  %entry = getelementptr ptr, ptr @names, i64 %index
  %name = load ptr, ptr %entry
  %length = call i64 @strlen(ptr %name)
  ret i64 %length
}
define ptr @address_of_free() { ret ptr @free }
define double @weight(i64 %index) {
  %at = getelementptr double, ptr @weights, i64 %index
  %value = load double, ptr %at
  %rest = call double @fmod(double %value, double 2.0)
  ret double %rest
}
define i32 @next() {
  %old = load i32, ptr @count
  %shared = load i32, ptr @shared
  %new = add i32 %old, %shared
  store i32 %new, ptr @count
  ret i32 %new
}
define i64 @accumulate(i64 %index, i64 %x) {
  %at = getelementptr i64, ptr @scratch, i64 %index
  %old = load i64, ptr %at
  %new = add i64 %old, %x
  store i64 %new, ptr %at
  ret i64 %new
}
define i32 @select_case(i32 %x) {
  switch i32 %x, label %other [ i32 0, label %a i32 1, label %b i32 2, label %c i32 3, label %d i32 4, label %e ]
a: call void @free(ptr null) ret i32 11
b: ret i32 27
c: %n = call i32 @next() ret i32 %n
d: ret i32 -5
e: ret i32 1000
other: ret i32 0
}
"""
ARM_PROGRAM = PROGRAM.replace("i64 @strlen", "i32 @strlen").replace(
    "ret i64 %length", "%wide = zext i32 %length to i64 ret i64 %wide"
)
"""The same with the size_t of 32 bits."""
GC = "+m,+a,+f,+d,+c"
HOST_EXPECTED = ["63", "6", "1", "1.5", "130", "160", "10", "27", "220", "1000", "30", "42"]
HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) { puts(dlerror()); return 1; }
  long (*apply)(long, long) = dlsym(library, "apply");
  long (*length_of_name)(long) = dlsym(library, "length_of_name");
  void *(*address_of_free)(void) = dlsym(library, "address_of_free");
  double (*weight)(long) = dlsym(library, "weight");
  int (*next)(void) = dlsym(library, "next");
  long (*accumulate)(long, long) = dlsym(library, "accumulate");
  int (*select_case)(int) = dlsym(library, "select_case");
  int flag = 0;
  ((void (*)(int *))dlsym(library, "watch"))(&flag);
  int is_free = address_of_free() == dlsym(RTLD_DEFAULT, "free");
  printf("%ld %ld %d %g\n", apply(1, 21), length_of_name(1), is_free, weight(3));
  printf("%d\n", next()); printf("%d\n", next()); accumulate(999, 5);
  printf("%ld %d\n", accumulate(999, 5), select_case(1));
  printf("%d\n", next() + select_case(0) - 11 + 30);
  printf("%d %d\n", select_case(4), *(int *)dlsym(library, "shared"));
  dlclose(library);
  printf("%d\n", flag);
  return 0;
}
"""
EXPORTS = (
    "watch", "apply", "length_of_name", "address_of_free", "weight", "next", "accumulate", "select_case", "shared",
)  # fmt: skip


def compile_object(text: str, triple: str, reloc: str = "pic", codemodel: str = "default", features: str = "") -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        opt=2, reloc=reloc, codemodel=codemodel, features=features
    )
    module = llvm.parse_assembly(text)
    module.triple = triple
    return bytes(machine.emit_object(module))


@pytest.fixture(scope="module")
def program() -> bytes:
    return compile_object(PROGRAM, X86_64)


def load(image: bytes, path: Path) -> ctypes.CDLL:
    path.write_bytes(image)
    return ctypes.CDLL(str(path))


def link_with_system_lld(content: bytes, exports: Sequence[str], folder: Path) -> bytes:
    linker = shutil.which("ld.lld")
    if linker is None:
        pytest.skip("ld.lld is not installed")
    (folder / "input.o").write_bytes(content)
    (folder / "exports").write_text(f"{{ global: {'; '.join(exports)}; local: *; }};")
    options = ["-shared", "-z", "now", "--version-script=exports", "input.o", "-o", "output.so"]
    subprocess.run([linker, *options], cwd=folder, check=True, timeout=60)
    return (folder / "output.so").read_bytes()


class Elf:
    """What the dynamic loader would read in a library: its segments, needed libraries and dynamic symbols."""

    def __init__(self, image: bytes) -> None:
        start, count = struct.unpack_from("<Q", image, 32)[0], struct.unpack_from("<H", image, 56)[0]
        # type, flags, offset, address, physical address, file size, memory size, alignment
        self.segments = [struct.unpack_from("<IIQQQQQQ", image, start + 56 * index) for index in range(count)]
        dynamic = next(segment for segment in self.segments if segment[0] == 2)
        entries = list(struct.iter_unpack("<QQ", image[dynamic[2] : dynamic[2] + dynamic[5]]))
        values = dict(entries)
        strings = self._offset(values[5])
        self.needed = [_text(image, strings + value) for tag, value in entries if tag == 1]
        symbols, sections = self._offset(values[6]), struct.unpack_from("<Q", image, 40)[0]
        symbols_end = next(
            header[5] // 24
            for header in struct.iter_unpack("<IIQQQQIIQQ", image[sections : sections + 64 * _section_count(image)])
            if header[1] == 11
        )
        self.defined: set[str] = set()
        self.undefined: set[str] = set()
        for index in range(1, symbols_end):
            name, _, _, section, _, _ = struct.unpack_from("<IBBHQQ", image, symbols + 24 * index)
            (self.defined if section else self.undefined).add(_text(image, strings + name))

    def _offset(self, address: int) -> int:
        loads = [segment for segment in self.segments if segment[0] == 1]
        holder = next(load for load in loads if load[3] <= address < load[3] + load[5])
        return int(holder[2] + address - holder[3])


def _section_count(image: bytes) -> int:
    return int(struct.unpack_from("<H", image, 60)[0])


def _text(image: bytes, offset: int) -> str:
    return image[offset : image.index(b"\0", offset)].decode()


def observe(library: ctypes.CDLL) -> list[object]:
    """What the functions of PROGRAM give, in an order that shows their state."""
    library.weight.restype = ctypes.c_double
    library.address_of_free.restype = ctypes.c_void_p
    long = ctypes.c_long
    return [
        [library.apply(long(index), long(21)) for index in (0, 1)],
        [library.length_of_name(long(index)) for index in (0, 1)],
        library.address_of_free() == ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value,
        [library.weight(long(index)) for index in range(4)],
        [library.next() for _ in range(3)],
        [library.accumulate(long(index), long(5)) for index in (0, 999, 999)],
        [library.select_case(ctypes.c_int(case)) for case in range(-1, 6)],
        ctypes.c_int.in_dll(library, "shared").value,
    ]


EXPECTED = [
    [42, 63], [5, 6], True, [0.5, 1.5, 0.5, 1.5], [130, 160, 190], [5, 5, 10], [0, 11, 27, 220, -5, 1000, 0], 30,
]  # fmt: skip


def test_a_linked_library_loads_and_runs(program: bytes, tmp_path: Path) -> None:
    assert observe(load(link_shared(program, EXPORTS, "libprogram.so"), tmp_path / "a.so")) == EXPECTED


def test_a_library_linked_by_lld_behaves_the_same(program: bytes, tmp_path: Path) -> None:
    theirs = link_with_system_lld(program, EXPORTS, tmp_path)
    assert observe(load(theirs, tmp_path / "theirs.so")) == EXPECTED
    ours = Elf(link_shared(program, EXPORTS, "libprogram.so"))
    assert (ours.defined, ours.undefined) == (Elf(theirs).defined, Elf(theirs).undefined)


def test_destructors_run_when_the_library_is_unloaded(program: bytes, tmp_path: Path) -> None:
    flag = ctypes.c_int(0)
    library = load(link_shared(program, EXPORTS, "libprogram.so"), tmp_path / "a.so")
    library.watch(ctypes.byref(flag))
    dlclose(library._handle)
    assert flag.value == 42


def test_only_exports_are_visible_and_only_used_libraries_needed(program: bytes) -> None:
    elf = Elf(link_shared(program, ["next", "shared"], "libprogram.so"))
    assert elf.defined == {"next", "shared"}
    assert elf.undefined == {"strlen", "fmod", "free"}
    assert sorted(elf.needed) == ["libc.so.6", "libm.so.6"]
    alone = Elf(link_shared(compile_object("define i32 @f() { ret i32 1 }", X86_64), ["f"], "libf.so"))
    assert (alone.needed, alone.undefined) == ([], set())


def test_sections_of_odd_sizes_lie_where_their_addresses_say(tmp_path: Path) -> None:
    text = """
    @letters = internal constant [3 x i8] c"abc"
    @packed = internal constant <{ ptr, [3 x i8] }> <{ ptr @letters, [3 x i8] c"xyz" }>
    @variable = global [5 x i8] c"hello"
    @zeros = internal global [7 x i8] zeroinitializer
    declare ptr @memcpy(ptr, ptr, i64)
    define ptr @third(i1 %of.packed) {
      call ptr @memcpy(ptr @zeros, ptr @variable, i64 5)
      %letters = load ptr, ptr @packed
      %tail = getelementptr <{ ptr, [3 x i8] }>, ptr @packed, i32 0, i32 1
      %chosen = select i1 %of.packed, ptr %tail, ptr %letters
      %place = getelementptr i8, ptr %chosen, i32 2
      ret ptr %place
    }
    define ptr @fourth_zero() {
      %place = getelementptr i8, ptr @zeros, i32 3
      ret ptr %place
    }"""
    library = load(
        link_shared(compile_object(text, X86_64), ["third", "fourth_zero", "variable"], "a.so"), tmp_path / "a"
    )
    for function in (library.third, library.fourth_zero):
        function.restype = ctypes.POINTER(ctypes.c_char)
    assert [library.third(False)[0], library.third(True)[0], library.fourth_zero()[0]] == [b"c", b"z", b"l"]
    assert (ctypes.c_char * 5).in_dll(library, "variable").raw == b"hello"


@pytest.mark.parametrize(("triple", "page"), [(X86_64, 0x1000), (AARCH64, 0x10000), (RISCV, 0x1000)])
def test_segments_share_no_page_and_none_is_writable_and_executable(triple: str, page: int) -> None:
    elf = Elf(link_shared(compile_object(PROGRAM, triple), EXPORTS, "libprogram.so"))
    loads = [segment for segment in elf.segments if segment[0] == 1]
    assert [flags for _, flags, *_ in loads] == [4, 5, 6, 6]
    assert all(offset % page == address % page for _, _, offset, address, *_ in loads)
    pages = [set(range(address // page, (address + size - 1) // page + 1)) for _, _, _, address, _, _, size, _ in loads]
    assert sum(map(len, pages)) == len(set.union(*pages))
    stack = next(segment for segment in elf.segments if segment[0] == 0x6474E551)
    assert stack[1] == 6
    protected = next(segment for segment in elf.segments if segment[0] == 0x6474E552)
    assert (protected[3] + protected[6]) % page == 0


def test_equal_arguments_give_equal_bytes(program: bytes) -> None:
    assert link_shared(program, EXPORTS, "a.so") == link_shared(bytes(bytearray(program)), list(EXPORTS), "a.so")


def test_an_aarch64_library_runs_as_one_linked_by_lld(tmp_path: Path, run_on_aarch64: Callable[..., str]) -> None:
    runs_as_one_linked_by_lld(compile_object(PROGRAM, AARCH64), tmp_path, run_on_aarch64)


@pytest.mark.parametrize("features", ["+m,+a,+f,+d", GC, f"{GC},+v,+zvl256b"])
def test_a_risc_v_library_runs_as_one_linked_by_lld(
    features: str, tmp_path: Path, run_on_riscv64_with_vectors: Callable[..., str]
) -> None:
    content = compile_object(PROGRAM, RISCV, features=features)
    runs_as_one_linked_by_lld(content, tmp_path, run_on_riscv64_with_vectors)
    library, theirs = (tmp_path / name for name in ("ours.so", "theirs.so"))
    assert flags(library.read_bytes()) == flags(content) == 4 + ("+c" in features)  # floats in registers, short code
    if theirs.exists():
        assert flags(theirs.read_bytes()) == flags(content)


def flags(content: bytes) -> int:
    """Those of the machine, which its dynamic loader compares with the program's."""
    return int(struct.unpack_from("<I", content, 48)[0])


def test_an_arm_library_runs_as_one_linked_by_lld(tmp_path: Path, run_on_arm: Callable[..., str]) -> None:
    content = compile_object(ARM_PROGRAM, ARM)
    # The program's integers of 64 bits are those that C calls long long there.
    source = HOST.replace("long", "long long").replace("%ld", "%lld")
    runs_as_one_linked_by_lld(content, tmp_path, run_on_arm, source)


def test_addresses_in_instructions_of_arm_are_those_of_lld(tmp_path: Path, run_on_arm: Callable[..., str]) -> None:
    """Relocations that compilers write for pairs of instructions and for calls at the end of a function."""
    assembler = shutil.which("arm-linux-gnueabihf-gcc")
    assert assembler is not None
    (tmp_path / "program.s").write_text(ARM_INSTRUCTIONS)
    subprocess.run([assembler, "-c", "program.s", "-o", "program.o"], cwd=tmp_path, check=True, timeout=60)
    content = (tmp_path / "program.o").read_bytes()
    (kinds,) = ({r.type for r in rs} for s, rs in read_object(content).relocations.items() if s.name == ".text")
    assert kinds == {29, 45, 46}
    exports = ("middle", "expected", "near", "value", "length")
    (tmp_path / "main.c").write_text(
        """char *middle(void), *near(void);
        unsigned length(const char *text);
        extern char expected[];
        extern char *value;
        int main(void) {
          if (middle() != expected + 0x2344 || length("seven..") != 7) return 1;
          return value == near() ? 0 : 2;
        }
        """
    )
    for library in (link_shared(content, exports, "libf.so"), link_with_system_lld(content, exports, tmp_path)):
        (tmp_path / "libf.so").write_bytes(library)
        assert run_on_arm(tmp_path, ["libf.so", "-Wl,-rpath,."], []) == ""


ARM_INSTRUCTIONS = """
.syntax unified
.arch armv7-a
.eabi_attribute Tag_ABI_VFP_args, 1
.arm
.text
.globl middle, near, value, length, expected
.hidden hidden_array
.type middle, %function
middle: movw r0, #:lower16:(hidden_array + 0x2344 - (1f + 8))
        movt r0, #:upper16:(hidden_array + 0x2344 - (1f + 8))
1:      add r0, pc, r0
        bx lr
.type near, %function
near:   sub r0, pc, #8
        bx lr
.type length, %function
length: b strlen
.data
.type value, %object
value:  .word near(target1)
.size value, 4
.bss
.globl hidden_array
.type expected, %object
.space 300000
expected:
hidden_array: .space 100000
.size expected, 100000
"""


def test_an_arm_library_is_that_of_lld_to_the_tools(tmp_path: Path) -> None:
    """Symbols, the libraries that are needed and the kinds of dynamic relocations, as readelf shows them."""
    reader = shutil.which("arm-linux-gnueabihf-readelf") or shutil.which("readelf")
    if reader is None:
        pytest.skip("readelf is not installed")
    content = compile_object(PROGRAM, ARM)
    (tmp_path / "ours.so").write_bytes(link_shared(content, EXPORTS, "libprogram.so"))
    (tmp_path / "theirs.so").write_bytes(link_with_system_lld(content, EXPORTS, tmp_path))

    def shown(library: str) -> tuple[list[str], list[str]]:
        command = [reader, "-W", "--dyn-syms", "-r", library]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
        assert done.stderr == ""
        rows = [line.split() for line in done.stdout.splitlines()]
        symbols = sorted(f"{row[3]} {row[4]} {row[7]}" for row in rows if len(row) == 8 and row[0][:-1].isdigit())
        loaded = sorted(row[2] for row in rows if len(row) >= 3 and row[2] in ("R_ARM_RELATIVE", "R_ARM_ABS32"))
        return symbols, loaded

    ours, theirs = shown("ours.so"), shown("theirs.so")
    # The personality of unwind tables, which ours has none of.
    assert ours[0] == [symbol for symbol in theirs[0] if "__aeabi_unwind_cpp_pr0" not in symbol]
    assert len(ours[0]) == len(EXPORTS) + 3
    assert ours[1].count("R_ARM_ABS32") == theirs[1].count("R_ARM_ABS32") == 1


def test_thumb_code_is_refused() -> None:
    text = "declare void @free(ptr) define void @f() { call void @free(ptr null) ret void }"
    message = refused(text, triple="thumbv7-unknown-linux-gnueabihf")
    assert message == "symbol 'f' is code of Thumb, expected code of ARM: compile for a triple that begins with arm"


def runs_as_one_linked_by_lld(content: bytes, tmp_path: Path, run: Callable[..., str], source: str = HOST) -> None:
    (tmp_path / "ours.so").write_bytes(link_shared(content, EXPORTS, "libprogram.so"))
    libraries = ["ours.so"]
    if shutil.which("ld.lld"):
        (tmp_path / "theirs.so").write_bytes(link_with_system_lld(content, EXPORTS, tmp_path))
        libraries.append("theirs.so")
    (tmp_path / "main.c").write_text(source)
    for library in libraries:
        printed = run(tmp_path, ["-Wl,--no-as-needed", "-ldl", "-lm"], [f"./{library}"])
        assert printed.split() == HOST_EXPECTED


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected an ELF object, found 0 bytes that begin with b''"),
        (b"MZ" + bytes(100), "expected an ELF object, found 102 bytes"),
        (b"\x7fELF", "expected a little-endian ELF object of version 1, class 1 or 2, found its end"),
        (b"\x7fELF\x02\x01\x01" + bytes(17), "truncated object: 64 bytes at offset 0 of 24"),
        (b"\x7fELF\x01\x01\x01" + bytes(17), "truncated object: 52 bytes at offset 0 of 24"),
        (b"\x7fELF\x01\x02\x01" + bytes(60), "class 1 or 2, found class 1, data 2, version 1"),
        (b"\x7fELF\x01\x01\x01" + bytes(60), "expected a relocatable ELF object, which is of type 1, found type 0"),
    ],
)
def test_what_is_no_relocatable_object_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(LinkError, match=message):
        link_shared(content, ["f"], "libf.so")


def test_a_shared_object_is_refused_as_input(program: bytes) -> None:
    library = link_shared(program, EXPORTS, "libprogram.so")
    with pytest.raises(LinkError, match="expected a relocatable ELF object, which is of type 1, found type 3"):
        link_shared(library, EXPORTS, "libprogram.so")


def refused(text: str, exports: Sequence[str] = ("f",), imports: Mapping[str, str] = C_LIBRARY, **options: str) -> str:
    """The message with which linking `text`, compiled for x86-64 unless `options` say another triple, is refused."""
    content = compile_object(text, options.pop("triple", X86_64), **options)
    with pytest.raises(LinkError) as caught:
        link_shared(content, exports, "libf.so", imports)
    return str(caught.value)


def test_an_unknown_machine_is_named() -> None:
    message = refused("define void @f() { ret void }", triple=POWERPC)
    assert message == "expected an object for x86-64 (62), ARM64 (183), ARM (40), RISC-V (243), found ELF machine 21"


def test_addresses_have_the_size_that_the_linker_knows() -> None:
    riscv32 = "riscv32-unknown-linux-gnu"
    message = refused("define void @f() { ret void }", triple=riscv32)
    assert message == "expected an object with addresses of 8 bytes, found 4"
    objects = [compile_object(f"define void @{name}() {{ ret void }}", t) for name, t in (("f", RISCV), ("g", riscv32))]
    with pytest.raises(LinkError, match=r"^object 1 has addresses of 4 bytes, object 0 of 8$"):
        link_shared(objects, ["f", "g"], "libf.so")


def test_exports_must_exist_once() -> None:
    text = "define internal void @hidden() { ret void } define void @f() { call void @hidden() ret void }"
    assert refused(text, ["f", "f"]) == "export 'f' is listed twice"
    assert refused(text, ["hidden"]) == "export 'hidden' is not among the object's global symbols: f"


def test_undefined_symbols_outside_the_imports_are_named() -> None:
    text = "declare void @puts(ptr) define void @f() { call void @puts(ptr null) ret void }"
    assert refused(text, imports={"free": "libc.so.6"}) == "undefined symbol 'puts': a library may import only free"


def test_position_dependent_code_is_refused_by_relocation() -> None:
    text = "@x = internal global [9 x i32] zeroinitializer define ptr @f() { ret ptr @x }"
    assert refused(text, reloc="static") == (
        "relocation type 10 (R_X86_64_32) of x86-64 in section '.text' is not supported: "
        "compile with reloc='pic' and codemodel='default'"
    )
    large = refused(text, triple=AARCH64, reloc="static", codemodel="large")
    assert large.startswith("relocation type 264 (R_AARCH64_MOVW_UABS_G0_NC) of ARM64 in section '.text'")
    upper = refused(text, triple=RISCV, reloc="static", codemodel="small")
    assert upper.startswith("relocation type 26 (R_RISCV_HI20) of RISC-V in section '.text'")


def test_code_that_a_linker_may_shorten_is_refused() -> None:
    message = refused("@x = internal global i32 1 define ptr @f() { ret ptr @x }", triple=RISCV, features="+relax")
    assert message.startswith("relocation type 51 (R_RISCV_RELAX, of feature relax) of RISC-V in section '.text'")


def test_a_lower_part_needs_its_upper_part() -> None:
    content = compile_object("@x = internal global i32 1 define ptr @f() { ret ptr @x }", RISCV)
    lower = next(r for rs in read_object(content).relocations.values() for r in rs if r.type == 24)
    entry = struct.pack("<Q", lower.offset) + struct.pack("<I", 24)  # offset, and type in the low half of the info
    upper = struct.pack("<Q", lower.symbol.value) + struct.pack("<I", 23)
    assert content.count(upper) == content.count(entry) == 1
    damaged = content.replace(upper, upper[:8] + struct.pack("<I", 57))
    with pytest.raises(LinkError, match=r"^R_RISCV_PCREL_LO12_I refers to '.Lpcrel_hi0', where no upper part is$"):
        link_shared(damaged, ["f"], "libf.so")


def test_an_address_alone_is_refused_where_a_difference_belongs() -> None:
    content = compile_object(PROGRAM, RISCV)
    table = next(s for s, rs in read_object(content).relocations.items() if any(r.type == 39 for r in rs))
    assert table.name == ".rodata"
    subtracted = struct.pack("<QI", 4, 39)
    assert content.count(subtracted) == 1
    with pytest.raises(LinkError, match=r"^expected a difference of addresses at \.rodata\+0x4, found one address$"):
        link_shared(content.replace(subtracted, struct.pack("<QI", 4, 57)), EXPORTS, "libprogram.so")


def test_objects_of_different_calls_are_refused() -> None:
    objects = [
        compile_object(f"define void @{name}() {{ ret void }}", RISCV, features=features)
        for name, features in (("f", ""), ("g", GC))
    ]
    with pytest.raises(LinkError, match=r"^object 1 has ELF flags 0x5, object 0 has 0x0$"):
        link_shared(objects, ["f", "g"], "libf.so")


def test_addresses_in_code_are_refused() -> None:
    text = "@x = internal global i32 1 define ptr @f() { ret ptr @x }"
    message = "R_X86_64_64 in read-only section '.ltext': compile with reloc='pic'"
    assert refused(text, reloc="static", codemodel="large") == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "@x = thread_local(localexec) global i32 1 define ptr @f() { ret ptr @x }",
            "symbol 'x' is common, thread-local or indirect, which generated code never uses",
        ),
        (
            """@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }]
              [{ i32, ptr, ptr } { i32 65535, ptr @f, ptr null }]
            define void @f() { ret void }""",
            "section '.dtors' is not supported: put the function into .init_array or .fini_array",
        ),
        (
            "@x = internal global i32 1, align 65536 define ptr @f() { ret ptr @x }",
            "section '.data' is aligned to 65536 bytes, more than a page of 4096",
        ),
        (
            "@x = internal global [2000000000 x i8] zeroinitializer define ptr @f() { ret ptr @x }",
            "section .bss would take 2000000000 bytes, more than 1073741824",
        ),
    ],
)
def test_sections_and_symbols_that_are_not_supported_are_named(text: str, message: str) -> None:
    assert refused(text) == message


def test_a_library_needs_a_name(program: bytes) -> None:
    with pytest.raises(LinkError, match="expected a name for the library, found ''"):
        link_shared(program, EXPORTS, "")


OBJECTS = {triple: compile_object(PROGRAM, triple) for triple in (X86_64, AARCH64, ARM, RISCV)}


@pytest.mark.parametrize("triple", OBJECTS)
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_damaged_objects_link_or_are_refused(triple: str, data: st.DataObject) -> None:
    damaged = bytearray(OBJECTS[triple])
    places = st.integers(0, len(damaged) - 1)
    for place in data.draw(st.lists(places, min_size=1, max_size=8)):
        damaged[place] = data.draw(st.sampled_from((0, 1, 0x7F, 0x80, 0xFF, damaged[place] ^ 1 << place % 8)))
    length = data.draw(st.one_of(st.just(len(damaged)), places))
    with suppress(LinkError):
        link_shared(bytes(damaged[:length]), EXPORTS, "libprogram.so")
