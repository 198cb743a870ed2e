"""The authority in one Secret, which only the service may read."""

import base64
from typing import Any

from quarterdeck.apis.core.config import Secret
from quarterdeck.client.client import Client
from quarterdeck.services.bootstrap.authority import AuthorityState, Keypair
from quarterdeck.services.bootstrap.ports import StoredAuthority, WriteConflict
from quarterdeck.wire.status import AlreadyExists, Conflict, NotFound

NAME = "bootstrap-authority"


class SecretAuthority:
    """Implements `AuthorityStore`."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._secrets = client.resource(Secret.KIND.gvr)
        self._namespace = namespace

    async def read(self) -> StoredAuthority | None:
        """The authority, if there is one."""
        try:
            secret = await self._secrets.get(NAME, self._namespace)
        except NotFound:
            return None
        return StoredAuthority(_parse(secret), secret["metadata"]["resourceVersion"])

    async def create(self, state: AuthorityState) -> None:
        """Store the first authority. Raises `WriteConflict` if another replica was faster."""
        metadata = {"name": NAME, "namespace": self._namespace}
        document = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}
        try:
            await self._secrets.create({**document, "data": _build_data(state)})
        except AlreadyExists as error:
            raise WriteConflict("the authority exists") from error

    async def swap(self, state: AuthorityState, version: str) -> None:
        """Replace the authority. Raises `WriteConflict`."""
        patch = {"metadata": {"resourceVersion": version}, "data": _build_data(state)}
        try:
            await self._secrets.patch(NAME, patch, namespace=self._namespace)
        except (Conflict, NotFound) as error:
            raise WriteConflict("the authority has changed") from error


def _build_data(state: AuthorityState) -> dict[str, str]:
    members = {
        "root.crt": state.root.certificate,
        "root.key": state.root.key,
        "current.crt": state.current.certificate,
        "current.key": state.current.key,
    }
    return {name: base64.b64encode(value).decode() for name, value in members.items()}


def _parse(secret: dict[str, Any]) -> AuthorityState:
    data = {name: base64.b64decode(value) for name, value in secret.get("data", {}).items()}
    return AuthorityState(
        root=Keypair(data["root.crt"], data["root.key"]),
        current=Keypair(data["current.crt"], data["current.key"]),
    )
