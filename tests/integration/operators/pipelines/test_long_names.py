"""Names that are longer than a label, which has 63 characters and ends with a letter or a digit.

With an identifier behind it, a name may also be longer than names may be.
"""

from typing import Any

import pytest

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineDiscovery, PipelineRevision
from quarterdeck.wire.status import NotFound

NAME = "a" * 62 + "-" + "b" * 20
LABEL = "a" * 62


@pytest.mark.parametrize("name", [NAME, NAME + "c" * (253 - len(NAME))], ids=["label", "longest"])
async def test_revisions_of_a_pipeline_are_kept(world: Any, name: str) -> None:
    async with world() as at, at.operator():
        await at.create(name)
        await at.ready("Synced", name)

        async def list_revisions() -> Any:
            return await at.client.list(PipelineRevision, "default")

        revisions = await at.until(list_revisions, within_s=1300.0)
        assert revisions[0].spec.pipeline == name
        assert LABEL in revisions[0].metadata.labels.values()


async def test_mirrors_of_a_discovery_are_marked(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        at.fleet.put("web")
        kind = PipelineDiscovery.KIND
        document = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": NAME, "namespace": "default"},
            "spec": {},
        }
        await at.client.resource(kind.gvr).create(document)

        async def find_mirror() -> Pipeline | None:
            try:
                found: Pipeline = await at.get("web")
            except NotFound:
                return None
            return found

        mirror = await at.until(find_mirror)
        assert LABEL in mirror.metadata.labels.values()
