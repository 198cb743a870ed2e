"""What every pod and every role of the manifests must have."""

from collections.abc import Iterator

from quarterdeck.app import installation, manifests
from quarterdeck.app.component_manifests import build_components
from quarterdeck.app.parts import PARTS
from quarterdeck.app.webhooks import REGISTRATION, has_webhooks
from quarterdeck.app.workload_manifests import Document


def list_documents() -> Iterator[Document]:
    yield from manifests.build_all()
    for component in build_components().values():
        yield from component.values()


def test_no_pod_gets_variables_of_services() -> None:
    """A Service `quarterdeck-bootstrap` would set QUARTERDECK_BOOTSTRAP_PORT, a setting."""
    found = [each for each in list_documents() if each["kind"] == "Deployment"]
    assert len(found) >= 4
    for each in found:
        assert each["spec"]["template"]["spec"]["enableServiceLinks"] is False, each["metadata"]


def test_webhook_configurations_are_deleted_with_the_operator_that_fills_them() -> None:
    for part in PARTS:
        documents = manifests.build_permissions(installation.DEFAULT_INSTALLATION, [part]).values()
        names = [each["metadata"]["name"] for each in documents if "Webhook" in each["kind"]]
        assert names == ([REGISTRATION] * 2 if has_webhooks([part]) else [])
        assert not any("webhooks" in each for each in documents), "the operator's are overwritten"


def test_a_service_monitor_reads_each_pod_once() -> None:
    documents = [*list_documents()]
    monitors = [each for each in documents if each["kind"] == "ServiceMonitor"]
    assert monitors
    for monitor in monitors:
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        (endpoint,) = monitor["spec"]["endpoints"]
        found = [
            each["metadata"]["name"]
            for each in documents
            if each["kind"] == "Service"
            and wanted <= each["metadata"]["labels"].items()
            and any(port["name"] == endpoint["port"] for port in each["spec"]["ports"])
        ]
        assert len(found) == 1, found
