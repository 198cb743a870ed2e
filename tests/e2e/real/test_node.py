"""The chart with our image on a real node: installed, used, upgraded under load, and removed."""

import itertools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import node_images
import pytest
from real_node import RealNode, find_program, running_node

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[3]
CHART = str(ROOT / "charts/quarterdeck")
NAMESPACE = "quarterdeck-system"
IN = ("-n", NAMESPACE)
OPERATORS = ("applications", "clusters", "experiments", "machines", "pipelines")
WAIT = ("--wait", "--timeout", "600s")
IMAGE = "image.repository=quarterdeck.test/quarterdeck,image.tag=operator,image.pullPolicy=Never"
APPLICATION = "applications.cloudnative.elide.dev"
SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'
CHANGED = 12
"""Applications that are changed while the operators are replaced."""


@pytest.fixture
def node(oci_layout: Path) -> Iterator[RealNode]:
    with running_node() as started:
        started.import_image(oci_layout, "quarterdeck.test/quarterdeck")
        yield started


def test_the_chart_lives_on_a_real_node(node: RealNode) -> None:
    install(node)
    check_webhooks_answer(node)
    check_pods_of_an_application_serve(node)
    check_upgrade_loses_no_event(node)
    check_webhooks_answer(node)  # helm has not emptied what the operator fills in
    check_everything_goes(node)


def install(node: RealNode) -> None:
    """Every operator is Ready in a namespace that takes restricted pods only."""
    node.kubectl("create", "namespace", NAMESPACE)
    enforced = "pod-security.kubernetes.io/enforce=restricted"
    node.kubectl("label", "namespace", NAMESPACE, enforced)
    careless = ("run", "careless", "--image", node_images.WEB, *IN)
    assert "violates PodSecurity" in node.try_kubectl(*careless)[2]
    try:
        node.helm("install", "qd", CHART, *IN, *WAIT, "--set", IMAGE)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{describe_pods(node)}") from error
    ready = {each["metadata"]["labels"]["app.kubernetes.io/component"] for each in pods(node)}
    assert ready == {*OPERATORS, "bootstrap"}
    statuses = [status for each in pods(node) for status in each["status"]["containerStatuses"]]
    assert all(each["ready"] and each["restartCount"] == 0 for each in statuses), statuses


def pods(node: RealNode) -> list[Any]:
    return node.items("pods", *IN)


def describe_pods(node: RealNode) -> str:
    """Why pods are not ready: their states, and what their containers wrote."""
    described = node.kubectl("describe", "pods", *IN)[-6000:]
    logs = "".join(
        node.try_kubectl("logs", *IN, f"deployment/quarterdeck-{each}", "--tail=5")[1]
        for each in OPERATORS
    )
    return f"{described}\n{logs}"


def check_webhooks_answer(node: RealNode) -> None:
    """The API server calls the pipelines operator by its Service."""
    pipeline = {
        "apiVersion": "fleetmanagement.grafana.com/v1alpha1",
        "kind": "Pipeline",
        "metadata": {"name": "bad", "namespace": "default"},
        "spec": {"contents": SCRAPE, "matchers": ["env=~[a-"]},
    }
    code, _, errors = node.try_kubectl("create", "-f", "-", given=json.dumps(pipeline))
    assert code != 0 and "denied the request: Pipeline bad" in errors


def check_pods_of_an_application_serve(node: RealNode) -> None:
    """Two pods run what the Application names, and its Service leads to them."""
    port = {"name": "http", "port": 80, "targetPort": node_images.WEB_PORT}
    apply(node, "shop", replicas=2, image=node_images.WEB, ports=[port])
    phase = ("get", APPLICATION, "shop", "-o", "jsonpath={.status.phase}")
    node.wait(
        lambda: node.kubectl(*phase) == "Running",
        lambda: node.kubectl("describe", APPLICATION, "shop") + node.kubectl("get", "pods", "-A"),
    )
    running = [each["status"]["phase"] for each in node.items("pods", "-n", "default")]
    assert running == ["Running", "Running"]
    url = f"http://{node.get('service', 'shop')['spec']['clusterIP']}/"
    node.wait(  # kube-proxy follows
        lambda: node.fetch(url)[0] == "served by a pod\n",
        lambda: (node.fetch(url), node.kubectl("get", "endpoints,pods", "-o", "wide")),
    )


def apply(node: RealNode, name: str, **spec: Any) -> None:
    document = {
        "apiVersion": "cloudnative.elide.dev/v1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
    node.kubectl("apply", "-f", "-", given=json.dumps(document))


def check_upgrade_loses_no_event(node: RealNode) -> None:
    """What changes while every operator is replaced is carried out, down to the last change."""
    names = [f"changed-{number:02}" for number in range(CHANGED)]
    before = {each["metadata"]["name"] for each in pods(node)}
    annotations = [f"operators.{each}.podAnnotations.revision=next" for each in OPERATORS]
    flags = ("--set", ",".join([IMAGE, *annotations]))
    helm = (find_program("helm"), "--kubeconfig", str(node.kubeconfig))
    upgrade = node.sandbox.enter([*helm, "upgrade", "qd", CHART, *IN, *WAIT, *flags])
    written: dict[str, str] = {}
    with subprocess.Popen(upgrade, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        for number in itertools.count():
            name, text = names[number % CHANGED], str(number)
            apply(node, name, replicas=0, image=node_images.WEB, config={"CHANGE": text})
            written[name] = text
            if process.poll() is not None and number >= CHANGED:
                break
        assert process.returncode == 0, process.stderr and process.stderr.read()
    assert len(written) == CHANGED
    node.wait(
        lambda: read_changes(node) == written,
        lambda: f"{read_changes(node)} instead of {written}\n{describe_pods(node)}",
    )
    replaced = [each for each in pods(node) if not is_bootstrap(each)]
    assert before.isdisjoint(each["metadata"]["name"] for each in replaced)


def is_bootstrap(pod: Any) -> bool:
    """The upgrade leaves the bootstrap service as it is."""
    return bool(pod["metadata"]["labels"]["app.kubernetes.io/component"] == "bootstrap")


def read_changes(node: RealNode) -> dict[str, str]:
    """What the operator has made of the Applications that it says it has seen."""
    found = {}
    for each in node.items(APPLICATION, "-n", "default"):
        name, status = each["metadata"]["name"], each.get("status", {})
        if status.get("observedGeneration") == each["metadata"]["generation"]:
            data = node.try_kubectl("get", "configmap", name, "-o", "jsonpath={.data.CHANGE}")
            found[name] = data[1]
    return {name: text for name, text in found.items() if name.startswith("changed-")}


def check_everything_goes(node: RealNode) -> None:
    """After the objects of users and the release, the documented commands leave nothing."""
    node.kubectl("delete", APPLICATION, "--all", "-n", "default", "--timeout=300s")
    node.helm("uninstall", "qd", *IN, *WAIT)
    node.wait(lambda: not pods(node), lambda: describe_pods(node))
    kinds = node.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    label = "app.kubernetes.io/name=quarterdeck"
    left = node.kubectl("get", ",".join(kinds), "-A", "-l", label, "-o", "name").split()
    assert left == []
    node.kubectl("delete", "namespace", NAMESPACE, "--timeout=300s")
    definitions = node.kubectl("get", "crds", "-o", "name").split()
    assert definitions, "the chart must leave the definitions, and so the objects of users"
    node.kubectl("delete", *definitions, "--timeout=300s")
    node.wait(lambda: not node.ctr("containers", "list", "-q").split(), lambda: node.ctr("c", "ls"))
