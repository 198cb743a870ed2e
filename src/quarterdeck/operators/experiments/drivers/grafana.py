"""Datasources by Grafana's HTTP API."""

from typing import Any

from quarterdeck.kit import http, json
from quarterdeck.kit.redaction import Masker, Secret
from quarterdeck.operators.experiments.observability import describe
from quarterdeck.operators.experiments.ports import Datasource, GrafanaUnavailable

_TIMEOUT_S = 10.0


class GrafanaApi:
    """One Grafana and a service account's token for it."""

    def __init__(self, url: str, token: Secret[str], *, client: http.Client) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._masker = Masker(token)
        self._client = client

    async def ensure(self, datasource: Datasource) -> None:
        """Update the datasource by its uid, or create it."""
        body = describe(datasource)
        path = f"/api/datasources/uid/{datasource.uid}"
        if await self._send("PUT", path, body, accept=(200, 404)) == 404:
            await self._send("POST", "/api/datasources", body, accept=(200, 409))

    async def delete(self, uid: str) -> None:
        """Delete the datasource; succeeds if it does not exist."""
        await self._send("DELETE", f"/api/datasources/uid/{uid}", None, accept=(200, 404))

    async def _send(
        self, method: str, path: str, body: dict[str, Any] | None, *, accept: tuple[int, ...]
    ) -> int:
        headers = [
            ("Authorization", f"Bearer {self._token.reveal()}"),
            ("Accept", "application/json"),
            ("Content-Type", "application/json"),
        ]
        try:
            response = await self._client.request(
                method,
                self._url + path,
                headers=headers,
                body=json.encode(body) if body is not None else None,
                timeout_s=_TIMEOUT_S,
            )
            await response.read()
        except (http.HttpError, OSError, TimeoutError) as error:
            text = f"{method} {self._url}{path}: {error}"
            raise GrafanaUnavailable(self._masker.mask(text)) from error
        if response.status not in accept:
            text = f"{method} {self._url}{path} answered {response.status}"
            raise GrafanaUnavailable(self._masker.mask(text))
        return response.status
