"""Every object is there in both versions, whichever it was written in, and nothing is lost."""

import pytest
from alarms import Alarm, AlarmSpec, AlarmSpecV1, AlarmV1, build_webhooks, from_hub, to_hub
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.client import Client
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Manager
from quarterdeck.testing import eventually
from quarterdeck.wire.status import ApiError

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
METADATA = ObjectMeta(name="a", namespace="default", labels={"floor": "2"})


@settings(deadline=None)  # a busy machine is no failure
@given(st.builds(AlarmSpec, hour=st.integers(0, 23), minute=st.integers(0, 59)))
def test_there_and_back_is_the_same(spec: AlarmSpec) -> None:
    alarm = Alarm(metadata=METADATA, spec=spec)
    assert to_hub(from_hub(alarm)) == alarm


async def test_both_versions_are_served(client: Client) -> None:
    await client.resource(CRDS).create(crd.build_manifest([AlarmV1, Alarm]))
    async with Manager(client, name="alarms", webhooks=build_webhooks()).running():

        async def is_converted() -> bool:
            await client.create(AlarmV1(metadata=METADATA, spec=AlarmSpecV1(at="07:30")))
            return True

        await eventually(is_converted)
        found = await client.get(Alarm, "a", "default")
        assert found.spec == AlarmSpec(hour=7, minute=30)
        assert found.metadata.labels == {"floor": "2"}
        with pytest.raises(ApiError, match="write it as HH:MM"):
            late = ObjectMeta(name="b", namespace="default")
            await client.create(AlarmV1(metadata=late, spec=AlarmSpecV1(at="late")))
