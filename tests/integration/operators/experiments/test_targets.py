"""Targets whose kubeconfigs cannot be used, and answers that are not those of an API server."""

import pytest

from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.operators.experiments import kubeconfig
from quarterdeck.operators.experiments.drivers.service_metrics import (
    KubeletMetrics,
    ServiceMetrics,
)
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.kubeconfig import Connection
from quarterdeck.operators.experiments.ports import (
    FinishedTarget,
    TargetRefused,
    TargetUnreachable,
)

SERVER = "https://127.0.0.1:1"
UNUSABLE = [
    pytest.param(b"[", "not YAML", id="not YAML"),
    pytest.param(b"apiVersion: v1", "no current-context", id="no context"),
    pytest.param(
        kubeconfig.build(Connection(SERVER, token="s3cret\n")), SERVER, id="token with a line break"
    ),
    pytest.param(
        kubeconfig.build(Connection(SERVER, token="s3cret\u2026")), SERVER, id="other script"
    ),
    pytest.param(
        kubeconfig.build(Connection("https://lab:s3cret@127.0.0.1:1")),
        "address or the credentials",
        id="address with a password",
    ),
    pytest.param(
        kubeconfig.build(Connection("https://127.0.0.1:99999")), "99999", id="port out of range"
    ),
]


@pytest.mark.parametrize(("text", "words"), UNUSABLE)
async def test_kubeconfig_that_no_request_can_be_made_with_is_refused(
    text: bytes, words: str
) -> None:
    async with Client(ClusterConfig(server=SERVER)) as hub:
        targets = KubeconfigTargets(hub, clock=SystemClock())
        with pytest.raises(TargetRefused, match=words) as caught:
            await targets.probe(text)
        assert "s3cret" not in str(caught.value)
        with pytest.raises(TargetRefused, match=words):
            await targets.find_service(text, "default", "web")


@pytest.mark.parametrize("text", [pytest.param(each.values[0], id=each.id) for each in UNUSABLE])
async def test_target_whose_kubeconfig_became_unusable_has_no_metrics(text: bytes) -> None:
    """The hub may have them: without it, results would be given up after ten minutes."""
    clock = SystemClock()
    target = FinishedTarget("app", "existing", "app", "default", text)
    assert await ServiceMetrics(clock=clock).find(target) is None
    assert await KubeletMetrics(clock=clock).read(target, now=clock.now()) == {}


async def test_answer_that_is_not_json_is_no_api_server_yet() -> None:
    async def handle(request: http.Request) -> http.Response:
        return http.Response(200, [("Content-Type", "text/html")], b"<html>")

    async with http.Server(handle) as server, Client(ClusterConfig(server=SERVER)) as hub:
        listener = await server.listen("127.0.0.1", 0)
        text = kubeconfig.build(Connection(listener.url))
        with pytest.raises(TargetUnreachable):
            await KubeconfigTargets(hub, clock=SystemClock()).find_service(text, "default", "web")
