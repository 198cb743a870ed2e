"""`quarterdeck why` against a health endpoint that answers as told."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from quarterdeck.cli.main import run

RECORD: dict[str, Any] = {
    "startedAt": "2030-01-01T00:00:00Z",
    "durationSeconds": 0.002,
    "queueWaitSeconds": 0.001,
    "outcome": "done",
    "detail": "",
    "causes": [{"event": "resync"}],
    "reads": [],
    "writes": [],
    "nextSeconds": None,
}


class Health:
    """The endpoint: its address, and the answer to every request."""

    def __init__(self) -> None:
        self.answer = b""
        self.paths: list[str] = []
        health = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                health.paths.append(self.path)
                self.send_response(200)
                self.send_header("Content-Length", str(len(health.answer)))
                self.end_headers()
                self.wfile.write(health.answer)

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def health() -> Iterator[Health]:
    running = Health()
    thread = threading.Thread(target=running.server.serve_forever, args=(0.01,))
    thread.start()
    yield running
    running.server.shutdown()
    thread.join()
    running.server.server_close()


def explain(health: Health, document: object, *arguments: str, code: int = 0) -> None:
    health.answer = document if isinstance(document, bytes) else json.dumps(document).encode()
    assert run(["why", "pods", "web", "--health", f"{health.url}/", *arguments]) == code


def test_newest_reconciles_are_shown(health: Health, capsys: pytest.CaptureFixture[str]) -> None:
    records = [RECORD, {**RECORD, "outcome": "failed", "detail": "no \x1b[31mred"}, RECORD]
    document = {
        "controllers": [
            {"controller": "idle", "reconciles": []},
            {"controller": "pods", "reconciles": records},
        ]
    }
    explain(health, document, "--limit", "2", "-n", "shop")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "controller pods", "one that never saw the object is left out"
    assert lines[1] == "  2030-01-01T00:00:00Z  done in 2.0 ms, queued for 1.0 ms"
    assert [line for line in lines if "failed in" in line]
    assert sum("queued for" in line for line in lines) == 2
    assert not any("\x1b" in line for line in lines)
    assert health.paths == ["/explain/pods/shop/web"]
    explain(health, document, "-o", "json")
    assert json.loads(capsys.readouterr().out) == document


def test_object_that_was_never_reconciled_is_named(
    health: Health, capsys: pytest.CaptureFixture[str]
) -> None:
    explain(health, {"controllers": [{"controller": "pods", "reconciles": []}]})
    assert capsys.readouterr().out.splitlines() == [
        "controller pods",
        "  no recorded reconcile of default/web",
    ]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param(b"<html>", "did not answer with JSON; check --health", id="not JSON"),
        pytest.param({"error": "no controller of pods"}, "no controller of pods", id="error"),
        pytest.param({}, "/explain/pods/default/web has no controllers", id="empty"),
    ],
)
def test_answer_of_another_program_is_refused(
    health: Health, document: object, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    explain(health, document, code=1)
    assert words in capsys.readouterr().err
