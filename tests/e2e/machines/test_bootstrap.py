"""The bootstrap service as processes: in `up`, and alone against its API server."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from free_ports import FREE_PORTS
from measured import PYTHON

from quarterdeck.testing import programs

PAGE = Path(__file__).parents[3] / "docs" / "tutorial" / "a-vm-that-proves-itself.md"
UP = ("up", "--operators", "machines", *FREE_PORTS)


@contextmanager
def running(pattern: str, *arguments: str) -> Iterator[str]:
    """A command; the URL in the first line that has the pattern."""
    command = [*PYTHON, "-m", "quarterdeck.cli", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            yield next(found[1] for line in lines if (found := re.search(pattern, line)))
        finally:
            os.kill(process.pid, signal.SIGINT)
            process.stdout.read()


def get(url: str, trusted: str | None = None, **options: object) -> tuple[int, dict[str, object]]:
    """A request; without trust only the certificate authority itself may be asked for."""
    if trusted is None:
        context = ssl._create_unverified_context()
    else:
        context = ssl.create_default_context(cadata=trusted)
    request = urllib.request.Request(url, **options)  # type: ignore[arg-type]
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_service_of_up_and_a_second_replica_share_the_authority(tmp_path: Path) -> None:
    data = ("--data-dir", str(tmp_path))
    with running(r"bootstrap service on (\S+)", *UP, *data) as url:
        _, bundle = get(f"{url}/v1/trust-bundle")
        trusted = str(bundle["pem"])
        kubeconfig = ("--kubeconfig", str(tmp_path / "kubeconfig"))
        alone = ("bootstrap", "--port", "0", *kubeconfig)
        with running(r"listening on (\S+)", *alone) as second:
            for each in (url, second):
                assert get(f"{each}/v1/trust-bundle", trusted) == (200, bundle)
                status, body = get(f"{each}/v1/join-tokens", trusted, method="POST", data=b"{}")
                assert (status, body["code"]) == (401, "unauthenticated")


def read_blocks() -> tuple[str, str]:
    """The manifests and the commands of the tutorial."""
    blocks = PAGE.read_text().split("```")[1::2]
    manifests = next(each for each in blocks if each.startswith("yaml\n")).removeprefix("yaml")
    commands = next(each for each in blocks if "TOKEN=" in each)
    return manifests, commands


@pytest.mark.slow  # the agent beats every 15 seconds
def test_tutorial_ends_with_a_machine_that_is_ready_and_then_off(tmp_path: Path) -> None:
    for tool in ("kubectl", "curl", "openssl"):
        programs.require(tool)
    manifests, commands = read_blocks()
    folder = tmp_path / ".quarterdeck"
    environment = os.environ | {
        "KUBECONFIG": str(folder / "kubeconfig"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }

    def kubectl(*words: str, text: str = "") -> str:
        command = ["kubectl", *words]
        done = subprocess.run(
            command, input=text, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with running(r"bootstrap service on (\S+)", *UP, "--data-dir", str(folder)):
        kubectl("apply", "-f", "-", text=manifests)
        kubectl(
            "wait", "mc/proof", "--for=jsonpath={.status.phase}=Bootstrapping", "--timeout=240s"
        )
        machine = subprocess.Popen(
            ["bash", "-ec", commands],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            kubectl("wait", "mc/proof", "--for=condition=Ready", "--timeout=240s")
            assert "token" not in json.loads((tmp_path / "agent.json").read_text())
            kubectl("delete", "mc", "proof", "--wait=false")
            output, _ = machine.communicate()
        finally:
            machine.kill()
            machine.wait()
        assert "the machine is off" in output
