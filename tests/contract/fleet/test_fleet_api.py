"""The Fleet Management API: our server, and the real one where the environment names it.

QUARTERDECK_LIVE_FLEET_URL, QUARTERDECK_LIVE_FLEET_USERNAME and QUARTERDECK_LIVE_FLEET_PASSWORD name
a real stack. Everything that is made there has a name of its own and is deleted again.
"""

import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Callable

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.pipelines.address import Address
from quarterdeck.operators.pipelines.drivers.connect import ConnectClient
from quarterdeck.operators.pipelines.drivers.http_client import create_http_client
from quarterdeck.operators.pipelines.drivers.limiter import Limiter
from quarterdeck.operators.pipelines.ports import CallFailed
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.service import FleetServer
from quarterdeck.storage import open_memory
from quarterdeck.telemetry.fleet.codes import Code

PREFIX = "QUARTERDECK_LIVE_FLEET_"
VARIABLES = tuple(f"{PREFIX}{name}" for name in ("URL", "USERNAME", "PASSWORD"))
TEXT = 'prometheus.scrape "quarterdeck_contract" {\n  targets    = []\n  forward_to = []\n}\n'
Open = Callable[[], contextlib.AbstractAsyncContextManager[ConnectClient]]


def build(address: Address, client: http.Client) -> ConnectClient:
    clock = SystemClock()
    return ConnectClient(
        address.url,
        username=address.username,
        password=address.password,
        client=client,
        limiter=Limiter(address.rate, address.burst, clock=clock),
        clock=clock,
    )


@contextlib.asynccontextmanager
async def ours() -> AsyncIterator[ConnectClient]:
    fleet = FleetServer(open_memory(), Tokens.single(Secret("t")))
    server = http.Server(fleet.handle)
    listener = await server.listen("127.0.0.1", 0)
    address = Address("ours", listener.url, "x", Secret("t"), rate=100.0, burst=100)
    try:
        async with http.Client() as client:
            yield build(address, client)
    finally:
        await server.close()


@contextlib.asynccontextmanager
async def live() -> AsyncIterator[ConnectClient]:
    url, username, password = (os.environ[name] for name in VARIABLES)
    address = Address("live", url, username, Secret(password))
    async with create_http_client(address) as client:
        yield build(address, client)


@pytest.fixture(params=["ours", "live"])
def fleet(request: pytest.FixtureRequest) -> Open:
    if request.param == "ours":
        return ours
    if missing := [name for name in VARIABLES if not os.environ.get(name)]:
        pytest.skip(f"only against a real stack: set {', '.join(missing)}")
    return live


async def test_a_pipeline_lives_from_validation_to_deletion(fleet: Open) -> None:
    name = f"quarterdeck-contract-{uuid.uuid4().hex[:8]}"
    message = {
        "name": name,
        "contents": TEXT,
        "matchers": ["quarterdeck_contract=never"],
        "enabled": False,
        "configType": "CONFIG_TYPE_ALLOY",
    }
    async with fleet() as api:
        await api.create(message, validate_only=True)
        assert await api.find(name) is None
        created = await api.create(message)
        try:
            with pytest.raises(CallFailed) as caught:
                await api.create(message)
            assert caught.value.code is Code.ALREADY_EXISTS
            updated = await api.update(
                {**message, "id": created.id, "matchers": ["quarterdeck_contract=other"]}
            )
            assert updated.id == created.id
            found = await api.get(created.id)
            assert found.matchers == ("quarterdeck_contract=other",) and not found.enabled
            assert created.id in [each.id for each in await api.list()]
            revisions = await api.list_revisions(created.id)
            assert [each.operation for each in revisions][-2:] == ["INSERT", "UPDATE"]
        finally:
            await api.delete(created.id)
        with pytest.raises(CallFailed) as caught:
            await api.delete(created.id)
        assert caught.value.code is Code.NOT_FOUND


async def test_a_source_owns_what_it_syncs(fleet: Open) -> None:
    source = {"type": "SOURCE_TYPE_GIT", "namespace": f"quarterdeck-{uuid.uuid4().hex[:8]}"}
    names = [f"{source['namespace']}-{letter}" for letter in "ab"]
    messages = [
        {
            "name": name,
            "contents": TEXT,
            "matchers": ["quarterdeck_contract=never"],
            "enabled": False,
        }
        for name in names
    ]
    async with fleet() as api:
        try:
            await api.sync(source, messages)
            await api.sync(source, messages[:1])
            mine = [each for each in await api.list() if each.name in names]
            assert [each.name for each in mine] == names[:1]
            assert mine[0].source_namespace == source["namespace"]
        finally:
            await api.sync(source, [], allow_empty=True)


async def test_bad_pipelines_are_refused_by_code(fleet: Open) -> None:
    async with fleet() as api:
        for changes in ({"contents": "x {"}, {"matchers": ["=="]}):
            message = {"name": "quarterdeck-contract-bad", "contents": TEXT, **changes}
            with pytest.raises(CallFailed) as caught:
                await api.create(message, validate_only=True)
            assert caught.value.code is Code.INVALID_ARGUMENT


async def test_collectors_are_listed(fleet: Open) -> None:
    async with fleet() as api:
        matchers = [f"collector.ID={uuid.uuid4().hex}"]
        assert list(await api.list_collectors(matchers)) == []
        assert await api.get_collector(uuid.uuid4().hex) is None
