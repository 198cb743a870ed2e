"""Pipeline and FleetConnection: which configuration goes to which collectors, through which server.

The fields, names and limits of Pipeline are those that existing manifests use; `contentsFrom`, the
three policies and `connectionRef` are ours and optional.
"""

from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.core.references import (
    ConfigMapKeySelector,
    LocalObjectReference,
    SecretKeySelector,
)
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule

GROUP = "fleetmanagement.grafana.com"
FINALIZER = "pipeline.fleetmanagement.grafana.com/finalizer"
DRY_RUN = "fleetmanagement.grafana.com/dry-run"
"""Annotation: with `"true"` a pipeline is only validated."""
FORCE_DELETE = "fleetmanagement.grafana.com/force-delete"
"""Annotation: with `"true"` a deletion does not wait for the server."""

MAX_CONTENTS = 1024 * 1024
DURATION_PATTERN = r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$"

ConfigType = Literal["Alloy", "OpenTelemetryCollector"]
SourceType = Literal["Unspecified", "Git", "Terraform", "Kubernetes", "Grafana"]
AdoptionPolicy = Literal["Never", "IfUnowned", "Always"]
DeletionPolicy = Literal["Delete", "Orphan"]
DriftPolicy = Literal["Correct", "Warn", "Ignore"]

CONTENTS_ONCE = Rule(
    rule="has(self.contents) != has(self.contentsFrom)",
    message="exactly one of contents and contentsFrom must be set",
)
CONTENTS_NOT_BLANK = Rule(
    rule="self.matches('\\\\S')",
    message="contents must not be blank",
)
SOURCE_ONCE = Rule(
    rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",
    message="exactly one of configMapKeyRef and secretKeyRef must be set",
)
SOURCE_NAMESPACE = Rule(
    rule=(
        "!has(self.type) || !(self.type in ['Git', 'Terraform']) || "
        "(has(self.__namespace__) && self.__namespace__ != '')"
    ),
    message="source.namespace must name the repository or workspace for Git and Terraform",
    field_path=".namespace",
)
URL_OR_SECRET = Rule(
    rule="has(self.url) || has(self.secretRef)",
    message="url must be set, or secretRef must name a Secret with the key base-url",
)


class PipelineSource(Struct, frozen=True, kw_only=True):
    """Where a pipeline was written, for people who look at the server."""

    type: Annotated[SourceType, Schema(default="Unspecified")] = "Unspecified"
    """Kind of origin. Kubernetes is accepted and never sent: the server does not know it."""
    namespace: str = ""
    """The repository or workspace; needed for Git and Terraform."""


class ContentsSource(Struct, frozen=True, kw_only=True):
    """Where the configuration is, if it is not in the pipeline itself; exactly one is set."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    """Key of a ConfigMap in the same namespace."""
    secret_key_ref: SecretKeySelector | None = None
    """Key of a Secret in the same namespace."""


class PipelineSpec(Struct, frozen=True, kw_only=True):
    """The desired state of a pipeline."""

    name: str = ""
    """Name in the fleet, unique over the whole tenant; metadata.name if left out."""
    contents: Annotated[
        str, Schema(min_length=1, max_length=MAX_CONTENTS, rules=(CONTENTS_NOT_BLANK,))
    ] = ""
    """Alloy or OpenTelemetry Collector configuration."""
    contents_from: Annotated[ContentsSource, Schema(rules=(SOURCE_ONCE,))] | None = None
    """Where the configuration is kept instead; a change there is a change of the pipeline."""
    matchers: Annotated[
        tuple[str, ...],
        Schema(max_items=100, list_type="atomic", items=Schema(min_length=1, max_length=200)),
    ] = ()
    """Which collectors receive it: matchers such as env=prod or team=~"a.*", all of which hold."""
    enabled: Annotated[bool, Schema(default=True)] = True
    """Whether it is delivered to collectors."""
    config_type: Annotated[ConfigType, Schema(default="Alloy")] = "Alloy"
    """The language of the configuration."""
    source: Annotated[PipelineSource, Schema(rules=(SOURCE_NAMESPACE,))] | None = None
    """Where the pipeline is written; the object's own namespace and name if left out."""
    connection_ref: LocalObjectReference | None = None
    """The FleetConnection to use; the namespace's default one if left out."""
    adoption_policy: Annotated[AdoptionPolicy, Schema(default="Never")] = "Never"
    """What to do with a pipeline of the same name that somebody else made."""
    deletion_policy: Annotated[DeletionPolicy, Schema(default="Delete")] = "Delete"
    """What happens on the server when this object is deleted."""
    drift_policy: Annotated[DriftPolicy, Schema(default="Correct")] = "Correct"
    """What to do when the pipeline was changed on the server."""
    paused: bool = False
    """Whether to stop creating and updating; deletion still runs."""


class PipelineStatus(Struct, frozen=True, kw_only=True):
    """The observed state of a pipeline."""

    id: str = ""
    """Identity on the server."""
    name: str = ""
    """Name on the server, which a rename has to clean up after."""
    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    created_at: Time = ""
    """When the server created it."""
    updated_at: Time = ""
    """When the server last changed it."""
    revision_id: str = ""
    """The current revision on the server."""
    applied_hash: str = ""
    """Hash of everything that was last sent."""
    connection: str = ""
    """The connection it was sent through."""
    source: PipelineSource | None = None
    """The source as the server has it."""
    preview: Annotated[str, Schema(max_length=32768)] = ""
    """What a dry run would change."""
    conditions: Conditions = ()
    """Ready and Synced, and what else is known."""


class Pipeline(Object, frozen=True, kw_only=True):
    """A piece of collector configuration, and the collectors that receive it."""

    KIND = KindInfo(
        group=GROUP,
        version="v1alpha1",
        kind="Pipeline",
        plural="pipelines",
        singular="pipeline",
        short_names=("fmp",),
        columns=(
            Column(name="Enabled", type="boolean", path=".spec.enabled"),
            Column(name="ConfigType", path=".spec.configType"),
            Column(name="Fleet ID", path=".status.id"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            Column(name="Source", path=".spec.source.type", priority=1),
            Column(name="Paused", type="boolean", path=".spec.paused", priority=1),
            Column(name="Reason", path='.status.conditions[?(@.type=="Ready")].reason', priority=1),
            AGE,
        ),
        selectable=(".spec.name", ".spec.configType", ".status.id"),
    )
    spec: Annotated[PipelineSpec, Schema(rules=(CONTENTS_ONCE,))]
    """What the fleet should have."""
    status: PipelineStatus = PipelineStatus()
    """What the fleet has."""


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
    last_sync_time: Time = ""
    """When the server was last read completely."""
    conditions: Conditions = ()
    """Ready: the server answers and accepts the credentials."""


class FleetConnection(Object, frozen=True, kw_only=True):
    """A fleet server and the credentials for it; each namespace can have its own."""

    KIND = KindInfo(
        group=GROUP,
        version="v1alpha1",
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


KINDS: tuple[type[Object], ...] = (Pipeline, FleetConnection)
