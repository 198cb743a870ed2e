"""Manifests that adopt existing pipelines of a server. Pure."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from quarterdeck.apis.fleetmanagement.names import GROUP, IMPORT_MODE, PIPELINE_ID
from quarterdeck.operators.pipelines.desired import CONFIG_TYPES, GRAFANA, SOURCE_TYPES
from quarterdeck.operators.pipelines.ports import Remote

_MAX_STEM = 53
_DIGEST = 5
_CONFIG_NAMES = {wire: name for name, wire in CONFIG_TYPES.items()}
_SOURCE_NAMES = {wire: name for name, wire in SOURCE_TYPES.items()} | {GRAFANA: "Grafana"}


class Imported(NamedTuple):
    """The result of an import."""

    manifests: list[dict[str, Any]]
    skipped: list[str]
    """Why some pipelines have no manifest, one line each."""


def build_object_name(name: str) -> str:
    """Build a valid name of an object; a digest keeps similar names distinct."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_MAX_STEM].rstrip("-")
    if stem == name:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{stem or 'c'}-{digest}"


def build_manifests(
    pipelines: Iterable[Remote], *, namespace: str, read_only: bool, everything: bool
) -> Imported:
    """Manifests of a server's pipelines, by name; `everything` includes those of an operator."""
    found, skipped = [], []
    for remote in sorted(pipelines, key=lambda each: each.name):
        if remote.owner and not everything:
            skipped.append(
                f"{remote.name}: already managed by an operator (use --all to include it)"
            )
        else:
            found.append(build_manifest(remote, namespace=namespace, read_only=read_only))
    return Imported(found, skipped)


def build_manifest(remote: Remote, *, namespace: str, read_only: bool) -> dict[str, Any]:
    """Build the Pipeline that adopts a pipeline on the server, or mirrors it if read-only."""
    name = build_object_name(remote.name)
    source = _SOURCE_NAMES.get(remote.source_type, "")
    spec: dict[str, Any] = {} if name == remote.name else {"name": remote.name}
    spec |= {
        "contents": remote.contents,
        "matchers": list(remote.matchers),
        "enabled": remote.enabled,
        "configType": _CONFIG_NAMES[remote.config_type],
    }
    if source:
        spec["source"] = {"type": source}
        if remote.source_namespace:
            spec["source"]["namespace"] = remote.source_namespace
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if read_only or remote.source_type == GRAFANA:
        metadata["annotations"] = {IMPORT_MODE: "read-only", PIPELINE_ID: remote.id}
    else:
        spec["adoptionPolicy"] = "Always"
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "Pipeline",
        "metadata": metadata,
        "spec": spec,
    }
