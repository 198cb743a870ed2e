"""The pipelines of a PipelineSet: written in it, or Pipelines that its selector chooses."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.apis.fleetmanagement.pipeline_set import SetMember
from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineSet, PipelineSpec
from quarterdeck.kit import json
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import (
    CONFIG_TYPES,
    SOURCE_TYPES,
    Contents,
    Desired,
    choose_name,
    find_isolation_problems,
    find_problems,
    prepare_contents,
)
from quarterdeck.operators.pipelines.pipeline import is_member
from quarterdeck.operators.pipelines.references import read_contents
from quarterdeck.runtime import Context, Stalled
from quarterdeck.telemetry.contents import ConfigType, check_in_thread

MAX_SHOWN = 10
"""Maximum number of names in a message."""


class Member(NamedTuple):
    """One pipeline of a set, and the object it comes from."""

    desired: Desired
    origin: str = ""
    uid: str = ""


async def collect_members(set_: PipelineSet, ctx: Context[Any]) -> list[Member]:
    """The pipelines of a set, all valid and with unique names.

    Raises:
        Stalled: naming what is wrong; nothing of the set is sent then.
    """
    members = (
        _build_inline_members(set_)
        if set_.spec.selector is None
        else await _list_selected_members(set_, ctx)
    )
    problems, seen = [], set()
    for member, found in members:
        problems += [f"{member.desired.name}: {text}" for text in found]
        if member.desired.name in seen:
            problems.append(f"{member.desired.name}: the name is used twice")
        seen.add(member.desired.name)
    if problems:
        raise Stalled(Reason.VALIDATION_ERROR, "; ".join(problems[:MAX_SHOWN]))
    if not members and not set_.spec.allow_empty:
        raise Stalled(
            Reason.EMPTY_SET,
            "the set has no pipelines; syncing it would delete every pipeline of the source: "
            "set spec.allowEmpty if this is intended",
        )
    return [member for member, _ in members]


def _build_inline_members(set_: PipelineSet) -> list[tuple[Member, list[str]]]:
    found: list[tuple[Member, list[str]]] = []
    for each in set_.spec.pipelines:
        desired = _build(set_, each, name=each.name, contents=Contents(each.contents))
        found.append((Member(desired), find_isolation_problems(each, each.name)))
    return found


async def _list_selected_members(
    set_: PipelineSet, ctx: Context[Any]
) -> list[tuple[Member, list[str]]]:
    found = []
    for pipeline in await ctx.list(Pipeline, namespace=set_.metadata.namespace):
        if not is_member(pipeline, set_):
            continue
        contents = await read_contents(pipeline, ctx)
        await check_in_thread(contents.text, ConfigType(pipeline.spec.config_type))
        name = choose_name(pipeline)
        desired = _build(set_, pipeline.spec, name=name, contents=contents)
        member = Member(desired, str(pipeline.key), pipeline.metadata.uid)
        found.append((member, find_problems(pipeline, contents)))
    return sorted(found, key=lambda each: each[0].desired.name)


def _build(
    set_: PipelineSet, spec: PipelineSpec | SetMember, *, name: str, contents: Contents
) -> Desired:
    """The desired state of one pipeline of a set; without a hash, as a set has one for all."""
    source = get_source(set_)
    return Desired(
        name=name,
        contents=prepare_contents(spec, contents.text, name=name),
        matchers=tuple(dict.fromkeys((*set_.spec.matchers, *spec.matchers))),
        enabled=spec.enabled,
        config_type=CONFIG_TYPES[spec.config_type],
        source_type=source["type"],
        source_namespace=source["namespace"],
        owner=set_.metadata.uid,
        hash="",
        is_secret=contents.is_secret,
    )


def names_source(pipeline: Pipeline, source: Mapping[str, str]) -> bool:
    """Whether the spec of a Pipeline names this source."""
    own = pipeline.spec.source
    return own is not None and source == {
        "type": SOURCE_TYPES.get(own.type, ""),
        "namespace": own.namespace,
    }


def get_source(set_: PipelineSet) -> dict[str, str]:
    """Return the source whose pipelines the set owns."""
    source = set_.spec.source
    return {"type": SOURCE_TYPES[source.type], "namespace": source.namespace}


def hash_members(members: Sequence[Member]) -> str:
    """Hash of everything a set sends."""
    document = [member.desired.to_message() for member in members]
    return hashlib.sha256(json.encode(document)).hexdigest()[:32]
