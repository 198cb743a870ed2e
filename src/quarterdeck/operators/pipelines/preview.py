"""Dry runs: the server validates a pipeline, stores nothing; the status shows the difference."""

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines import drift, plan, report
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
            await api.update(desired.message(remote.id), validate_only=True)
        else:
            await api.create(desired.message(), validate_only=True)
        text = drift.format_preview(desired, remote, is_secret=target.contents.is_secret)
        if remote is not None and not pipeline.status.id and not plan.may_adopt(pipeline, remote):
            text = f"would be rejected: pipeline {remote.id} of that name has another owner\n{text}"
        self._shown[ctx.key] = desired.hash
        report.set_previewed(text, ctx)

    def forget(self, key: Key) -> None:
        """Drop the state of an object."""
        self._shown.pop(key, None)


async def _get_current(target: SyncTarget) -> Remote | None:
    """What the server has under our id, or else under the name."""
    api, identity = target.fleet.api, target.pipeline.status.id
    if identity:
        try:
            return await api.get(identity)
        except CallFailed as error:
            if error.code is not Code.NOT_FOUND:
                raise
    return await api.find(target.desired.name)
