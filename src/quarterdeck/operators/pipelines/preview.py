"""Dry runs: the server checks a pipeline, stores nothing, and the status shows the difference."""

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines import drift, plan, report
from quarterdeck.operators.pipelines.ports import CallFailed, Remote
from quarterdeck.operators.pipelines.wish import Wish
from quarterdeck.runtime import Context
from quarterdeck.telemetry.fleet.codes import Code


class Previews:
    """Asks once for each wish."""

    def __init__(self) -> None:
        self._shown: dict[Key, str] = {}

    async def show(self, wish: Wish, ctx: Context[Pipeline]) -> None:
        """Validate on the server and tell what would change."""
        pipeline, desired, api = wish.pipeline, wish.desired, wish.fleet.api
        if self._shown.get(ctx.key) == desired.hash:
            return
        remote = await _present(wish)
        if remote is not None:
            await api.update(desired.message(remote.id), validate_only=True)
        else:
            await api.create(desired.message(), validate_only=True)
        text = drift.preview(desired, remote, is_secret=wish.contents.is_secret)
        if remote is not None and not pipeline.status.id and not plan.may_adopt(pipeline, remote):
            text = f"would be refused: pipeline {remote.id} of that name is not ours\n{text}"
        self._shown[ctx.key] = desired.hash
        report.previewed(text, ctx)

    def forget(self, key: Key) -> None:
        """Drop what was remembered of an object."""
        self._shown.pop(key, None)


async def _present(wish: Wish) -> Remote | None:
    """What the server has under our id, or else under the name."""
    api, identity = wish.fleet.api, wish.pipeline.status.id
    if identity:
        try:
            return await api.get(identity)
        except CallFailed as error:
            if error.code is not Code.NOT_FOUND:
                raise
    return await api.find(wish.desired.name)
