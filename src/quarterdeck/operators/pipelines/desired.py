"""Builds what is sent for a Pipeline: checks it, and builds and hashes the message. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.apis.fleetmanagement.pipeline_set import SetMember
from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineSpec
from quarterdeck.kit import json
from quarterdeck.operators.pipelines.ports import Remote
from quarterdeck.telemetry import contents as checks
from quarterdeck.telemetry.contents import ConfigType
from quarterdeck.telemetry.findings import select_errors
from quarterdeck.telemetry.isolation import isolate
from quarterdeck.telemetry.matchers import MAX_LENGTH, MAX_MATCHERS, MatcherError, parse_all

OWNER = "quarterdeck-owner"
ROLLOUT = "quarterdeck-rollout"
SECRET = "quarterdeck-secret"
"""Marks contents of a Secret on the server, where they stay until the next write."""
CANDIDATE_SECRET = "secret"
"""The same for the contents of a candidate, as a member of the candidate."""
CONFIG_TYPES = {
    "Alloy": "CONFIG_TYPE_ALLOY",
    "OpenTelemetryCollector": "CONFIG_TYPE_OTEL",
}
SOURCE_TYPES = {"Git": "SOURCE_TYPE_GIT", "Terraform": "SOURCE_TYPE_TERRAFORM"}
"""Source types that a spec may set; all others are sent as unspecified."""
GRAFANA = "SOURCE_TYPE_GRAFANA"
MAX_NAME = 253
MAX_CONTENTS = 1024 * 1024


class Contents(NamedTuple):
    """The configuration text, and whether it came out of a Secret and must not be repeated."""

    text: str
    is_secret: bool = False
    origin: str = "spec.contents"


class Desired(NamedTuple):
    """The desired state of a pipeline on the server."""

    name: str
    contents: str
    matchers: tuple[str, ...]
    enabled: bool
    config_type: str
    source_type: str
    source_namespace: str
    owner: str
    hash: str
    """Hash of the message and of the server's URL."""
    rollout: Mapping[str, Any] | None = None
    """The candidate that part of the collectors receive instead."""
    is_secret: bool = False
    """Whether the contents come from a Secret."""

    def to_message(self, identity: str = "") -> dict[str, Any]:
        """The whole pipeline: an update clears what it leaves out."""
        message: dict[str, Any] = {
            "name": self.name,
            "contents": self.contents,
            "matchers": list(self.matchers),
            "enabled": self.enabled,
            "configType": self.config_type,
            "source": {"type": self.source_type, "namespace": self.source_namespace},
            "metadata": {OWNER: self.owner},
        }
        if self.rollout is not None:
            message["metadata"][ROLLOUT] = dict(self.rollout)
        if self.is_secret:
            message["metadata"][SECRET] = True
        if identity:
            message["id"] = identity
        return message


def choose_name(pipeline: Pipeline) -> str:
    """The name in the fleet."""
    return pipeline.spec.name or pipeline.metadata.name


def build_own_namespace(pipeline: Pipeline) -> str:
    """The default source namespace of a pipeline: unique to the object."""
    metadata = pipeline.metadata
    return f"kubernetes/{metadata.namespace}/{metadata.name}/{metadata.uid}"


def prepare_contents(member: PipelineSpec | SetMember, text: str, *, name: str) -> str:
    """The text that is sent; with otelIsolation `Suffix`, every id gets the pipeline's name."""
    return isolate(text, name) if member.otel_isolation == "Suffix" else text


def build_desired(pipeline: Pipeline, contents: Contents, *, url: str) -> Desired:
    """Build the desired state of a Pipeline on the server at an address."""
    spec = pipeline.spec
    source = spec.source
    source_type = SOURCE_TYPES.get(source.type, "") if source is not None else ""
    namespace = source.namespace if source is not None else ""
    unhashed = Desired(
        name=choose_name(pipeline),
        contents=prepare_contents(spec, contents.text, name=choose_name(pipeline)),
        matchers=spec.matchers,
        enabled=spec.enabled,
        config_type=CONFIG_TYPES[spec.config_type],
        source_type=source_type or "SOURCE_TYPE_UNSPECIFIED",
        source_namespace=namespace or build_own_namespace(pipeline),
        owner=pipeline.metadata.uid,
        hash="",
        is_secret=contents.is_secret,
    )
    return with_hash(unhashed, url)


