"""Isolates OpenTelemetry pipelines: adds the name of the pipeline to every component id.

Merged configurations share components by id: two pipelines that set `otlp` differently contradict
each other. With a suffix both are kept, as `otlp/__web` and `otlp/__api`. Ids are rewritten where
they are declared, where the service names them, and in the settings by which components name
extensions and pipelines.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.kit import yaml

SECTIONS = ("receivers", "processors", "exporters", "connectors", "extensions")
EXTENSION_KEYS = frozenset({"authenticator", "storage", "encoding", "watch_observers"})
"""Settings of components that name extensions."""
PIPELINE_KEYS = frozenset({"pipelines", "default_pipelines", "priority_levels"})
"""Settings of connectors that name pipelines."""
_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,200}")

Rename = Callable[[str], str]


def isolate(contents: str, pipeline: str) -> str:
    """Add the name of the pipeline to every id of a configuration; comments are lost.

    A text that is not a configuration is returned unchanged: checks report its errors.
    """
    try:
        document = yaml.load(contents)
    except yaml.YamlError:
        return contents
    if not isinstance(document, dict):
        return contents
    suffix = build_suffix(pipeline)
    return yaml.dump(_rewrite(document, lambda identity: add_suffix(identity, suffix)))


def build_suffix(pipeline: str) -> str:
    """Convert the name of a pipeline to a part of an id; a hash keeps changed names distinct."""
    if _PLAIN.fullmatch(pipeline):
        return pipeline
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", pipeline)[:194]
    return f"{plain}-{hashlib.sha256(pipeline.encode()).hexdigest()[:5]}"


def add_suffix(identity: str, suffix: str) -> str:
    """Convert `type/name` to `type/name__suffix`."""
    kind, _, name = identity.partition("/")
    return f"{kind}/{name}__{suffix}"


def _rewrite(document: Mapping[str, Any], rename: Rename) -> dict[str, Any]:
    extensions = _list_ids(document.get("extensions"))
    service = document.get("service")
    pipelines = _list_ids(service.get("pipelines") if isinstance(service, dict) else None)
    found: dict[str, Any] = {}
    for section, value in document.items():
        if section in SECTIONS and isinstance(value, dict):
            found[section] = {
                rename(identity): _rewrite_settings(settings, extensions, pipelines, rename)
                for identity, settings in value.items()
            }
        else:
            found[section] = _rewrite_service(value, rename) if section == "service" else value
    return found


def _rewrite_service(service: Any, rename: Rename) -> Any:
    if not isinstance(service, dict):
        return service
    found = dict(service)
    if isinstance(found.get("extensions"), list):
        found["extensions"] = [rename(str(each)) for each in found["extensions"]]
    if isinstance(found.get("pipelines"), dict):
        found["pipelines"] = {
            rename(identity): _rewrite_roles(roles, rename)
            for identity, roles in found["pipelines"].items()
        }
    return found


def _rewrite_roles(roles: Any, rename: Rename) -> Any:
    if not isinstance(roles, dict):
        return roles
    return {
        role: [rename(str(each)) for each in ids] if isinstance(ids, list) else ids
        for role, ids in roles.items()
    }


def _rewrite_settings(
    value: Any, extensions: frozenset[str], pipelines: frozenset[str], rename: Rename
) -> Any:
    """Rewrite the settings of a component; only ids that this configuration declares change."""
    if isinstance(value, list):
        return [_rewrite_settings(each, extensions, pipelines, rename) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, inner in value.items():
        known = extensions if key in EXTENSION_KEYS else frozenset()
        known = pipelines if key in PIPELINE_KEYS else known
        named = _rename_known(inner, known, rename)
        found[key] = _rewrite_settings(named, extensions, pipelines, rename)
    return found


def _rename_known(value: Any, known: frozenset[str], rename: Rename) -> Any:
    if isinstance(value, list):
        return [_rename_known(each, known, rename) for each in value]
    return rename(value) if isinstance(value, str) and value in known else value


def _list_ids(section: Any) -> frozenset[str]:
    return frozenset(section) if isinstance(section, dict) else frozenset()
