"""Endpoints of alerts: of one cluster, and of every cluster that may be seen."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

from quarterdeck.inventory.access.filters import Item
from quarterdeck.inventory.access.viewer import ClusterAccess, Viewer
from quarterdeck.services.hub import views
from quarterdeck.services.hub.alerts import Alert, find_alerts, sort_alerts
from quarterdeck.services.hub.call import Call, Page
from quarterdeck.services.hub.endpoints.clusters import require_cluster
from quarterdeck.services.hub.paging import Paging, slice_page
from quarterdeck.services.hub.reading import HubReader

FindAlerts = Callable[[Viewer, str, Mapping[str, str]], Awaitable[list[Alert]]]
"""Finds the alerts of rules for a viewer, a cluster and its labels."""
_AT_ONCE = 32
"""Clusters that are read at the same time."""


class AlertParameters(Paging, frozen=True, kw_only=True):
    """Filters of alerts."""

    severity: Literal["critical", "warning", "info", ""] = ""


class FleetAlertParameters(AlertParameters, frozen=True, kw_only=True):
    """Filters of alerts of many clusters."""

    cluster: tuple[str, ...] = ()


class AlertEndpoints:
    """Endpoints /alerts and /clusters/{name}/alerts."""

    def __init__(self, reader: HubReader, rules: FindAlerts) -> None:
        self._reader = reader
        self._rules = rules

    async def cluster(self, call: Call) -> Page:
        """Alerts of a cluster, worst first."""
        wanted = call.parameters(AlertParameters)
        access = await require_cluster(call, self._reader)
        name = call.values["name"]
        labels = await self._reader.get_cluster_labels(name) or {}
        others = (await self._reader.list_alert_keys(name)).get(name, [])
        found = await self._find(call.viewer, name, labels, access, others=others)
        return slice_page(_keep(found, wanted.severity), wanted)

    async def fleet(self, call: Call) -> Page:
        """Alerts of the clusters that may be seen, worst first."""
        wanted = call.parameters(FleetAlertParameters)
        names = await self._reader.list_clusters()
        labels = await self._reader.get_labels(names)
        visible = [
            (name, access)
            for name in names
            if (not wanted.cluster or name in wanted.cluster)
            and (access := call.viewer.decide_cluster(name, labels[name])).is_visible
        ]
        others = await self._reader.list_alert_keys() if visible else {}
        found: list[Alert] = []
        for first in range(0, len(visible), _AT_ONCE):
            lists = await asyncio.gather(
                *(
                    self._find(call.viewer, name, labels[name], access, others=others.get(name, ()))
                    for name, access in visible[first : first + _AT_ONCE]
                )
            )
            found += [alert for each in lists for alert in each]
        return slice_page(_keep(sort_alerts(found), wanted.severity), wanted)

    async def _find(
        self,
        viewer: Viewer,
        name: str,
        labels: Mapping[str, str],
        access: ClusterAccess,
        *,
        others: Sequence[str],
    ) -> list[Alert]:
        """The alerts of a cluster; `others` are the keys of those of other programs."""
        reader = self._reader
        found = find_alerts(
            name,
            status=views.hide_message(await reader.get_part(name, "status") or {}, access),
            conditions=views.filter_conditions(await reader.get_rows(name, "conditions"), access),
            nodes=views.filter_nodes(await reader.list_nodes(name), access.get_filter("nodes")),
            cluster_operators=views.filter_operators(
                await reader.get_rows(name, "cluster_operators"), access.get_filter("operators")
            ),
            info=views.hide_version_messages(await reader.get_part(name, "info") or {}, access),
            others=await reader.get_alerts(others),
            rules=await self._rules(viewer, name, labels),
        )
        filter_ = access.get_filter("alerts")
        return [
            each
            for each in found
            if filter_.allows(Item(name=each.name, namespaces=each.namespaces))
        ]


def _keep(alerts: list[Alert], severity: str) -> list[Alert]:
    return [each for each in alerts if severity in ("", each.severity)]
