"""The reader of pages: what it takes for a command, a file, an output, and what it compares."""

from pathlib import Path

import page_blocks
import pytest
from page_blocks import list_blocks
from page_steps import Save, list_steps, mask, matches, split_commands

PAGE = """# A page

```yaml
# web.yaml
kind: Web
```

<!-- given: kubectl create namespace a -->
<!-- with: NAME=web -->
```
kubectl apply -f NAME.yaml   # a comment
cat <<'END' |
two
END
  wc -l
```

```text
2
```

<!-- not run: needs a cloud -->
```
cloud login
```

<!-- file: +web.yaml -->
```yaml
spec: {}
```

```console
$ kubectl get web
NAME
web
$ true
```
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(page_blocks, "ROOT", tmp_path)
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_a_page_becomes_steps_in_its_order(page: Path) -> None:
    seen = [
        ("save", step.path) if isinstance(step, Save) else (step.text, step.output)
        for step in list_steps(page)
    ]
    assert seen == [
        ("save", "web.yaml"),
        ("kubectl create namespace a\n", ""),
        ("kubectl apply -f web.yaml   # a comment\n", ""),
        ("cat <<'END' |\ntwo\nEND\n  wc -l\n", "2\n"),
        ("save", "+web.yaml"),
        ("kubectl get web", "NAME\nweb\n"),
        ("true", ""),
    ]


def test_marked_blocks_say_what_they_need(page: Path) -> None:
    assert [block.not_run for block in list_blocks(page) if block.not_run] == ["needs a cloud"]


def test_an_output_without_a_command_is_refused(page: Path) -> None:
    page.write_text("```text\nalone\n```\n")
    with pytest.raises(AssertionError, match=r"page.md:2: output of which command"):
        list_steps(page)


def test_an_unfinished_command_is_refused() -> None:
    with pytest.raises(AssertionError, match="unfinished"):
        split_commands("for each in a b; do\n")


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        pytest.param("NAME   AGE\nweb    1s", "NAME  AGE\nweb   2m10s", id="age and columns"),
        pytest.param("pod/web-659c94c54b-8h78p", "pod/web-867fbcc467-rcggm", id="pod"),
        pytest.param("at http://127.0.0.1:3000", "at http://127.0.0.1:40123", id="port"),
        pytest.param("at 2026-11-16T04:05:42.29Z", "at 2027-01-01T00:00:00Z", id="time"),
        pytest.param("412 objects", "1034 objects", id="count"),
        pytest.param("a: ... (b)", "a: anything (b)", id="inside a line"),
        pytest.param("head\n...\ntail", "head\none\ntwo\ntail", id="lines"),
        pytest.param("one\n", "\x1b[1mone\x1b[0m", id="color"),
    ],
)
def test_what_differs_between_runs_is_not_compared(expected: str, actual: str) -> None:
    assert matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        pytest.param("web 3/3 Running", "web 2/3 Running", id="count"),
        pytest.param("web Running 1s", "web Failed 1s", id="word"),
        pytest.param("one", "one\ntwo", id="more lines"),
        pytest.param("one\ntwo", "one", id="fewer lines"),
        pytest.param("my-app", "my-web", id="name"),
        pytest.param("...\ntail", "head", id="no such line"),
    ],
)
def test_what_a_page_states_is_compared(expected: str, actual: str) -> None:
    assert not matches(expected, actual)


def test_a_followed_command_may_show_more_steps_in_the_same_order() -> None:
    shown = "NAME PHASE\nfirst Pending\nfirst Running\nfirst Complete\n"
    assert matches("first Pending\nfirst Complete", shown, is_followed=True)
    assert not matches("first Complete\nfirst Pending", shown, is_followed=True)


def test_a_mask_keeps_names() -> None:
    assert mask("application.cloudnative.elide.dev/my-app Running") == [
        "application.cloudnative.elide.dev/my-app Running"
    ]
