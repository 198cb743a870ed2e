"""Pipelines in manifests, as a server would receive them. Pure."""

from collections.abc import Iterator
from typing import Any

from quarterdeck.apis.fleetmanagement.v1alpha1 import GROUP, Pipeline, PipelineSet
from quarterdeck.kit import json, yaml
from quarterdeck.meta.objects import DecodeError, decode
from quarterdeck.operators.pipelines.blast_radius import Planned
from quarterdeck.operators.pipelines.desired import (
    CONFIG_TYPES,
    choose_name,
    prepare_contents,
)


class ManifestError(ValueError):
    """Raised when a file cannot be read as manifests; names file and object."""


def read_planned(name: str, text: str | bytes) -> list[Planned]:
    """The pipelines in the manifests of a file; `contentsFrom` is not supported.

    Raises:
        ManifestError: if it is not YAML, an object does not decode, or uses `contentsFrom`.
    """
    try:
        documents = [each for each in yaml.load_all(text) if each is not None]
    except yaml.YamlError as error:
        raise ManifestError(f"{name}: cannot parse as YAML: {error}") from error
    return [planned for each in documents for planned in _read(name, each)]


def _read(name: str, document: Any) -> Iterator[Planned]:
    if not isinstance(document, dict):
        return
    items = document.get("items")
    if document.get("kind") == "List" and isinstance(items, list):
        for item in items:
            yield from _read(name, item)
    if str(document.get("apiVersion") or "").partition("/")[0] != GROUP:
        return
    try:
        if document.get("kind") == "Pipeline":
            yield plan_pipeline(decode(Pipeline, json.encode(document)), name)
        elif document.get("kind") == "PipelineSet":
            yield from plan_members(decode(PipelineSet, json.encode(document)))
    except DecodeError as error:
        raise ManifestError(f"{name}: {error}") from error


def plan_pipeline(pipeline: Pipeline, file: str = "") -> Planned:
    """Build what the server would have for a Pipeline."""
    spec = pipeline.spec
    if spec.contents_from is not None:
        raise ManifestError(
            f"{file}: Pipeline {pipeline.metadata.name}: contentsFrom cannot be planned from a "
            "file; use the dry-run annotation instead"
        )
    return Planned(
        choose_name(pipeline),
        prepare_contents(spec, spec.contents, name=choose_name(pipeline)),
        spec.matchers,
        spec.enabled and not spec.paused,
        CONFIG_TYPES[spec.config_type],
    )


def plan_members(set_: PipelineSet) -> list[Planned]:
    """Build what the server would have for the inline pipelines of a set."""
    common = set_.spec.matchers
    return [
        Planned(
            each.name,
            prepare_contents(each, each.contents, name=each.name),
            tuple(dict.fromkeys((*common, *each.matchers))),
            each.enabled,
            CONFIG_TYPES[each.config_type],
        )
        for each in set_.spec.pipelines
    ]
