"""Changes of pipelines as a user makes them: plan, roll out, promote, go back; and the webhook."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_PORTS
from watched_object import wait_for_object

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-m", "quarterdeck.cli")
UP = ("up", "--demo", "--in-memory", "--operators", "pipelines", *FREE_PORTS)
PIPELINE = """
apiVersion: fleetmanagement.grafana.com/v1alpha1
kind: Pipeline
metadata: {name: web, namespace: default}
spec:
  contents: |
    loki.write "WORD" {
    }
  matchers: ['MATCHER']
  rollout:
    steps: [{weight: 50}]
"""


class Demo:
    """A running `up --demo`, and commands against it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*COMMAND, *UP], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        self._said = ""
        self.url = self._until(r"(http://\S+)\s+fleet server")
        self.token_file = self._until(r"token in (\S+)")
        self.kubeconfig = self._until(r"export KUBECONFIG=(\S+)")
        self._until("agent edge-3 received")

    def _until(self, pattern: str) -> str:
        assert self.process.stdout is not None
        while (found := re.search(pattern, self._said)) is None:
            line = self.process.stdout.readline()
            assert line, self._said
            self._said += line
        return found[found.re.groups and 1]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "KUBECONFIG": self.kubeconfig,
            "FLEET_MANAGEMENT_BASE_URL": self.url,
            "FLEET_MANAGEMENT_USERNAME": "me",
        }

    def run(self, *arguments: str, code: int = 0, given: str = "") -> str:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def fleet(self, *arguments: str, given: str = "") -> str:
        return self.run("pipelines", *arguments, "--password-file", self.token_file, given=given)

    def apply(self, word: str, matcher: str = "env=field", code: int = 0) -> str:
        text = PIPELINE.replace("WORD", word).replace("MATCHER", matcher)
        return self.run("apply", "-f", "-", given=text, code=code)

    def wait(self, kind: str, name: str, text: str) -> dict[str, Any]:
        """Wait until an object has a text in its status."""
        return wait_for_object(
            kind,
            name,
            environment=self.environment,
            is_met=lambda found: text in json.dumps(found.get("status", {})),
        )

    def wait_revision(self, revision: str) -> None:
        """Wait until the history has a revision; the operator reads it every few seconds."""
        wait_for_object(
            "pipelinerevisions",
            environment=self.environment,
            is_met=lambda found: found["spec"]["revisionId"] == revision,
        )


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    found = Demo(tmp_path)
    yield found
    found.process.send_signal(signal.SIGINT)
    found.process.communicate(timeout=240)


def test_a_change_is_planned_rolled_out_promoted_and_taken_back(demo: Demo) -> None:
    first = PIPELINE.replace("WORD", "first").replace("MATCHER", "env=field")
    planned = demo.fleet("plan", "-", given=first)
    assert "10 of 13 collectors affected: 10 gain, 0 lose, 0 change" in planned
    assert '+loki.write "first" {' in planned
    document = json.loads(demo.fleet("plan", "-", "-o", "json", given=first))
    assert len(document["gain"]) == 10 and document["pipelines"][0]["name"] == "web"
    refused = demo.apply("first", 'env=~"[a-"', code=1)
    assert "spec.matchers[0]" in refused
    demo.apply("first")
    waiting = demo.wait("pipelines", "web", "WaitingForApproval")
    assert waiting["status"]["rollout"]["weight"] == 50
    demo.run("pipelines", "promote", "web")
    demo.wait("pipelines", "web", "Promoted")
    assert 'loki.write "first"' in demo.fleet("effective", "field-01")
    before = demo.wait("pipelines", "web", "revisionId")["status"]["revisionId"]
    demo.wait_revision(before)
    demo.apply("second")
    demo.wait("pipelines", "web", "WaitingForApproval")
    demo.run("pipelines", "promote", "web")
    demo.wait("pipelines", "web", "Promoted")
    assert before in demo.run("pipelines", "rollback", "web", "--to", before)
    demo.wait("pipelines", "web", "rolledBackTo")
    assert 'loki.write "first"' in demo.fleet("effective", "field-01")


def test_the_demo_shows_a_set_and_a_rollout(demo: Demo) -> None:
    found = demo.wait("pipelinesets", "field-set", '"synced": 2')
    assert {each["name"] for each in found["status"]["members"]} == {"field-logs", "field-metrics"}
    rolled = demo.wait("pipelines", "field-canary", "Promoted")
    assert rolled["status"]["rollout"]["weight"] == 100
    demo.wait("pipelines", "field-canary", '"applied": 10')
