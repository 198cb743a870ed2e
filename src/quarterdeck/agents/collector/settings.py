"""Settings of a collector, from the environment that its Deployment sets. Pure."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from quarterdeck.inventory.push.address import find_address_problem
from quarterdeck.kit import duration
from quarterdeck.kit.digits import parse_digits
from quarterdeck.kit.redaction import Secret

DEFAULT_BUFFER = Path("/var/lib/quarterdeck-collector")
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_MIB = 1024 * 1024


class InvalidSetting(ValueError):
    """Raised when a variable has a value that cannot be used; names it."""


class CollectorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a collector."""

    cluster_name: str
    """CLUSTER_NAME: the name of the ClusterConnection on the hub."""
    ingester_address: str = "ingester:9443"
    token: Secret[str] = Secret("")
    interval_s: float = 30.0
    """COLLECT_INTERVAL: between two readings of the cluster; MetricSources have their own."""
    buffer_cycles: int = 10
    """BUFFER_SIZE: cycles that wait on disk while the hub cannot be reached."""
    buffer_bytes: int = 64 * _MIB
    """BUFFER_MAX_BYTES: the same in bytes, whichever is reached first."""
    buffer_folder: Path = DEFAULT_BUFFER
    """BUFFER_DIR."""
    scan_interval_s: float = 300.0
    """OPERATOR_SCAN_INTERVAL."""
    tls: bool = True
    """INGESTER_TLS_ENABLED."""
    tls_authority: str = ""
    """INGESTER_TLS_CA: a file; empty means the system's store."""
    tls_server_name: str = ""
    """INGESTER_TLS_SERVER_NAME: the name that the hub's certificate must have."""
    tls_certificate: str = ""
    """INGESTER_TLS_CLIENT_CERT: for hubs that ask collectors for a certificate."""
    tls_key: str = ""
    """INGESTER_TLS_CLIENT_KEY."""


def read_settings(environment: Mapping[str, str]) -> CollectorSettings:
    """The settings of an environment.

    Raises:
        InvalidSetting: if a variable is missing or cannot be used.
    """
    read = _Reader(environment)
    name = read.text("CLUSTER_NAME")
    if not name:
        raise InvalidSetting(
            "CLUSTER_NAME is not set: set it to the name of the ClusterConnection on the hub"
        )
    address = read.text("INGESTER_ADDRESS") or "ingester:9443"
    if problem := find_address_problem(address):
        raise InvalidSetting(f"INGESTER_ADDRESS {problem}")
    token = read.text("COLLECTOR_TOKEN")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidSetting(
            "COLLECTOR_TOKEN has characters that no token has; copy it from the Secret that "
            "`quarterdeck clusters join` printed"
        )
    cycles = read.number("BUFFER_SIZE", 10)
    return CollectorSettings(
        cluster_name=name,
        ingester_address=address,
        token=Secret(token),
        interval_s=read.seconds("COLLECT_INTERVAL", 30.0),
        buffer_cycles=cycles if cycles > 0 else 10,
        buffer_bytes=max(_MIB, read.number("BUFFER_MAX_BYTES", 64 * _MIB)),
        buffer_folder=Path(read.text("BUFFER_DIR") or DEFAULT_BUFFER),
        scan_interval_s=read.seconds("OPERATOR_SCAN_INTERVAL", 300.0),
        tls=read.flag("INGESTER_TLS_ENABLED", default=True),
        tls_authority=read.text("INGESTER_TLS_CA"),
        tls_server_name=read.text("INGESTER_TLS_SERVER_NAME"),
        tls_certificate=read.text("INGESTER_TLS_CLIENT_CERT"),
        tls_key=read.text("INGESTER_TLS_CLIENT_KEY"),
    )


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str) -> str:
        return self._environment.get(name, "").strip()

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        try:
            return int(text) if text else default
        except ValueError:
            raise InvalidSetting(f"{name} must be a whole number, not {text!r}") from None

    def seconds(self, name: str, default: float) -> float:
        """Whole seconds, or a duration such as 30s or 2m."""
        text = self.text(name)
        if not text:
            return default
        try:
            whole = parse_digits(text)
            found = duration.parse(text) / duration.SECOND if whole is None else float(whole)
        except duration.DurationError as error:
            raise InvalidSetting(
                f"{name} must be seconds or a duration such as 30s: {error}"
            ) from None
        if found < 1:
            raise InvalidSetting(f"{name} must be at least one second, not {text!r}")
        return found

    def flag(self, name: str, *, default: bool) -> bool:
        text = self.text(name).lower()
        if text and text not in _TRUE + _FALSE:
            raise InvalidSetting(f"{name} must be true or false, not {text!r}")
        return text in _TRUE if text else default
