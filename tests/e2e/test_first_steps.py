"""The pages that take a newcomer by the hand, done as they say."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "quarterdeck.cli")
FLAGS = (
    "--port",
    "--http-port",
    "--health-port",
    "--metrics-port",
    "--dashboard-port",
    "--ingester-port",
    "--fleet-port",
    "--webhook-port",
    "--runner-webhook-port",
    "--bootstrap-port",
)
PORTS = tuple(word for flag in FLAGS for word in (flag, "0"))


class Running(NamedTuple):
    """`quarterdeck up` in a folder of its own."""

    folder: Path
    facade: str
    health: str


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Running]:
    process = subprocess.Popen(
        [*COMMAND, "up", *PORTS], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    screen = ""
    while "Activity" not in screen:
        screen += process.stdout.readline()

    def url(what: str) -> str:
        found = re.search(rf"(http://\S+)\s+{what}", screen)
        assert found is not None
        return found.group(1)

    yield Running(tmp_path, url("applications"), url("health"))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def blocks(page: str) -> list[tuple[str, str]]:
    """The language and content of every fenced block."""
    text = (ROOT / page).read_text()
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def shell(script: str, up: Running) -> str:
    """Run lines as a user types them, against this server."""
    script = script.replace("http://localhost:3000", up.facade)
    bin_folder = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=up.folder,
        capture_output=True,
        text=True,
        timeout=60,
        env={
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "KUBECONFIG": str(up.folder / ".quarterdeck" / "kubeconfig"),
            "QUARTERDECK_HEALTH_URL": up.health,
        },
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def without_following(script: str) -> str:
    """The same lines without those that never end."""
    lines = [line for line in script.splitlines() if not re.search(r"\s-w$|^curl -N", line)]
    return "\n".join(lines)


@pytest.mark.slow
def test_the_page_of_the_http_api(up: Running) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    scripts = [each for _, each in blocks("docs/how-to/use-the-http-api.md") if "curl" in each]
    assert len(scripts) >= 3
    for script in scripts:
        answer = shell(without_following(script).replace("curl ", "curl -sS "), up)
        assert '"error"' not in answer
    assert '"name": "my-app"' in shell(  # indented for curl, as by Kubernetes
        "curl -sS http://localhost:3000/apis/cloudnative.elide.dev/v1/applications", up
    )


@pytest.mark.slow
def test_the_tutorial_of_the_first_application(up: Running) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    page = "docs/tutorial/first-application.md"
    manifests = [each for language, each in blocks(page) if language == "yaml"]
    assert len(manifests) == 2
    (up.folder / "web.yaml").write_text(manifests[0])
    (up.folder / "report.yaml").write_text(manifests[1])
    scripts = [
        each
        for language, each in blocks(page)
        if not language and re.match(r"kubectl|quarterdeck", each)
    ]
    assert len(scripts) >= 7
    *steps, last = scripts
    wait = "kubectl wait application/web --for=condition=Ready --timeout=60s"
    for script in steps:
        out = shell(without_following(script), up)
        if "apply" in script:
            shell(wait, up)
        if "jsonpath" in script:  # the broken image: its message is what the page is about
            failed = "kubectl wait app/web --for=jsonpath={.status.phase}=Failed --timeout=60s"
            shell(failed, up)
            assert "cannot be pulled" in shell(script.splitlines()[-1], up)
        if script.startswith("quarterdeck why"):
            assert "cause" in out
    shell("kubectl apply -f report.yaml", up)
    done = "kubectl wait app/report --for=jsonpath={.status.phase}=Succeeded --timeout=60s"
    shell(done, up)
    shell(last, up)
    assert shell("kubectl get deployments,applications -o name", up) == ""
