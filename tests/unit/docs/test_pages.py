"""What the pages state about the tree is true."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from page_blocks import list_blocks

import quarterdeck

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/tutorial").glob("*.md")), ids=lambda p: p.stem
)
def test_tutorials_open_a_shell_before_they_call_quarterdeck(page: Path) -> None:
    commands = "\n".join(block.text for block in list_blocks(page) if block.is_shell)
    before, shell, _ = commands.partition("make shell")
    assert shell and not re.search(r"^(quarterdeck|kubectl) ", before, flags=re.M)


def test_make_shell_has_quarterdeck_and_a_kubeconfig() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    done = subprocess.run(
        ["make", "-s", "-o", ".venv/.installed-run", "shell"],
        cwd=ROOT,
        env=environment,
        input='echo "$PATH"; echo "$KUBECONFIG"\n',
        capture_output=True,
        text=True,
        check=True,
    )
    path, kubeconfig = done.stdout.splitlines()
    assert str(ROOT / ".venv/bin") in path.split(":")
    assert kubeconfig == str(ROOT / ".quarterdeck/kubeconfig")


def test_the_modules_on_the_road_of_an_object_exist() -> None:
    text = (ROOT / "docs/explanation/architecture.md").read_text()
    road = text.partition("## The road of one object")[2]
    package = ROOT / "src/quarterdeck"
    for name in re.findall(r"`([a-z_]+/[a-z_/.]*)`", road):
        assert (package / name).exists() or (package / name).is_dir(), name


def test_the_paths_in_the_glossary_exist() -> None:
    text = (ROOT / "docs/explanation/glossary.md").read_text()
    paths = re.findall(r"`([a-z_0-9]+/[a-z_0-9/.]*)`", text)
    missing = [
        path
        for path in paths
        if not ((ROOT / "src/quarterdeck" / path).exists() or (ROOT / path).exists())
    ]
    assert len(paths) > 20 and missing == []


def test_the_changelog_speaks_of_this_version() -> None:
    assert f"## {quarterdeck.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_no_page_is_empty() -> None:
    for page in PAGES:
        assert len(page.read_text()) > 10, page
