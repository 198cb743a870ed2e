"""Types -> CustomResourceDefinition manifests. Pure: nothing is read but the types and their docs.

`codegen` writes the result to files, `app` installs it, `cli` prints it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from quarterdeck.meta.identity import GroupKind
from quarterdeck.meta.kinds import Column, KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.meta.schema import Node, to_openapi
from quarterdeck.meta.type_schema import SchemaError, build_struct_node, walk

MAX_BYTES = 256 * 1024
"""Larger manifests break `kubectl apply`, which copies them into an annotation of this size."""


def build_manifests(kinds: Iterable[type[Object]]) -> list[dict[str, Any]]:
    """One manifest per kind, all its versions together, in order of first appearance."""
    versions: dict[GroupKind, list[type[Object]]] = {}
    for kind in kinds:
        versions.setdefault(kind.KIND.gvk.group_kind, []).append(kind)
    return [build_manifest(group) for group in versions.values()]


def build_manifest(versions: Sequence[type[Object]]) -> dict[str, Any]:
    """The manifest of one kind from the types of its versions.

    Raises:
        SchemaError: if a type has no structural schema, or the declaration contradicts itself.
    """
    info = _find_storage_version(versions)
    metadata: dict[str, Any] = {"name": info.gvr.group_resource}
    if info.labels:
        metadata["labels"] = dict(info.labels)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": info.group,
            "names": _build_names(info),
            "scope": info.scope.value,
            "versions": [_build_version(kind) for kind in versions],
        },
    }


def build_schema(kind: type[Object]) -> Node:
    """The structural schema of one version."""
    root = build_struct_node(kind, "")
    root.rules = kind.KIND.rules
    # the server allows nothing but the type there
    root.properties["metadata"].description = ""
    return root


def build_file_name(document: dict[str, Any]) -> str:
    """Where kubebuilder would put a manifest: `group_plural.yaml`."""
    spec = document["spec"]
    return f"{spec['group']}_{spec['names']['plural']}.yaml"


def _find_storage_version(versions: Sequence[type[Object]]) -> KindInfo:
    stored = [kind.KIND for kind in versions if kind.KIND.storage]
    if len(stored) != 1:
        names = ", ".join(kind.KIND.version for kind in versions)
        raise SchemaError(
            f"{versions[0].KIND.kind}: exactly one of the versions {names} must be the storage "
            f"version, found {len(stored)}"
        )
    return stored[0]


def _build_names(info: KindInfo) -> dict[str, Any]:
    names: dict[str, Any] = {
        "kind": info.kind,
        "listKind": info.list_kind,
        "plural": info.plural,
        "singular": info.singular or info.kind.lower(),
    }
    if info.short_names:
        names["shortNames"] = list(info.short_names)
    if info.categories:
        names["categories"] = list(info.categories)
    return names


def _build_version(kind: type[Object]) -> dict[str, Any]:
    info = kind.KIND
    root = build_schema(kind)
    _check_paths(info, root)
    version: dict[str, Any] = {
        "name": info.version,
        "served": info.served,
        "storage": info.storage,
    }
    if info.deprecated:
        version["deprecated"] = True
        if info.deprecation_warning:
            version["deprecationWarning"] = info.deprecation_warning
    if info.columns:
        version["additionalPrinterColumns"] = [_build_column(column) for column in info.columns]
    if info.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in info.selectable]
    version["schema"] = {"openAPIV3Schema": to_openapi(root)}
    if subresources := _build_subresources(info):
        version["subresources"] = subresources
    return version


def _build_column(column: Column) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
    }
    for name in ("format", "description", "priority"):
        if value := getattr(column, name):
            document[name] = value
    return document


def _build_subresources(info: KindInfo) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if info.scale is not None:
        found["scale"] = {
            "specReplicasPath": info.scale.spec_replicas,
            "statusReplicasPath": info.scale.status_replicas,
        }
        if info.scale.label_selector:
            found["scale"]["labelSelectorPath"] = info.scale.label_selector
    if info.subresource_status:
        found["status"] = {}
    return found


def _check_paths(info: KindInfo, root: Node) -> None:
    """Paths of subresources and selectable fields must lead to what the server expects there."""
    types = {f".{path}": node.type for path, node in walk(root)}
    expected: list[tuple[str, tuple[str, ...]]] = [
        (path, ("string", "boolean", "integer")) for path in info.selectable
    ]
    if (scale := info.scale) is not None:
        expected += [(scale.spec_replicas, ("integer",)), (scale.status_replicas, ("integer",))]
        if scale.label_selector:
            expected.append((scale.label_selector, ("string",)))
    for path, allowed in expected:
        if types.get(path) not in allowed:
            raise SchemaError(
                f"{info.kind}: {path} must be a field of type {' or '.join(allowed)}, "
                f"found {types.get(path, 'no such field')}"
            )
