"""Asks the webhooks of an operator, as an API server would, about one object again and again."""

import asyncio
import ssl
import time
from pathlib import Path
from typing import Any

from bench.openloop import drive, percentile
from bench.peers.api_load import closed_loop, encode
from bench.peers.kind import GROUP, PLURAL, VERSION
from bench.peers.widgets import widget
from quarterdeck.kit import http

_HEADERS = [("Content-Type", "application/json"), ("Accept", "application/json, */*")]
_READY_S = 20.0
_POLL_S = 0.02
_CLIENTS = 16


class ReviewLoad:
    """Questions to one address, over connections that are kept."""

    def __init__(self, port: int, certificate: str) -> None:
        tls = ssl.create_default_context(cafile=certificate)
        self._http = http.Client(tls=tls, pool=256)
        self._url = f"https://127.0.0.1:{port}"
        self._body = encode(_question())

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def wait_ready(self, path: str) -> None:
        """Ask until there is an answer."""
        limit = time.monotonic() + _READY_S
        while True:
            try:
                return await self.ask(path)
            except (http.HttpError, RuntimeError):
                if time.monotonic() > limit:
                    raise
                await asyncio.sleep(_POLL_S)

    async def ask(self, path: str) -> None:
        """One question that must be answered with yes."""
        response = await self._http.request(
            "POST", self._url + path, headers=_HEADERS, body=self._body
        )
        async with response:
            answer = await response.read(1 << 20)
        if response.status != 200 or b"true" not in answer:
            raise RuntimeError(f"{path}: {response.status} {answer[:300]!r}")

    async def at_most(self, path: str, count: int) -> dict[str, Any]:
        """As many as are answered."""
        return await closed_loop(lambda _: self.ask(path), count, _CLIENTS)

    async def at_rate(self, path: str, rate_hz: float, count: int) -> dict[str, Any]:
        """In an open loop."""
        delays, late = await drive(lambda _: self.ask(path), rate_hz=rate_hz, count=count)
        found = {f"p{share}_ms": percentile(delays, share / 100) * 1e3 for share in (50, 99)}
        return {**found, "late_ms": late * 1e3}


def certificate_within(folder: Path) -> Path:
    """Make a certificate for this host, and its key beside it; returns the certificate."""
    from quarterdeck.kit.clock import SystemClock
    from quarterdeck.runtime.endpoints.certificate import CertificateFiles, generate_self_signed

    files = CertificateFiles.within(folder)
    for path, content in zip(files, generate_self_signed(SystemClock().now()), strict=True):
        path.write_bytes(content)
    return files.certificate


def _question() -> dict[str, Any]:
    """What an API server asks when an object is created."""
    kind = {"group": GROUP, "version": VERSION, "kind": "Widget"}
    resource = {"group": GROUP, "version": VERSION, "resource": PLURAL}
    manifest = widget("w0", 1)
    manifest["metadata"] |= {
        "namespace": "default",
        "uid": "5f0e3b3c-6a3c-4a55-b9a0-6f6a8d1c2f11",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "generation": 1,
        "managedFields": [
            {
                "manager": "bench",
                "operation": "Update",
                "apiVersion": f"{GROUP}/{VERSION}",
                "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {".": {}, "f:size": {}, "f:text": {}, "f:ports": {}}},
            }
        ],
    }
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "w0",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
        "object": manifest,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
