"""What a release of Kubernetes serves: the resources of every built-in group version."""

import functools
from collections.abc import Collection, Mapping

import msgspec

from quarterdeck.meta.builtins import table
from quarterdeck.meta.identity import GVK, GVR, GroupVersion


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One served resource with its subresources."""

    gvr: GVR
    kind: GVK
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple["Subresource", ...] = ()


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """One subresource: `status`, `scale`, `eviction`; its kind may be another group's."""

    name: str
    kind: GVK
    verbs: tuple[str, ...]


class _Recorded(msgspec.Struct, rename="camel"):
    name: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    singular: str = ""
    group: str = ""
    version: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


@functools.cache
def list_resources() -> tuple[Resource, ...]:
    """Every built-in resource, in the order of discovery."""
    return tuple(
        resource
        for api_version in table.load_discovery()
        for resource in _read_version(api_version)
    )


_GATED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "MutatingAdmissionPolicy": (
        ("mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
        ("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"),
    )
}
"""Resources of kinds that a feature gate switches on, all without subresources."""
_GATED_VERSION = "admissionregistration.k8s.io/v1alpha1"
_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def list_gated_resources(gates: Collection[str]) -> tuple[Resource, ...]:
    """The resources that feature gates add to those of the table."""
    served = {(each.gvr.group, each.gvr.resource) for each in list_resources()}
    version = GroupVersion.parse(_GATED_VERSION)
    return tuple(
        Resource(
            gvr=GVR(version.group, version.version, name),
            kind=GVK(version.group, version.version, kind),
            singular=kind.lower(),
            namespaced=False,
            verbs=_ALL_VERBS,
            categories=("api-extensions",),
        )
        for gate, resources in _GATED.items()
        if gate in gates
        for name, kind in resources
        if (version.group, name) not in served
    )


def _read_version(api_version: str) -> list[Resource]:
    recorded = msgspec.json.decode(table.load_discovery()[api_version], type=list[_Recorded])
    version = GroupVersion.parse(api_version)
    return [
        Resource(
            gvr=GVR(version.group, version.version, item.name),
            kind=_find_kind(item, version),
            singular=item.singular,
            namespaced=item.namespaced,
            verbs=item.verbs,
            short_names=item.short_names,
            categories=item.categories,
            subresources=tuple(
                Subresource(
                    name=part.name.partition("/")[2],
                    kind=_find_kind(part, version),
                    verbs=part.verbs,
                )
                for part in recorded
                if part.name.startswith(f"{item.name}/")
            ),
        )
        for item in recorded
        if "/" not in item.name
    ]


def _find_kind(item: _Recorded, version: GroupVersion) -> GVK:
    if item.version:
        return GVK(item.group, item.version, item.kind)
    return GVK(version.group, version.version, item.kind)
