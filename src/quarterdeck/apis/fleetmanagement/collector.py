"""Collector: an agent of the fleet, and the attributes that are set for it."""

from collections.abc import Mapping
from typing import Annotated, Literal

from quarterdeck.apis.core.references import LocalObjectReference
from quarterdeck.apis.fleetmanagement.names import GROUP, VERSION
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.schema import Rule

MAX_KEY = 100
MAX_VALUE = 1024
CollectorType = Literal["Unspecified", "Alloy", "OpenTelemetryCollector"]

ID_IMMUTABLE = Rule(rule="self == oldSelf", message="id is immutable: create another Collector")
KEYS_NOT_RESERVED = Rule(
    rule="self.all(key, key != '' && !key.startsWith('collector.') && size(key) <= 100)",
    message="a key has 1 to 100 characters and must not start with collector., which is reserved",
)
ATTRIBUTES = Schema(
    max_properties=100, items=Schema(max_length=MAX_VALUE), rules=(KEYS_NOT_RESERVED,)
)


class CollectorSpec(Struct, frozen=True, kw_only=True):
    """What is set for a collector."""

    id: Annotated[str, Schema(min_length=1, max_length=253, rules=(ID_IMMUTABLE,))]
    """Identity that the collector registers with."""
    name: Annotated[str, Schema(max_length=253)] = ""
    """Display name on the server; not changed if left out."""
    enabled: bool | None = None
    """Whether the collector receives pipelines; not changed if left out."""
    remote_attributes: Annotated[Mapping[str, str], ATTRIBUTES] = {}
    """Attributes that matchers see besides those the collector reports."""
    connection_ref: LocalObjectReference | None = None
    """The FleetConnection to use; the namespace's default one if left out."""


class AttributeOwner(Struct, frozen=True, kw_only=True):
    """Who set an attribute."""

    key: str
    """The attribute."""
    owner_kind: str
    """ExternalAttributeSync, Collector or RemoteAttributePolicy."""
    owner_name: str
    """Namespace and name of the object."""
    value: str = ""
    """The value in force."""


class CollectorStatus(Struct, frozen=True, kw_only=True):
    """What the server knows about a collector."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    registered: bool = False
    """Whether the collector has registered."""
    connection: str = ""
    """The connection it was found through."""
    name: str = ""
    """Display name on the server."""
    enabled: bool | None = None
    """Whether it receives pipelines."""
    collector_type: Annotated[CollectorType, Schema(default="Unspecified")] = "Unspecified"
    """What kind of agent it is."""
    created_at: Time = ""
    """When it registered first."""
    updated_at: Time = ""
    """When the server last changed its record."""
    last_ping: Time = ""
    """When it last asked for its configuration, where the server tells."""
    marked_inactive_at: Time = ""
    """When it was found inactive."""
    config_status: str = ""
    """What it reported about its configuration: APPLIED, APPLYING or FAILED."""
    config_error: Annotated[str, Schema(max_length=4096)] = ""
    """Its message, if it failed."""
    pipelines: tuple[str, ...] = ()
    """The pipelines it is to run."""
    local_attributes: Mapping[str, str] = {}
    """Attributes that it reports."""
    effective_remote_attributes: Mapping[str, str] = {}
    """Attributes that were set here."""
    attribute_owners: Annotated[
        tuple[AttributeOwner, ...], Schema(list_type="map", list_map_keys=("key",))
    ] = ()
    """Who set each of them."""
    conditions: Conditions = ()
    """Ready and Synced."""


class Collector(Object, frozen=True, kw_only=True):
    """An agent of the fleet, and the attributes that are set for it."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="Collector",
        plural="collectors",
        singular="collector",
        short_names=("fmcol",),
        columns=(
            Column(name="ID", path=".spec.id"),
            Column(name="Type", path=".status.collectorType"),
            Column(name="Registered", type="boolean", path=".status.registered"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            Column(name="Config", path=".status.configStatus", priority=1),
            Column(name="Reason", path='.status.conditions[?(@.type=="Ready")].reason', priority=1),
            AGE,
        ),
        selectable=(".spec.id",),
    )
    spec: CollectorSpec
    """What is set for it."""
    status: CollectorStatus = CollectorStatus()
    """What the server knows about it."""
