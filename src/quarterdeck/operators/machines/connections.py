"""The hypervisors that are connected, by the key of their HypervisorCluster."""

import functools
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from quarterdeck.apis.core.config import Secret as KubeSecret
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.references import SecretKeySelector
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines.allocations import Allocations
from quarterdeck.operators.machines.connection import Connection
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import AccessData
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.ports import ProviderSettings
from quarterdeck.operators.machines.providers import Providers, normalize_name
from quarterdeck.runtime import Context
from quarterdeck.wire.status import NotFound

GetSecret = Callable[[type[KubeSecret], str, str], Awaitable[KubeSecret]]
NO_CREDENTIALS = frozenset({"mock", "qemu"})
"""Providers that need no credentials."""


class CredentialsMissing(Exception):
    """Raised when credentials are incomplete; the message names the Secret, key or field."""


class Opened(NamedTuple):
    """A connection and what it was opened with."""

    connection: Connection
    digest: str
    credentials_hash: str
    provider: str


class Connections:
    """Opens one connection per HypervisorCluster, and replaces it when spec or credentials change.

    Allocations are kept per cluster, also when its connection is replaced.
    """

    def __init__(
        self,
        *,
        providers: Providers,
        clock: Clock,
        metrics: MachineMetrics,
        folder: Path | None = None,
    ) -> None:
        self._providers = providers
        self._clock = clock
        self._metrics = metrics
        self._folder = folder
        self._opened: dict[Key, Opened] = {}
        self._allocations: dict[Key, Allocations] = {}

    def find(self, key: Key) -> Connection | None:
        """The connection of a cluster, if it is open."""
        opened = self._opened.get(key)
        return opened.connection if opened is not None else None

    def allocations(self, key: Key) -> Allocations:
        """The allocations on a cluster."""
        return self._allocations.setdefault(key, Allocations())

    @property
    def all(self) -> dict[Key, Connection]:
        """Every open connection."""
        return {key: opened.connection for key, opened in self._opened.items()}

    async def open(
        self, cluster: HypervisorCluster, ctx: Context[HypervisorCluster]
    ) -> tuple[Opened, Opened | None]:
        """Open the connection of a cluster, or return the open one; also the one that it replaced.

        Raises:
            ProviderUnknown: if there is no such provider.
            CredentialsMissing: if no pair of credentials is complete.
            HypervisorError: if the provider cannot be opened.
        """
        open_provider = self._providers.find(cluster.spec.provider)

        async def get_live(kind: type[KubeSecret], name: str, namespace: str) -> KubeSecret:
            return await ctx.api.get_live(kind, Key(namespace, name))

        secrets = SecretReader(cluster.metadata.namespace, get_live)
        settings = await build_settings(cluster, secrets, clock=self._clock, folder=self._folder)
        digest = _digest((cluster.spec, _reveal(settings.access), settings.ca_certificates))
        before = self._opened.get(cluster.key)
        if before is not None and before.digest == digest:
            return before._replace(credentials_hash=secrets.fingerprint), None
        try:
            hypervisor = await open_provider(settings)
        except OSError as error:
            text = f"provider {cluster.spec.provider!r} cannot be opened: {error}"
            raise make_error(Code.UNAVAILABLE, text, operation="open_provider") from error
        connection = Connection(
            hypervisor,
            cluster=str(cluster.key),
            clock=self._clock,
            metrics=self._metrics,
            max_concurrent_operations=cluster.spec.max_concurrent_operations,
        )
        opened = Opened(
            connection, digest, secrets.fingerprint, normalize_name(cluster.spec.provider)
        )
        self._opened[cluster.key] = opened
        if before is not None:
            await before.connection.hypervisor.aclose()
        return opened, before

    async def close(self, key: Key) -> None:
        """Close the connection of a deleted cluster, and forget its allocations."""
        opened = self._opened.pop(key, None)
        self._allocations.pop(key, None)
        if opened is not None:
            await opened.connection.hypervisor.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        for key in list(self._opened):
            await self.close(key)


def normalize_endpoint(endpoint: str) -> str:
    """The endpoint without the path of the API, which manifests may include."""
    return endpoint.rstrip("/").removesuffix("/api2/json")


