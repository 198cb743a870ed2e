"""The state of the caches and controllers of a manager, as metrics and as JSON."""

from collections.abc import Iterable
from typing import Any

import msgspec

from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.controller.runner import Runner
from quarterdeck.runtime.informer.factory import InformerFactory
from quarterdeck.runtime.observability.metrics import Metrics


def describe_stale_caches(informers: InformerFactory) -> str:
    """The caches that may be out of date, and why; empty if there are none."""
    troubles = [informer.describe_staleness() for informer in informers]
    return "; ".join(trouble for trouble in troubles if trouble)


def describe_missing_kinds(
    informers: InformerFactory, controllers: Iterable[Controller[Any]]
) -> str:
    """The reconciled kinds that the server does not serve; empty if it serves all.

    Kinds that are only owned, watched or read do not count: an operator may use them where they
    exist. `describe_missing_foreign_kinds` names them.
    """
    kinds = dict.fromkeys(each.for_ for each in controllers)
    reasons = [informers.ensure(kind).describe_absence() for kind in kinds]
    return "; ".join(reason for reason in reasons if reason)


def describe_missing_foreign_kinds(
    informers: InformerFactory, controllers: Iterable[Controller[Any]]
) -> str:
    """The kinds that are owned, watched or read, and not served; empty if all are served."""
    reconciled = {each.for_ for each in controllers}
    reasons = [each.describe_absence() for each in informers if each.kind not in reconciled]
    return "; ".join(reason for reason in reasons if reason)


def update_gauges(
    metrics: Metrics, informers: InformerFactory, runners: Iterable[Runner[Any]]
) -> None:
    """Set the gauges that are computed when metrics are read."""
    for runner in runners:
        runner.refresh_metrics()
    for informer in informers:
        kind, states = informer.kind.__name__, informer.states()
        metrics.cache_objects.labels(kind).set(len(informer.cache))
        metrics.cache_bytes.labels(kind).set(informer.cache.size_bytes)
        metrics.watch_age.labels(kind).set(max(state.silent_s for state in states))
        metrics.relists.labels(kind).set(sum(state.lists for state in states))


def describe(informers: InformerFactory, runners: Iterable[Runner[Any]]) -> dict[str, Any]:
    """Caches and controllers, for people."""
    return {
        "caches": [
            {
                "kind": informer.kind.__name__,
                "objects": len(informer.cache),
                "bytes": informer.cache.size_bytes,
                "sources": [
                    {**msgspec.structs.asdict(state), "health": state.health.value}
                    for state in informer.states()
                ],
            }
            for informer in informers
        ],
        "controllers": [
            {
                "name": runner.name,
                "depth": runner.queue.depth,
                "processing": [str(key) for key in runner.queue.processing],
            }
            for runner in runners
        ],
    }
