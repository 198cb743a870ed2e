"""Builds the resources of an established definition."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.meta.structural import CompiledSchema
from quarterdeck.server.custom import accepted_names
from quarterdeck.server.custom.prepared_schema import PreparedSchema, prepare_schema
from quarterdeck.server.custom.printer_columns import PrinterColumns
from quarterdeck.server.custom.scale import ScalePaths
from quarterdeck.server.custom.strategy import CustomStrategy
from quarterdeck.server.registry.conversion import Converter
from quarterdeck.server.registry.resource import (
    SCALE,
    STATUS,
    Object,
    Resource,
    Subresource,
)
from quarterdeck.server.registry.version_rank import rank_version

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The verbs of custom resources, in the order of discovery."""
_SCALE = GVK("autoscaling", "v1", "Scale")
_SUBRESOURCE_VERBS = ("get", "patch", "update")


def build_custom_resources(definition: Object) -> Sequence[Resource]:
    """Build the served versions of a definition; none while its names are not accepted."""
    if not accepted_names.is_condition_true(definition, "Established"):
        return ()
    versions = definition["spec"].get("versions") or ()
    converter = _build_converter(definition)
    return tuple(
        _build_resource(definition, version, converter)
        for version in versions
        if version.get("served")
    )


def _build_converter(definition: Object) -> Converter | None:
    """Build the webhook converter; None if the strategy is None, which only sets apiVersion."""
    spec = definition["spec"]
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return None
    webhook = conversion.get("webhook") or {}
    nodes = {
        f"{spec['group']}/{version['name']}": version for version in spec.get("versions") or ()
    }
    compiled: dict[str, CompiledSchema] = {}

    def shape(value: Object) -> None:
        """Prune fields of a converted object that the schema of its version does not have."""
        version = value["apiVersion"]
        if version not in compiled:
            compiled[version] = _prepare_version(nodes[version]).schema
        compiled[version].prune(value)

    return Converter(
        definition["status"]["acceptedNames"]["kind"],
        webhook.get("clientConfig") or {},
        webhook.get("conversionReviewVersions") or (),
        shape,
    )


def _build_resource(
    definition: Object, version: Mapping[str, Any], converter: Converter | None
) -> Resource:
    spec = definition["spec"]
    accepted = definition["status"]["acceptedNames"]
    group, name, kind = spec["group"], version["name"], accepted["kind"]
    storage = _get_storage_version(definition)
    prepared = _prepare_version(version)
    return Resource(
        gvr=GVR(group, name, accepted["plural"]),
        kind=kind,
        list_kind=accepted.get("listKind") or f"{kind}List",
        singular=accepted.get("singular") or kind.lower(),
        namespaced=spec.get("scope") == "Namespaced",
        schema=prepared.node,
        strategy=_build_strategy(definition, version, converter, prepared=prepared),
        short_names=tuple(accepted.get("shortNames") or ()),
        categories=tuple(accepted.get("categories") or ()),
        verbs=VERBS,
        subresources=_build_subresources(version, GVK(group, name, kind)),
        is_custom=True,
        converter=converter,
        stored_api_version=f"{group}/{storage}",
        storage_version_hash=hash_storage_version(GVK(group, storage, kind)),
        is_terminating=bool(definition["metadata"].get("deletionTimestamp")),
        deprecation=_get_deprecation(spec["versions"], version, GVK(group, name, kind)),
    )


def _prepare_version(version: Mapping[str, Any]) -> PreparedSchema:
    return prepare_schema((version.get("schema") or {}).get("openAPIV3Schema"))


def _get_storage_version(definition: Object) -> str:
    for version in definition["spec"]["versions"]:
        if version.get("storage"):
            return str(version["name"])
    return str(definition["spec"]["versions"][0]["name"])


def hash_storage_version(gvk: GVK) -> str:
    """Compute the storage version hash that discovery shows."""
    digest = hashlib.sha256(f"{gvk.group}/{gvk.version}/{gvk.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _build_strategy(
    definition: Object,
    version: Mapping[str, Any],
    converter: Converter | None,
    *,
    prepared: PreparedSchema,
) -> CustomStrategy:
    spec = definition["spec"]
    parts: Mapping[str, Any] = version.get("subresources") or {}
    group, name = spec["group"], version["name"]
    stored = f"{group}/{_get_storage_version(definition)}"
    scale = parts.get("scale")
    return CustomStrategy(
        kind=definition["status"]["acceptedNames"]["kind"],
        api_version=f"{group}/{name}",
        stored_api_version=stored,
        schema=prepared.schema,
        status_schema=prepared.status_schema,
        has_status=parts.get("status") is not None,
        has_embedded=prepared.has_embedded,
        scale=ScalePaths(scale) if scale is not None else None,
        printer=PrinterColumns(version.get("additionalPrinterColumns") or ()),
        selectable_paths={
            field["jsonPath"].removeprefix("."): field["jsonPath"]
            for field in version.get("selectableFields") or ()
        },
        expressions=prepared.expressions,
        stored_as_served=f"{group}/{name}" == stored and _is_stored_as_served(definition),
        stored_schemas={
            f"{group}/{each['name']}": (
                prepared if each is version else _prepare_version(each)
            ).schema
            for each in spec["versions"]
        },
        converter=converter,
    )


def _is_stored_as_served(definition: Object) -> bool:
    """Whether stored bytes are served unchanged: there was one version, and no schema change."""
    only_one = len(definition["status"].get("storedVersions") or ()) == 1
    return only_one and definition["metadata"].get("generation", 1) == 1


def _build_subresources(version: Mapping[str, Any], gvk: GVK) -> dict[str, Subresource]:
    declared: Mapping[str, Any] = version.get("subresources") or {}
    found: dict[str, Subresource] = {}
    if declared.get("status") is not None:
        found[STATUS] = Subresource(name=STATUS, verbs=_SUBRESOURCE_VERBS, gvk=gvk)
    if declared.get("scale") is not None:
        found[SCALE] = Subresource(name=SCALE, verbs=_SUBRESOURCE_VERBS, gvk=_SCALE)
    return found


def _get_deprecation(
    versions: Sequence[Mapping[str, Any]], version: Mapping[str, Any], gvk: GVK
) -> str:
    """Return the warning of a deprecated version, which names the version to use instead."""
    if not version.get("deprecated"):
        return ""
    if text := version.get("deprecationWarning"):
        return str(text)
    own = rank_version(gvk.version)
    newer = [
        each["name"]
        for each in versions
        if each.get("served") and not each.get("deprecated") and rank_version(each["name"]) > own
    ]
    text = f"{gvk.api_version} {gvk.kind} is deprecated"
    if not newer:
        return text
    return f"{text}; use {gvk.group}/{max(newer, key=rank_version)} {gvk.kind}"
