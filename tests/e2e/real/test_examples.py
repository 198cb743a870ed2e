"""The examples with webhooks on a real kube-apiserver, as their pages say."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from real_server import RealServer, wait_until

from quarterdeck.testing import programs

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

EXAMPLES = Path(__file__).parents[3] / "examples"


@contextmanager
def running(real: RealServer, program: Path, log: Path, registered: str) -> Iterator[None]:
    """An example that has written what `registered` names: an object and a path that is there."""
    kind, _, path = registered.partition(" ")
    query = ("get", kind, "-o", f"jsonpath={{{path}}}")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, str(program)],
            env={**os.environ, "KUBECONFIG": str(real.kubeconfig)},
            cwd=program.parent,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: real.try_kubectl(*query).stdout, log.read_text)
        yield
    finally:
        programs.stop(process)


def test_one_kind_is_served_in_two_versions(real: RealServer, tmp_path: Path) -> None:
    folder = EXAMPLES / "conversion"
    real.kubectl("apply", "-f", str(folder / "crd.yaml"))
    established = "--for=condition=Established"
    real.kubectl("wait", established, "crd/alarms.example.com", "--timeout=240s")
    registered = "crd/alarms.example.com .spec.conversion.webhook.clientConfig.url"
    with running(real, folder / "alarms.py", tmp_path / "log", registered):
        done = real.try_kubectl("apply", "-f", str(folder / "sample.yaml"))
        assert done.returncode == 0 and "deprecated" in done.stderr, done.stderr
        newer = real.get("alarms.v2.example.com", "sample")
        assert newer["spec"] == {"hour": 7, "minute": 30}
        older = real.get("alarms.v1.example.com", "sample")
        assert older["spec"] == {"at": "07:30"}
        assert older["metadata"]["uid"] == newer["metadata"]["uid"]
        patch = ("patch", "alarms.v1.example.com", "sample", "--type=merge")
        refused = real.try_kubectl(*patch, "-p", '{"spec":{"at":"noon"}}')
        assert "spec.at: 'noon' is not a time; write it as HH:MM" in refused.stderr
        real.kubectl(*patch, "-p", '{"spec":{"at":"18:05"},"metadata":{"labels":{"a":"b"}}}')
        newer = real.get("alarms.v2.example.com", "sample")
        assert newer["spec"] == {"hour": 18, "minute": 5}
        assert newer["metadata"]["labels"] == {"a": "b"}
        assert len(real.items("alarms.v1.example.com")) == 1
        real.kubectl("delete", "crd", "alarms.example.com", "--wait=false")


def test_tickets_are_filled_in_and_refused(real: RealServer, tmp_path: Path) -> None:
    folder = EXAMPLES / "webhooks"
    real.kubectl("apply", "-f", str(folder / "crd.yaml"))
    real.kubectl("wait", "--for=condition=Established", "crd/tickets.example.com", "--timeout=240s")
    registered = "validatingwebhookconfiguration/tickets.example.com .webhooks[0].name"
    with running(real, folder / "tickets.py", tmp_path / "log", registered):
        real.kubectl("apply", "-f", str(folder / "sample.yaml"))
        spec = real.get("ticket", "sample")["spec"]
        assert (spec["team"], spec["reporter"]) == ("on-call", "administrator")
        patch = ("patch", "ticket", "sample", "--type=merge", "-p")
        refused = real.try_kubectl(*patch, '{"spec":{"type":"joke"}}')
        assert refused.returncode == 1
        assert "denied the request: spec.type: 'joke' is unknown" in refused.stderr
        warned = real.try_kubectl(*patch, '{"spec":{"team":"support"}}')
        assert warned.returncode == 0
        assert "Warning: spec.team: support answers incidents on working days" in warned.stderr
        query = ("get", "ticket", "sample", "-o", "jsonpath={.status.assignedTo}")
        wait_until(lambda: real.kubectl(*query) == "support", lambda: real.kubectl(*query))
