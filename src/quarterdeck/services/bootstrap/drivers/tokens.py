"""Join tokens as Secrets of type `hyperfleet.io/join-token`; versions are resource versions."""

import base64
from typing import Any

import msgspec

from quarterdeck.apis.core.config import Secret
from quarterdeck.client.client import Client
from quarterdeck.kit import json
from quarterdeck.runtime import get_logger
from quarterdeck.services.bootstrap.ports import StoredToken, WriteConflict
from quarterdeck.services.bootstrap.token_record import TokenRecord
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import Conflict, NotFound

SECRET_TYPE = "hyperfleet.io/join-token"
CLAIM_LABEL = "hyperfleet.io/claim-uid"
_KIND_LABEL = "hyperfleet.io/join-token"
_KEY = "record"
_LOG = get_logger("bootstrap")


class SecretTokens:
    """Implements `TokenStore`; Secrets hold hashes, never tokens."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._secrets = client.resource(Secret.KIND.gvr)
        self._namespace = namespace

    async def read(self, identity: str) -> StoredToken | None:
        """A record by the id of its token."""
        try:
            return _parse(await self._secrets.get(_name(identity), self._namespace))
        except NotFound:
            return None

    async def list_by_claim(self, uid: str) -> tuple[StoredToken, ...]:
        """The records of one claim."""
        return await self._list(f"{CLAIM_LABEL}={uid}")

    async def list_all(self) -> tuple[StoredToken, ...]:
        """Every record."""
        return await self._list(_KIND_LABEL)

    async def create(self, record: TokenRecord) -> None:
        """Add a record."""
        labels = {CLAIM_LABEL: record.claim.uid, _KIND_LABEL: "true"}
        await self._secrets.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {
                    "name": _name(record.id),
                    "namespace": self._namespace,
                    "labels": labels,
                },
                "type": SECRET_TYPE,
                "data": _build_data(record),
            }
        )

    async def swap(self, record: TokenRecord, version: str) -> None:
        """Replace a record if it is unchanged since it was read. Raises `WriteConflict`."""
        patch = {"metadata": {"resourceVersion": version}, "data": _build_data(record)}
        try:
            await self._secrets.patch(_name(record.id), patch, namespace=self._namespace)
        except (Conflict, NotFound) as error:
            raise WriteConflict(f"token {record.id} has changed") from error

    async def delete(self, identity: str) -> None:
        """Delete a record."""
        try:
            await self._secrets.delete(_name(identity), self._namespace)
        except NotFound:
            return

    async def _list(self, selector: str) -> tuple[StoredToken, ...]:
        options = ListOptions(label_selector=selector)
        found = [_parse(each) for each in await self._secrets.list(self._namespace, options)]
        return tuple(each for each in found if each is not None)


def _name(identity: str) -> str:
    return f"join-token-{identity}"


def _build_data(record: TokenRecord) -> dict[str, str]:
    return {_KEY: base64.b64encode(msgspec.json.encode(record)).decode()}


def _parse(secret: dict[str, Any]) -> StoredToken | None:
    """Read a record; None if a Secret of that name has another type or no valid record."""
    if secret.get("type") != SECRET_TYPE:
        return None
    data = base64.b64decode((secret.get("data") or {}).get(_KEY, ""))
    try:
        record = msgspec.json.decode(data, type=TokenRecord)
    except json.UNREADABLE:
        _LOG.warning("record of a join token cannot be read", secret=secret["metadata"]["name"])
        return None
    return StoredToken(record, secret["metadata"]["resourceVersion"])