class SecretReader:
    """Reads values of Secrets, and records the version of each Secret that was read."""

    def __init__(self, namespace: str, get: GetSecret) -> None:
        """`get` reads a Secret by kind, name and namespace, and raises `NotFound`."""
        self._namespace = namespace
        self._get = get
        self._versions: dict[str, str] = {}

    @property
    def fingerprint(self) -> str:
        """A digest that changes with the Secrets and does not reveal their values."""
        return _digest(sorted(self._versions.items())) if self._versions else ""

    async def read(self, selector: SecretKeySelector) -> str:
        """Read one value; empty if it is missing and optional.

        Raises:
            CredentialsMissing: naming what is missing.
        """
        namespace = self._namespace
        if selector.namespace not in ("", namespace):
            raise CredentialsMissing(
                f"Secret {selector.namespace}/{selector.name} is in another namespace; "
                f"copy it to {namespace}"
            )
        try:
            secret = await self._get(KubeSecret, selector.name, namespace)
        except NotFound:
            if selector.optional:
                return ""
            raise CredentialsMissing(f"Secret {namespace}/{selector.name} not found") from None
        version = f"{secret.metadata.uid}/{secret.metadata.resource_version}"
        self._versions[selector.name] = version
        value = secret.read(selector.key)
        if value is None and not selector.optional:
            raise CredentialsMissing(
                f"Secret {namespace}/{selector.name} has no key {selector.key!r}"
            )
        try:
            return (value or b"").decode().strip()
        except UnicodeDecodeError:
            text = f"key {selector.key!r} of Secret {namespace}/{selector.name} is not UTF-8 text"
            raise CredentialsMissing(text) from None


async def build_settings(
    cluster: HypervisorCluster, secrets: SecretReader, *, clock: Clock, folder: Path | None
) -> ProviderSettings:
    """Build the settings that a provider is opened with.

    Raises:
        CredentialsMissing: if no pair is complete and the provider needs one.
    """
    access = await read_access(cluster, secrets)
    authorities = await _read_authorities(cluster, secrets)
    tls = cluster.spec.tls
    return ProviderSettings(
        cluster=str(cluster.key),
        endpoint=normalize_endpoint(cluster.spec.endpoint),
        access=access,
        nodes=cluster.spec.nodes,
        storage=cluster.spec.default_storage,
        network=cluster.spec.default_network,
        clock=clock,
        is_insecure=tls is not None and tls.insecure_skip_verify,
        ca_certificates=authorities,
        max_concurrent_operations=cluster.spec.max_concurrent_operations,
        folder=folder,
    )


async def read_access(cluster: HypervisorCluster, secrets: SecretReader) -> AccessData:
    """Read the first complete pair of credentials: API token, password, client certificate.

    Raises:
        CredentialsMissing: if no pair is complete and the provider needs one.
    """
    given = cluster.spec.credentials
    needs_none = normalize_name(cluster.spec.provider) in NO_CREDENTIALS
    if given is None:
        if needs_none:
            return AccessData()
        raise CredentialsMissing(
            "no valid credential configuration: set spec.credentials.tokenId and tokenSecret, "
            "or username and password"
        )
    absent: list[str] = []
    read = functools.partial(_read_pair, secrets, absent)
    if pair := await read(tokenId=given.token_id, tokenSecret=given.token_secret):
        return AccessData(token_id=pair[0], token_secret=Secret(pair[1]))
    if pair := await read(username=given.username, password=given.password):
        return AccessData(username=pair[0], password=Secret(pair[1]))
    if pair := await read(clientCert=given.client_cert, clientKey=given.client_key):
        return AccessData(client_cert=pair[0], client_key=Secret(pair[1]))
    if absent and needs_none:
        return AccessData()
    problem = (
        f"{', '.join(absent)}; set a value in the Secret, or complete another pair"
        if absent
        else "neither tokenId and tokenSecret nor username and password are complete"
    )
    raise CredentialsMissing(f"no valid credential configuration: {problem} in spec.credentials")


async def _read_pair(
    secrets: SecretReader, absent: list[str], **selectors: SecretKeySelector | None
) -> list[str]:
    """Read the values of a pair, by their fields in `spec.credentials`; empty if one is absent.

    The fields of absent values, which are optional or empty, are added to `absent`.
    """
    given = {field: each for field, each in selectors.items() if each is not None}
    if len(given) < len(selectors):
        return []
    values = {field: await secrets.read(each) for field, each in given.items()}
    empty = [
        f"spec.credentials.{field} has no value (Secret {given[field].name}, "
        f"key {given[field].key!r})"
        for field, value in values.items()
        if not value
    ]
    absent += empty
    return [] if empty else list(values.values())


async def _read_authorities(cluster: HypervisorCluster, secrets: SecretReader) -> str:
    tls = cluster.spec.tls
    if tls is None or tls.ca_certificate is None:
        return ""
    return await secrets.read(tls.ca_certificate)


def _reveal(access: AccessData) -> tuple[str, ...]:
    return tuple(each.reveal() if isinstance(each, Secret) else each for each in access)


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:16]
