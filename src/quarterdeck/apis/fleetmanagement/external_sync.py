"""ExternalAttributeSync: attributes of collectors that another system knows, read over HTTPS."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.core.references import LocalObjectReference
from quarterdeck.apis.fleetmanagement.names import DURATION_PATTERN, GROUP, VERSION
from quarterdeck.apis.fleetmanagement.policies import CollectorSelector
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written


class HttpSource(Struct, frozen=True, kw_only=True):
    """An address that answers with JSON."""

    url: Annotated[str, Schema(max_length=2048, pattern=r"^https?://[^\s/?#]+[^\s]*$")]
    """Where the records are. Addresses of this host, of the cluster and of private networks are
    refused, after the name was resolved."""
    method: Annotated[Literal["GET", "POST"], Schema(default="GET")] = "GET"
    """How to ask."""
    records_path: str = ""
    """Members that lead to the list of records, such as data.hosts."""


class SourceSecret(Struct, frozen=True, kw_only=True):
    """A Secret of the same namespace."""

    name: Annotated[str, Schema(min_length=1)]
    """Its name; it has the key bearer-token, or the keys username and password."""


class ExternalSource(Struct, frozen=True, kw_only=True):
    """Where records come from."""

    kind: Annotated[Literal["HTTP"], Schema(default="HTTP")] = "HTTP"
    """HTTP is the only kind."""
    http: HttpSource
    """An address that answers with JSON."""
    secret_ref: SourceSecret | None = None
    """Credentials; they are sent over https only."""


class AttributeMapping(Struct, frozen=True, kw_only=True):
    """From a record to a collector and its attributes."""

    collector_id_field: Annotated[str, Schema(min_length=1)] = msgspec.field(
        name="collectorIDField"
    )
    """Member of a record that has the collector's id."""
    attribute_fields: Annotated[Mapping[str, str], Schema(min_properties=1, max_properties=100)]
    """Attributes by the member that has their value."""
    required_keys: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """Attributes without which a record is left out."""


class ExternalAttributeSyncSpec(Struct, frozen=True, kw_only=True):
    """Where attributes come from, and how often."""

    source: ExternalSource
    """Where records come from."""
    schedule: Annotated[str, Schema(default="15m", pattern=DURATION_PATTERN)] = "15m"
    """How often, at least a minute."""
    selector: CollectorSelector = CollectorSelector()
    """Collectors that may be changed; all if left out."""
    mapping: AttributeMapping
    """From a record to a collector and its attributes."""
    allow_empty_results: bool = False
    """Whether an answer without records removes what was set before."""
    connection_ref: LocalObjectReference | None = None
    """The FleetConnection to use; the namespace's default one if left out."""


class OwnedKeys(Struct, frozen=True, kw_only=True):
    """What was set for one collector."""

    collector_id: str = msgspec.field(name="collectorID")
    """Identity of the collector."""
    attributes: Mapping[str, str] = {}
    """What was set."""


class ExternalAttributeSyncStatus(Struct, frozen=True, kw_only=True):
    """What was read."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    last_sync_time: Time = ""
    """When the source was last asked."""
    last_success_time: Time = ""
    """When it last answered."""
    records_seen: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many records it had."""
    records_applied: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many of them belong to collectors that the selector selects."""
    owned_keys: Annotated[tuple[OwnedKeys, ...], Schema(max_items=1000)] = ()
    """What is set, by collector, at most 1000."""
    conditions: Conditions = ()
    """Ready, Synced, Stalled and Truncated."""


class ExternalAttributeSync(Object, frozen=True, kw_only=True):
    """Attributes of collectors that another system knows."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="ExternalAttributeSync",
        plural="externalattributesyncs",
        singular="externalattributesync",
        short_names=("fmeas",),
        columns=(
            Column(name="Schedule", path=".spec.schedule"),
            Column(name="Records", type="integer", path=".status.recordsSeen"),
            Column(name="Applied", type="integer", path=".status.recordsApplied"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            AGE,
        ),
    )
    spec: ExternalAttributeSyncSpec
    """Where attributes come from, and how often."""
    status: ExternalAttributeSyncStatus = ExternalAttributeSyncStatus()
    """What was read."""
