"""Validates pipelines in files, without a cluster or a server. Pure."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from quarterdeck.apis.fleetmanagement.v1alpha1 import GROUP, Pipeline, PipelineSpec
from quarterdeck.kit import json, yaml
from quarterdeck.meta.objects import DecodeError, decode
from quarterdeck.operators.pipelines.desired import Contents, find_matcher_problems, find_problems
from quarterdeck.telemetry import contents
from quarterdeck.telemetry.contents import ConfigType
from quarterdeck.telemetry.findings import Severity

ALLOY_ENDINGS = (".alloy", ".river")
YAML_ENDINGS = (".yaml", ".yml", ".json")
_OTEL = frozenset({"receivers", "processors", "exporters", "connectors", "extensions", "service"})
_SPEC_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(PipelineSpec))


class Problem(NamedTuple):
    """One finding, and where."""

    place: str
    message: str
    is_error: bool = True

    def __str__(self) -> str:
        return f"{self.place}: {'error' if self.is_error else 'warning'}: {self.message}"


class Linted(NamedTuple):
    """What a file holds."""

    pipelines: int
    problems: list[Problem]


def lint(name: str, data: bytes) -> Linted:
    """Check a file: manifests, an Alloy configuration, or one of the OpenTelemetry Collector."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Linted(0, [Problem(name, "is not UTF-8 text")])
    if PurePath(name).suffix in ALLOY_ENDINGS:
        return Linted(1, _check_text(name, text, ConfigType.ALLOY))
    try:
        documents = [each for each in yaml.load_all(text) if each is not None]
    except yaml.YamlError as error:
        return Linted(0, [Problem(name, f"cannot parse as YAML: {error}")])
    if len(documents) == 1 and _is_otel(documents[0]):
        return Linted(1, _check_text(name, text, ConfigType.OPEN_TELEMETRY))
    pipelines = [each for document in documents for each in _pipelines(document)]
    return Linted(len(pipelines), [p for each in pipelines for p in _check_manifest(name, each)])


def _check_text(name: str, text: str, config_type: ConfigType) -> list[Problem]:
    found = []
    for finding in contents.check(text, config_type):
        place = f"{name}:{finding.line}:{finding.column}" if finding.line else name
        found.append(Problem(place, finding.message, finding.severity is Severity.ERROR))
    return found


def _is_otel(document: object) -> bool:
    return isinstance(document, dict) and "kind" not in document and bool(_OTEL & document.keys())


def _pipelines(document: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(document, dict):
        return
    if document.get("kind") == "List":
        for item in document.get("items") or ():
            yield from _pipelines(item)
    group = str(document.get("apiVersion") or "").partition("/")[0]
    if document.get("kind") == "Pipeline" and group == GROUP:
        yield document


def _check_manifest(name: str, document: dict[str, Any]) -> Iterator[Problem]:
    metadata = document.get("metadata") or {}
    place = f"{name}: Pipeline {metadata.get('name', '(no name)')}"
    spec = document.get("spec")
    if not isinstance(spec, dict):
        yield Problem(place, "spec: required")
        return
    for field in sorted(spec.keys() - _SPEC_FIELDS):
        yield Problem(place, f"spec.{field}: unknown field")
    if ("contents" in spec) == ("contentsFrom" in spec):
        yield Problem(place, "spec: exactly one of contents and contentsFrom must be set")
    try:
        pipeline = decode(Pipeline, json.encode(document))
    except DecodeError as error:
        yield Problem(place, str(error))
        return
    yield from (Problem(place, text) for text in _problems(pipeline))
    if not pipeline.spec.matchers:
        yield Problem(place, "spec.matchers: empty, no collector matches", is_error=False)


def _problems(pipeline: Pipeline) -> list[str]:
    """Contents that are kept elsewhere cannot be looked at."""
    if pipeline.spec.contents_from is not None:
        return find_matcher_problems(pipeline.spec.matchers)
    return find_problems(pipeline, Contents(pipeline.spec.contents))
