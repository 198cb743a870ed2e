"""Our own chart under helm: its renderings, its schema, and its life on our own API server."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.kit import yaml
from quarterdeck.testing import programs

ROOT = Path(__file__).parents[3]
CHART = ROOT / "charts/quarterdeck"
GOLDEN = ROOT / "tests/golden/chart"
SMALL = ("--set", "crds.install=false,userRoles.create=false")
"""Without what `config/` shows already; roles are left out of the comparison for that, too."""
EVERYTHING = (
    *("--set", "services.hub.enabled=true,services.ingester.enabled=true"),
    *("--set", "services.hub.impersonation.enabled=true"),
    *("--set", "redis.enabled=true,victoriametrics.enabled=true"),
    *("--set", "metrics.serviceMonitor.enabled=true,image.digest=sha256:" + "0a" * 32),
    *("--set", "webhooks.certManager.enabled=true"),
    *("--set", "operators.machines.nodeSelector.disk=ssd,operators.machines.replicas=2"),
    *("--set", "operators.pipelines.extraEnv[0].name=LOG_LEVEL"),
    *("--set", "operators.pipelines.extraEnv[0].value=debug"),
    *("--set", "operators.applications.extraArgs={--log-level=debug}"),
)
NAMESPACE = ("--namespace", "quarterdeck-system")
TEMPLATE = ("template", "release", str(CHART), "--kube-version", "1.32.0")


def run(
    program: str,
    *arguments: str,
    fails: bool = False,
    environment: dict[str, str] | None = None,
) -> str:
    done = subprocess.run(
        [programs.require(program), *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(ROOT / ".tools"), **(environment or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode != 0) == fails, done
    return done.stderr if fails else done.stdout


@pytest.mark.parametrize(
    ("name", "values"), [("default", ()), ("everything", EVERYTHING)], ids=["default", "everything"]
)
def test_renderings_are_those_that_were_reviewed(name: str, values: tuple[str, ...]) -> None:
    rendered = run("helm", *TEMPLATE, *NAMESPACE, *SMALL, *values)
    documents = [each for each in yaml.load_all(rendered) if each]
    rendered = yaml.dump_all(each for each in documents if not each["kind"].endswith("Role"))
    golden = GOLDEN / f"{name}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(rendered)
    assert rendered == golden.read_text(), "run with UPDATE_GOLDEN=1 and review the difference"


def test_every_document_is_an_object() -> None:
    rendered = run("helm", *TEMPLATE, *NAMESPACE, *EVERYTHING)
    documents = [each for each in yaml.load_all(rendered) if each]
    assert len(documents) > 100
    names = {(each["kind"], each["metadata"]["name"]) for each in documents}
    assert len(names) == len(documents), "two objects of one name"
    assert all(each["apiVersion"] for each in documents)


def test_ingester_gets_pods_of_its_own_where_that_is_asked_for() -> None:
    own = ("--set", "services.ingester.ownDeployment=true")
    rendered = run("helm", *TEMPLATE, *NAMESPACE, *EVERYTHING, *own)
    documents = [each for each in yaml.load_all(rendered) if each]
    names = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    assert len(names) == len(documents), "two objects of one name"
    for kind in ("Deployment", "Service", "ServiceAccount", "NetworkPolicy", "PodDisruptionBudget"):
        assert (kind, "clusterpulse-ingester") in names
    deployment = names["Deployment", "clusterpulse-ingester"]["spec"]
    service = names["Service", "clusterpulse-ingester"]["spec"]
    assert service["selector"] == deployment["selector"]["matchLabels"]
    operator = names["Deployment", "quarterdeck-clusters"]["spec"]["template"]["spec"]
    environment = {each["name"]: each.get("value") for each in operator["containers"][0]["env"]}
    assert environment["INGESTER_EXTERNAL"] == "true"


def test_lint_finds_nothing() -> None:
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", str(CHART))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("operators.aplications.enabled=true", "aplications"),
        ("operators.clusters.replicas=-1", "replicas"),
        ("image.digest=latest", "digest"),
        ("services.hub.enabled=true", "services.hub.enabled needs services.hub.redisUrl"),
        (
            "services.ingester.enabled=true,services.ingester.ownDeployment=true",
            "services.ingester.ownDeployment needs services.hub.redisUrl",
        ),
    ],
)
def test_wrong_values_are_named(values: str, message: str) -> None:
    said = run("helm", *TEMPLATE, "--set", values, fails=True)
    assert message in said


@pytest.fixture
def kubeconfig(serve: Any, tmp_path: Path) -> Any:
    with serve(tmp_path, "--simulate-workloads") as path:
        yield path


@pytest.mark.slow
def test_the_chart_runs_under_restricted_pod_security(kubeconfig: Path) -> None:
    here = {"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent)}
    run("kubectl", "create", "namespace", "quarterdeck-system", environment=here)
    label = "pod-security.kubernetes.io/enforce=restricted"
    run("kubectl", "label", "namespace", "quarterdeck-system", label, environment=here)
    chart, wait = str(CHART), ("--wait", "--timeout", "120s")
    hub = ("--set", "services.hub.enabled=true,redis.enabled=true")
    run("helm", "install", "qd", chart, *NAMESPACE, *wait, *hub, environment=here)
    phases = "jsonpath={.items[*].status.phase}"
    pods = run("kubectl", "get", "pods", *NAMESPACE, "-o", phases, environment=here)
    assert set(pods.split()) == {"Running"}
    more = ("--set", "operators.machines.replicas=2,operators.experiments.enabled=false")
    run("helm", "upgrade", "qd", chart, *NAMESPACE, *wait, *hub, *more, environment=here)
    found = run("kubectl", "get", "deployments", *NAMESPACE, "-o", "name", environment=here)
    assert "quarterdeck-experiments" not in found and "quarterdeck-machines" in found
    run("helm", "rollback", "qd", "1", *NAMESPACE, *wait, environment=here)
    found = run("kubectl", "get", "deployments", *NAMESPACE, "-o", "name", environment=here)
    assert "quarterdeck-experiments" in found
    run("helm", "uninstall", "qd", *NAMESPACE, "--wait", environment=here)
    left = json.loads(run("kubectl", "get", "all", *NAMESPACE, "-o", "json", environment=here))[
        "items"
    ]
    assert left == []
    kept = run("kubectl", "get", "crds", "-o", "name", environment=here)
    assert "applications.cloudnative.elide.dev" in kept, "objects of users would be lost"
