"""`quarterdeck describe` against a server of the test's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.cli.commands.describe import format_description
from quarterdeck.cli.main import run
from quarterdeck.kit.terminal import escape_controls


def call(kubeconfig: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run([*arguments, "--kubeconfig", str(kubeconfig)])
    done = capsys.readouterr()
    return code, done.out if code == 0 else done.err


def apply(kubeconfig: Path, tmp_path: Path, *documents: dict[str, Any]) -> None:
    (tmp_path / "all.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    )
    assert run(["apply", "-f", str(tmp_path), "--kubeconfig", str(kubeconfig)]) == 0


def test_an_object_is_described_with_its_events(
    kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "one", "labels": {"app": "a"}},
        "data": {"color": "blue"},
    }
    apply(kubeconfig, tmp_path, config)
    capsys.readouterr()
    _, text = call(kubeconfig, capsys, "get", "cm", "one", "-o", "jsonpath={.metadata.uid}")
    about = {"kind": "ConfigMap", "namespace": "default", "name": "one", "uid": text.strip()}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": about,
        "type": "Normal",
        "reason": "Painted",
        "message": "it is blue now",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    other = {**event, "metadata": {"name": "f"}, "involvedObject": {**about, "uid": "other"}}
    apply(kubeconfig, tmp_path, event, {**other, "reason": "Foreign"})
    capsys.readouterr()
    code, told = call(kubeconfig, capsys, "describe", "cm/one")
    assert code == 0
    lines = [" ".join(line.split()) for line in told.splitlines()]
    for line in ("Name: one", "Namespace: default", "Labels: app=a", "Data:", "color: blue"):
        assert line in lines
    assert any(line.endswith("Normal Painted 1 it is blue now") for line in lines)
    assert "Foreign" not in told


def test_conditions_are_a_table_and_labels_have_a_line_each() -> None:
    document = {
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u", "labels": {"b": "2", "a": "1"}},
        "status": {
            "conditions": [
                {"type": "Ready", "status": "False", "reason": "Slow", "message": "x\x1b[2J"}
            ]
        },
    }
    assert format_description(document, []).splitlines() == [
        "Name:         p",
        "Kind:         Pod",
        "Labels:       a=1",
        "              b=2",
        "Conditions:",
        "  TYPE    STATUS   REASON   MESSAGE",
        "  Ready   False    Slow     " + escape_controls("x\x1b[2J"),
        "Events:       none",
    ]


def test_events_of_one_second_are_in_the_order_they_were_written() -> None:
    def build_event(reason: str, version: str) -> dict[str, Any]:
        return {
            "metadata": {"name": reason, "resourceVersion": version},
            "involvedObject": {"uid": "u"},
            "reason": reason,
            "lastTimestamp": "2026-01-01T00:00:00Z",
        }

    document = {"kind": "Pod", "metadata": {"name": "p", "uid": "u"}}
    told = format_description(document, [build_event("Second", "10"), build_event("First", "9")])
    assert told.index("First") < told.index("Second")


def test_cluster_scoped_objects_are_described(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = call(kubeconfig, capsys, "describe", "ns", "default")
    assert code == 0
    assert "Status:\n  phase: Active" in told
    assert "Events: none" in " ".join(told.split())


def test_values_of_secrets_are_not_shown(
    kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"password": "hunter22"},
    }
    apply(kubeconfig, tmp_path, secret)
    capsys.readouterr()
    _, told = call(kubeconfig, capsys, "describe", "secret", "s")
    assert "password: 8 bytes" in told
    assert "hunter22" not in told
    assert "aHVudGVyMjI" not in told


def test_nothing_to_describe_is_a_failure(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = call(kubeconfig, capsys, "describe", "jobs")
    assert (code, told) == (1, "quarterdeck describe: no jobs found in namespace default\n")
