"""Which groups of Kubernetes' kinds are generated, and what of them is written by hand."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from quarterdeck.meta.builtins import resources, table
from quarterdeck.meta.identity import GroupVersion
from quarterdeck.meta.objects import Object, Struct


class Group(NamedTuple):
    """One module: a group version, its Go package, and the module written by hand."""

    api_version: str
    package: str
    by_hand: str = ""


GROUPS = {
    "core": Group("v1", "core/v1", "core"),
    "apps": Group("apps/v1", "apps/v1", "apps"),
    "batch": Group("batch/v1", "batch/v1", "batch"),
    "networking": Group("networking.k8s.io/v1", "networking/v1"),
    "policy": Group("policy/v1", "policy/v1", "policy"),
    "autoscaling": Group("autoscaling/v2", "autoscaling/v2"),
    "rbac": Group("rbac.authorization.k8s.io/v1", "rbac/v1", "rbac"),
    "storage": Group("storage.k8s.io/v1", "storage/v1"),
    "scheduling": Group("scheduling.k8s.io/v1", "scheduling/v1"),
    "coordination": Group("coordination.k8s.io/v1", "coordination/v1", "coordination"),
    "discovery": Group("discovery.k8s.io/v1", "discovery/v1"),
    "admissionregistration": Group(
        "admissionregistration.k8s.io/v1", "admissionregistration/v1", "admissionregistration"
    ),
    "apiextensions": Group("apiextensions.k8s.io/v1", "apiextensions/v1", "apiextensions"),
}
META = {
    "meta/v1.ObjectMeta": ("quarterdeck.meta.objects", "ObjectMeta"),
    "meta/v1.LabelSelector": ("quarterdeck.meta.selectors", "LabelSelector"),
    "meta/v1.Condition": ("quarterdeck.meta.conditions", "Condition"),
}


def list_kinds(api_version: str) -> list[str]:
    """The kinds of a group that can be listed: no lists, no requests such as Eviction."""
    wanted = GroupVersion.parse(api_version)
    kinds = {
        each.kind.kind
        for each in resources.list_resources()
        if (each.gvr.group, each.gvr.version) == (wanted.group, wanted.version)
        and "list" in each.verbs
    }
    return [kind for kind in table.list_kinds(api_version) if kind in kinds]


def list_members(type_name: str) -> Iterator[table.Field]:
    """The members in JSON: those of embedded structs stand among the others."""
    for field in table.get_type(type_name).fields:
        if field.name:
            yield field
        elif field.type != "#meta/v1.TypeMeta":
            yield from list_members(field.type.lstrip("*#"))


def find_handwritten(type_name: str) -> str:
    """The module that has this type by hand; empty if none has."""
    if type_name in META:
        return META[type_name][0]
    package, _, name = type_name.rpartition(".")
    for group in GROUPS.values():
        if group.package == package and group.by_hand:
            module = import_module(f"quarterdeck.apis.{group.by_hand}")
            found: Any = getattr(module, name, None)
            if isinstance(found, type) and issubclass(found, (Object, Struct)):
                return module.__name__
    return ""


def list_handwritten(name: str) -> list[str]:
    """The types that a module written by hand declares or exports."""
    if not name:
        return []
    module = import_module(f"quarterdeck.apis.{name}")
    names = getattr(module, "__all__", None) or list(vars(module))
    found = {each: getattr(module, each) for each in names}
    return [
        each
        for each, kind in found.items()
        if isinstance(kind, type)
        and issubclass(kind, (Object, Struct))
        and kind.__module__.startswith(module.__name__)
    ]


def find_owner(type_name: str) -> str | None:
    """The module that is generated for the package of a type."""
    package = type_name.rpartition(".")[0]
    return next((name for name, group in GROUPS.items() if group.package == package), None)
