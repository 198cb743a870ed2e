"""FleetConnection: a fleet server and the credentials for it."""

from typing import Annotated

import msgspec

from quarterdeck.apis.fleetmanagement.names import DURATION_PATTERN, GROUP, VERSION
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule

URL_OR_SECRET = Rule(
    rule="has(self.url) || has(self.secretRef)",
    message="url must be set, or secretRef must name a Secret with the key base-url",
)


class CredentialsReference(Struct, frozen=True, kw_only=True):
    """A Secret of the same namespace with the credentials of a fleet server."""

    name: Annotated[str, Schema(min_length=1)]
    """Name of the Secret."""
    username_key: Annotated[str, Schema(default="username", min_length=1)] = "username"
    """Key of the user name."""
    password_key: Annotated[str, Schema(default="password", min_length=1)] = "password"
    """Key of the password or token."""
    url_key: Annotated[str, Schema(default="base-url", min_length=1)] = "base-url"
    """Key of the address, used if spec.url is left out."""


class RateLimit(Struct, frozen=True, kw_only=True):
    """How often the server may be called; shared by everything that uses the connection."""

    requests_per_second: Annotated[Int32, Schema(default=3, minimum=1, maximum=10000)] = 3
    """Requests per second. Grafana Cloud allows 3."""
    burst: Annotated[Int32, Schema(default=3, minimum=1, maximum=10000)] = 3
    """Requests that may go at once after a pause."""


class FleetConnectionSpec(Struct, frozen=True, kw_only=True):
    """How to reach a fleet server."""

    url: Annotated[str, Schema(max_length=2048, pattern=r"^https?://[^\s/?#]+[^\s]*$")] = ""
    """Address of the server, with or without the path of the pipeline service."""
    secret_ref: CredentialsReference | None = None
    """Secret with the credentials; it is watched, so a rotation takes effect by itself."""
    rate_limit: Annotated[RateLimit, Schema(default={})] = RateLimit()
    """How often the server may be called."""
    ca_bundle: Annotated[str, Schema(format="byte")] = msgspec.field(name="caBundle", default="")
    """Certificates to trust, PEM in base64; those of the system if left out."""
    sync_interval: Annotated[str, Schema(default="10m", pattern=DURATION_PATTERN)] = "10m"
    """How often to look for changes made on the server."""
    timeout: Annotated[str, Schema(default="30s", pattern=DURATION_PATTERN)] = "30s"
    """How long one request may take."""
    default: bool = False
    """Whether pipelines of the namespace that name no connection use this one."""


class FleetConnectionStatus(Struct, frozen=True, kw_only=True):
    """What is known about a fleet server."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    pipelines: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many pipelines use this connection."""
    collectors: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many collectors the server knows, if one of the kinds here asks for them."""
    last_sync_time: Time = ""
    """When the server was last read completely."""
    conditions: Conditions = ()
    """Ready: the server answers and accepts the credentials."""


class FleetConnection(Object, frozen=True, kw_only=True):
    """A fleet server and the credentials for it; each namespace can have its own."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="FleetConnection",
        plural="fleetconnections",
        singular="fleetconnection",
        short_names=("fmconn",),
        columns=(
            Column(name="URL", path=".spec.url"),
            Column(name="Default", type="boolean", path=".spec.default"),
            Column(name="Pipelines", type="integer", path=".status.pipelines"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            Column(name="Reason", path='.status.conditions[?(@.type=="Ready")].reason', priority=1),
            AGE,
        ),
    )
    spec: Annotated[FleetConnectionSpec, Schema(rules=(URL_OR_SECRET,))]
    """How to reach the server."""
    status: FleetConnectionStatus = FleetConnectionStatus()
    """What is known about the server."""
