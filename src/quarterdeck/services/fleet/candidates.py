"""Rollouts on the server: a pipeline with a candidate that part of the collectors receive.

The candidate is stored in the pipeline's metadata, and the pipeline itself stays the stable one: a
server that does not support candidates delivers the stable text to all collectors.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from quarterdeck.services.fleet.errors import invalid
from quarterdeck.services.fleet.records import Pipeline
from quarterdeck.telemetry import contents
from quarterdeck.telemetry.candidates import Choice
from quarterdeck.telemetry.contents import ConfigType
from quarterdeck.telemetry.findings import select_errors
from quarterdeck.telemetry.matchers import MatcherError, parse_all

MEMBER = "quarterdeck-rollout"
SUFFIX = "/candidate"
"""Suffix of a candidate's id. Ids of pipelines are numbers, so the two never clash."""


MAX_CONTENTS = 1024 * 1024
"""Maximum number of characters of a text, as of the pipeline's own."""


class Candidate(NamedTuple):
    """The pipeline that chosen collectors receive instead."""

    pipeline: Pipeline
    choice: Choice


def check_candidate(pipeline: Pipeline) -> None:
    """Refuse a candidate that cannot be delivered.

    Raises:
        FleetError: `invalid_argument` naming the member.
    """
    candidate = read_candidate(pipeline)
    if candidate is None:
        return
    text = candidate.pipeline.contents
    if len(text) > MAX_CONTENTS:
        raise invalid(f"metadata.{MEMBER}.contents must have at most {MAX_CONTENTS} characters")
    language = (
        ConfigType.OPEN_TELEMETRY
        if pipeline.config_type == "CONFIG_TYPE_OTEL"
        else ConfigType.ALLOY
    )
    if problems := select_errors(contents.check(text, language)):
        raise invalid(f"metadata.{MEMBER}.contents: {problems[0]}")


def read_candidate(pipeline: Pipeline) -> Candidate | None:
    """The candidate of a pipeline; None if it has none.

    Its contents are not checked: those of a stored pipeline were when it was written.

    Raises:
        FleetError: `invalid_argument` naming the member.
    """
    found = (pipeline.metadata or {}).get(MEMBER)
    if found is None:
        return None
    if not isinstance(found, Mapping):
        raise invalid(f"metadata.{MEMBER} must be an object")
    replacement = msgspec.structs.replace(
        pipeline,
        id=f"{pipeline.id}{SUFFIX}",
        contents=str(found.get("contents") or ""),
        matchers=_read_matchers(found, "matchers"),
        enabled=found.get("enabled") is not False,
        metadata=None,
    )
    weight = found.get("weight") or 0
    if not isinstance(weight, int | float) or not 0 <= weight <= 100:
        raise invalid(f"metadata.{MEMBER}.weight must be a number from 0 to 100")
    choice = Choice(
        salt=str(found.get("salt") or pipeline.name),
        weight=int(weight),
        matchers=_read_matchers(found, "chosen"),
    )
    return Candidate(replacement, choice)


def get_text(message: Mapping[str, Any]) -> str:
    """The text of the candidate in a message of a pipeline, valid or not; empty without one."""
    metadata = message.get("metadata")
    found = metadata.get(MEMBER) if isinstance(metadata, Mapping) else None
    return str(found.get("contents") or "") if isinstance(found, Mapping) else ""


def _read_matchers(found: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = found.get(name) or ()
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) for each in values):
        raise invalid(f"metadata.{MEMBER}.{name} must be a list of matchers")
    try:
        parse_all(values)
    except MatcherError as error:
        raise invalid(f"metadata.{MEMBER}.{name}: {error}") from error
    return tuple(values)
