"""The dependencies that a manager passes to every controller."""

import random
from collections.abc import Callable

import msgspec

from quarterdeck.client.interfaces import Api
from quarterdeck.kit.clock import Clock
from quarterdeck.runtime.informer.factory import InformerFactory
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.runtime.observability.metrics import Metrics
from quarterdeck.runtime.observability.tracing import Tracer
from quarterdeck.runtime.reconcile.context import EventSink


class Environment(msgspec.Struct, frozen=True):
    """The dependencies that a manager passes to every controller."""

    api: Api
    informers: InformerFactory
    events: EventSink
    metrics: Metrics
    clock: Clock
    rng: random.Random
    log: Logger
    field_manager: str
    tracer: Tracer | None = None
    may_work: Callable[[], bool] | None = None
    """Whether we still lead; called before each reconcile, as the process may have been paused."""
