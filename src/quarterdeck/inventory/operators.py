"""Operators installed by OLM: Subscription, ClusterServiceVersion, and watched namespaces."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.inventory.forms import Document

SHOWN = 20
"""Namespaces listed for one operator; the rest is in `all_available_namespaces`."""
ALL_NAMESPACES = "AllNamespaces"
SINGLE_NAMESPACE = "SingleNamespace"
TARGETS = "olm.targetNamespaces"
_WATCH_NAMESPACE = "WATCH_NAMESPACE"


class OperatorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One operator, in the shape of an item of `cluster:{c}:operators`."""

    name: str
    display_name: str
    version: str
    status: str
    namespace: str
    installed_namespace: str
    install_modes: tuple[str, ...]
    install_mode: str
    provider: str
    created_at: str
    updated_at: str
    is_cluster_wide: bool
    available_in_namespaces: tuple[str, ...]
    available_count: int
    available_namespaces_detail: str
    all_available_namespaces: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class OperatorsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of all operators, in the shape of `cluster:{c}:operators_summary`."""

    total: int
    by_status: Mapping[str, int]
    by_namespace: Mapping[str, int]
    by_install_mode: Mapping[str, int]


def find_installed_version(subscription: Document) -> tuple[str, str] | None:
    """Namespace and name of the ClusterServiceVersion a Subscription has installed."""
    name = _to_text(_to_map(subscription.get("status")).get("installedCSV"))
    return (
        (_to_text(_to_map(subscription.get("metadata")).get("namespace")), name) if name else None
    )


def read_operators(
    subscriptions: Iterable[Document],
    versions: Mapping[tuple[str, str], Document],
    *,
    namespaces: int,
) -> list[OperatorFacts]:
    """Every Subscription whose ClusterServiceVersion is known, by name.

    `namespaces` is the number of namespaces in the cluster, all of which a cluster-wide operator
    serves.
    """
    found = []
    for subscription in subscriptions:
        installed = find_installed_version(subscription)
        if installed is not None and installed in versions:
            found.append(_read(subscription, versions[installed], namespaces))
    return sorted(found, key=lambda each: (each.name, each.namespace))


def summarize(operators: Sequence[OperatorFacts]) -> OperatorsSummary:
    """Build the summary of all operators."""
    wide = sum(each.is_cluster_wide for each in operators)
    return OperatorsSummary(
        total=len(operators),
        by_status=dict(Counter(each.status for each in operators)),
        by_namespace=dict(Counter(each.installed_namespace for each in operators)),
        by_install_mode={"cluster_wide": wide, "namespace_scoped": len(operators) - wide},
    )


def _read(subscription: Document, version: Document, namespaces: int) -> OperatorFacts:
    spec, metadata = _to_map(version.get("spec")), _to_map(version.get("metadata"))
    own, wanted = _to_map(subscription.get("metadata")), _to_map(subscription.get("spec"))
    status = _to_map(version.get("status"))
    namespace = _to_text(own.get("namespace"))
    modes = tuple(
        _to_text(each.get("type"))
        for each in map(_to_map, spec.get("installModes") or ())
        if each.get("supported") is True
    )
    targets = _list_targets(metadata, wanted)
    is_wide = ALL_NAMESPACES in modes and not targets
    reach = ("*",) if is_wide else targets or (namespace,)
    shown, rest = _shorten(reach)
    return OperatorFacts(
        name=_to_text(wanted.get("name")) or _to_text(own.get("name")),
        display_name=_to_text(spec.get("displayName")) or _to_text(metadata.get("name")),
        version=_to_text(spec.get("version")),
        status=_to_text(status.get("phase")) or "Unknown",
        namespace=namespace,
        installed_namespace=namespace,
        install_modes=modes,
        install_mode=ALL_NAMESPACES if is_wide else SINGLE_NAMESPACE,
        provider=_to_text(_to_map(spec.get("provider")).get("name")),
        created_at=_to_text(metadata.get("creationTimestamp")),
        updated_at=_to_text(status.get("lastUpdateTime")),
        is_cluster_wide=is_wide,
        available_in_namespaces=shown,
        available_count=namespaces if is_wide else len(reach),
        available_namespaces_detail=_describe_reach(reach, is_wide=is_wide),
        all_available_namespaces=rest,
    )


def _list_targets(metadata: Mapping[str, Any], subscription: Mapping[str, Any]) -> tuple[str, ...]:
    """The namespaces an operator is restricted to; empty if it is not restricted."""
    text = _to_text(_to_map(metadata.get("annotations")).get(TARGETS))
    if not text:
        environment = _to_map(subscription.get("config")).get("env") or ()
        watched = (e for e in map(_to_map, environment) if e.get("name") == _WATCH_NAMESPACE)
        text = next((_to_text(each.get("value")) for each in watched), "")
    return tuple(sorted({part.strip() for part in text.split(",") if part.strip()}))


def _shorten(
    reach: tuple[str, ...],
) -> tuple[tuple[str, ...], tuple[str, ...] | msgspec.UnsetType]:
    return (reach[:SHOWN], reach) if len(reach) > SHOWN else (reach, msgspec.UNSET)


def _describe_reach(reach: tuple[str, ...], *, is_wide: bool) -> str:
    if is_wide:
        return "All namespaces"
    if len(reach) > SHOWN:
        return f"{len(reach)} namespaces (showing first {SHOWN})"
    return ", ".join(reach)


def _to_map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else ""
