"""Alerts from rules of MetricSources, as each viewer may see them.

A rule is evaluated on the aggregations that the viewer may see. A viewer who sees all rows gets an
alert once the rule has held for `forSeconds`, with the time since which it holds. For others that
time would reveal something about hidden rows: their alerts are those of the last reading.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from quarterdeck.engine.alerts import Finding
from quarterdeck.hubstate import alert_states
from quarterdeck.hubstate.alert_states import AlertKey, AlertState
from quarterdeck.hubstate.readers import StoredCollection, read_collection
from quarterdeck.inventory.access.viewer import CustomAccess, Viewer
from quarterdeck.kit.clock import Clock
from quarterdeck.services.hub.alerts import Alert
from quarterdeck.services.hub.catalog import Catalog, KnownSource
from quarterdeck.services.hub.endpoints.custom import Seen
from quarterdeck.services.hub.reading import HubReader

Restrict = Callable[[KnownSource, StoredCollection, CustomAccess], Seen]
_NAMESPACE = "namespace"


class AlertRules:
    """Finds the alerts of rules for a cluster."""

    def __init__(
        self, reader: HubReader, catalog: Catalog, *, restrict: Restrict, clock: Clock
    ) -> None:
        self._reader = reader
        self._catalog = catalog
        self._restrict = restrict
        self._clock = clock

    async def find(self, viewer: Viewer, cluster: str, labels: Mapping[str, str]) -> list[Alert]:
        """The alerts of a cluster that a viewer may see."""
        state = self._reader.state
        states: dict[AlertKey, AlertState] | None = None
        found: list[Alert] = []
        for source in await self._catalog.list_with_alerts():
            access = viewer.decide_type(cluster, labels, source.type)
            if access is None or not access.shows_aggregations:
                continue
            stored = await read_collection(state, cluster, source.id, clock=self._clock)
            if stored is None:
                continue
            if states is None:
                data = await state.get(alert_states.get_key(cluster))
                states = alert_states.decode_states(data)
            found += self._evaluate(source, stored, access, cluster=cluster, states=states)
        return found

    def _evaluate(
        self,
        source: KnownSource,
        stored: StoredCollection,
        access: CustomAccess,
        *,
        cluster: str,
        states: Mapping[AlertKey, AlertState],
    ) -> Iterator[Alert]:
        compiled = self._catalog.compile(source)
        seen = self._restrict(source, stored, access)
        if compiled is None or seen.aggregations is None:
            return
        now = self._clock.now()
        groups = {each.name: each.group_by for each in compiled.spec.aggregations}
        for alert in compiled.alerts:
            by_namespace = any(groups.get(name) == _NAMESPACE for name in alert.names)
            for finding in alert.evaluate(seen.aggregations, now):
                since = stored.resources.collected_at
                if not seen.is_filtered:
                    key = AlertKey(source.id, alert.rule.name, finding.group)
                    state = states.get(key)
                    if not _is_alert(finding, state, now):
                        continue
                    since = state.since if state is not None else since
                namespaces = (finding.group,) if by_namespace and finding.group else ()
                yield _build(finding, source, cluster, since=since, namespaces=namespaces)


def _is_alert(finding: Finding, state: AlertState | None, now: datetime) -> bool:
    for_s = finding.rule.for_seconds
    if state is None:
        return for_s == 0
    return alert_states.is_due(state, for_s=for_s, now=now)


def _build(
    finding: Finding, source: KnownSource, cluster: str, *, since: str, namespaces: tuple[str, ...]
) -> Alert:
    rule = finding.rule
    return Alert(
        name=rule.name,
        severity=rule.severity,
        cluster=cluster,
        source="rule",
        object=finding.group,
        condition=rule.expression,
        reason=source.type or source.id,
        message=finding.describe(),
        since=since,
        namespaces=namespaces,
    )
