"""Dry runs: the server validates a pipeline without storing it; the status shows a diff."""

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines import drift, plan, report
from quarterdeck.operators.pipelines.blast_radius import (
    Impact,
    Planned,
    diff_config,
    plan_impact,
)
from quarterdeck.operators.pipelines.desired import may_be_secret
from quarterdeck.operators.pipelines.ports import CallFailed, Remote
from quarterdeck.operators.pipelines.sync_target import SyncTarget
from quarterdeck.runtime import Context
from quarterdeck.telemetry.fleet.codes import Code


class Previews:
    """Runs one dry run per change."""

    def __init__(self) -> None:
        self._shown: dict[Key, str] = {}

    async def show(self, target: SyncTarget, ctx: Context[Pipeline]) -> None:
        """Validate on the server and report what would change."""
        pipeline, desired, api = target.pipeline, target.desired, target.fleet.api
        if self._shown.get(ctx.key) == desired.hash:
            return
        remote = await _get_current(target)
        if remote is not None:
            await api.update(desired.to_message(remote.id), validate_only=True)
        else:
            await api.create(desired.to_message(), validate_only=True)
        is_secret = _is_secret(target, remote)
        text = drift.format_preview(desired, remote, is_secret=is_secret)
        if remote is not None and not pipeline.status.id and not plan.may_adopt(pipeline, remote):
            text = f"would be rejected: pipeline {remote.id} of that name has another owner\n{text}"
        impact, details = await _describe_impact(target, remote, is_secret=is_secret)
        self._shown[ctx.key] = desired.hash
        report.set_previewed(drift.cut_preview(f"{text}\n{details}".strip()), impact, ctx)

    def forget(self, key: Key) -> None:
        """Drop the state of an object."""
        self._shown.pop(key, None)


def _is_secret(target: SyncTarget, remote: Remote | None) -> bool:
    """Whether contents come from a Secret, or may have come from one before."""
    if target.desired.is_secret or remote is None:
        return target.desired.is_secret
    return may_be_secret(target.pipeline, target.desired, remote)


async def _describe_impact(
    target: SyncTarget, remote: Remote | None, *, is_secret: bool
) -> tuple[Impact | None, str]:
    """Describe the affected collectors, with a diff for one; None if they cannot be listed.

    The diff leaves out other pipelines whose contents are secret.
    """
    try:
        collectors = await target.fleet.agents.list()
        others = [each for each in await target.fleet.api.list() if _is_other(each, remote)]
    except CallFailed as error:
        return None, f"collectors are not known: {error}"
    now = [Planned.of(remote)] if remote is not None else []
    then = [Planned.of(target.desired)]
    rest = [Planned.of(each) for each in others]
    impact = plan_impact(collectors, [*rest, *now], [*rest, *then])
    text = str(impact)
    if impact.affected and not is_secret:
        sample = next(each for each in collectors if each.id == impact.affected[0])
        rest = [Planned.of(each) for each in others if not each.is_secret]
        text = f"{text}\n{diff_config(sample, [*rest, *now], [*rest, *then])}"
    return impact, text


def _is_other(each: Remote, remote: Remote | None) -> bool:
    return remote is None or each.id != remote.id


async def _get_current(target: SyncTarget) -> Remote | None:
    """The pipeline on the server, by the id in the status, else by name."""
    api, identity = target.fleet.api, target.pipeline.status.id
    if identity:
        try:
            return await api.get(identity)
        except CallFailed as error:
            if error.code is not Code.NOT_FOUND:
                raise
    return await api.find(target.desired.name)
