"""Validates objects of the group in files, without a cluster or a server. Pure."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple, get_type_hints

import msgspec

from quarterdeck.apis.fleetmanagement.v1alpha1 import GROUP, KINDS, Pipeline
from quarterdeck.kit import json, yaml
from quarterdeck.meta.objects import DecodeError, Object, decode
from quarterdeck.operators.pipelines import validation
from quarterdeck.telemetry import contents
from quarterdeck.telemetry.contents import ConfigType
from quarterdeck.telemetry.findings import Severity

ALLOY_ENDINGS = (".alloy", ".river")
YAML_ENDINGS = (".yaml", ".yml", ".json")
_OTEL = frozenset({"receivers", "processors", "exporters", "connectors", "extensions", "service"})
_KINDS = {kind.KIND.kind: kind for kind in KINDS}


class Problem(NamedTuple):
    """A finding and its place in a file."""

    place: str
    message: str
    is_error: bool = True

    def __str__(self) -> str:
        return f"{self.place}: {'error' if self.is_error else 'warning'}: {self.message}"


class Linted(NamedTuple):
    """The number of pipelines in a file, and its problems."""

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
    objects = [each for document in documents for each in _list_objects(document)]
    return Linted(len(objects), [p for each in objects for p in _check_manifest(name, each)])


def _check_text(name: str, text: str, config_type: ConfigType) -> list[Problem]:
    found = []
    for finding in contents.check(text, config_type):
        place = f"{name}:{finding.line}:{finding.column}" if finding.line else name
        found.append(Problem(place, finding.message, finding.severity is Severity.ERROR))
    return found


def _is_otel(document: object) -> bool:
    return isinstance(document, dict) and "kind" not in document and bool(_OTEL & document.keys())


def _list_objects(document: Any) -> Iterator[dict[str, Any]]:
    """The objects of the group in a document, including the items of a List."""
    if not isinstance(document, dict):
        return
    kind, items = document.get("kind"), document.get("items")
    if kind == "List" and isinstance(items, list):
        for item in items:
            yield from _list_objects(item)
    group = str(document.get("apiVersion") or "").partition("/")[0]
    if isinstance(kind, str) and kind in _KINDS and group == GROUP:
        yield document


def _check_manifest(name: str, document: dict[str, Any]) -> Iterator[Problem]:
    metadata = document.get("metadata")
    kind = _KINDS[document["kind"]]
    named = metadata.get("name") if isinstance(metadata, dict) else None
    place = f"{name}: {kind.KIND.kind} {named or '(no name)'}"
    spec = document.get("spec")
    if not isinstance(spec, dict):
        yield Problem(place, "spec: required")
        return
    for field in sorted(spec.keys() - _list_fields(kind)):
        yield Problem(place, f"spec.{field}: unknown field")
    if kind is Pipeline and ("contents" in spec) == ("contentsFrom" in spec):
        yield Problem(place, "spec: exactly one of contents and contentsFrom must be set")
    try:
        obj = decode(kind, json.encode(document))
    except DecodeError as error:
        yield Problem(place, str(error))
        return
    for finding in validation.check(obj):
        yield Problem(place, finding.text, finding.is_error)


def _list_fields(kind: type[Object]) -> frozenset[str]:
    spec = get_type_hints(kind)["spec"]
    return frozenset(field.encode_name for field in msgspec.structs.fields(spec))
