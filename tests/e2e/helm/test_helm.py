"""helm as it is: a chart with a definition, a hook and a workload, through its whole life."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.full]

CHART = Path(__file__).parent / "chart"
Tool = Callable[..., str]


@pytest.fixture
def kubeconfig(serve: Any, tmp_path: Path) -> Iterator[Path]:
    with serve(tmp_path, "--simulate-workloads") as path:
        yield path


def tool(name: str, kubeconfig: Path) -> Tool:
    """A program with a kubeconfig; its absence skips unless it is required."""
    program = shutil.which(name)
    if program is None:
        if name in os.environ.get("QUARTERDECK_REQUIRE_TOOLS", ""):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    home = str(kubeconfig.parent)
    environment = {"KUBECONFIG": str(kubeconfig), "PATH": os.environ["PATH"], "HOME": home}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [program, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done
        return done.stdout

    return run


def test_the_chart_is_installed_upgraded_and_uninstalled(kubeconfig: Path) -> None:
    helm, kubectl = tool("helm", kubeconfig), tool("kubectl", kubeconfig)
    chart, wait = str(CHART), ("--wait", "--timeout", "60s")
    assert "0 chart(s) failed" in helm("lint", chart)
    assert "STATUS: deployed" in helm("install", "demo", chart, *wait)
    assert kubectl("get", "gizmo,svc,deploy", "-o", "name").split() == [
        "gizmo.small.example.com/demo",
        "service/demo",
        "service/kubernetes",
        "deployment.apps/demo",
    ]
    assert kubectl("get", "cm", "demo-conf", "-o", "jsonpath={.data.kube}") == "v1.32.4"
    helm("upgrade", "demo", chart, "--set", "replicas=3,image=nginx:2", *wait)
    wanted = "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}"
    assert kubectl("get", "deploy", "demo", "-o", wanted) == "3 nginx:2"
    helm("rollback", "demo", "1", *wait)
    assert kubectl("get", "deploy", "demo", "-o", wanted) == "1 nginx:1"
    history = json.loads(helm("history", "demo", "-o", "json"))
    assert [(each["revision"], each["status"]) for each in history] == [
        (1, "superseded"),
        (2, "superseded"),
        (3, "deployed"),
    ]
    assert kubectl("get", "secrets", "-l", "owner=helm", "-o", "name").count("secret/") == 3
    helm("upgrade", "demo", chart, "--install", "--atomic", "--set", "image=nginx:3")
    assert [each["name"] for each in json.loads(helm("list", "-o", "json"))] == ["demo"]
    assert "uninstalled" in helm("uninstall", "demo", *wait)
    left = kubectl("get", "svc,deploy,gizmo,jobs,secrets", "-o", "name").split()
    assert left == ["service/kubernetes"]
    assert json.loads(helm("list", "--all", "-o", "json")) == []
