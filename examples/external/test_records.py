"""Records against a real name server over HTTP: written, corrected, renamed, removed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from records import NameServer, Record, RecordSpec, build_controller

from quarterdeck.client import Client
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta import crd
from quarterdeck.meta.conditions import find
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Manager
from quarterdeck.testing import eventually
from quarterdeck.testing.clocks import SkewedClock

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class Zone:
    """A name server with one zone; `is_down` makes it answer 503."""

    def __init__(self) -> None:
        self.records: dict[str, str] = {}
        self.is_down = False

    async def handle(self, request: http.Request) -> http.Response:
        host = request.path.removeprefix("/records/")
        if self.is_down:
            return http.Response(503, [])
        if request.method == "PUT":
            address = json.decode(await request.read(1000))["address"]
            if address.count(".") != 3:
                return http.Response(422, [], b"not an IPv4 address")
            self.records[host] = address
        elif request.method == "DELETE":
            self.records.pop(host, None)
        if host not in self.records:
            return http.Response(404, [])
        return http.Response(200, [], json.encode({"address": self.records[host]}))


@asynccontextmanager
async def operator(client: Client) -> AsyncIterator[Zone]:
    await client.resource(CRDS).create(crd.build_manifest([Record]))
    zone = Zone()
    async with http.Server(zone.handle) as server:
        listener = await server.listen("127.0.0.1", 0)
        controller = build_controller(NameServer(f"http://127.0.0.1:{listener.port}"))
        clock = SkewedClock(
            SystemClock(), rate=600
        )  # the minute between two looks passes in a tenth of a second
        manager = Manager(client, name="records", clock=clock)
        manager.add(controller)
        async with manager.running():
            yield zone


async def create(client: Client, host: str, address: str) -> None:
    metadata = ObjectMeta(name="web", namespace="default")
    spec = RecordSpec(host=host, address=address)
    await client.create(Record(metadata=metadata, spec=spec))


async def test_a_record_lives_and_dies_with_its_object(client: Client) -> None:
    async with operator(client) as zone:
        await create(client, "www", "10.0.0.1")
        await eventually(lambda: zone.records == {"www": "10.0.0.1"})
        web = await client.get(Record, "web", "default")
        await client.patch(web, {"spec": {"host": "web"}})
        await eventually(lambda: zone.records == {"web": "10.0.0.1"})
        await client.delete(Record, "web", "default")
        await eventually(lambda: zone.records == {})


async def test_what_others_changed_is_corrected(client: Client) -> None:
    async with operator(client) as zone:
        await create(client, "www", "10.0.0.1")
        await eventually(lambda: zone.records == {"www": "10.0.0.1"})
        zone.records["www"] = "192.0.2.66"
        await eventually(lambda: zone.records == {"www": "10.0.0.1"})


async def test_a_server_that_is_away_delays_but_loses_nothing(client: Client) -> None:
    async with operator(client) as zone:
        zone.is_down = True
        await create(client, "www", "10.0.0.1")
        await eventually(lambda: reason_is(client, "Unavailable"))
        zone.is_down = False
        await eventually(lambda: zone.records == {"www": "10.0.0.1"})


async def test_what_the_server_refuses_is_told_to_the_user(client: Client) -> None:
    async with operator(client):
        await create(client, "www", "somewhere")
        await eventually(lambda: reason_is(client, "Refused"))


async def reason_is(client: Client, reason: str) -> bool:
    ready = find((await client.get(Record, "web", "default")).status.conditions, "Ready")
    return ready is not None and ready.reason == reason