def with_hash(desired: Desired, url: str) -> Desired:
    """The same with the hash of what is sent to an address."""
    return desired._replace(hash=_hash((url, desired.to_message())))


def find_problems(pipeline: Pipeline, contents: Contents) -> list[str]:
    """Everything wrong with a pipeline, found before anything is sent; no Secret is repeated."""
    spec, found = pipeline.spec, []
    if len(choose_name(pipeline)) > MAX_NAME:
        found.append(f"spec.name: must have at most {MAX_NAME} characters")
    found += find_matcher_problems(spec.matchers)
    found += find_isolation_problems(spec)
    if len(contents.text.encode()) > MAX_CONTENTS:
        found.append(f"{contents.origin}: must have at most {MAX_CONTENTS} bytes")
        return found
    for finding in select_errors(checks.check(contents.text, ConfigType(spec.config_type))):
        text = str(finding)
        if contents.is_secret:
            where = f"line {finding.line}, column {finding.column}"
            text = f"{where}: invalid; the text is hidden because it comes from a Secret"
        found.append(f"{contents.origin}: {text}")
    return found


def find_isolation_problems(member: PipelineSpec | SetMember, field: str = "spec") -> list[str]:
    """Problems of otelIsolation: Alloy does not support it, as it isolates pipelines by itself."""
    if member.otel_isolation == "None" or member.config_type == "OpenTelemetryCollector":
        return []
    text = "only for configType OpenTelemetryCollector; Alloy isolates pipelines by itself"
    return [f"{field}.otelIsolation: {member.otel_isolation} is {text}"]


def find_matcher_problems(matchers: Sequence[str], field: str = "spec.matchers") -> list[str]:
    """Everything wrong with a list of matchers."""
    found = []
    if len(matchers) > MAX_MATCHERS:
        found.append(f"{field}: must have at most {MAX_MATCHERS} items, has {len(matchers)}")
    for index, text in enumerate(matchers):
        found += _find_matcher_problem(text, f"{field}[{index}]")
    return found


def _find_matcher_problem(text: str, field: str) -> list[str]:
    if len(text) > MAX_LENGTH:
        return [f"{field}: must have at most {MAX_LENGTH} characters, has {len(text)}"]
    try:
        parse_all([text])
    except MatcherError as error:
        return [f"{field}: {error}"]
    return []


def is_ours(pipeline: Pipeline, remote: Remote) -> bool:
    """Whether a pipeline on the server was written for this very object.

    Decided by its metadata; on a server that does not keep that, by the default source namespace.
    """
    if remote.owner:
        return remote.owner == pipeline.metadata.uid
    return remote.source_namespace == build_own_namespace(pipeline)


def may_be_secret(pipeline: Pipeline, desired: Desired, remote: Remote) -> bool:
    """Whether the contents on the server may be those of a Secret.

    The mark in the metadata decides, because the object may name other contents by now. On a server
    that does not keep metadata, contents that this operator wrote count as secret, unless they are
    what the spec shows.
    """
    if remote.is_secret or remote.owner:
        return remote.is_secret
    if remote.contents == desired.contents:
        return desired.is_secret
    return remote.id == pipeline.status.id or is_ours(pipeline, remote)


def is_leftover(desired: Desired, remote: Remote) -> bool:
    """Whether a pipeline was left by an earlier write: it has the same owner and the same source.

    Stricter than `is_ours`, which also holds for copies by others that include our metadata.
    """
    source = remote.source_type or "SOURCE_TYPE_UNSPECIFIED"
    wanted = (desired.owner, desired.source_type, desired.source_namespace)
    return (remote.owner, source, remote.source_namespace) == wanted


def is_unowned(remote: Remote) -> bool:
    """Whether a pipeline on the server has neither owner nor source."""
    has_source = remote.source_type not in ("", "SOURCE_TYPE_UNSPECIFIED")
    return not remote.owner and not has_source and not remote.source_namespace


def _hash(value: object) -> str:
    return hashlib.sha256(json.encode(value)).hexdigest()[:32]
