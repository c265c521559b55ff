"""What a package lets people import is what its `__all__` lists."""

import importlib
import inspect
import re
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

SOURCES = sorted(Path(__file__).parents[1].glob("packages/*/src"))
INITS = [(source, init) for source in SOURCES for init in sorted(source.rglob("__init__.py"))]
NAMES = {".".join(init.parent.relative_to(source).parts): init for source, init in INITS}
LISTED = [name for name, init in NAMES.items() if name.count(".") == 1 or "__all__" in init.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", LISTED)
def test_importable_names_are_the_listed_ones(name: str) -> None:
    package = importlib.import_module(name)
    listed = package.__all__
    importable = {
        key
        for key, value in vars(package).items()
        if key in listed or not (key.startswith("_") or isinstance(value, ModuleType))
    }
    assert sorted(listed) == sorted(importable), f"{name}.__all__ against what it binds"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_a_module_or_something_else(name: str) -> None:
    """Where a package binds a function under the name of one of its modules, nobody can tell which one is meant."""
    files = NAMES[name].parent.iterdir()
    modules = {file.stem for file in files if file.suffix == ".py" or (file / "__init__.py").exists()}
    bound = {key for key, value in vars(importlib.import_module(name)).items() if not isinstance(value, ModuleType)}
    assert sorted(modules & bound) == []


def test_rooms_of_graph_ir_take_of_each_other_what_they_list() -> None:
    """And so do programs. A pass is taken from its file, which bears its name."""
    root, own = Path(__file__).parents[1], NAMES["sateen.graph_ir"].parent
    deep = re.compile(r"^ *from sateen\.graph_ir\.(\w+)\.(\w+) import (\w+)", re.MULTILINE)
    found = [
        f"{file.relative_to(root)}: {room}.{module}"
        for file in (*own.rglob("*.py"), *(root / "bench").glob("*.py"), *(root / "examples").glob("*.py"))
        for room, module, name in deep.findall(file.read_text(encoding="utf-8"))
        if room not in file.relative_to(root).parts and (room, module) != ("passes", name)
    ]
    assert found == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.count(".") == 1])
def test_a_package_has_the_version_of_its_distribution(name: str) -> None:
    assert importlib.import_module(name).__version__ == version(name.replace(".", "-").replace("_", "-"))


def test_the_namespace_belongs_to_no_package() -> None:
    assert not [source for source in SOURCES if (source / "sateen" / "__init__.py").exists()]


def test_every_package_with_code_says_that_it_is_typed() -> None:
    tops = [init.parent for name, init in NAMES.items() if name.count(".") == 1]
    assert [top for top in tops if not (top / "py.typed").exists()] == []


def test_the_page_of_te_lists_every_name() -> None:
    page = (Path(__file__).parents[1] / "docs" / "te.md").read_text(encoding="utf-8")
    te = importlib.import_module("sateen.tensor_ir.te")
    assert [name for name in te.__all__ if not re.search(rf"`{name}\b", page)] == []


def test_the_page_of_te_lists_what_compiles_and_what_builds_loops() -> None:
    page = (Path(__file__).parents[1] / "docs" / "te.md").read_text(encoding="utf-8")
    names = [
        *importlib.import_module("sateen.tensor_ir").__all__,
        *_methods("sateen.tensor_ir.te.ir_builder", "IRBuilder"),
    ]
    assert [name for name in names if name != "__version__" and not re.search(rf"`\.?{name}\b", page)] == []


def test_the_page_of_schedules_has_all_that_schedules_stages_and_groups_do() -> None:
    page = (Path(__file__).parents[1] / "docs" / "schedule.md").read_text(encoding="utf-8")
    room = "sateen.tensor_ir.schedule"
    names = [*_methods(room, "Stage"), *_methods(room, "Schedule"), *_methods(f"{room}.groups", "Group")]
    assert "storage_align" in names
    assert [name for name in names if not re.search(rf"\.{name}\(", page)] == []


def _methods(module: str, name: str) -> list[str]:
    """The public methods of a class."""
    members = inspect.getmembers(getattr(importlib.import_module(module), name), inspect.isfunction)
    return [name for name, _ in members if not name.startswith("_")]


def test_the_table_of_names_of_tvm_names_what_is_there() -> None:
    page = (Path(__file__).parents[1] / "docs" / "te-migration.md").read_text(encoding="utf-8")
    te = importlib.import_module("sateen.tensor_ir.te")
    assert [name for name in re.findall(r"`te\.(\w+)", page) if not hasattr(te, name)] == []
    row = re.compile(r"(.+)\| `te` has them under these names")
    listed = [
        name for line in page.splitlines() if (same := row.match(line)) for name in re.findall(r"`(\w+)`", same[1])
    ]
    assert "truncmod" in listed
    assert [name for name in listed if not hasattr(te, name)] == []
