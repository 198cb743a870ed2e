"""Evaluates the alert rules of all MetricSources for one cluster, at each visit to it.

Visits are used because they happen in pull and push mode alike, at every interval, and in one
replica only. Rules are evaluated on the aggregations in the store.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from quarterdeck import engine
from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.engine.results import AggregationResults
from quarterdeck.hubstate import alert_states, keys
from quarterdeck.hubstate.alert_states import AlertKey
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.notices import plan_notice
from quarterdeck.hubstate.writes import Write
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters.hub import Hub


class Alerts:
    """Evaluates alert rules, and stores the time since which each has held."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._compiled: dict[Key, engine.CompiledSource] = {}

    async def update(self, cluster: str, sources: Iterable[MetricSource], *, ttl_s: int) -> None:
        """Evaluate the rules and store the result; if the store fails, the next visit retries."""
        chosen = [each for each in sources if each.spec.alerts]
        for gone in self._compiled.keys() - {each.key for each in chosen}:
            del self._compiled[gone]
        if not chosen:
            return  # what is stored is not read without rules, and expires
        now = self._hub.clock.now()
        key = alert_states.get_key(cluster)
        try:
            stored, *found = await self._hub.state.get_many(
                [key, *(_get_key(cluster, each) for each in chosen)]
            )
        except HubStateError:
            return
        before = alert_states.decode_states(stored)
        holding = [
            each
            for source, data in zip(chosen, found, strict=True)
            for each in self._evaluate(source, data, now)
        ]
        states = alert_states.advance(before, holding, now)
        writes: list[Write] = [alert_states.plan_states(cluster, states, ttl_s)]
        if before.keys() != {each.key for each in states}:
            # without details: what a viewer may know of them is in /alerts
            writes += plan_notice("cluster.alerts", cluster, now, {})
        await self._hub.store(writes)

    def _evaluate(
        self, source: MetricSource, data: bytes | None, now: datetime
    ) -> Iterator[AlertKey]:
        compiled = self._compile(source)
        if compiled is None or data is None:
            return
        try:
            values = msgspec.json.decode(data, type=AggregationResults).values
        except msgspec.DecodeError:
            return
        identity = keys.source_id(*source.key)
        for alert in compiled.alerts:
            for finding in alert.evaluate(values, now):
                yield AlertKey(identity, alert.rule.name, finding.group)

    def _compile(self, source: MetricSource) -> engine.CompiledSource | None:
        known = self._compiled.get(source.key)
        if known is None or known.spec != source.spec:
            try:
                known = self._compiled[source.key] = engine.compile_source(source.spec)
            except engine.SourceError:
                return None  # its own status has the cause
        return known


def _get_key(cluster: str, source: MetricSource) -> str:
    return keys.custom(cluster, keys.source_id(*source.key), "aggregations")
