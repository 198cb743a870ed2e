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

FLAGS = (
    *("port", "http-port", "health-port", "metrics-port", "dashboard-port", "fleet-port"),
    *("runner-webhook-port", "bootstrap-port"),
)
UP = ("up", "--operators", "machines", *(word for flag in FLAGS for word in (f"--{flag}", "0")))


@contextmanager
def running(pattern: str, *arguments: str) -> Iterator[str]:
    """A command; the URL in the first line that has the pattern."""
    command = [sys.executable, "-m", "quarterdeck.cli", *arguments]
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
