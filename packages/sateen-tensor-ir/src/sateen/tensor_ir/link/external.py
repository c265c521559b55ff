"""Links through LLVM's lld for the formats and machines that the ELF writer of this package leaves out.

lld comes with extra `cross` (ziglang carries it) or with the system. As in `link_shared`, only the given symbols may
stay undefined. The error of a failed link contains the linker's arguments.
"""

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from sateen.runtime.errors import LinkError
from sateen.runtime.isolation import isolated
from sateen.runtime.processor import architecture_of
from sateen.tensor_ir.link.c_libraries import C_LIBRARY
from sateen.tensor_ir.link.stack_check import stack_check
from sateen.tensor_ir.targets import System

_FLAVORS = {"ld.lld": "gnu", "ld64.lld": "darwin", "lld-link": "link", "wasm-ld": "wasm"}
"""How the program `lld`, which is all of them, is asked to be one; Debian has no other name for that of macOS."""
_APPLE_PLATFORMS = {
    (System.MACOS, False): ("macos", "11.0"),
    (System.IOS, False): ("ios", "14.0"),
    (System.IOS, True): ("ios-simulator", "14.0"),
}
"""The linker's name of a system, by whether it is simulated, and the least version that code is for: the first on
Apple's own processors."""
_TIMEOUT = 120  # seconds; a link takes well under one


def link_with_lld(
    object_code: bytes | Sequence[bytes],
    triple: str,
    exports: Sequence[str],
    soname: str = "libsateen.so",
    imports: Mapping[str, str] = C_LIBRARY,
) -> bytes:
    """The shared library (ELF, PE, Mach-O or WebAssembly, by `triple`) of one or more objects, defining `exports`.

    `imports` maps each symbol that may stay undefined to the ELF library that defines it; WebAssembly imports such a
    symbol from module `env`, and a PE library can't import any. LinkError if the system of the triple is unknown, no
    lld is found, or it refuses the object.
    """
    with TemporaryDirectory(prefix="sateen-link-") as folder:
        work = Path(folder)
        for number, content in enumerate([object_code] if isinstance(object_code, bytes) else object_code):
            (work / f"input{number or ''}.o").write_bytes(content)
        match System.of(triple):
            case System.WEBASSEMBLY:
                _link_wasm(work, triple, exports, imports)
            case System.WINDOWS:
                _link_pe(work, triple, exports)
            case System.IOS | System.MACOS:
                _link_macho(work, triple, exports, soname, imports)
            case System.LINUX | System.ANDROID:
                _link_elf(work, triple, exports, soname, imports)
            case _:
                raise LinkError(
                    "expected a triple of Linux, Android, Windows, macOS, iOS or WebAssembly to link a library for, "
                    f"found {triple!r}"
                )
        return (work / "output").read_bytes()


def _inputs(work: Path) -> list[str]:
    """The objects to link, by name within the linker's folder."""
    return sorted(path.name for path in work.glob("input*.o"))


def _link_elf(work: Path, triple: str, exports: Sequence[str], soname: str, imports: Mapping[str, str]) -> None:
    """A stub with the same names replaces each imported library, so that all other names are refused."""
    stubs = []
    for library in dict.fromkeys(imports.values()):
        names = [name for name, owner in imports.items() if owner == library]
        stub = ["-shared", "-soname", library, *(f"--defsym={name}=0" for name in names), *_inputs(work), "-o", library]
        _run(work, triple, "ld.lld", stub)
        stubs.append(library)
    visible = "".join(f" {name};" for name in exports)
    (work / "exports").write_text(f"{{ {'global:' + visible if exports else ''} local: *; }};\n")
    hardening = ["-z", "defs", "-z", "now", "-z", "relro", "--build-id=none", "--as-needed", "--no-undefined-version"]
    names = ["-soname", soname, "--version-script=exports"]
    _run(work, triple, "ld.lld", ["-shared", *hardening, *names, *_inputs(work), *stubs, "-o", "output"])


def _link_wasm(work: Path, triple: str, exports: Sequence[str], imports: Mapping[str, str]) -> None:
    (work / "imports").write_text("".join(f"{name}\n" for name in imports))
    options = ["--no-entry", "--allow-undefined-file=imports", "--export=__heap_base"]
    _run(work, triple, "wasm-ld", [*options, *(f"--export={name}" for name in exports), *_inputs(work), "-o", "output"])


def _link_macho(work: Path, triple: str, exports: Sequence[str], soname: str, imports: Mapping[str, str]) -> None:
    machine = triple.partition("-")[0].replace("aarch64", "arm64")
    platform, least = _APPLE_PLATFORMS[System.of(triple), triple.endswith("-simulator")]
    options = ["-dylib", "-arch", machine, "-platform_version", platform, least, least, "-install_name", soname]
    if platform == "ios-simulator":
        options.append("-adhoc_codesign")  # as the linker signs by itself for macOS; for devices Xcode signs
    for name in exports:
        options += ["-exported_symbol", f"_{name}"]
    for name in imports:
        options += ["-U", f"_{name}"]
    _run(work, triple, "ld64.lld", [*options, *_inputs(work), "-o", "output"])


def _link_pe(work: Path, triple: str, exports: Sequence[str]) -> None:
    inputs = _inputs(work)
    if support := stack_check(architecture_of(triple)):
        (work / "stack_check.o").write_bytes(support)
        inputs.append("stack_check.o")
    arguments = ["/dll", "/noentry", "/brepro", *(f"/export:{name}" for name in exports)]
    _run(work, triple, "lld-link", [*arguments, "/out:output", *inputs])


def _run(work: Path, triple: str, tool: str, arguments: list[str]) -> None:
    shown = shlex.join([tool, *arguments])
    try:
        command = [*_linker(tool, triple), *arguments]
        result = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise LinkError(f"{tool} took more than {_TIMEOUT} s for {triple}: {shown}") from None
    if result.returncode:
        raise LinkError(
            f"{tool} could not link for {triple} (exit status {result.returncode}): {shown}\n" + result.stderr.strip()
        )


def _linker(tool: str, triple: str) -> list[str]:
    """The command that runs `tool`: preferably that of the ziglang package, whose version the extra pins."""
    if tool != "ld64.lld" and find_spec("ziglang"):
        return isolated("ziglang", [tool])
    if path := shutil.which(tool):
        return [path]
    if path := shutil.which("lld"):
        return [path, "-flavor", _FLAVORS[tool]]
    raise LinkError(f"linking for {triple} needs {tool}, which was not found: {linker_remedy(triple)}")


def linker_remedy(triple: str) -> str:
    """The command that installs the linker for a triple; '' if there is none for its system."""
    match System.of(triple):
        case System.IOS | System.MACOS:
            return "apt-get install lld, or brew install lld"
        case System.NONE:
            return ""
        case _:
            return "pip install ziglang"
