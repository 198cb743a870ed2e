"""The reconciler of ExternalAttributeSync: claims attributes of another system in its status.

The Collector reconciler reads the claim and sets the attributes. If a source suddenly returns no
records, the last claim is kept: an outage of the source must not remove all attributes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quarterdeck.apis.fleetmanagement.external_sync import AttributeMapping, OwnedKeys
from quarterdeck.apis.fleetmanagement.v1alpha1 import ExternalAttributeSync
from quarterdeck.kit import duration, rfc3339
from quarterdeck.meta.conditions import TRUE, find
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines.attributes import select_collectors
from quarterdeck.operators.pipelines.conditions import READY, STALLED, SYNCED, Reason
from quarterdeck.operators.pipelines.drivers.records import RecordReader, SourceError
from quarterdeck.operators.pipelines.failures import to_reconcile_error
from quarterdeck.operators.pipelines.fleets import Fleets
from quarterdeck.operators.pipelines.ports import CallFailed, Paused, RemoteCollector
from quarterdeck.operators.pipelines.references import read_secret_values
from quarterdeck.runtime import Context, RequeueAfter, Stalled, Waiting

MAX_OWNED = 1000
MIN_INTERVAL_S = 60.0
RETRY_S = 60.0
MAX_VALUE = 1024


class ExternalSyncs:
    """Reconciles ExternalAttributeSyncs."""

    def __init__(self, fleets: Fleets, reader: RecordReader | None = None) -> None:
        self._fleets = fleets
        self._reader = reader or RecordReader()

    async def reconcile(
        self, sync: ExternalAttributeSync, ctx: Context[ExternalAttributeSync]
    ) -> RequeueAfter:
        """Read the source, and claim the attributes of the collectors that it names."""
        fleet = await self._fleets.get_fleet(sync, ctx)
        ctx.status.set(last_sync_time=rfc3339.format_time(ctx.now()))
        try:
            records = await self._reader.read(sync.spec.source.http, await _read_secret(sync, ctx))
            collectors = await fleet.agents.list()
        except SourceError as error:
            raise Waiting(Reason.SOURCE_FAILED, str(error), after_s=RETRY_S) from error
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        ctx.status.set(records_seen=len(records))
        interval = max(MIN_INTERVAL_S, duration.parse_seconds(sync.spec.schedule))
        if not records and sync.status.owned_keys and not sync.spec.allow_empty_results:
            text = "the source answered without records; the attributes set before are kept"
            ctx.status.set_condition(STALLED, TRUE, Reason.EMPTY_RESULTS, text)
            return RequeueAfter(interval)
        owned = _claim(sync, records, collectors, ctx, interval_s=interval)
        self._fleets.metrics.set_owned_keys(ctx.key, owned)
        return RequeueAfter(interval)


def _claim(
    sync: ExternalAttributeSync,
    records: Iterable[Mapping[str, Any]],
    collectors: Sequence[RemoteCollector],
    ctx: Context[ExternalAttributeSync],
    *,
    interval_s: float,
) -> int:
    """Write the attributes of the source into the status; returns the number of collectors.

    Raises:
        Waiting: if the source names too many collectors; it may name fewer the next time.
    """
    chosen = select_collectors(sync.spec.selector, collectors, empty_selects_all=True)
    # those that the list leaves out stay: a server that answers half must not strip the other half
    before = {each.collector_id for each in sync.status.owned_keys}
    ids = {each.id for each in chosen} | (before - {each.id for each in collectors})
    claims = map_records(sync.spec.mapping, records)
    owned = [claims[each] for each in sorted(claims) if each in ids]
    ctx.status.set(records_applied=len(owned))
    if len(owned) > MAX_OWNED:
        raise Waiting(
            Reason.OWNED_KEYS_EXCEEDED,
            f"the source names {len(owned)} collectors, at most {MAX_OWNED} are allowed: "
            "narrow spec.selector, or use several ExternalAttributeSyncs",
            after_s=interval_s,
        )
    ctx.status.set(owned_keys=tuple(owned), last_success_time=rfc3339.format_time(ctx.now()))
    if find(ctx.status.conditions, STALLED) is not None:
        ctx.status.remove_condition(STALLED)
    text = f"{len(owned)} collectors have attributes of the source"
    ctx.status.set_condition(READY, TRUE, Reason.SYNCED, text)
    ctx.status.set_condition(SYNCED, TRUE, Reason.SYNCED, text)
    return len(owned)


def map_records(
    mapping: AttributeMapping, records: Iterable[Mapping[str, Any]]
) -> dict[str, OwnedKeys]:
    """The attributes of each collector in the records; the last record of one wins. Pure."""
    found = {}
    for record in records:
        identity = _to_text(record.get(mapping.collector_id_field))
        attributes = {
            key: text
            for key, field in mapping.attribute_fields.items()
            if (text := _to_text(record.get(field)))
        }
        if identity and attributes and all(key in attributes for key in mapping.required_keys):
            found[identity] = OwnedKeys(collector_id=identity, attributes=attributes)
    return found


def _to_text(value: object) -> str:
    """Convert a scalar to text; lists and objects are not attributes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)[:MAX_VALUE]
    return ""


async def _read_secret(sync: ExternalAttributeSync, ctx: Context[Any]) -> dict[str, bytes]:
    reference = sync.spec.source.secret_ref
    if reference is None:
        return {}
    values = await read_secret_values(Key(sync.metadata.namespace, reference.name), ctx)
    if values is None:
        raise Stalled(
            Reason.CONTENTS_UNAVAILABLE,
            f"spec.source.secretRef: Secret {reference.name!r} not found",
        )
    return values
