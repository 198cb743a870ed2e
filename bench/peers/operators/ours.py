"""Our runtime with its defaults.

What only some workloads need is loaded by them: see the text of the package.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bench.peers.kind import GROUP, PLURAL, VERSION
from bench.peers.operators import life
from quarterdeck.client import Client, load_config
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, Struct, replace
from quarterdeck.runtime import Context, Controller, Manager

if TYPE_CHECKING:
    from quarterdeck.runtime import LeaderElection, Webhooks


class Port(Struct, frozen=True, kw_only=True):
    name: str
    port: int = 0


class WidgetSpec(Struct, frozen=True, kw_only=True):
    size: int = 0
    text: str = ""
    mode: str = ""
    ports: tuple[Port, ...] = ()


class WidgetStatus(Struct, frozen=True, kw_only=True):
    """What the other operators write, and nothing else: no condition, no observed generation."""

    seen: int = 0


class Widget(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group=GROUP, version=VERSION, kind="Widget", plural=PLURAL)
    spec: WidgetSpec = WidgetSpec()
    status: WidgetStatus = WidgetStatus()


async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
    ctx.status.set(seen=widget.spec.size)


def webhooks(port: str, folder: str) -> "Webhooks":
    """Sizes are not below zero, and there is always a mode."""
    from pathlib import Path

    from msgspec import structs

    from quarterdeck.runtime import BindAddress, CertificateFiles, Denied, Review, Webhooks

    def check(review: Review[Widget]) -> None:
        if review.object.spec.size < 0:
            raise Denied("spec.size: must not be below 0")

    def fill(review: Review[Widget]) -> Widget:
        spec = review.object.spec
        if spec.mode:
            return review.object
        return replace(review.object, spec=structs.replace(spec, mode="safe"))

    found = Webhooks(BindAddress(port=int(port)), certificate=CertificateFiles.within(Path(folder)))
    found.validate(Widget, check)
    found.mutate(Widget, fill)
    return found


def elect(timing: str) -> "LeaderElection":
    """Takes part in an election; LEASE,RENEW,RETRY in seconds."""
    from quarterdeck.runtime import LeaderElection, LeaseTiming

    seconds = (float(each) for each in timing.split(","))
    return LeaderElection("bench", "default", timing=LeaseTiming(*seconds))


def main(kubeconfig: str, settings: Mapping[str, str]) -> None:
    controller = Controller(reconcile=reconcile, for_=Widget, workers=life.WORKERS)
    if "fan-out" in settings:
        from bench.peers.operators import ours_fan_out

        controller = ours_fan_out.build_controller()
    election = elect(settings["lease"]) if "lease" in settings else None

    served = None
    if "webhooks" in settings:
        served = webhooks(*settings["webhooks"].split(","))

    async def run() -> None:
        async with Client(load_config(kubeconfig)) as client:
            manager = Manager(client, name="bench", election=election, webhooks=served)
            manager.add(controller)
            await manager.run()

    life.ready()
    life.run(run())
