"""Rollouts on servers that do not divide collectors: a second pipeline and generated matchers.

The chosen collectors get a remote attribute. The candidate is a pipeline of its own whose matcher
requires the attribute; a matcher of the stable pipeline excludes it. The candidate is written
before the stable pipeline excludes collectors, and removed after it includes them again: for a
moment collectors may run both, but never neither.
"""

import hashlib
from typing import Any

from quarterdeck.apis.fleetmanagement.rollout import RolloutStep
from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.operators.pipelines import drift
from quarterdeck.operators.pipelines.attributes import build_path
from quarterdeck.operators.pipelines.desired import Desired, choose_name
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.operators.pipelines.ports import CallFailed, Remote, RemoteCollector
from quarterdeck.operators.pipelines.writes import remove
from quarterdeck.telemetry.candidates import Choice
from quarterdeck.telemetry.fleet.codes import Code
from quarterdeck.telemetry.matchers import Matcher, MatcherError, match_all, parse_all

SUFFIX = ".canary"
OWNER_SUFFIX = "/canary"
"""Suffix of the candidate's owner, so that it is not taken for the pipeline of the object."""
PREFIX = "quarterdeck_rollout_"


def get_attribute(name: str) -> str:
    """The attribute of collectors that receive the candidate of a pipeline."""
    return PREFIX + hashlib.sha256(name.encode()).hexdigest()[:8]


def strip_matchers(remote: Remote) -> Remote:
    """A pipeline without the matchers that were generated for a rollout."""
    attribute = get_attribute(remote.name)
    return remote._replace(
        matchers=tuple(each for each in remote.matchers if not _is_about(each, attribute))
    )


def exclude_chosen(stable: Desired, candidate: str) -> Desired:
    """The stable pipeline with a matcher that excludes the collectors of the candidate."""
    matcher = f'{get_attribute(stable.name)}!="{candidate}"'
    return stable._replace(matchers=(*stable.matchers, matcher))


def build_canary(desired: Desired, candidate: str) -> Desired:
    """The candidate as a pipeline of its own."""
    matcher = f'{get_attribute(desired.name)}="{candidate}"'
    return desired._replace(
        name=f"{desired.name}{SUFFIX}",
        matchers=(*desired.matchers, matcher),
        owner=f"{desired.owner}{OWNER_SUFFIX}",
        source_namespace=f"{desired.source_namespace}{OWNER_SUFFIX}",
        rollout=None,
    )


async def ensure_canary(desired: Desired, step: RolloutStep, candidate: str, fleet: Fleet) -> None:
    """Mark the chosen collectors, and send them the candidate.

    Raises:
        CallFailed, Paused: if the server cannot be read or written.
    """
    await _ensure_marks(desired, step, candidate, fleet)
    canary = build_canary(desired, candidate)
    existing = await find_canary(desired.name, fleet)
    if existing is None:
        fleet.record_write(await fleet.api.create(canary.to_message()))
    elif drift.find_differences(canary, existing):
        fleet.record_write(await fleet.api.update(canary.to_message(existing.id)))


def has_canaries(owner: str, fleet: Fleet, *, keep: str = "") -> bool:
    """Whether the server is known to have a candidate of an object, besides that of `keep`."""
    return bool(_exclude(fleet.view.list_owned_by(f"{owner}{OWNER_SUFFIX}"), keep))


async def remove_canaries(name: str, owner: str, fleet: Fleet, *, keep: str = "") -> None:
    """Delete the candidates of an object, except that of the pipeline `keep`.

    They are found by their owner, because the object may have been renamed. The attribute is
    removed from the collectors first: a candidate that is left after a crash is found again.
    """
    canaries = _exclude(await fleet.list_owned_by(f"{owner}{OWNER_SUFFIX}"), keep)
    names = {name, *(each.name.removesuffix(SUFFIX) for each in canaries)} - {keep}
    collectors = await fleet.agents.list(0.0)
    for attribute in sorted(map(get_attribute, names)):
        marked = [each.id for each in collectors if attribute in each.remote]
        await _change(marked, {"op": "REMOVE", "path": build_path(attribute)}, fleet)
    for each in canaries:
        await remove(each.id, fleet)


async def remove_all_canaries(pipeline: Pipeline, fleet: Fleet) -> None:
    """Delete the candidates of an object if it has or may have any.

    Raises:
        CallFailed, Paused: if the server cannot be read or written.
    """
    uid, status = pipeline.metadata.uid, pipeline.status.rollout
    is_divided = status is not None and status.mechanism == "Matchers"
    if is_divided or has_canaries(uid, fleet):
        await remove_canaries(choose_name(pipeline), uid, fleet)


def _exclude(canaries: list[Remote], name: str) -> list[Remote]:
    return [each for each in canaries if each.name != f"{name}{SUFFIX}"]


async def find_canary(name: str, fleet: Fleet) -> Remote | None:
    """The candidate of a pipeline on the server."""
    known = fleet.view.find_by_name(f"{name}{SUFFIX}")
    if known is not None or fleet.view.is_complete:
        return known
    return await fleet.api.find(f"{name}{SUFFIX}")


async def _ensure_marks(desired: Desired, step: RolloutStep, candidate: str, fleet: Fleet) -> None:
    attribute = get_attribute(desired.name)
    choice = Choice(salt=desired.name, weight=step.weight, matchers=step.matchers)
    add, drop = [], []
    for collector in await fleet.agents.list():
        is_marked = collector.remote.get(attribute) == candidate
        is_chosen = _is_chosen(collector, desired, choice)
        if is_chosen and not is_marked:
            add.append(collector.id)
        elif not is_chosen and attribute in collector.remote:
            drop.append(collector.id)
    await _change(drop, {"op": "REMOVE", "path": build_path(attribute)}, fleet)
    operation = {"op": "ADD", "path": build_path(attribute), "value": candidate}
    await _change(add, operation, fleet)


async def _change(ids: list[str], operation: dict[str, Any], fleet: Fleet) -> None:
    if not ids:
        return
    try:
        await fleet.api.update_attributes(ids, [operation])
    except CallFailed as error:
        if error.code is not Code.NOT_FOUND:
            raise
    finally:
        fleet.agents.forget()  # one of them may be gone: the next look sees who is left


def _is_chosen(collector: RemoteCollector, desired: Desired, choice: Choice) -> bool:
    attributes = collector.attributes
    if not match_all(parse_all(desired.matchers), attributes):
        return False
    return choice.is_chosen(collector.id, attributes)


def _is_about(text: str, attribute: str) -> bool:
    try:
        return Matcher.parse(text).name == attribute
    except MatcherError:
        return False
