"""Where the Services of tutorials are looked for."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from tests.unit.operators.experiments.samples import experiment

from quarterdeck.operators.experiments import tutorials
from quarterdeck.operators.experiments.run import Run
from quarterdeck.wire.status import NotFound

SERVICE = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"ports": [{"port": 8080}]},
}


class Hub:
    """A hub with a Service `web`, and without Secrets."""

    async def get_live(self, kind: type, key: object) -> object:
        raise NotFound(f"secrets {key!r} not found")

    async def find_service(
        self, text: bytes | None, namespace: str, name: str
    ) -> Mapping[str, Any] | None:
        assert text is None
        return SERVICE


@pytest.mark.parametrize(
    ("secret", "endpoints"),
    [
        pytest.param("", ["web.default.svc:8080"], id="hub"),
        pytest.param("experiments/lab", [""], id="cluster whose Secret was deleted"),
    ],
)
async def test_only_services_of_the_hub_are_looked_for_there(
    secret: str, endpoints: Sequence[str]
) -> None:
    services = [{"name": "web", "target": "app", "service": "web", "namespace": "default"}]
    target = {"name": "app", "appsReady": True, "connectionSecret": secret}
    found = experiment(tutorial={"services": services}, status={"targets": [target]})
    status, hub = SimpleNamespace(current=found.status), Hub()

    def change(**fields: object) -> None:
        status.current = msgspec.structs.replace(status.current, **fields)

    status.set = change
    ctx = SimpleNamespace(obj=found, status=status, api=hub, now=lambda: None)
    environment = SimpleNamespace(settings=None, targets=hub)
    run = Run(cast("Any", ctx), cast("Any", environment))
    await tutorials.update(run)
    assert run.status.tutorial_status is not None
    assert [each.endpoint for each in run.status.tutorial_status.services] == endpoints
