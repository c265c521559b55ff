"""Every check of the workspace: `nox` runs what a change must pass, `nox --list` shows the others."""

import os
import shutil
from pathlib import Path

import nox

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml("pyproject.toml")
PACKAGES = sorted(path.parent.name for path in (ROOT / "packages").glob("*/pyproject.toml"))
TESTED = [name for name in PACKAGES if any((ROOT / "packages" / name / "tests").rglob("test_*.py"))]
EXTRAS = {
    "sateen-runtime": "[ml-dtypes,webgpu]",
    "sateen-tensor-ir": "[ml-dtypes]",
    "sateen-graph-ir": "[learn]",
    "sateen-frontends": "[dask,peers,pictures]",
    "sateen-rpc": "[proxy]",
}
WHEEL_EXTRAS = {  # whole files of tests are about these; what else a package lacks, its tests skip
    "sateen-tensor-ir": "[ml-dtypes]",
    "sateen-frontends": "[rpc]",
    "sateen-rpc": "[proxy]",
}
SUITES = sorted(path.parent.name for path in (ROOT / "tests" / "suites").glob("*/make.py"))
PYTHON = "3.11"
DEVICES = ROOT / "packages" / "sateen-tensor-ir" / "tests" / "devices"
"""Devices that tests make of this machine's threads."""

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "layers", f"tests-{PYTHON}", "docs", "examples"]


def install(session: nox.Session, group: str, *options: str) -> None:
    """Installs a dependency group of the root and all packages editable; uv builds each once for all sessions."""
    editable = [part for name in PACKAGES for part in ("-e", f"packages/{name}{EXTRAS.get(name, '')}")]
    session.install(*options, *nox.project.dependency_groups(PROJECT, group), *editable)


