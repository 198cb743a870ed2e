"""Our runtime, where the objects of a namespace share a ConfigMap."""

from collections.abc import Iterable

from bench.peers.kind import BONUS
from bench.peers.operators import life
from bench.peers.operators.ours import Widget
from quarterdeck.apis.core import ConfigMap
from quarterdeck.meta.identity import Key
from quarterdeck.runtime import Context, Controller, Lister, Watch


def build_controller() -> Controller[Widget]:
    """The controller, which watches the ConfigMap as well."""
    return Controller(
        reconcile=reconcile,
        for_=Widget,
        watches=[Watch(ConfigMap, everybody)],
        workers=life.WORKERS,
    )


async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
    bonus = await ctx.find(ConfigMap, BONUS)
    ctx.status.set(seen=widget.spec.size + (int(bonus.data["size"]) if bonus is not None else 0))


def everybody(config: ConfigMap, lookup: Lister) -> Iterable[Key]:
    """All objects beside the configuration they share."""
    if config.metadata.name != BONUS:
        return ()
    return [each.key for each in lookup.list(Widget, namespace=config.metadata.namespace)]
