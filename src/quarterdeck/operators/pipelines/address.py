"""The address of a fleet server, from a FleetConnection and its Secret or from the environment.

Pure. The default connection comes from the FLEET_MANAGEMENT_* environment variables.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from quarterdeck.apis.fleetmanagement.v1alpha1 import FleetConnection
from quarterdeck.kit import duration
from quarterdeck.kit.http.origin import split_server_url
from quarterdeck.kit.redaction import Secret

BASE_URL = "FLEET_MANAGEMENT_BASE_URL"
USERNAME = "FLEET_MANAGEMENT_USERNAME"
PASSWORD = "FLEET_MANAGEMENT_PASSWORD"
VARIABLES = (BASE_URL, USERNAME, PASSWORD)
DEFAULT = "default"
"""The name in `status.connection` of the connection from the environment."""

_PRINTABLE = re.compile(r"[!-~]*")
_SERVICES = ("/pipeline.v1.PipelineService", "/collector.v1.CollectorService")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_INSIDE = (".svc", ".svc.cluster.local")


class Address(NamedTuple):
    """Everything needed to call a server."""

    name: str
    url: str
    username: str
    password: Secret[str]
    rate: float = 3.0
    burst: int = 3
    interval_s: float = 600.0
    timeout_s: float = 30.0
    ca_bundle: str = ""

    @property
    def tenant(self) -> tuple[str, str]:
        """URL and user: connections with the same two share the rate limit and pipeline names."""
        return (self.url, self.username)


class InvalidAddress(ValueError):
    """Raised when a connection cannot be used; names the field and the fix, never a secret."""


def normalize_url(url: str) -> str:
    """The URL of a server without the path of a service, which users may have included.

    Raises:
        InvalidAddress: if the URL is invalid, or would send credentials unencrypted.
    """
    text = url.strip().rstrip("/")
    for service in _SERVICES:
        text = text.removesuffix(service)
    text = text.rstrip("/")
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        raise InvalidAddress("invalid URL: must be https://host[:port]") from error
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidAddress("invalid URL: must be https://host[:port]")
    if parts.username or parts.password:
        raise InvalidAddress("the URL must not contain credentials: put them into the Secret")
    if parts.query or parts.fragment:
        raise InvalidAddress("the URL must not have a query or a fragment")
    is_inside = host in _LOOPBACK or host.endswith(_INSIDE)
    if parts.scheme == "http" and not is_inside:
        raise InvalidAddress(
            f"https is required for {host}, because every call carries credentials "
            "(http is allowed for loopback and services of the cluster)"
        )
    return text


def split_source_url(url: str) -> SplitResult:
    """The parts of the URL of a source of records.

    Raises:
        InvalidAddress: naming the field; the URL may hold a token, and is not repeated.
    """
    field = "spec.source.http.url"
    try:
        parts = split_server_url(url)
    except ValueError:
        raise InvalidAddress(f"{field}: invalid URL: must be https://host[:port]/path") from None
    if parts.username is not None or parts.password is not None:
        raise InvalidAddress(f"{field}: must not contain credentials: put them into the Secret")
    if not _PRINTABLE.fullmatch(parts.path + parts.query):
        raise InvalidAddress(f"{field}: characters of path and query must be percent-escaped")
    return parts


def read_environment(environment: Mapping[str, str]) -> Address | None:
    """The default connection; None unless all three variables are set.

    Raises:
        InvalidAddress: if the URL cannot be used.
    """
    if list_missing_variables(environment):
        return None
    try:
        url = normalize_url(environment[BASE_URL])
    except InvalidAddress as error:
        raise InvalidAddress(f"{BASE_URL}: {error}") from error
    return Address(DEFAULT, url, environment[USERNAME], Secret(environment[PASSWORD]))


def list_missing_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The variables of the default connection that are missing or empty."""
    return tuple(name for name in VARIABLES if not environment.get(name, "").strip())


def build_address(connection: FleetConnection, secret: Mapping[str, bytes] | None) -> Address:
    """Build the address from a FleetConnection and the decoded values of its Secret.

    Raises:
        InvalidAddress: naming what is missing.
    """
    spec, reference = connection.spec, connection.spec.secret_ref
    values = secret if secret is not None else {}
    url, username, password = spec.url, "", ""
    if reference is not None:
        if secret is None:
            raise InvalidAddress(f"spec.secretRef: Secret {reference.name!r} not found")
        url = url or _get_value(values, reference.url_key, reference.name)
        username = _get_value(values, reference.username_key, reference.name)
        password = _get_value(values, reference.password_key, reference.name)
    try:
        root = normalize_url(url)
    except InvalidAddress as error:
        raise InvalidAddress(f"spec.url: {error}") from error
    return Address(
        name=str(connection.key),
        url=root,
        username=username,
        password=Secret(password),
        rate=float(spec.rate_limit.requests_per_second),
        burst=spec.rate_limit.burst,
        interval_s=max(1.0, _parse_seconds(spec.sync_interval, "spec.syncInterval")),
        timeout_s=max(0.1, _parse_seconds(spec.timeout, "spec.timeout")),
        ca_bundle=spec.ca_bundle,
    )


def find_proxy(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy of HTTPS_PROXY, unless NO_PROXY names the host; None for plain HTTP."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        return None
    exceptions = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    for entry in exceptions.split(","):
        name = entry.strip().lower().partition(":")[0].lstrip("*").lstrip(".")
        if entry.strip() == "*" or (name and (host == name or host.endswith(f".{name}"))):
            return None
    return environment.get("HTTPS_PROXY") or environment.get("https_proxy") or None


def _get_value(values: Mapping[str, bytes], key: str, secret: str) -> str:
    try:
        text = values.get(key, b"").decode().strip()
    except UnicodeDecodeError:
        raise InvalidAddress(f"key {key!r} of Secret {secret!r} is not UTF-8 text") from None
    if not text:
        raise InvalidAddress(f"Secret {secret!r} has no key {key!r}, or it is empty")
    return text


def _parse_seconds(text: str, field: str) -> float:
    try:
        return duration.parse_seconds(text)
    except ValueError as error:
        raise InvalidAddress(f"{field}: {error}") from error