def build_wheels(session: nox.Session, folder: Path) -> None:
    """A wheel of each package, in `folder`, which is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in PACKAGES:
        session.run_install("uv", "build", "--quiet", "--package", name, "--wheel", "--out-dir", str(folder))


def wheel_of(name: str, folder: Path) -> Path:
    """The wheel of a package that `build_wheels` has put there."""
    (wheel,) = folder.glob(f"{name.replace('-', '_')}-[0-9]*.whl")
    return wheel


def run_all_tests(session: nox.Session) -> None:
    """All tests, a process per processor; options of the session come last, `-- -n 0` runs them one by one."""
    parallel = ("-n", "auto", "--maxprocesses", "8", "--dist", "worksteal")
    session.run("pytest", *parallel, *session.posargs)


def empty_folder(session: nox.Session, name: str) -> Path:
    """A folder of the session, without what an earlier run left there."""
    folder = Path(session.create_tmp()).absolute() / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def framework(session: nox.Session, name: str, requirements: str) -> str:
    """The Python of an environment that has a framework and nothing of ours."""
    environment = Path(session.create_tmp()).absolute() / f"{name}-framework"
    if not environment.exists():
        session.run_install("python", "-m", "venv", str(environment))
    python = str(environment / "bin/python")
    session.run_install(python, "-m", "pip", "install", "--quiet", "-r", requirements, external=True)
    return python


@nox.session(python=PYTHON)
def lint(session: nox.Session) -> None:
    """The rules of ruff that pyproject.toml selects."""
    session.install(*nox.project.dependency_groups(PROJECT, "lint"))
    session.run("ruff", "check", *session.posargs)


@nox.session(python=PYTHON)
def types(session: nox.Session) -> None:
    """mypy in strict mode."""
    install(session, "types")
    sources = [str(path) for path in (ROOT / "packages").glob("*/src") if any(path.rglob("*.py"))]
    programs = [name for name in ("examples", "bench", "docs") if any((ROOT / name).rglob("*.py"))]
    session.run("mypy", "noxfile.py", *sources, *programs, *session.posargs)


@nox.session(python=PYTHON)
def layers(session: nox.Session) -> None:
    """Imports between packages run one way."""
    install(session, "layers")
    session.run("lint-imports", "--no-logo")


@nox.session(python=[PYTHON, "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """All tests, on the sources."""
    install(session, "test")
    run_all_tests(session)


@nox.session(python=PYTHON)
def lowest(session: nox.Session) -> None:
    """All tests, with the lowest versions that the packages promise to work with."""
    install(session, "test", "--resolution=lowest-direct")
    run_all_tests(session)


@nox.session(python=PYTHON, reuse_venv=False, requires=["dist"])
@nox.parametrize("package", TESTED, ids=TESTED)
def wheels(session: nox.Session, package: str) -> None:
    """The first case of each test of a package, on its built wheel, with its declared dependencies and nothing else."""
    siblings = Path(session.create_tmp()).absolute() / "siblings.txt"
    built = {name: wheel_of(name, ROOT / "dist").as_uri() for name in PACKAGES}
    # A constraint with a place: whatever an index has under these names is not ours.
    siblings.write_text("".join(f"{name} @ {place}\n" for name, place in built.items()), encoding="utf-8")
    fresh = [f"--refresh-package={name}" for name in PACKAGES]  # the version is the last build's, the content is not
    offered = ("--no-sources", "--constraint", str(siblings), *fresh)
    session.install(*offered, package + WHEEL_EXTRAS.get(package, ""), *nox.project.dependency_groups(PROJECT, "test"))
    session.run("pytest", "--first-cases", f"packages/{package}/tests", *session.posargs)


@nox.session(python=PYTHON)
def docs(session: nox.Session) -> None:
    """The Python blocks of README, docs/ and the package READMEs run."""
    install(session, "docs")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").glob("*/README.md")]
    session.run("pytest", "--markdown-docs", *sorted(str(page) for page in pages), *session.posargs)


@nox.session(python=PYTHON)
def examples(session: nox.Session) -> None:
    """Every program of examples/ runs."""
    install(session, "test")
    for program in sorted((ROOT / "examples").glob("*.py")):
        session.run("python", str(program))


@nox.session(python=PYTHON, default=False)
def dist(session: nox.Session) -> None:
    """The wheels of all packages, in dist/: `pip install dist/*.whl` installs them, no index has them yet."""
    build_wheels(session, ROOT / "dist")
    session.log("wheels: %s", ", ".join(sorted(path.name for path in (ROOT / "dist").glob("*.whl"))))


@nox.session(python=PYTHON, default=False)
def bench(session: nox.Session) -> None:
    """`nox -s bench -- NAME [OPTION...]` runs bench/NAME.py."""
    if not session.posargs:
        known = ", ".join(sorted(path.stem for path in (ROOT / "bench").glob("*.py")))
        session.error(f"expected the name of a benchmark, one of {known}")
    install(session, "test")
    name, *options = session.posargs
    if name in ("models", "unseen"):
        session.install("-e", "packages/sateen-frontends[opponents]")
        session.install("--no-deps", "pnnx>=20261020")  # its converter is a program that needs no torch
    if name == "unseen" and "--models" not in options:
        options += ["--framework", framework(session, "unseen", "tests/suites/torch/unseen.txt")]
    session.run("python", f"bench/{name}.py", *options, env={"PYTHONPATH": str(ROOT / "tests" / "models")})


@nox.session(python=PYTHON, default=False)
def fuzz(session: nox.Session) -> None:
    """2,000 random schedules, 200 that must be refused, 500 random hybrid scripts, 10,000 damaged ONNX models, 2,000 of
    each other format, 20,000 damaged artifacts of devices, 5,000 random graphs, 100,000 hostile connections, 6,000
    hostile clients of a page; `nox -s fuzz -- NAME [OPTION...]` runs one of schedules, scripts, models, formats,
    artifacts, graphs, connections and pages."""
    programs = {
        "schedules": "run.py",
        "scripts": "scripts.py",
        "models": "onnx_mutants.py",
        "formats": "format_mutants.py",
        "artifacts": "artifact_mutants.py",
        "graphs": "graphs.py",
        "connections": "connections.py",
        "pages": "pages.py",
    }
    if session.posargs and session.posargs[0] not in programs:
        session.error(f"expected one of {', '.join(programs)} before options, found {session.posargs[0]}")
    install(session, "test")
    for name in session.posargs[:1] or programs:
        session.run("python", f"tests/fuzz/{programs[name]}", *session.posargs[1:], env={"PYTHONPATH": str(DEVICES)})


@nox.session(python=PYTHON, default=False)
def targets(session: nox.Session) -> None:
    """Every schedule primitive and operator compiled for each target, run there and compared with its definition;
    without options, the tables of docs/targets.md."""
    install(session, "test")
    folders = [ROOT / "tests" / "fuzz", ROOT / "packages" / "sateen-graph-ir" / "tests" / "ops", DEVICES]
    options = session.posargs or ("--write", "docs/targets.md")
    environment = {"PYTHONPATH": os.pathsep.join(map(str, folders))}  # the emulator, operators with arguments, devices
    session.run("python", "tests/targets/run.py", *options, env=environment)


@nox.session(python=PYTHON, default=False)
def fleet(session: nox.Session) -> None:
    """200 measurements on four boards that are killed, stopped, restarted and cut off; 10,000 calls of one session."""
    install(session, "test")
    session.run("python", "tests/fleet/chaos.py", *session.posargs)
    session.run("python", "tests/fleet/soak.py")


@nox.session(python=PYTHON, default=False)
def device(session: nox.Session) -> None:
    """squeezenet on an emulated AArch64 device: compiled, sent, run, timed and compared by one command line."""
    install(session, "test")
    session.install("pip")  # which takes packages for other machines
    folder = Path(session.create_tmp()).absolute()
    build_wheels(session, folder / "wheels")
    environment = {"PYTHONPATH": str(ROOT / "bench")}
    session.run("python", "tests/fleet/emulated.py", str(folder / "device"), str(folder / "wheels"), env=environment)


@nox.session(python=PYTHON, default=False)
def mutations(session: nox.Session) -> None:
    """Seeded faults in passes, memory plans, lowering, schedules and the importer: all but five have to fail a test."""
    install(session, "test")
    session.run("python", "tests/mutations/run.py", *session.posargs)


@nox.session(python=PYTHON, default=False)
def models(session: nox.Session) -> None:
    """Real networks compiled and verified; all of them, without options, write docs/models.md. With `--target` they run
    on devices."""
    install(session, "test")
    session.install("-e", "packages/sateen-frontends[peers]")
    options = session.posargs or ("--page", "docs/models.md")
    session.run("python", "tests/models/verify_models.py", *options)


@nox.session(python=PYTHON, default=False)
def elsewhere(session: nox.Session) -> None:
    """Real networks on emulated machines, compared with the same networks here; without options, the table of
    docs/targets.md."""
    install(session, "test")
    options = session.posargs or ("--write", "docs/targets.md")
    environment = {"PYTHONPATH": str(ROOT / "tests" / "fuzz")}  # the emulator
    session.run("python", "tests/models/elsewhere.py", *options, env=environment)


@nox.session(python=PYTHON, default=False)
@nox.parametrize("format_", SUITES, ids=SUITES)
def suites(session: nox.Session, format_: str) -> None:
    """Models of a format that its framework makes, one per layer and option, compared with what the framework computes:
    `nox -s "suites(mxnet)"`, or all of them."""
    install(session, "test")
    cases = empty_folder(session, format_)
    python = framework(session, format_, f"tests/suites/{format_}/requirements.txt")
    session.run(python, f"tests/suites/{format_}/make.py", str(cases), external=True)
    session.run("python", "tests/suites/judge.py", str(cases), *session.posargs)


@nox.session(python=PYTHON, default=False)
def architectures(session: nox.Session) -> None:
    """Whole architectures of torchvision, timm and keras.applications, made by these and read from their own formats;
    without options, docs/architectures.md."""
    install(session, "test")
    torch, keras = (empty_folder(session, name) for name in ("torch", "keras"))
    python = framework(session, "torch", "tests/suites/torch/architectures.txt")
    session.run(python, "tests/suites/torch/architectures.py", str(torch), external=True)
    python = framework(session, "keras", "tests/suites/keras/requirements.txt")
    session.run(python, "tests/suites/keras/make.py", str(keras), "--only", "app-", external=True)
    options = session.posargs or ("--page", "docs/architectures.md")
    session.run("python", "tests/suites/architectures.py", str(torch), str(keras), *options)


@nox.session(python=PYTHON, default=False)
def conformance(session: nox.Session) -> None:
    """All backend tests of ONNX, compared with the list of those that pass."""
    install(session, "test")
    session.run("python", "tests/conformance/run.py", *session.posargs)
