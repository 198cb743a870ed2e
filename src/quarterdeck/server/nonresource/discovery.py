"""Discovery documents of groups, versions and resources, in all three forms.

There are legacy documents for the root paths and each group version, and aggregated ones (v2 and
v2beta1) that save modern clients a request per group. Documents are built on first use and cached
until the registry changes.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.identity import GVK
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Resource, Subresource
from quarterdeck.server.registry.version_rank import rank_version
from quarterdeck.server.request.negotiation import Discovery

Document = dict[str, Any]
_GROUPS = (
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)
"""The groups of Kubernetes in the order its discovery lists them."""
_WRITES = frozenset({"create", "patch", "update"})
_STORED_AS = {
    GVK("events.k8s.io", "v1", "Event"): GVK("", "v1", "Event"),
    GVK("autoscaling", "v1", "HorizontalPodAutoscaler"): GVK(
        "autoscaling", "v2", "HorizontalPodAutoscaler"
    ),
}
"""Kinds that Kubernetes stores as another one."""


class DiscoveryDocuments:
    """The discovery documents of one server, as bytes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._cache: dict[tuple[str, str], bytes] = {}

    def get_core_versions(self, address: str) -> bytes:
        """`/api` in its legacy form; `address` is where this server can be reached."""
        return self._get_cached("api", address, lambda: self._build_core(address))

    def get_groups(self) -> bytes:
        """`/apis` in its legacy form."""
        return self._get_cached("apis", "", self._build_groups)

    def get_group(self, name: str) -> bytes | None:
        """`/apis/GROUP`; None if there is no such group."""
        if not name or name not in self._group_versions():
            return None
        return self._get_cached("group", name, lambda: self._group(name, in_list=False))

    def get_resources(self, group: str, version: str) -> bytes | None:
        """`/api/v1` or `/apis/GROUP/VERSION`; None if it is not served."""
        if not self._registry.serves_version(group, version):
            return None
        return self._get_cached(
            "resources", f"{group}/{version}", lambda: self._build_resources(group, version)
        )

    def get_aggregated(self, kind: Discovery, *, core: bool) -> bytes:
        """Return everything about the core group or about all others, in one document."""
        place = "core" if core else "groups"
        return self._get_cached(
            f"aggregated {kind.value}", place, lambda: self._build_aggregated(kind, core=core)
        )

    def _get_cached(self, shape: str, name: str, make: Callable[[], Document]) -> bytes:
        if self._generation != self._registry.generation:
            self._cache.clear()
            self._generation = self._registry.generation
        key = (shape, name)
        body = self._cache.get(key)
        if body is None:
            body = self._cache[key] = kit_json.encode(make())
        return body

    def _group_versions(self) -> dict[str, list[str]]:
        """Kubernetes' groups in its order, others as registered; versions by preference."""
        groups: dict[str, list[str]] = {group: [] for group in _GROUPS}
        for group, version in self._registry.list_versions():
            groups.setdefault(group, []).append(version)
        return {
            group: sorted(versions, key=rank_version, reverse=True)
            for group, versions in groups.items()
            if versions
        }

    def _build_core(self, address: str) -> Document:
        versions = self._group_versions().get("", [])
        servers = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
        return {
            "kind": "APIVersions",
            "versions": versions,
            "serverAddressByClientCIDRs": servers,
        }

    def _build_groups(self) -> Document:
        groups = [self._group(name, in_list=True) for name in self._group_versions() if name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def _group(self, name: str, *, in_list: bool) -> Document:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for version in self._group_versions()[name]
        ]
        head: Document = {} if in_list else {"kind": "APIGroup", "apiVersion": "v1"}
        return head | {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _list_resources(self, group: str, version: str) -> list[Resource]:
        found = [
            each
            for each in self._registry
            if each.gvr.group == group and each.gvr.version == version
        ]
        return sorted(found, key=lambda each: each.gvr.resource)

    def _build_resources(self, group: str, version: str) -> Document:
        head: Document = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        entries = [
            entry
            for each in self._list_resources(group, version)
            for entry in build_legacy_entries(each)
        ]
        full = f"{group}/{version}" if group else version
        return head | {"groupVersion": full, "resources": entries}

    def _build_aggregated(self, kind: Discovery, *, core: bool) -> Document:
        items = [
            self._build_aggregated_group(group, versions)
            for group, versions in self._group_versions().items()
            if (not group) is core
        ]
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{kind.value}",
            "metadata": {},
            "items": items,
        }

    def _build_aggregated_group(self, group: str, versions: Iterable[str]) -> Document:
        metadata: Document = {"name": group} if group else {}
        return {
            "metadata": metadata | {"creationTimestamp": None},
            "versions": [
                {
                    "version": version,
                    "resources": [
                        build_aggregated_entry(each)
                        for each in self._list_resources(group, version)
                    ],
                    "freshness": "Current",
                }
                for version in versions
            ],
        }


def build_legacy_entries(resource: Resource) -> list[Document]:
    """Build a resource and its subresources as `APIResourceList` has them."""
    name = resource.gvr.resource
    entry: Document = {
        "name": name,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _list_verbs(resource),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "watch" in resource.verbs:
        entry["storageVersionHash"] = resource.storage_version_hash or hash_storage(resource.gvk)
    return [
        entry,
        *(_build_legacy_subresource(resource, each) for each in resource.subresources.values()),
    ]


def _list_verbs(resource: Resource) -> list[str]:
    """List the verbs; those that write are left out while the definition is being deleted."""
    if resource.is_terminating:
        return [verb for verb in resource.verbs if verb not in _WRITES]
    return list(resource.verbs)


def _build_legacy_subresource(resource: Resource, sub: Subresource) -> Document:
    entry: Document = {
        "name": f"{resource.gvr.resource}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if (sub.gvk.group, sub.gvk.version) != (resource.gvr.group, resource.gvr.version):
        entry |= {"group": sub.gvk.group, "version": sub.gvk.version}
    return entry | {"kind": sub.gvk.kind, "verbs": list(sub.verbs)}


def build_aggregated_entry(resource: Resource) -> Document:
    """Build a resource with its subresources as `APIGroupDiscovery` has them."""
    entry: Document = {
        "resource": resource.gvr.resource,
        "responseKind": _build_response_kind(resource, resource.gvk),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _list_verbs(resource),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": each.name,
                "responseKind": _build_response_kind(resource, each.gvk),
                "verbs": list(each.verbs),
            }
            for each in resource.subresources.values()
        ]
    return entry


def _build_response_kind(resource: Resource, gvk: GVK) -> Document:
    """Build the response kind; built-in kinds omit the group and version of the endpoint."""
    if not resource.is_custom and gvk[:2] == resource.gvk[:2]:
        return {"group": "", "version": "", "kind": gvk.kind}
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def hash_storage(gvk: GVK) -> str:
    """Compute the storage version hash, equal for resources that are stored as the same kind."""
    gvk = _STORED_AS.get(gvk, gvk)
    digest = hashlib.sha256(f"{gvk.group}/{gvk.version}/{gvk.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
