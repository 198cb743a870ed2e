"""The applications operator ends in one state, wherever its process dies."""

from quarterdeck.apis.applications.v1 import Application
from quarterdeck.apis.apps import Deployment
from quarterdeck.apis.core import ConfigMap, Service
from quarterdeck.app.applications import SAMPLES
from quarterdeck.client import Client
from quarterdeck.meta.identity import GVR
from quarterdeck.operators import applications
from quarterdeck.testing import assert_converges, eventually
from quarterdeck.wire.status import NotFound

APPLICATIONS = GVR("cloudnative.elide.dev", "v1", "applications")
SPEC = {"replicas": 1, "ports": None, "config": {"GREETING": "goodbye"}}


async def change(client: Client) -> None:
    """Apply the samples, wait for the deployment, and change what it is made of."""
    objects = client.resource(APPLICATIONS)
    for sample in SAMPLES:
        await objects.create(sample)

    async def deployed() -> bool:
        try:
            await client.get(Deployment, "my-app", "default")
        except NotFound:
            return False
        return True

    await eventually(deployed)
    await objects.patch("my-app", {"spec": SPEC}, namespace="default")


async def test_the_operator_converges_after_a_crash_at_any_write() -> None:
    tried = await assert_converges(
        lambda: [applications.build_controller()],
        change,
        definitions=[Application],
        compare=[Application, Deployment, ConfigMap, Service],
        crashes=12,
    )
    assert tried.crashes >= 4
