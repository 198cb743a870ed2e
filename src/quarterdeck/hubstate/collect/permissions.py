"""The permissions of a collector on its cluster: exactly what it reads, never Secrets. Pure."""

from collections.abc import Iterable
from typing import Any

from quarterdeck.hubstate.collect import kinds
from quarterdeck.meta.identity import GVR

SECRETS = ("", "secrets")
_LISTED = (
    *(kinds.NODES, kinds.PODS, kinds.NAMESPACES, kinds.SERVICES, kinds.CONFIG_MAPS),
    *(kinds.DEPLOYMENTS, kinds.STATEFUL_SETS, kinds.DAEMON_SETS, kinds.INGRESSES),
    *(kinds.NODE_USAGE, kinds.CLUSTER_OPERATORS, kinds.SUBSCRIPTIONS),
)
_READ = (kinds.CLUSTER_VERSIONS, kinds.ROUTES, kinds.SERVICE_VERSIONS)
"""Resources of which single objects are read by name."""


def build_rules(sources: Iterable[GVR] = ()) -> list[dict[str, Any]]:
    """Rules of a ClusterRole: one for each API group and verb, sorted.

    A MetricSource about Secrets gets no rule: its collection fails, and its meta says why.
    """
    wanted: dict[tuple[str, str], set[str]] = {}
    for verb, resources in (("list", (*_LISTED, *sources)), ("get", _READ)):
        for each in resources:
            if (each.group, each.resource) != SECRETS:
                wanted.setdefault((each.group, verb), set()).add(each.resource)
    return [
        {"apiGroups": [group], "resources": sorted(names), "verbs": [verb]}
        for (group, verb), names in sorted(wanted.items())
    ]
