"""An external system: records of a name server, kept as declared, and removed with a finalizer."""

import asyncio
import os
from urllib.parse import quote

from quarterdeck.kit import http, json
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.runtime import (
    Context,
    Controller,
    Finalizer,
    RequeueAfter,
    Result,
    Stalled,
    Waiting,
    run_operator,
)

DRIFT_CHECK_S = 60.0
"""How often a record that is fine is looked at: the name server tells nobody about changes."""


class RecordSpec(Struct, frozen=True, kw_only=True):
    host: str
    address: str


class RecordStatus(Struct, frozen=True, kw_only=True):
    host: str = ""
    """What was written last, so that a renamed host is removed, too."""
    observed_generation: int = 0
    conditions: Conditions = ()


class Record(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Record", plural="records")
    spec: RecordSpec
    status: RecordStatus = RecordStatus()


class NameServer:
    """The only code that talks to the name server: `GET`, `PUT` and `DELETE /records/HOST`."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def find(self, host: str) -> str | None:
        """The address of a host, or None."""
        status, body = await self._request("GET", host)
        return None if status == 404 else str(json.decode(body)["address"])

    async def put(self, host: str, address: str) -> None:
        """Write the address of a host."""
        status, body = await self._request("PUT", host, json.encode({"address": address}))
        if status == 422:
            raise Stalled("Refused", f"the name server refuses {address!r}: {body.decode()}")

    async def delete(self, host: str) -> None:
        """Remove a host; one that is gone is fine."""
        await self._request("DELETE", host)

    async def _request(self, method: str, host: str, body: bytes = b"") -> tuple[int, bytes]:
        async with http.Client() as client:
            target = f"{self._url}/records/{quote(host, safe='')}"
            try:
                response = await client.request(method, target, body=body)
                answer = await response.read()
            except http.HttpError as error:
                raise Waiting("Unreachable", f"name server: {error}", after_s=5) from error
        if response.status >= 500:
            raise Waiting("Unavailable", f"name server: status {response.status}", after_s=5)
        return response.status, answer


def build_controller(server: NameServer) -> Controller[Record]:
    """The controller of records on one name server."""

    async def reconcile(record: Record, ctx: Context[Record]) -> Result:
        host, address = record.spec.host, record.spec.address
        if (before := record.status.host) and before != host:
            await server.delete(before)
        found = await server.find(host)
        if found != address:
            await server.put(host, address)
            if found is not None and record.status.host == host:
                ctx.event("Corrected", f"{host} pointed to {found}; it points to {address} again")
        ctx.status.set(host=host)
        return RequeueAfter(DRIFT_CHECK_S)

    async def remove(record: Record, ctx: Context[Record]) -> None:
        for host in {record.spec.host, record.status.host} - {""}:
            await server.delete(host)

    finalizer = Finalizer("example.com/name-server", remove)
    return Controller(reconcile=reconcile, for_=Record, finalizers=[finalizer])


if __name__ == "__main__":
    url = os.environ.get("NAME_SERVER", "http://127.0.0.1:8053")
    asyncio.run(run_operator("records", build_controller(NameServer(url))))
