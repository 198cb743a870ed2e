"""The runtime of operators: watches become reconciles, and reconciles become status.

May import `client`, `wire`, `apis`, `meta`, `kit`. Start reading at `manager`, then follow an
event: `informer` → `cache` → `source` → `queue` → `controller` → `reconcile`. The layers between
these packages are a contract in pyproject.toml.
What decides is pure and tested on virtual time; what waits is a thin shell around it.

Names load on first use, so that a process pays only for what it needs.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.runtime.cache.event import Change, Event
    from quarterdeck.runtime.controller.controller import Controller
    from quarterdeck.runtime.endpoints.certificate import CertificateFiles
    from quarterdeck.runtime.endpoints.server import Bind, MetricsPage
    from quarterdeck.runtime.informer.informer import Scope
    from quarterdeck.runtime.informer.reflector import Settings
    from quarterdeck.runtime.leaderelection.election import LostLeadership, Timing
    from quarterdeck.runtime.manager.manager import Election, Manager
    from quarterdeck.runtime.manager.program import operate
    from quarterdeck.runtime.observability.logging import Logger, get_logger
    from quarterdeck.runtime.reconcile.context import Context
    from quarterdeck.runtime.reconcile.finalizer import Finalizer
    from quarterdeck.runtime.reconcile.result import (
        DONE,
        Done,
        RequeueAfter,
        Result,
        Stalled,
        WaitFor,
        Waiting,
    )
    from quarterdeck.runtime.source.handler import Lookup, Owns, Watch
    from quarterdeck.runtime.webhooks import Denied, Review, Webhooks

__all__ = [
    "DONE",
    "Bind",
    "CertificateFiles",
    "Change",
    "Context",
    "Controller",
    "Denied",
    "Done",
    "Election",
    "Event",
    "Finalizer",
    "Logger",
    "Lookup",
    "LostLeadership",
    "Manager",
    "MetricsPage",
    "Owns",
    "RequeueAfter",
    "Result",
    "Review",
    "Scope",
    "Settings",
    "Stalled",
    "Timing",
    "WaitFor",
    "Waiting",
    "Watch",
    "Webhooks",
    "get_logger",
    "operate",
]

_HOMES = {
    "cache.event": ("Change", "Event"),
    "endpoints.certificate": ("CertificateFiles",),
    "reconcile.context": ("Context",),
    "controller.controller": ("Controller",),
    "endpoints.server": ("Bind", "MetricsPage"),
    "source.handler": ("Lookup", "Owns", "Watch"),
    "reconcile.finalizer": ("Finalizer",),
    "informer.informer": ("Scope",),
    "leaderelection.election": ("LostLeadership", "Timing"),
    "observability.logging": ("Logger", "get_logger"),
    "manager.manager": ("Election", "Manager"),
    "manager.program": ("operate",),
    "informer.reflector": ("Settings",),
    "reconcile.result": ("DONE", "Done", "RequeueAfter", "Result", "Stalled", "WaitFor", "Waiting"),
    "webhooks": ("Denied", "Review", "Webhooks"),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
