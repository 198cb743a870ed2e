"""Commands that need no server: linting, refused usage, and text of reconcile records."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.cli.commands.why import format_record
from quarterdeck.cli.main import run
from quarterdeck.meta.identity import Key
from quarterdeck.runtime.reconcile.journal import Cause, Journal, Record, explain


def call(capture: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(list(arguments)) == code
    done = capture.readouterr()
    return done.err if code == 2 else done.out


def test_lint_checks_files_and_folders(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "good.alloy").write_text('loki.write "x" {\n}\n')
    assert call(capsys, "pipelines", "lint", str(tmp_path)) == "1 pipeline checked, 0 errors\n"
    (tmp_path / "bad.alloy").write_text('a.b "c" {\n')
    text = call(capsys, "pipelines", "lint", str(tmp_path), code=1)
    assert f"{tmp_path}/bad.alloy:" in text
    assert text.endswith("2 pipelines checked, 1 error\n")


def test_lint_refuses_what_it_cannot_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "cannot read" in call(capsys, "pipelines", "lint", "/nowhere.yaml", code=2)
    (tmp_path / "other.yaml").write_text("kind: Other\n")
    assert "no pipelines found" in call(capsys, "pipelines", "lint", str(tmp_path), code=2)


def test_import_names_the_settings_that_are_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BASE_URL", "USERNAME", "PASSWORD"):
        monkeypatch.delenv(f"FLEET_MANAGEMENT_{name}", raising=False)
    line = call(capsys, "pipelines", "import", "--url", "https://x", code=2)
    assert "FLEET_MANAGEMENT_USERNAME" in line and "FLEET_MANAGEMENT_BASE_URL" not in line
    line = call(capsys, "pipelines", "import", "--password-file", "/nowhere", code=2)
    assert "--password-file" in line
    monkeypatch.setenv("FLEET_MANAGEMENT_USERNAME", "u")
    monkeypatch.setenv("FLEET_MANAGEMENT_PASSWORD", "p")
    line = call(capsys, "pipelines", "import", "--url", "http://example.com", code=2)
    assert "https is required for example.com" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--data-dir", "x", "--in-memory"], "--data-dir and --in-memory", id="data"),
        pytest.param(
            ["--simulate-workloads", "--no-lifecycle"],
            "--simulate-workloads and --no-lifecycle",
            id="life cycle",
        ),
        pytest.param(
            ["--disable-admission-plugins", "Nope"], 'plugin "Nope" is unknown', id="plugin"
        ),
        pytest.param(["--feature-gates", "A"], "expected NAME=true or NAME=false", id="gate"),
        pytest.param(
            ["--service-cluster-ip-range", "here"], "--service-cluster-ip-range 'here'", id="range"
        ),
        pytest.param(
            ["--webhook-service", "shop=127.0.0.1:1"], "expected NS/NAME=HOST:PORT", id="service"
        ),
        pytest.param(["--port", "65536"], "65536 must be at most 65535", id="port"),
    ],
)
def test_the_server_refuses_flags_that_exclude_each_other(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in call(capsys, "server", *arguments, code=2)


def test_a_reconcile_record_has_a_line_for_each_cause_read_and_write() -> None:
    record = {
        "startedAt": "2026-01-01T00:00:00Z",
        "durationSeconds": 0.002,
        "queueWaitSeconds": 0.001,
        "outcome": "done",
        "detail": "all well",
        "causes": [
            {"event": "start"},
            {
                **{"event": "changed", "kind": "Pod", "object": "a/b", "mappedBy": "owner"},
                **{"oldVersion": "1", "newVersion": "2"},
            },
            {
                **{"event": "added", "kind": "Pod", "object": "a/d", "mappedBy": "owner"},
                **{"oldVersion": None, "newVersion": "2"},
            },
        ],
        "reads": [{"kind": "Pod", "object": "a/b", "version": "2", "source": "cache"}],
        "writes": [
            {"verb": "skipped", "kind": "Pod", "object": "a/c", "version": "2"},
            {"verb": "apply", "kind": "Pod", "object": "a/b", "version": "3"},
        ],
        "nextSeconds": 5,
    }
    assert format_record(record) == [
        "  2026-01-01T00:00:00Z  done in 2.0 ms, queued for 1.0 ms",
        "    all well",
        "    cause    start",
        "    cause    Pod a/b was changed (1 -> 2, mapped by owner)",
        "    cause    Pod a/d was added (2, mapped by owner)",
        "    read     Pod a/b at 2 (cache)",
        "    wrote    apply Pod a/b -> 3",
        "    next in  5 s",
    ]


def test_a_reconcile_after_a_restart_names_the_initial_list() -> None:
    journal, key = Journal("config", "ConfigMap"), Key("default", "a")
    cause, started = Cause(None, ConfigMap, None, None, None, "for"), datetime.now(UTC)
    journal.add(Record("1", key, started, (cause,), 0.0, 0.0, (), (), "done", "", None))
    [told] = explain([journal], "configmap", key)
    lines = format_record(told["reconciles"][0])
    assert "    cause    initial list of ConfigMap" in lines
