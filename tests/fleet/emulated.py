"""A device of another architecture on this machine: `nox -s device`.

Debian's Python for arm64 runs under qemu, with sateen-runtime and sateen-rpc from their wheels, and gives sessions. One
command line compiles squeezenet for it, sends it, runs it there, times it, and compares it with this machine.

It needs qemu-aarch64-static and debootstrap, and packages of Debian.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from boards import Process
from workload_files import network_file

from sateen.rpc import Key, RemoteSession, add_key

MODELS = Path(__file__).parents[3] / "shared" / "models" / "onnx"
EMULATOR = "qemu-aarch64-static"
SUITE = "bookworm"
PACKAGES = "python3.11,libpython3.11-stdlib"
PYTHON = "3.11"
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_28_aarch64")


def interpreter(folder: Path) -> Path:
    """A program that is Debian's Python for arm64; its packages are unpacked in the folder, not installed."""
    root, archives = folder / "root", folder / "archives"
    program = root / "usr" / "bin" / "python-here"
    if program.exists():
        return program
    command = ["debootstrap", "--download-only", "--arch=arm64", "--variant=minbase", f"--include={PACKAGES}"]
    subprocess.run([*command, SUITE, str(archives)], check=True, stdout=subprocess.DEVNULL)
    root.mkdir()
    for package in sorted((archives / "var/cache/apt/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    # As argument 0 Python finds itself, and so its own children, which the system could not start without qemu.
    words = [EMULATOR, "-L", root, "-0", program, root / "usr" / "bin" / f"python{PYTHON}"]
    program.write_text(f'#!/bin/sh\nexec {" ".join(map(str, words))} "$@"\n')
    program.chmod(0o755)
    return program


def site(folder: Path, wheels: Path) -> Path:
    """A folder of modules for the device: our wheels, and what they need, for arm64."""
    modules = folder / "site"
    shutil.rmtree(modules, ignore_errors=True)
    ours = [str(next(wheels.glob(f"{name}-[0-9]*.whl"))) for name in ("sateen_runtime", "sateen_rpc")]
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(modules)]
    subprocess.run([*install, "--no-deps", *ours], check=True)
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    exact = ["--only-binary=:all:", "--python-version", PYTHON, "--implementation", "cp", "--upgrade"]
    subprocess.run([*install, *exact, *platforms, "numpy", "msgpack"], check=True)
    return modules


def main() -> None:
    """Starts the device, runs the command, and judges what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for the device's files, which are kept")
    parser.add_argument("wheels", type=Path, help="a folder with wheels of sateen-runtime and sateen-rpc")
    options = parser.parse_args()
    for needed in (EMULATOR, "debootstrap", "dpkg-deb"):
        if shutil.which(needed) is None:
            raise SystemExit(f"expected {needed}, which is not installed")
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    program, modules = interpreter(folder), site(folder, options.wheels.absolute())
    key, key_file, scratch = Key.new(), folder / "key", folder / "scratch"
    key_file.unlink(missing_ok=True)
    add_key(key, key_file)
    shutil.rmtree(scratch, ignore_errors=True)
    store = str(folder / "store")
    environment = {"PYTHONPATH": str(modules)}
    server = Process("server", key_file, scratch, "--store", store, python=str(program), environment=environment)
    try:
        with RemoteSession("127.0.0.1", server.port, key) as session:
            info = session.info()
        assert info["machine"] == "aarch64", info
        model = network_file("squeezenet", folder, MODELS if MODELS.is_dir() else None)
        place = ["--device", f"rpc://127.0.0.1:{server.port}", "--key-file", str(key_file)]
        words = ["bench", str(model), *place, "--against", "here", "--samples", "3", "--json"]
        sys.stdout.write(f"$ sateen {' '.join(words)}\n")
        sys.stdout.flush()
        ran = subprocess.run([sys.executable, "-m", "sateen", *words], check=True, capture_output=True, text=True)
    finally:
        server.end()
    there, here = json.loads(ran.stdout)["results"]
    assert there["right"], there
    assert here["right"], here
    times = f"{there['median_seconds'] * 1e3:.0f} ms there, {here['median_seconds'] * 1e3:.1f} ms here"
    sys.stdout.write(f"{info['target']}: {times}, {here['difference']:.1e} of the largest element apart\n")


if __name__ == "__main__":
    main()
