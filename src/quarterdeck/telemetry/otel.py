"""Checks OpenTelemetry Collector configurations: whether pipelines use declared components."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck.kit import yaml
from quarterdeck.telemetry.findings import Finding, Severity

SIGNALS = ("traces", "metrics", "logs", "profiles")
_SECTIONS = ("receivers", "processors", "exporters", "connectors", "extensions")
_KNOWN = frozenset((*_SECTIONS, "service"))
_COMPONENT_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}(/[^\s]{1,1024})?")


def check(contents: str) -> list[Finding]:
    """Find everything wrong with a configuration, in the order of its text."""
    try:
        document = yaml.load(contents)
    except yaml.YamlError as error:
        return [Finding(message=error.problem, line=error.line, column=error.column)]
    if not isinstance(document, dict):
        return [Finding(message="an OpenTelemetry configuration must be a YAML mapping")]
    return list(_check_document(document))


def _check_document(document: Mapping[str, Any]) -> Iterator[Finding]:
    for name in document:
        if name not in _KNOWN:
            choices = ", ".join((*_SECTIONS, "service"))
            yield Finding(message=f"unknown section {name!r}; sections are {choices}")
    for section in _SECTIONS:
        yield from _check_section(document, section)
    service = document.get("service")
    if not isinstance(service, dict):
        yield Finding(message="service is missing: it names the pipelines to run")
        return
    yield from _check_extensions(document, service)
    yield from _check_pipelines(document, service)


def _check_section(document: Mapping[str, Any], section: str) -> Iterator[Finding]:
    components = document.get(section)
    if components is None:
        return
    if not isinstance(components, dict):
        yield Finding(message=f"{section} must be a mapping of component ids")
        return
    for name, settings in components.items():
        if not _COMPONENT_ID.fullmatch(name):
            yield Finding(message=f"{section}.{name}: an id is `type` or `type/name`")
        if settings is not None and not isinstance(settings, dict):
            yield Finding(message=f"{section}.{name}: settings must be a mapping")


def _check_extensions(document: Mapping[str, Any], service: Mapping[str, Any]) -> Iterator[Finding]:
    declared = _list_ids(document, "extensions")
    listed = service.get("extensions")
    if not isinstance(listed, list | None):
        yield Finding(message="service.extensions must be a list of component ids")
        return
    for name in listed or ():
        if not _is_among(name, declared):
            yield Finding(message=f"service.extensions: {name!r} is not among extensions")


def _check_pipelines(document: Mapping[str, Any], service: Mapping[str, Any]) -> Iterator[Finding]:
    pipelines = service.get("pipelines")
    if not isinstance(pipelines, dict) or not pipelines:
        yield Finding(message="service.pipelines must have at least one pipeline")
        return
    connectors = _list_ids(document, "connectors")
    sources = {
        "receivers": _list_ids(document, "receivers") | connectors,
        "processors": _list_ids(document, "processors"),
        "exporters": _list_ids(document, "exporters") | connectors,
    }
    used: set[str] = set()
    for name, pipeline in pipelines.items():
        yield from _check_pipeline(f"service.pipelines.{name}", name, pipeline, sources)
        if isinstance(pipeline, dict):
            for role in sources:
                used.update(str(each) for each in _list_components(pipeline, role))
    for section in ("receivers", "processors", "exporters"):
        for name in sorted(_list_ids(document, section) - used):
            yield Finding(
                severity=Severity.WARNING, message=f"{section}.{name} is not used by any pipeline"
            )


def _check_pipeline(
    path: str, name: str, pipeline: Any, sources: Mapping[str, set[str]]
) -> Iterator[Finding]:
    if name.partition("/")[0] not in SIGNALS:
        yield Finding(message=f"{path}: a pipeline is one of {', '.join(SIGNALS)}, with /name")
    if not isinstance(pipeline, dict):
        yield Finding(message=f"{path} must be a mapping")
        return
    for role in ("receivers", "exporters"):
        if not pipeline.get(role):
            yield Finding(message=f"{path}.{role} must have at least one component")
    for role, declared in sources.items():
        if not isinstance(pipeline.get(role), list | None):
            yield Finding(message=f"{path}.{role} must be a list of component ids")
        for each in _list_components(pipeline, role):
            if not _is_among(each, declared):
                yield Finding(message=f"{path}.{role}: {each!r} is not among {role}")


def _list_components(pipeline: Mapping[str, Any], role: str) -> list[Any]:
    listed = pipeline.get(role)
    return listed if isinstance(listed, list) else []


def _is_among(name: Any, declared: set[str]) -> bool:
    return isinstance(name, str) and name in declared


def _list_ids(document: Mapping[str, Any], section: str) -> set[str]:
    components = document.get(section)
    return set(components) if isinstance(components, dict) else set()
