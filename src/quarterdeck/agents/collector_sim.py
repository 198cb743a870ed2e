"""A simulated collector: polls a fleet server for its configuration as Alloy does, runs nothing.

It registers by POST, polls by protobuf GET with its current hash, and reports whether it could
parse the configuration. For demonstrations and load tests.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from quarterdeck.kit import base64url, http
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret
from quarterdeck.telemetry.alloy import parser
from quarterdeck.telemetry.alloy.tokens import AlloyError
from quarterdeck.telemetry.fleet import protobuf

SERVICE = "collector.v1.CollectorService"
POLL_S = 10.0
"""The shortest poll interval that Alloy allows."""
_MAX_CONFIG = 16 * 1024 * 1024


class PollFailed(Exception):
    """Raised when the fleet server cannot be reached, or answers with an error."""


class CollectorSim:
    """One collector: an id, attributes, and the configuration it last got."""

    def __init__(
        self,
        identity: str,
        attributes: Mapping[str, str],
        *,
        url: str,
        token: Secret[str],
        client: http.Client,
    ) -> None:
        self.id = identity
        self.attributes = {"collector.os": "linux", "collector.version": "simulated", **attributes}
        self.config = ""
        self.hash = ""
        self._status: dict[str, str] = {}
        self._url = f"{url}/{SERVICE}"
        self._client = client
        pair = f"{identity}:{token.reveal()}".encode()
        self._authorization = Secret(f"Basic {base64.b64encode(pair).decode()}")

    async def register(self) -> None:
        """Register with the fleet server.

        Raises:
            PollFailed: if the server refuses.
        """
        message = {"id": self.id, "name": self.id, "localAttributes": self.attributes}
        body = protobuf.encode("RegisterCollectorRequest", message)
        await self._send("POST", f"{self._url}/RegisterCollector", body)

    async def poll(self) -> bool:
        """Request the configuration; True if it has changed.

        Raises:
            PollFailed: if the server refuses or cannot be reached.
        """
        message = {
            "id": self.id,
            "localAttributes": self.attributes,
            "hash": self.hash,
            "remoteConfigStatus": self._status,
        }
        answer = await self._get("GetConfig", message)
        if answer.get("notModified") or answer.get("content", "") in ("", self.config):
            return False
        self.config, self.hash = answer["content"], answer.get("hash", "")
        self._status = _load(self.config)
        return True

    async def run(
        self,
        clock: Clock,
        *,
        changed: Callable[["CollectorSim"], None],
        failed: Callable[["CollectorSim", PollFailed], None],
        poll_s: float = POLL_S,
    ) -> None:
        """Poll until cancelled; calls `changed` at a new configuration, `failed` at a failure."""
        is_registered = False
        while True:
            try:
                if not is_registered:
                    await self.register()
                    is_registered = True
                if await self.poll():
                    changed(self)
                    continue  # report at once how it went
            except PollFailed as error:
                failed(self, error)
            await clock.sleep(poll_s)

    async def _get(self, operation: str, message: dict[str, Any]) -> dict[str, Any]:
        data = protobuf.encode(f"{operation}Request", message)
        text = base64url.encode(data)
        query = urlencode({"base64": 1, "connect": "v1", "encoding": "proto", "message": text})
        body = await self._send("GET", f"{self._url}/{operation}?{query}")
        return protobuf.decode(f"{operation}Response", body)

    async def _send(self, method: str, url: str, body: bytes | None = None) -> bytes:
        headers = [
            ("authorization", self._authorization.reveal()),
            ("user-agent", "Alloy/simulated"),
        ]
        if body is not None:
            headers.append(("content-type", "application/proto"))
        try:
            response = await self._client.request(method, url, headers=headers, body=body)
            async with response:
                data = await response.read(_MAX_CONFIG)
        except http.HttpError as error:
            raise PollFailed(str(error)) from error
        if response.status != 200:
            raise PollFailed(f"HTTP {response.status}: {data[:200].decode(errors='replace')}")
        return data


def _load(config: str) -> dict[str, str]:
    """Parse a configuration, and build the status that a real collector would report."""
    try:
        parser.parse(config)
    except AlloyError as error:
        return {"status": "RemoteConfigStatuses_FAILED", "errorMessage": str(error)}
    return {"status": "RemoteConfigStatuses_APPLIED"}
