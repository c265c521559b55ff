"""The distributions fit together, and the documents say what the machinery does."""

import re
import tomllib
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
FILES = sorted(ROOT.glob("packages/*/pyproject.toml"))
PROJECTS: dict[str, dict[str, Any]] = {}
for file in FILES:
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    PROJECTS[project["name"]] = project
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/*.md")])
TEST_COMMAND = "python3.11 -m venv .venv && .venv/bin/pip install -q nox uv && .venv/bin/nox"
CHAIN = ["sateen-runtime", "sateen-tensor-ir", "sateen-topi", "sateen-graph-ir", "sateen-frontends", "sateen"]


def requirements(name: str) -> list[Requirement]:
    """What a distribution needs of others of this workspace, extras included."""
    project = PROJECTS[name]
    texts = [*project["dependencies"], *chain(*project.get("optional-dependencies", {}).values())]
    return [requirement for requirement in map(Requirement, texts) if requirement.name in PROJECTS]


@pytest.mark.parametrize("name", PROJECTS)
def test_siblings_are_pinned_as_compatible_releases_that_exist(name: str) -> None:
    for requirement in requirements(name):
        assert [specifier.operator for specifier in requirement.specifier] == ["~="]
        assert PROJECTS[requirement.name]["version"] in requirement.specifier


def test_each_distribution_needs_the_one_before_it_in_the_chain() -> None:
    needed = {name: {requirement.name for requirement in requirements(name)} - {"sateen-rpc"} for name in CHAIN[1:]}
    assert needed == {name: {before} for before, name in pairwise(CHAIN)}
    assert {requirement.name for requirement in requirements("sateen-rpc")} == {"sateen-runtime"}


@pytest.mark.parametrize("folder", [file.parent for file in FILES], ids=lambda folder: folder.name)
def test_each_distribution_has_its_documents_and_the_licence(folder: Path) -> None:
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (folder / "README.md").read_text(encoding="utf-8").startswith(f"# {folder.name}\n")
    version = PROJECTS[folder.name]["version"]
    assert f"## {version}" in (folder / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_checkout_installs_every_distribution_from_its_folder() -> None:
    root = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folders = {f"{name} @ {{root:uri}}/packages/{name}/." for name in PROJECTS}
    assert set(root["dependencies"]) == folders
    assert "Private :: Do Not Upload" in root["classifiers"]


ADVICE = re.compile(r"pip install ([^`\n&#]*)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_no_document_tells_to_install_ours_from_an_index(document: Path) -> None:
    told = [words for words in ADVICE.findall(document.read_text(encoding="utf-8")) if "sateen" in words]
    assert [words for words in told if not words.startswith(("dist/", "./"))] == []


def test_no_message_tells_to_install_ours_from_an_index() -> None:
    sources = [path.read_text(encoding="utf-8") for path in ROOT.glob("packages/*/src/**/*.py")]
    assert [words for source in sources for words in ADVICE.findall(source) if "sateen" in words] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_the_command_that_tests_is_the_same_everywhere(name: str) -> None:
    assert TEST_COMMAND in (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in target]
    assert [target for target in targets if target and not (document.parent / target).exists()] == []


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    links = re.findall(r'\]\(([^)\s]+)\)|\bsrc="([^"]+)"', page.read_text(encoding="utf-8"))
    for link in filter(lambda link: not re.match("https?:|mailto:", link), map("".join, links)):
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), f"expected a file, found the link {link}"
        text = target / "README.md" if target.is_dir() else target
        if anchor and text.suffix == ".md":
            assert anchor in anchors(text), f"expected a heading of {text.relative_to(ROOT)}, found the link {link}"


def anchors(page: Path) -> set[str]:
    """The names that headings of a page have in links; equal ones are numbered."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = [re.sub(r"\]\([^)]*\)", "]", line) for line in re.findall(r"^#+ (.*)$", prose, flags=re.MULTILINE)]
    names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    numbered = {f"{name}-{n}" for name in names for n in range(1, names.count(name))}
    return {*names, *numbered, *re.findall(r'<a (?:id|name)="([^"]+)"', prose)}
