"""The site of the documentation: where its links lead, and which versions it lists."""

import json
from pathlib import Path

import pytest
from docs_site.links import rewrite_links
from docs_site.versions import write_list

PAGES = {"index.md", "how-to/a.md", "how-to/b.md", "kinds/README.md", "project/changelog.md"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[b](b.md#x)", "[b](b.md#x)", id="page beside it"),
        pytest.param("[c](../../CHANGELOG.md)", "[c](../project/changelog.md)", id="top folder"),
        pytest.param("[home](../../README.md)", "[home](../index.md)", id="front page"),
        pytest.param("[k](../kinds)", "[k](../kinds/README.md)", id="folder"),
        pytest.param("[t](../../tests/x.py)", "t (`tests/x.py`)", id="not in the site"),
        pytest.param("[`t`](../../tests/x.py)", "`t` (`tests/x.py`)", id="code as its text"),
        pytest.param("[w](https://example.com/b.md)", "[w](https://example.com/b.md)", id="web"),
        pytest.param("[here](#x)", "[here](#x)", id="anchor"),
        pytest.param("```\n[b](../../x)\n```", "```\n[b](../../x)\n```", id="block of code"),
    ],
)
def test_links_lead_to_what_the_site_has(text: str, expected: str) -> None:
    found = rewrite_links(
        text, source="docs/how-to/a.md", page="how-to/a.md", exists=PAGES.__contains__
    )
    assert found == expected


def test_pages_of_the_top_folder_link_into_the_site() -> None:
    found = rewrite_links(
        "[a](docs/how-to/a.md)",
        source="CHANGELOG.md",
        page="project/changelog.md",
        exists=PAGES.__contains__,
    )
    assert found == "[a](../how-to/a.md)"


def test_versions_are_folders_and_the_newest_is_where_the_front_page_leads(tmp_path: Path) -> None:
    for version in ("0.1.0", "0.2.0"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").touch()
    write_list(tmp_path, "0.2.0")
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [(each["version"], each["aliases"]) for each in listed] == [
        ("0.2.0", ["latest"]),
        ("0.1.0", []),
    ]
    assert "url=0.2.0/" in (tmp_path / "index.html").read_text()
